import { json, type SandboxResponse } from '../server/response.ts'
import { fieldText, truthOf, wholeOf } from '../sources/source.ts'
import { findNamed, type LemmyComment, type LemmyCommunity, type LemmyPost } from './model.ts'
import {
  commentView,
  communityFields,
  communityView,
  type LemmyCall,
  personFields,
  personView,
  postView,
} from './shapes.ts'

/** JSON answer. */
export const lemmyJson = (value: unknown, status = 200): SandboxResponse =>
  json(JSON.stringify(value), status)

/** Refusal with its code. */
export const lemmyError = (error: string, status = 400): SandboxResponse =>
  lemmyJson({ error }, status)

/** Refusal of a missing object; 0.19 names its kind, with 400 for posts and comments. */
export const lemmyMissing = ({ world }: LemmyCall, kind: string): SandboxResponse =>
  world.settings.version === '0.19'
    ? lemmyError(`couldnt_find_${kind}`, kind === 'post' || kind === 'comment' ? 400 : 404)
    : lemmyError('not_found', 404)

/** Most rows of a page. */
export const LARGEST_LIMIT = 50

/** Rows of a page; null: out of range. */
export function rowLimit(call: LemmyCall): number | null {
  const usual = call.world.settings.version === '0.19' ? 10 : 20
  const limit = fieldText(call, 'limit') === '' ? usual : wholeOf(call, 'limit')
  return limit === null || limit < 1 || limit > LARGEST_LIMIT ? null : limit
}

/** Refusal of a limit out of range. */
export const badLimit = () => lemmyError('invalid_fetch_limit')
const badCursor = () => lemmyError('couldnt_parse_pagination_token')

/** True if the reader may see the post in a list. */
export function isListed(call: LemmyCall, post: LemmyPost): boolean {
  const { viewer, now, as_of } = call
  const { community } = post
  if (post.arrived_at > as_of || post.removed || post.deleted || post.pending) return false
  if (post.scheduled_at !== null && post.scheduled_at > now) return false
  if (community.removed || community.deleted) return false
  return !post.nsfw || truthOf(call, 'show_nsfw') || viewer?.admin === true
}

type Place = { fits(community: LemmyCommunity): boolean; named: boolean }

/** Communities that a list asks for; null: the named one does not exist. */
function placeOf(call: LemmyCall): Place | null {
  const id = wholeOf(call, 'community_id')
  const name = fieldText(call, 'community_name')
  const { communities } = call.world
  if (id !== null || name !== '') {
    const found =
      id === null ? findNamed(communities, name) : communities.find((it) => it.id === id)
    return found === undefined ? null : { fits: (it) => it === found, named: true }
  }
  const type = fieldText(call, 'type_').toLowerCase()
  return { fits: (it) => !it.hidden && (type !== 'local' || it.host === null), named: false }
}

const HOUR_MS = 3_600_000
const scoreOf = ({ ups, downs, votes }: LemmyPost | LemmyComment) =>
  ups - downs + [...votes.values()].reduce((total: number, vote) => total + vote, 0)

/** Rank of an entry for a sort, as `new`, `topday`, `mostcomments`; the greatest comes first. */
function rankOf(sort: string, entry: LemmyPost | LemmyComment, now: number): number {
  if (sort === 'old') return -entry.created_at
  if (sort.startsWith('top') || sort === 'controversial') return scoreOf(entry)
  if (sort === 'mostcomments') return entry.kind === 'post' ? entry.comments.length : entry.children
  if (sort === 'newcomments' && entry.kind === 'post')
    return Math.max(entry.created_at, ...entry.comments.map(({ created_at }) => created_at))
  if (sort === 'hot' || sort === 'active' || sort === 'scaled')
    return (Math.max(1, scoreOf(entry)) + 2) / ((now - entry.created_at) / HOUR_MS + 2) ** 1.8
  return entry.created_at
}

const sortOf = (call: LemmyCall, usual: string) =>
  (fieldText(call, 'sort') || usual).toLowerCase().replaceAll('_', '')

const cursorOf = ({ api }: LemmyCall, entry: LemmyPost | LemmyComment): string => {
  const plain = `${entry.kind === 'post' ? 'P' : 'C'}${entry.id.toString(16)}`
  return api === 'v3' ? plain : Buffer.from(plain).toString('base64url')
}

/** Id that a cursor points to; null: malformed. */
function idOf({ api }: LemmyCall, cursor: string): number | null {
  const plain = api === 'v3' ? cursor : Buffer.from(cursor, 'base64url').toString()
  return /^[PC][0-9a-f]{1,10}$/.test(plain) ? Number.parseInt(plain.slice(1), 16) : null
}

/** Rows after a cursor or of a page; null: the cursor's object is gone or malformed. */
function pageOf<T extends LemmyPost | LemmyComment>(
  call: LemmyCall,
  rows: readonly T[],
  { limit, byPage }: { limit: number; byPage: boolean },
): T[] | null {
  const cursor = fieldText(call, 'page_cursor')
  if (cursor === '' || byPage) {
    const page = byPage ? Math.max(1, wholeOf(call, 'page') ?? 1) : 1
    return rows.slice((page - 1) * limit, page * limit)
  }
  const at = rows.findIndex(({ id }) => id === idOf(call, cursor))
  return at < 0 ? null : rows.slice(at + 1, at + 1 + limit)
}

/** True for the part of v3 that 1.0 still has: one page, no cursors. */
const isWrapper = ({ api, world }: LemmyCall) => api === 'v3' && world.settings.version === '1.0'

/** `GET /post/list` */
export function postList(call: LemmyCall): SandboxResponse {
  const limit = rowLimit(call)
  const place = placeOf(call)
  if (limit === null) return badLimit()
  if (place === null) return lemmyMissing(call, 'community')
  const sort = sortOf(call, 'active')
  // 0.19 puts featured posts first in every sort.
  const isFirst = (post: LemmyPost) =>
    call.world.settings.version === '0.19' &&
    (place.named ? post.featured_community : post.featured_local)
  const rows = [...call.world.posts.values()]
    .filter((post) => isListed(call, post) && place.fits(post.community))
    .toSorted(
      (one, other) =>
        Number(isFirst(other)) - Number(isFirst(one)) ||
        rankOf(sort, other, call.now) - rankOf(sort, one, call.now) ||
        other.id - one.id,
    )
  const by_page = isWrapper(call) || (call.api === 'v3' && fieldText(call, 'page') !== '')
  const found = pageOf(call, rows, { limit, byPage: by_page })
  if (found === null) return badCursor()
  const last = found.at(-1)
  const next = last === undefined || last === rows.at(-1) ? null : cursorOf(call, last)
  const views = found.map((post) => postView(call, post))
  if (call.api === 'v4')
    return lemmyJson({ items: views, ...(next !== null && { next_page: next }) })
  if (isWrapper(call)) return lemmyJson({ posts: views, next_page: null })
  return lemmyJson({ posts: views, ...(next !== null && { next_page: next }) })
}

/** Rows of a tree of 0.19. 1.0 has pages instead, of which the first has the deepest rows. */
const TREE_ROWS = 300
const depthOf = ({ path }: LemmyComment): number => path.split('.').length

/** `GET /comment/list`: hidden comments stay, without their text. */
export function commentList(call: LemmyCall): SandboxResponse {
  const limit = rowLimit(call)
  const place = placeOf(call)
  if (limit === null) return badLimit()
  if (place === null) return lemmyMissing(call, 'community')
  const { world, as_of, now } = call
  const [post_id, parent_id] = [wholeOf(call, 'post_id'), wholeOf(call, 'parent_id')]
  const max_depth = wholeOf(call, 'max_depth')
  const sort = sortOf(call, 'hot')
  const parent = parent_id === null ? undefined : world.comments.get(parent_id)
  const base = parent?.path.split('.').length ?? 1
  const fits = ({ post, path, arrived_at }: LemmyComment) =>
    arrived_at <= as_of &&
    place.fits(post.community) &&
    (post_id === null ? isListed(call, post) : post.id === post_id) &&
    (parent === undefined || path === parent.path || path.startsWith(`${parent.path}.`)) &&
    (max_depth === null || path.split('.').length - base <= max_depth)
  const rows = [...world.comments.values()]
    .filter(fits)
    .toSorted(
      (one, other) => rankOf(sort, other, now) - rankOf(sort, one, now) || other.id - one.id,
    )
  const is_tree = max_depth !== null && (post_id !== null || parent !== undefined)
  // A depth lifts the limit on rows, up to another one.
  if (is_tree && call.api === 'v3') return commentPage(call, rows.slice(0, TREE_ROWS), null)
  if (is_tree) rows.sort((one, other) => depthOf(other) - depthOf(one))
  if (isWrapper(call)) return commentPage(call, rows.slice(0, limit), null)
  const found = pageOf(call, rows, { limit, byPage: call.api === 'v3' })
  if (found === null) return badCursor()
  const last = found.at(-1)
  return commentPage(
    call,
    found,
    last === undefined || last === rows.at(-1) ? null : cursorOf(call, last),
  )
}

function commentPage(
  call: LemmyCall,
  rows: readonly LemmyComment[],
  next: string | null,
): SandboxResponse {
  const views = rows.map((comment) => commentView(call, comment))
  if (call.api === 'v3') return lemmyJson({ comments: views })
  return lemmyJson({ items: views, ...(next !== null && { next_page: next }) })
}

/**
 * `GET /post?id=` or `?comment_id=`: a deleted post with comments is answered, a removed one is not. So are scheduled posts and
 * those that wait for another server, which lists leave out.
 */
export function postGet(call: LemmyCall): SandboxResponse {
  const { world, as_of } = call
  const comment = world.comments.get(wholeOf(call, 'comment_id') ?? 0)
  const post = comment?.post ?? world.posts.get(wholeOf(call, 'id') ?? 0)
  if (post === undefined || post.arrived_at > as_of) return lemmyMissing(call, 'post')
  const own = call.viewer === post.creator
  if (post.removed) return lemmyMissing(call, 'post')
  if (post.deleted && post.comments.length === 0 && !own) return lemmyMissing(call, 'post')
  return lemmyJson({
    post_view: postView(call, post),
    community_view: communityView(call, post.community),
    ...(call.api === 'v3' && { moderators: moderatorsOf(call, post.community) }),
    cross_posts: [...world.posts.values()]
      .filter((it) => it !== post && post.url !== null && it.url === post.url && isListed(call, it))
      .map((it) => postView(call, it)),
  })
}

const moderatorsOf = (call: LemmyCall, community: LemmyCommunity) =>
  [...community.moderators].map((person) => ({
    community: communityFields(call, community),
    moderator: personFields(call, person, true),
  }))

/** `GET /comment?id=`: answered though deleted or removed. */
export function commentGet(call: LemmyCall): SandboxResponse {
  const comment = call.world.comments.get(wholeOf(call, 'id') ?? 0)
  if (comment === undefined || comment.arrived_at > call.as_of) return lemmyMissing(call, 'comment')
  const view = commentView(call, comment)
  return lemmyJson(
    call.api === 'v3' ? { comment_view: view, recipient_ids: [] } : { comment_view: view },
  )
}

/** `GET /community?name=` or `?id=` */
export function communityGet(call: LemmyCall): SandboxResponse {
  const { communities } = call.world
  const id = wholeOf(call, 'id')
  const found =
    id === null
      ? findNamed(communities, fieldText(call, 'name'))
      : communities.find((it) => it.id === id)
  if (found === undefined || found.removed) return lemmyMissing(call, 'community')
  return lemmyJson({
    community_view: communityView(call, found),
    moderators: moderatorsOf(call, found),
    discussion_languages: [],
  })
}

/** `GET /community/list` */
export function communityList(call: LemmyCall): SandboxResponse {
  const limit = rowLimit(call)
  if (limit === null) return badLimit()
  const local = fieldText(call, 'type_').toLowerCase() === 'local'
  const rows = call.world.communities.filter(
    ({ removed, deleted, hidden, host }) =>
      !removed && !deleted && !hidden && (!local || host === null),
  )
  const page = Math.max(1, Number(fieldText(call, call.api === 'v3' ? 'page' : 'page_cursor')) || 1)
  const views = rows.slice((page - 1) * limit, page * limit).map((it) => communityView(call, it))
  if (call.api === 'v3') return lemmyJson({ communities: views })
  return lemmyJson({
    items: views,
    ...(rows.length > page * limit && { next_page: String(page + 1) }),
  })
}

function personOf(call: LemmyCall) {
  const id = wholeOf(call, 'person_id')
  const { persons } = call.world
  return id === null
    ? findNamed(persons, fieldText(call, 'username'))
    : persons.find((it) => it.id === id)
}

const entriesBy = (call: LemmyCall, creator: LemmyPost['creator']) => ({
  posts: [...call.world.posts.values()]
    .filter((it) => it.creator === creator && isListed(call, it))
    .toReversed(),
  comments: [...call.world.comments.values()]
    .filter(
      (it) => it.creator === creator && it.arrived_at <= call.as_of && !it.removed && !it.deleted,
    )
    .toReversed(),
})

/** `GET /user` of v3, `GET /person` of v4 */
export function personGet(call: LemmyCall): SandboxResponse {
  const person = personOf(call)
  if (person === undefined || person.deleted)
    return lemmyMissing(
      call,
      call.world.settings.version === '0.19' ? 'that_username_or_email' : 'person',
    )
  const limit = rowLimit(call)
  if (limit === null) return badLimit()
  const moderates = call.world.communities.flatMap((community) =>
    moderatorsOf(call, community).filter(({ moderator }) => moderator.id === person.id),
  )
  const view = personView(call, person)
  if (call.api === 'v4')
    return lemmyJson({ person_view: view, moderates, multi_communities_created: [] })
  const page = Math.max(1, wholeOf(call, 'page') ?? 1)
  const { posts, comments } = entriesBy(call, person)
  const cut = <T>(rows: readonly T[]) => rows.slice((page - 1) * limit, page * limit)
  return lemmyJson({
    person_view: view,
    comments: cut(comments).map((it) => commentView(call, it)),
    posts: cut(posts).map((it) => postView(call, it)),
    moderates,
  })
}

/** `GET /person/content` of v4: posts and comments mixed, newest first. */
export function personContent(call: LemmyCall): SandboxResponse {
  const person = personOf(call)
  const limit = rowLimit(call)
  if (person === undefined) return lemmyMissing(call, 'person')
  if (limit === null) return badLimit()
  const type = fieldText(call, 'type_')
  const { posts, comments } = entriesBy(call, person)
  const rows = [
    ...(type === 'comments' ? [] : posts),
    ...(type === 'posts' ? [] : comments),
  ].toSorted((one, other) => other.created_at - one.created_at)
  const start = wholeOf(call, 'page_cursor') ?? 0
  return lemmyJson({
    items: rows
      .slice(start, start + limit)
      .map((entry) =>
        entry.kind === 'post'
          ? { type_: 'post', ...postView(call, entry) }
          : { type_: 'comment', ...commentView(call, entry) },
      ),
    ...(rows.length > start + limit && { next_page: String(start + limit) }),
  })
}
