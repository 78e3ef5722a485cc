import { type Answer, page, redirect } from './answer.ts'
import type { Ask } from './ask.ts'
import type { Thing, World } from './model.ts'
import { commentPermalink } from './native-comment.ts'
import { permalink } from './native-post.ts'
import { shellPage } from './pages.ts'

const CODE = /^([13])z([a-z0-9]+)$/

/** The code under which a thing is shared. The platform's own mean nothing; here they hold the name. */
export const shareCode = ({ kind, id }: Thing): string => `${kind.slice(1)}z${id}`

/** `/r/<place>/s/<code>` and `/u/<name>/s/<code>`: leads to what was shared. Null for every other path. */
export function share({ path, world, origin }: Ask): Answer | null {
  const [root = '', , s, code = ''] = path
  if (!['r', 'u', 'user'].includes(root) || s !== 's' || path.length !== 4) return null
  const thing = sharedAs(world, code)
  if (thing === undefined) return page(shellPage('Page not found'), 404)
  const to = thing.kind === 't3' ? permalink(thing) : commentPermalink(thing)
  return redirect(`${origin}${to}?share_id=${code}&utm_medium=web2x`)
}

function sharedAs({ things }: World, code: string): Thing | undefined {
  const [, kind, id] = CODE.exec(code) ?? []
  return kind === undefined ? undefined : things.get(`t${kind}_${id}`)
}
