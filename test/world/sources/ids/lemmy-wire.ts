/**
 * The answers of a simulated instance at an instant: Lemmy 0.19 with `/api/v3`, 1.0 with `/api/v4` and the
 * part of v3 that it keeps, PieFed with `/api/alpha`. After the servers' code and recorded answers of all.
 */
import { bansOf, COMMUNITIES, isShown, markAt, nameOf } from './lemmy-plan.ts'
import type { Community, LemmyItem, LemmyPlan } from './lemmy-plan.ts'

export type Version = 3 | 4 | 'piefed'

/** An answer: its status, its JSON, and the ids of the items in it. */
export type LemmyAnswer = {
  readonly status: number
  readonly body: unknown
  readonly ids: readonly number[]
}

export type Instance = {
  readonly version: Version
  readonly startMs: number
  readonly nowMs: number
  /** Requests a minute that it announces and allows. */
  readonly limit: number
  /** `http://127.0.0.1:port` */
  readonly base: string
  readonly posts: readonly LemmyItem[]
  readonly comments: readonly LemmyItem[]
  /** Behaves as the code of real servers, also where recorded answers of a quiet one show nothing of it. */
  readonly plan?: LemmyPlan
  /** The request has a credential that the instance accepts. */
  readonly isMember?: boolean
}

type Fields = Record<string, unknown>

const MOST_ROWS = 50
const LIMIT_S = 60

const iso = (site: Instance, atMs: number): string =>
  new Date(site.startMs + atMs).toISOString().replace(/Z$/, '000Z')

const dated = (site: Instance, version: Version, atMs: number): Fields => ({
  [version === 4 ? 'published_at' : 'published']: iso(site, atMs),
})

const addressed = (version: Version, address: string): Fields => ({
  [version === 4 ? 'ap_id' : 'actor_id']: address,
})

const visibilityOf = ({ sort }: Community): string =>
  sort === 'unlisted' || sort === 'private' ? sort : 'public'

const originOf = (site: Instance, host: string | null) =>
  host === null ? site.base : `https://${host}`

const communityWire = (site: Instance, version: Version, community: Community): Fields => ({
  id: community.id,
  name: community.name,
  title: community.name,
  removed: version !== 'piefed' && community.sort === 'banned',
  ...dated(site, version, -9_000_000),
  deleted: version === 'piefed' && community.sort === 'banned',
  nsfw: community.sort === 'nsfw',
  ...addressed(version, `${originOf(site, community.host)}/c/${community.name}`),
  local: community.host === null,
  posting_restricted_to_mods: false,
  instance_id: community.host === null ? 1 : 7,
  ...(version === 3 && { hidden: community.sort === 'unlisted', visibility: 'Public' }),
  ...(version === 4 && { visibility: visibilityOf(community), subscribers: 9, posts: 50 }),
  ...(version === 'piefed' && {
    banned: community.sort === 'banned',
    hidden: false,
    ap_domain: community.host ?? new URL(site.base).host,
  }),
})

const creatorId = (author: string): number =>
  900 + author.length * 31 + Number(author.split('_')[1] ?? 0)

const creatorWire = (site: Instance, version: Version, item: LemmyItem): Fields => ({
  id: creatorId(item.author),
  [version === 'piefed' ? 'user_name' : 'name']: item.author,
  ...(version !== 4 ? { banned: false } : {}),
  ...dated(site, version, -9_000_000),
  ...addressed(version, `${originOf(site, item.host)}/u/${item.author}`),
  local: item.host === null,
  deleted: false,
  bot_account: false,
  instance_id: item.host === null ? 1 : 7,
})

const counters = (item: LemmyItem): Fields => ({
  score: 1 + (item.id % 7),
  upvotes: 1 + (item.id % 7),
  downvotes: 0,
})

const flagsOf = (item: LemmyItem, nowMs: number) => {
  const mark = markAt(item, nowMs)?.mark
  return { removed: mark === 'removed', deleted: mark === 'deleted' }
}

const changedAt = (site: Instance, version: Version, item: LemmyItem): Fields => {
  const state = markAt(item, site.nowMs)
  if (state?.edited !== true) return {}
  const name = version === 3 ? 'updated' : version === 4 ? 'updated_at' : 'edited_at'
  return { [name]: iso(site, state.fromMs) }
}

const postWire = (site: Instance, version: Version, post: LemmyItem): Fields => {
  const flags = flagsOf(post, site.nowMs)
  const state = markAt(post, site.nowMs)
  const isHalf = state?.mark === 'half'
  const gone = flags.removed || flags.deleted
  const text = gone ? '' : (state?.text ?? post.states[0]?.text ?? '')
  return {
    id: post.id,
    [version === 'piefed' ? 'title' : 'name']: post.title,
    ...(isHalf || (version === 'piefed' && text === '') ? {} : { body: text }),
    ...(post.link === null || isHalf ? {} : { url: post.link }),
    ...(version === 'piefed' ? { user_id: 900 } : { creator_id: 900 }),
    community_id: post.community.id,
    ...flags,
    locked: false,
    ...dated(site, version, post.publishedMs),
    ...changedAt(site, version, post),
    nsfw: !isHalf && (post.nsfw || (version !== 'piefed' && post.community.sort === 'nsfw')),
    ap_id: `${originOf(site, post.host)}/post/${post.id}`,
    local: post.host === null,
    language_id: 0,
    ...(version === 'piefed'
      ? { sticky: false, instance_sticky: false, post_type: 'Discussion', tags: '', flair: '' }
      : { featured_community: false, featured_local: isFeatured(site, post) }),
    ...(version === 4 && {
      ...counters(post),
      comments: 0,
      federation_pending: state?.mark === 'waiting' && state.dueMs === null,
      ...(state?.mark === 'waiting' && typeof state.dueMs === 'number'
        ? { scheduled_publish_time_at: iso(site, state.dueMs) }
        : {}),
    }),
  }
}

const commentWire = (site: Instance, version: Version, comment: LemmyItem): Fields => {
  const flags = flagsOf(comment, site.nowMs)
  const text = flags.removed || flags.deleted ? '' : markAt(comment, site.nowMs)?.text
  return {
    id: comment.id,
    ...(version === 'piefed' ? { user_id: 900 } : { creator_id: 900 }),
    post_id: comment.post?.id,
    [version === 'piefed' ? 'body' : 'content']: text,
    ...flags,
    ...dated(site, version, comment.publishedMs),
    ...changedAt(site, version, comment),
    ap_id: `${originOf(site, comment.host)}/comment/${comment.id}`,
    local: comment.host === null,
    path: comment.path,
    distinguished: false,
    language_id: 0,
    ...(version === 4
      ? {
          ...counters(comment),
          child_count: 0,
          federation_pending: markAt(comment, site.nowMs)?.mark === 'waiting',
        }
      : {}),
  }
}

const viewOf = (site: Instance, version: Version, item: LemmyItem): Fields => {
  const post = item.post ?? item
  const counts = { ...counters(item), ...dated(site, 3, item.publishedMs) }
  return {
    ...(item.kind === 'comment' ? { comment: commentWire(site, version, item) } : {}),
    creator: creatorWire(site, version, item),
    post: postWire(site, version, post),
    community: communityWire(site, version, item.community),
    ...(version !== 4
      ? {
          counts:
            item.kind === 'comment'
              ? { comment_id: item.id, ...counts, child_count: 0 }
              : { post_id: item.id, comments: 0, ...counts },
          subscribed: 'NotSubscribed',
          saved: false,
          creator_blocked: false,
          creator_banned_from_community: false,
          creator_is_moderator: false,
          creator_is_admin: false,
          ...(item.kind === 'comment' ? {} : { read: false, hidden: false, unread_comments: 0 }),
        }
      : { can_mod: false, creator_banned: false, creator_is_admin: false, tags: [] }),
  }
}

/** The oldest post is pinned: 0.19 lists it first in every order. */
const isFeatured = (site: Instance, post: LemmyItem): boolean => post === site.posts[0]

const isReadable = (site: Instance, { sort }: Community): boolean =>
  sort !== 'private' || site.isMember === true || site.plan?.knobs?.members !== true

const isThere = (item: LemmyItem, nowMs: number): boolean => {
  const mark = markAt(item, nowMs)?.mark ?? 'absent'
  const parent = item.post === null ? 'shown' : markAt(item.post, nowMs)?.mark
  return mark !== 'absent' && mark !== 'purged' && parent !== 'purged'
}

const error = (status: number, code: string): LemmyAnswer => ({
  status,
  body: { error: code },
  ids: [],
})

/** PieFed answers 400 to every exception. */
const exception = (message: string, status = 'Bad Request'): LemmyAnswer => ({
  status: 400,
  body: { code: 400, message, status },
  ids: [],
})

const missingOf = (site: Instance, version: Version, kind: 'post' | 'comment', id: number) => {
  if (version === 4) return error(404, 'not_found')
  if (version === 3) {
    const status = site.plan?.knobs === undefined && id % 2 === 0 ? 404 : 400
    return error(status, `couldnt_find_${kind}`)
  }
  return kind === 'post'
    ? exception('()', 'Not found')
    : exception("'NoneType' object has no attribute 'community_id'")
}

/** Tests whether a name is one of a community: Lemmy folds case, PieFed does not. */
const isNamed = (site: Instance, version: Version, community: Community, name: string): boolean => {
  const own = `${community.name}@${new URL(site.base).host}`
  const names = [nameOf(community), own]
  if (version === 'piefed') return names.includes(name)
  return names.some((one) => one.toLowerCase() === name.toLowerCase())
}

const isWanted = (item: LemmyItem, site: Instance, version: Version, url: URL): boolean => {
  const { community } = item
  const query = url.searchParams
  const id = query.get('community_id')
  const name = version === 'piefed' && item.kind === 'comment' ? null : query.get('community_name')
  const isOwn = id !== null || name !== null
  if (id !== null && id !== String(community.id)) return false
  if (name !== null && !isNamed(site, version, community, name)) return false
  // PieFed lists such a community by its id alone.
  if (community.sort === 'unlisted' && (version === 'piefed' ? id === null : !isOwn)) return false
  // 0.19 goes on listing the comments of a removed community.
  if (community.sort === 'banned' && !(version === 3 && item.kind === 'comment')) return false
  if (query.get('type_')?.toLowerCase() === 'local' && community.host !== null) return false
  const post = query.get('post_id')
  if (post !== null && String(item.post?.id) !== post) return false
  const isAdult = item.nsfw || community.sort === 'nsfw'
  if (version === 4 && item.kind === 'comment' && isAdult && site.plan?.knobs !== undefined)
    return false
  const range = query.get('time_range_seconds')
  // Absent, it is the default of the site: a day.
  const day = version === 4 && site.plan?.knobs !== undefined && range === null
  if (day && site.nowMs - item.publishedMs > 86_400_000) return false
  if (version === 'piefed') return !isAdult || query.get('nsfw') === 'Include'
  return !isAdult || query.get('show_nsfw') === 'true'
}

const byTime = (a: LemmyItem, b: LemmyItem) => b.publishedMs - a.publishedMs || b.id - a.id

/** Tests whether a row follows the one of a cursor; a tree has an order of its own. */
const isAfterCursor = (
  rows: readonly LemmyItem[],
  last: LemmyItem,
  row: LemmyItem,
  isTree: boolean,
): boolean => (isTree ? rows.indexOf(row) > rows.indexOf(last) : byTime(last, row) < 0)

const encodeCursor = (version: Version, item: LemmyItem): string =>
  version !== 4 ? `P${item.id.toString(16)}` : Buffer.from(`k=${item.id};`).toString('base64url')

const decodeCursor = (version: Version, cursor: string): number =>
  version !== 4
    ? Number.parseInt(cursor.slice(1), 16)
    : Number(/^k=(\d+);$/.exec(Buffer.from(cursor, 'base64url').toString())?.[1])

/** The refusal of a list by its place or page, or null. */
const refusalOf = (
  site: Instance,
  version: Version,
  kind: 'post' | 'comment',
  url: URL,
): LemmyAnswer | null => {
  if (site.plan?.knobs === undefined) return null
  const [name, id] = [url.searchParams.get('community_name'), url.searchParams.get('community_id')]
  const asked = COMMUNITIES.find((one) =>
    id === null ? name !== null && isNamed(site, version, one, name) : String(one.id) === id,
  )
  if (version === 'piefed') {
    const isClosed = kind === 'post' && asked?.sort === 'private'
    return isClosed ? exception('Private community - authentication required') : null
  }
  if ((name !== null || id !== null) && (asked === undefined || !isReadable(site, asked)))
    return version === 4
      ? error(404, 'not_found')
      : { status: 404, body: { error: 'unknown', message: 'Record not found' }, ids: [] }
  const page = Number(url.searchParams.get('page') ?? 1)
  return version === 3 && page > 100 ? error(400, `couldnt_get_${kind}s`) : null
}

/** The rows of a tree: LIMIT 300 of 0.19, deepest first on 1.0. */
const TREE_ROWS = 300
const DEPTH = (item: LemmyItem): number => item.path.split('.').length

const listOf = (
  site: Instance,
  version: Version,
  kind: 'post' | 'comment',
  url: URL,
): LemmyAnswer => {
  const limit = Number(url.searchParams.get('limit') ?? 10)
  if (!(limit >= 1 && limit <= MOST_ROWS))
    return error(400, version === 4 ? 'invalid_fetch_limit' : `couldnt_get_${kind}s`)
  const refusal = refusalOf(site, version, kind, url)
  if (refusal !== null) return refusal
  const all = kind === 'post' ? site.posts : site.comments
  const cursor = url.searchParams.get('page_cursor')
  const page = Number(url.searchParams.get('page') ?? 1)
  // What 1.0 keeps of v3 does not page comments at all.
  const wrapped = version === 3 && site.version === 4
  let rows = all.filter(
    (item) =>
      isThere(item, site.nowMs) &&
      markAt(item, site.nowMs)?.mark !== 'waiting' &&
      (version === 'piefed' || isReadable(site, item.community)) &&
      isWanted(item, site, version, url),
  )
  if (kind === 'post') rows = rows.filter((item) => isShown(markAt(item, site.nowMs)?.mark))
  rows = rows.toSorted(byTime)
  const isTree = url.searchParams.has('post_id') && url.searchParams.has('max_depth')
  if (isTree && version === 4) rows = rows.toSorted((a, b) => DEPTH(b) - DEPTH(a))
  if (isTree && version === 3 && site.plan?.knobs !== undefined) {
    const cut = rows.slice(0, TREE_ROWS)
    const views = cut.map((item) => viewOf(site, version, item))
    return { status: 200, body: { comments: views }, ids: cut.map((item) => item.id) }
  }
  if (version === 'piefed') {
    const part = rows.slice((page - 1) * limit, page * limit)
    const views = part.map((item) => viewOf(site, version, item))
    const next = rows.length > page * limit ? String(page + 1) : null
    return {
      status: 200,
      body: { [`${kind}s`]: views, next_page: next },
      ids: part.map((item) => item.id),
    }
  }
  if (kind === 'post' && version === 3) {
    rows = [
      ...rows.filter((one) => isFeatured(site, one)),
      ...rows.filter((one) => !isFeatured(site, one)),
    ]
  }
  const takesCursor = cursor !== null && !wrapped && (version === 4 || kind === 'post')
  if (takesCursor) {
    const id = decodeCursor(version, cursor)
    const last = all.findLast((item) => item.id === id && markAt(item, site.nowMs) !== null)
    if (last === undefined || markAt(last, site.nowMs)?.mark === 'purged') {
      return error(400, 'couldnt_parse_pagination_token')
    }
    const featured = version === 3 && isFeatured(site, last)
    rows = rows.filter((row) =>
      featured
        ? row !== last
        : isAfterCursor(rows, last, row, isTree) && !(version === 3 && isFeatured(site, row)),
    )
  } else if (version === 3 && !(wrapped && kind === 'comment')) {
    rows = rows.slice((page - 1) * limit)
  }
  const shown = rows.slice(0, limit)
  const end = shown.at(-1)
  const next = end !== undefined && rows.length > limit ? encodeCursor(version, end) : null
  const views = shown.map((item) => viewOf(site, version, item))
  const ids = shown.map((item) => item.id)
  if (version === 4)
    return { status: 200, body: { items: views, next_page: next, prev_page: null }, ids }
  if (kind === 'comment') return { status: 200, body: { comments: views }, ids }
  return { status: 200, body: { posts: views, next_page: wrapped ? null : next }, ids }
}

const oneOf = (
  site: Instance,
  version: Version,
  kind: 'post' | 'comment',
  url: URL,
): LemmyAnswer => {
  const id = Number(url.searchParams.get('id'))
  if (kind === 'comment' && version === 3 && site.version === 4) return error(404, 'not_found')
  const missing = missingOf(site, version, kind, id)
  const items = kind === 'post' ? site.posts : site.comments
  const item = items.findLast((one) => one.id === id && isThere(one, site.nowMs))
  if (item === undefined) return missing
  if (version === 'piefed' && item.community.sort === 'private')
    return exception('Private community - membership required')
  const mark = markAt(item, site.nowMs)?.mark
  // 0.19 has no posts that wait.
  if (!isReadable(site, item.community) || (version === 3 && mark === 'waiting')) return missing
  if (kind === 'post' && !isShown(mark) && mark !== 'waiting') {
    const below = site.comments.some((one) => one.post === item && isThere(one, site.nowMs))
    if (!below || version === 4) return missing
  }
  const view = viewOf(site, version, item)
  if (kind === 'comment') return { status: 200, body: { comment_view: view }, ids: [id] }
  const community = communityView(site, version, item.community)
  const body = { post_view: view, community_view: community, moderators: [], cross_posts: [] }
  return { status: 200, body, ids: isShown(mark) ? [id] : [] }
}

const communityView = (site: Instance, version: Version, community: Community): Fields => ({
  community: communityWire(site, version, community),
  ...(version !== 4
    ? {
        subscribed: 'NotSubscribed',
        blocked: false,
        counts: { community_id: community.id, subscribers: 9, posts: 50, comments: 99 },
      }
    : { can_mod: false }),
})

const siteOf = (site: Instance, version: Version): Fields => ({
  site_view: {
    site: {
      id: 1,
      name: 'Fjord',
      ...dated(site, version, -9e6),
      ...addressed(version, `${site.base}/`),
    },
    local_site: {
      id: 1,
      site_id: 1,
      site_setup: true,
      private_instance: false,
      federation_enabled: true,
    },
    local_site_rate_limit:
      version === 3
        ? {
            local_site_id: 1,
            message: site.limit,
            message_per_second: LIMIT_S,
            search: 60,
            search_per_second: 600,
          }
        : {
            local_site_id: 1,
            message_max_requests: site.limit,
            message_interval_seconds: LIMIT_S,
          },
    ...(version === 3 ? { counts: { site_id: 1, users: 40, posts: 900, comments: 9000 } } : {}),
  },
  admins: [],
  ...(site.isMember === true && { my_user: { local_user_view: { person: { name: 'reader' } } } }),
  version: site.version === 3 ? '0.19.20' : '1.0.0',
  all_languages: [{ id: 0, code: 'und', name: 'Undetermined' }],
  discussion_languages: [],
  taglines: [],
})

const PIEFED_SITE = (site: Instance): Fields => ({
  admins: [],
  site: { actor_id: `${site.base}/`, name: 'Fjord', registration_mode: 'Open', user_count: 40 },
  version: '1.6.18',
})

/** Removals and restorations by moderators; authors' own are in no log. A ban of 0.19 logs itself only. */
const modlogOf = (site: Instance, version: Version, isBulk: boolean): Fields => {
  const rows = [...site.posts, ...site.comments].flatMap((item) =>
    item.states.flatMap((state, index) => {
      const before = item.states[index - 1]?.mark
      const removed = state.mark === 'removed'
      if (state.fromMs > site.nowMs || !(removed || before === 'removed')) return []
      const isBan = item.author.startsWith('spam') && site.plan !== undefined
      if (isBan && (version !== 4 || !isBulk)) return []
      return [{ item, removed, atMs: state.fromMs }]
    }),
  )
  const newest = rows.toSorted((a, b) => b.atMs - a.atMs).slice(0, MOST_ROWS)
  if (version === 4) {
    const items = newest.map(({ item, removed, atMs }, index) => ({
      modlog: {
        id: index + 1,
        kind: `mod_remove_${item.kind}`,
        is_revert: !removed,
        published_at: iso(site, atMs),
        [`target_${item.kind}_id`]: item.id,
      },
    }))
    return { items, next_page: null, prev_page: null }
  }
  const of = (kind: string) =>
    newest.flatMap(({ item, removed, atMs }, index) =>
      item.kind === kind
        ? [
            {
              [`mod_remove_${kind}`]: {
                id: index + 1,
                mod_person_id: 2,
                [`${kind}_id`]: item.id,
                removed,
                when_: iso(site, atMs),
              },
            },
          ]
        : [],
    )
  const bans = (site.plan === undefined ? [] : bansOf(site.plan)).flatMap(({ name, fromMs }, n) =>
    [true, false].map((banned, step) => ({ name, banned, n, atMs: fromMs + step * 30_000 })),
  )
  const banned = bans
    .filter(({ atMs }) => atMs <= site.nowMs)
    .toReversed()
    .map(({ name, banned: isBanned, n, atMs }) => ({
      mod_ban: {
        id: 2 * n + (isBanned ? 1 : 2),
        mod_person_id: 2,
        other_person_id: creatorId(name),
        banned: isBanned,
        when_: iso(site, atMs),
      },
    }))
  return {
    removed_posts: of('post'),
    removed_comments: of('comment'),
    locked_posts: [],
    banned: version === 'piefed' ? [] : banned,
  }
}

/** The answers without the database; 0.19 keeps its site in memory, and all name absences. */
export const answerWithoutDatabase = (version: Version, url: URL): LemmyAnswer | null => {
  const [route = ''] = /[^/]+(?:\/list)?$/.exec(url.pathname) ?? []
  if (version === 'piefed')
    return route === 'community'
      ? exception('error - unknown community. Please wait a sec and try again.')
      : exception(
          '(psycopg2.OperationalError) connection to server at "127.0.0.1", port 5432 failed: Connection refused',
        )
  if (version === 3 && route === 'site') return null
  if (version === 3 && route === 'comment') return error(400, 'couldnt_find_comment')
  const message = 'Error occurred while creating a new object: error connecting to server'
  return { status: 400, body: { error: 'unknown', message }, ids: [] }
}

/** The answer of a search for posts by their title. */
const searchOf = (site: Instance, version: Version, url: URL): LemmyAnswer => {
  const words = (url.searchParams.get('q') ?? url.searchParams.get('search_term') ?? '').trim()
  const found = site.posts
    .filter(
      (post) =>
        isShown(markAt(post, site.nowMs)?.mark) &&
        !['unlisted', 'private', 'banned'].includes(post.community.sort) &&
        post.title.includes(words),
    )
    .toSorted(byTime)
    .slice(0, MOST_ROWS)
  const posts = found.map((post) => viewOf(site, version, post))
  return {
    status: 200,
    body: { comments: [], posts, communities: [], [version === 4 ? 'persons' : 'users']: [] },
    ids: found.map((post) => post.id),
  }
}

/** The answer for a reader, without limits and faults. */
export const answerLemmy = (site: Instance, url: URL): LemmyAnswer => {
  const [, found, route = ''] = /^\/api\/(v3|v4|alpha)\/(.+)$/.exec(url.pathname) ?? []
  const version: Version = found === 'alpha' ? 'piefed' : found === 'v4' ? 4 : 3
  const isKnown =
    site.version === 'piefed'
      ? version === 'piefed'
      : version !== 'piefed' && version <= site.version
  if (found === undefined || !isKnown) return { status: 404, body: null, ids: [] }
  const name = url.searchParams.get('name')
  const fold = version === 'piefed' ? (name ?? '').toLowerCase() : (name ?? '')
  const community = COMMUNITIES.find(
    (one) =>
      (version === 'piefed' || one.sort !== 'private' || site.isMember === true) &&
      (isNamed(site, 3, one, fold) || String(one.id) === url.searchParams.get('id')),
  )
  switch (route) {
    case 'site':
      return {
        status: 200,
        body: version === 'piefed' ? PIEFED_SITE(site) : siteOf(site, version),
        ids: [],
      }
    case 'account/validate_auth':
      return site.isMember === true
        ? { status: 200, body: { success: true }, ids: [] }
        : error(400, 'not_logged_in')
    case 'post/list':
      return listOf(site, version, 'post', url)
    case 'comment/list':
      return listOf(site, version, 'comment', url)
    case 'post':
      return oneOf(site, version, 'post', url)
    case 'comment':
      return oneOf(site, version, 'comment', url)
    case 'search':
      return searchOf(site, version, url)
    case 'modlog': {
      const isBulk = url.searchParams.get('show_bulk') === 'true'
      return { status: 200, body: modlogOf(site, version, isBulk), ids: [] }
    }
    case 'community':
      if (community === undefined || !isReadable(site, community))
        return version === 'piefed'
          ? exception('error - unknown community. Please wait a sec and try again.')
          : error(404, version === 4 ? 'not_found' : 'couldnt_find_community')
      return {
        status: 200,
        body: {
          community_view: communityView(site, version, community),
          moderators: [],
          discussion_languages: [],
        },
        ids: [],
      }
    default:
      return error(404, 'not_found')
  }
}
