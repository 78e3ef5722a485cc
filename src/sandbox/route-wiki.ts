import { type Answer, json, unregistered } from './answer.ts'
import type { Ask } from './ask.ts'
import { encode, toHtml } from './json.ts'
import type { Subforum, User } from './model.ts'
import { userThing } from './native-user.ts'
import { elsewhere, refused, SUBFORUM_NAME } from './places.ts'

const PAGE_NAME = /^[a-z0-9_-]+(?:\/[a-z0-9_-]+){0,9}$/

/** `/r/<name>/wiki[/<page>…]`: the list of pages, or one of them. */
export function wiki(ask: Ask, name: string, path: readonly string[]): Answer {
  if (!SUBFORUM_NAME.test(name)) return unregistered
  const subforum = ask.world.subforums.get(name.toLowerCase())
  if (subforum === undefined) return elsewhere(ask, name)
  const no = refused(subforum, ask)
  if (no !== null) return no
  if (subforum.wiki.size === 0) return reason(403, 'WIKI_DISABLED', 'Forbidden')
  if (path.length === 1 && path[0] === 'pages')
    return json(encode({ kind: 'wikipagelisting', data: [...subforum.wiki.keys()] }))
  const page = path.length === 0 ? 'index' : path.join('/').toLowerCase()
  if (!PAGE_NAME.test(page)) return reason(400, 'INVALID_PAGE_NAME', 'Bad Request')
  const text = subforum.wiki.get(page)
  if (text !== undefined) return json(encode(wikiPage(ask, subforum, { page, text })))
  const moderates = ask.viewer.user !== null && subforum.moderators.includes(ask.viewer.user)
  return reason(404, moderates ? 'PAGE_NOT_CREATED' : 'PAGE_NOT_FOUND', 'Not Found')
}

const reason = (status: number, code: string, message: string): Answer =>
  json(encode({ reason: code, message }), status)

function wikiPage(
  { viewer, world }: Ask,
  { moderators, created_s }: Subforum,
  { page, text }: { page: string; text: string },
) {
  const [editor] = moderators
  const may = (user: User | null) => user !== null && moderators.includes(user)
  return {
    kind: 'wikipage',
    data: {
      content_md: text,
      may_revise: may(viewer.user),
      reason: null,
      revision_date: created_s + 30 * 86_400,
      revision_by: editor === undefined ? null : userThing(editor, world),
      revision_id: revisionId(page + text),
      content_html: `<!-- SC_OFF -->${toHtml(text).replace('class="md"', 'class="md wiki"')}<!-- SC_ON -->`,
    },
  }
}

function revisionId(of: string): string {
  const hex = Bun.hash(of).toString(16).padStart(16, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-11ee-9e1c-${hex.slice(4, 16)}`
}
