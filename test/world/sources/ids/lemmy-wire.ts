/**
 * The answers of a simulated instance of Lemmy at an instant: 0.19 with `/api/v3`, 1.0 with
 * `/api/v4` and the part of v3 that it keeps. After the recorded answers of both.
 */
import { COMMUNITIES, markAt, nameOf } from './lemmy-plan.ts'
import type { Community, LemmyItem } from './lemmy-plan.ts'

export type Version = 3 | 4

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
}

type Fields = Record<string, unknown>

const MOST_ROWS = 50
const LIMIT_S = 60

const iso = (site: Instance, atMs: number): string =>
  new Date(site.startMs + atMs).toISOString().replace(/Z$/, '000Z')

const dated = (site: Instance, version: Version, atMs: number): Fields => ({
  [version === 3 ? 'published' : 'published_at']: iso(site, atMs),
})

const addressed = (version: Version, address: string): Fields => ({
  [version === 3 ? 'actor_id' : 'ap_id']: address,
})

const originOf = (site: Instance, host: string | null) =>
  host === null ? site.base : `https://${host}`

const communityWire = (site: Instance, version: Version, community: Community): Fields => ({
  id: community.id,
  name: community.name,
  title: community.name,
  removed: false,
  ...dated(site, version, -9_000_000),
  deleted: false,
  nsfw: community.sort === 'nsfw',
  ...addressed(version, `${originOf(site, community.host)}/c/${community.name}`),
  local: community.host === null,
  posting_restricted_to_mods: false,
  instance_id: community.host === null ? 1 : 7,
  ...(version === 3
    ? { hidden: community.sort === 'unlisted', visibility: 'Public' }
    : {
        visibility: community.sort === 'unlisted' ? 'unlisted' : 'public',
        subscribers: 9,
        posts: 50,
      }),
})

const creatorWire = (site: Instance, version: Version, item: LemmyItem): Fields => ({
  id: 900 + item.author.length * 31 + Number(item.author.split('_')[1] ?? 0),
  name: item.author,
  ...(version === 3 ? { banned: false } : {}),
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
  return { [version === 3 ? 'updated' : 'updated_at']: iso(site, state.fromMs) }
}

const postWire = (site: Instance, version: Version, post: LemmyItem): Fields => {
  const flags = flagsOf(post, site.nowMs)
  return {
    id: post.id,
    name: post.title,
    body:
      flags.removed || flags.deleted
        ? ''
        : (markAt(post, site.nowMs)?.text ?? post.states[0]?.text),
    creator_id: 900,
    community_id: post.community.id,
    ...flags,
    locked: false,
    ...dated(site, version, post.publishedMs),
    ...changedAt(site, version, post),
    nsfw: post.community.sort === 'nsfw',
    ap_id: `${originOf(site, post.host)}/post/${post.id}`,
    local: post.host === null,
    language_id: 0,
    featured_community: false,
    featured_local: isFeatured(site, post),
    ...(version === 4 ? { ...counters(post), comments: 0, federation_pending: false } : {}),
  }
}

const commentWire = (site: Instance, version: Version, comment: LemmyItem): Fields => {
  const flags = flagsOf(comment, site.nowMs)
  return {
    id: comment.id,
    creator_id: 900,
    post_id: comment.post?.id,
    content: flags.removed || flags.deleted ? '' : markAt(comment, site.nowMs)?.text,
    ...flags,
    ...dated(site, version, comment.publishedMs),
    ...changedAt(site, version, comment),
    ap_id: `${originOf(site, comment.host)}/comment/${comment.id}`,
    local: comment.host === null,
    path: comment.path,
    distinguished: false,
    language_id: 0,
    ...(version === 4 ? { ...counters(comment), child_count: 0, federation_pending: false } : {}),
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
    ...(version === 3
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

const isWanted = (item: LemmyItem, site: Instance, url: URL): boolean => {
  const { community } = item
  const query = url.searchParams
  const id = query.get('community_id')
  const name = query.get('community_name')
  if (id !== null || name !== null) {
    if (id !== null && id !== String(community.id)) return false
    const own = `${community.name}@${new URL(site.base).host}`
    if (name !== null && name !== nameOf(community) && name !== own) return false
  } else if (community.sort === 'unlisted') return false
  if (query.get('type_')?.toLowerCase() === 'local' && community.host !== null) return false
  const post = query.get('post_id')
  if (post !== null && String(item.post?.id) !== post) return false
  return community.sort !== 'nsfw' || query.get('show_nsfw') === 'true'
}

const byTime = (a: LemmyItem, b: LemmyItem) => b.publishedMs - a.publishedMs || b.id - a.id

const encodeCursor = (version: Version, item: LemmyItem): string =>
  version === 3 ? `P${item.id.toString(16)}` : Buffer.from(`k=${item.id};`).toString('base64url')

const decodeCursor = (version: Version, cursor: string): number =>
  version === 3
    ? Number.parseInt(cursor.slice(1), 16)
    : Number(/^k=(\d+);$/.exec(Buffer.from(cursor, 'base64url').toString())?.[1])

const listOf = (
  site: Instance,
  version: Version,
  kind: 'post' | 'comment',
  url: URL,
): LemmyAnswer => {
  const limit = Number(url.searchParams.get('limit') ?? 10)
  if (!(limit >= 1 && limit <= MOST_ROWS)) return error(400, 'invalid_fetch_limit')
  const all = kind === 'post' ? site.posts : site.comments
  const cursor = url.searchParams.get('page_cursor')
  const page = Number(url.searchParams.get('page') ?? 1)
  // What 1.0 keeps of v3 does not page comments at all.
  const wrapped = version === 3 && site.version === 4
  let rows = all.filter((item) => isThere(item, site.nowMs) && isWanted(item, site, url))
  if (kind === 'post') rows = rows.filter((item) => markAt(item, site.nowMs)?.mark === 'shown')
  rows = rows.toSorted(byTime)
  if (kind === 'post' && version === 3) {
    rows = [
      ...rows.filter((one) => isFeatured(site, one)),
      ...rows.filter((one) => !isFeatured(site, one)),
    ]
  }
  const takesCursor = cursor !== null && !wrapped && (version === 4 || kind === 'post')
  if (takesCursor) {
    const id = decodeCursor(version, cursor)
    const last = all.find((item) => item.id === id)
    if (last === undefined || markAt(last, site.nowMs)?.mark === 'purged') {
      return error(400, 'couldnt_parse_pagination_token')
    }
    const featured = version === 3 && isFeatured(site, last)
    rows = rows.filter((row) =>
      featured ? row !== last : byTime(last, row) < 0 && !(version === 3 && isFeatured(site, row)),
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
  const missing = error(
    version === 4 ? 404 : id % 2 === 0 ? 404 : 400,
    version === 4 ? 'not_found' : `couldnt_find_${kind}`,
  )
  const item = (kind === 'post' ? site.posts : site.comments).find((one) => one.id === id)
  if (item === undefined || !isThere(item, site.nowMs)) return missing
  const mark = markAt(item, site.nowMs)?.mark
  if (kind === 'post' && mark !== 'shown') {
    const below = site.comments.some((one) => one.post === item && isThere(one, site.nowMs))
    if (!below) return missing
  }
  const view = viewOf(site, version, item)
  if (kind === 'comment') return { status: 200, body: { comment_view: view }, ids: [id] }
  const community = communityView(site, version, item.community)
  const body = { post_view: view, community_view: community, moderators: [], cross_posts: [] }
  return { status: 200, body, ids: mark === 'shown' ? [id] : [] }
}

const communityView = (site: Instance, version: Version, community: Community): Fields => ({
  community: communityWire(site, version, community),
  ...(version === 3
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
  version: site.version === 3 ? '0.19.9' : '1.0.0',
  all_languages: [{ id: 0, code: 'und', name: 'Undetermined' }],
  discussion_languages: [],
  taglines: [],
})

/** Removals and restorations by moderators; authors' own are in no log. */
const modlogOf = (site: Instance, version: Version): Fields => {
  const rows = [...site.posts, ...site.comments].flatMap((item) =>
    item.states.flatMap((state, index) => {
      const before = item.states[index - 1]?.mark
      const removed = state.mark === 'removed'
      if (state.fromMs > site.nowMs || !(removed || before === 'removed')) return []
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
  return {
    removed_posts: of('post'),
    removed_comments: of('comment'),
    locked_posts: [],
    banned: [],
  }
}

/** The answer for an anonymous reader, without limits and faults. */
export const answerLemmy = (site: Instance, url: URL): LemmyAnswer => {
  const [, found, route = ''] = /^\/api\/v([34])\/(.+)$/.exec(url.pathname) ?? []
  const version: Version = found === '4' ? 4 : 3
  if (found === undefined || version > site.version) return { status: 404, body: null, ids: [] }
  const name = url.searchParams.get('name')
  const own = `@${new URL(site.base).host}`
  const community = COMMUNITIES.find(
    (one) =>
      one.sort !== 'private' &&
      (nameOf(one) === name ||
        `${nameOf(one)}${own}` === name ||
        String(one.id) === url.searchParams.get('id')),
  )
  switch (route) {
    case 'site':
      return { status: 200, body: siteOf(site, version), ids: [] }
    case 'post/list':
      return listOf(site, version, 'post', url)
    case 'comment/list':
      return listOf(site, version, 'comment', url)
    case 'post':
      return oneOf(site, version, 'post', url)
    case 'comment':
      return oneOf(site, version, 'comment', url)
    case 'modlog':
      return { status: 200, body: modlogOf(site, version), ids: [] }
    case 'community':
      if (community === undefined)
        return error(404, version === 4 ? 'not_found' : 'couldnt_find_community')
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
