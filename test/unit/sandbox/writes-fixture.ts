import { open, signedIn } from './fetch-path.ts'

/** Subforum with bea's post and cem's comment under it, and a session of ann. */
export async function place() {
  const sandbox = await open()
  const post = sandbox.post({ subforum: 'cats', title: 'a cat', author: 'bea' })
  const comment = sandbox.comment({ parent: post.name, text: 'meow', author: 'cem' })
  return { sandbox, post, comment, ann: signedIn(sandbox, 'ann') }
}

/** Things created by a form call. */
export const things = (json: any): { kind: string; data: any }[] => json.json.data.things
/** Errors of a form call: code, message, field. */
export const errors = (json: any): [string, string, string | null][] => json.json.errors
