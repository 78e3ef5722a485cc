import { renderSubforum, userThing } from '../render/users.ts'
import type { SandboxRequest } from '../server/request.ts'
import {
  encode,
  json,
  redirect,
  refusal,
  type SandboxResponse,
  toHtml,
  unregistered,
} from '../server/response.ts'
import type { SandboxUser, Subforum } from '../world/model.ts'
import {
  accessError,
  publicSubforums,
  searchRedirect,
  SUBFORUM_NAME_PATTERN,
} from '../world/subforum-access.ts'
import { directory } from './listing.ts'

/** `/r/<name>/about…`: the subforum, its rules, its moderators. */
export function about(
  request: SandboxRequest,
  name: string,
  page_name: string | undefined,
): SandboxResponse {
  if (!SUBFORUM_NAME_PATTERN.test(name)) return unregistered
  const subforum = request.world.subforums.get(name.toLowerCase())
  if (subforum === undefined)
    return page_name === 'moderators' ? searchRedirect(request, name) : refusal(404)
  const access_error = accessError(subforum, request)
  if (access_error !== null) return access_error
  if (page_name === undefined) return json(renderSubforum(subforum, request.viewer))
  if (page_name === 'rules') return rules(subforum)
  if (page_name === 'moderators')
    return request.viewer.user ? moderatorList(subforum) : refusal(403)
  return unregistered
}

function rules({ rules: texts, created_s }: Subforum): SandboxResponse {
  const list = texts.map((short_name, priority) => ({
    kind: 'all',
    description: `${short_name}. Moderators have the last word.`,
    short_name,
    violation_reason: short_name,
    created_utc: created_s,
    priority,
    description_html: `<!-- SC_OFF -->${toHtml(`${short_name}. Moderators have the last word.`)}<!-- SC_ON -->`,
  }))
  return json(
    encode({
      rules: list,
      site_rules: [
        'Spam',
        'Personal and confidential information',
        'Threatening, harassing, or inciting violence',
      ],
    }),
  )
}

/** User list of its own kind, without pages. */
function moderatorList(subforum: Subforum): SandboxResponse {
  const children = subforum.moderators.map((user, index) => ({
    name: user.name,
    author_flair_text: null,
    mod_permissions: index === 0 ? ['all'] : ['posts', 'access'],
    date: subforum.created_s + index * 86_400,
    rel_id: `rb_${(user.serial + subforum.serial).toString(36)}`,
    id: `t2_${user.id}`,
    author_flair_css_class: null,
  }))
  return json(encode({ kind: 'UserList', data: { children } }))
}

/** `/subreddits/search`, `popular`, `new`, `default`. */
export function subforums(request: SandboxRequest, which: string | undefined): SandboxResponse {
  const all = publicSubforums(request)
  if (which === 'search') return json(listingPage(request, matchingSubforums(request, all)))
  if (which === 'popular' || which === 'default' || which === undefined)
    return json(
      listingPage(
        request,
        all.toSorted((one, other) => other.subscribers - one.subscribers),
      ),
    )
  if (which === 'new')
    return json(
      listingPage(
        request,
        all.toSorted((one, other) => other.created_s - one.created_s),
      ),
    )
  return unregistered
}

/** `/subreddits/mine/<how>`: subforums that the viewer subscribes to, moderates or may write in. */
export function ownSubforums(request: SandboxRequest, how = 'subscriber'): SandboxResponse {
  const { origin, viewer } = request
  const { user } = viewer
  const to = `${origin}/subreddits/login.json?dest=${encodeURIComponent(`${origin}/${request.path.join('/')}`)}`
  if (user === null) return request.host === 'www' ? redirect(to) : refusal(403)
  const all = [...request.world.subforums.values()]
  switch (how) {
    case 'subscriber':
      return json(listingPage(request, [...user.subscribed]))
    case 'moderator':
      return json(
        listingPage(
          request,
          all.filter(({ moderators: its }) => its.includes(user)),
        ),
      )
    case 'contributor':
      return json(
        listingPage(
          request,
          all.filter(({ members }) => members.has(user)),
        ),
      )
    default:
      return unregistered
  }
}

const listingPage = (request: SandboxRequest, rows: readonly Subforum[]) =>
  directory(
    request,
    rows,
    ({ id }) => `t5_${id}`,
    (it) => renderSubforum(it, request.viewer),
  )

/**
 * Subforums whose name, title or description contains the query; matches of the name come first.
 */
export function matchingSubforums(
  { query }: SandboxRequest,
  from: readonly Subforum[],
): Subforum[] {
  const q = (query.get('q') ?? '').trim().toLowerCase()
  const adult = ['1', 'on', 'true'].includes(query.get('include_over_18') ?? '')
  const exact_name = /^\/?r\/(\w+)$/.exec(q)?.[1]
  if (exact_name) return from.filter(({ name }) => name.toLowerCase() === exact_name)
  // Shorter names are not searchable.
  if (q.length < 3) return []
  const rankOf = ({ name, title, description }: Subforum) =>
    name.toLowerCase().includes(q) ? 2 : `${title} ${description}`.toLowerCase().includes(q) ? 1 : 0
  return from
    .filter((it) => rankOf(it) > 0 && (adult || !it.over_18))
    .toSorted((one, other) => rankOf(other) - rankOf(one) || other.subscribers - one.subscribers)
}

const PAGE_NAME = /^[a-z0-9_-]+(?:\/[a-z0-9_-]+){0,9}$/

/** `/r/<name>/wiki[/<page>…]`: the list of pages, or one page. */
export function wiki(
  request: SandboxRequest,
  name: string,
  path: readonly string[],
): SandboxResponse {
  if (!SUBFORUM_NAME_PATTERN.test(name)) return unregistered
  const subforum = request.world.subforums.get(name.toLowerCase())
  if (subforum === undefined) return searchRedirect(request, name)
  const access_error = accessError(subforum, request)
  if (access_error !== null) return access_error
  if (subforum.wiki.size === 0) return reasonError(403, 'WIKI_DISABLED', 'Forbidden')
  if (path.length === 1 && path[0] === 'pages')
    return json(encode({ kind: 'wikipagelisting', data: [...subforum.wiki.keys()] }))
  const page_name = path.length === 0 ? 'index' : path.join('/').toLowerCase()
  if (!PAGE_NAME.test(page_name)) return reasonError(400, 'INVALID_PAGE_NAME', 'Bad Request')
  const text = subforum.wiki.get(page_name)
  if (text !== undefined)
    return json(encode(wikiPage(request, subforum, { page: page_name, text })))
  const moderates =
    request.viewer.user !== null && subforum.moderators.includes(request.viewer.user)
  return reasonError(404, moderates ? 'PAGE_NOT_CREATED' : 'PAGE_NOT_FOUND', 'Not Found')
}

const reasonError = (status: number, code: string, message: string): SandboxResponse =>
  json(encode({ reason: code, message }), status)

function wikiPage(
  { viewer, world }: SandboxRequest,
  { moderators, created_s }: Subforum,
  { page, text }: { page: string; text: string },
) {
  const [editor] = moderators
  const may = (user: SandboxUser | null) => user !== null && moderators.includes(user)
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
