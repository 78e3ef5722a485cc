import { open, signedIn } from './visit.ts'

/** A place with bea's post and cem's comment under it, and ann who is signed in. */
export async function place() {
  const sandbox = await open()
  const post = sandbox.post({ subforum: 'cats', title: 'a cat', author: 'bea' })
  const comment = sandbox.comment({ parent: post.name, text: 'meow', author: 'cem' })
  return { sandbox, post, comment, ann: signedIn(sandbox, 'ann') }
}

/** What a form call made. */
export const things = (json: any): { kind: string; data: any }[] => json.json.data.things
/** Why a form call was refused: code, words, field. */
export const errors = (json: any): [string, string, string | null][] => json.json.errors
