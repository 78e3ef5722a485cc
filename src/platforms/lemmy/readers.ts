import { isObject } from '../../core/base/object.ts'
import { peerUrl } from '../../core/base/url.ts'
import type {
  Comment,
  Community,
  Item,
  ItemLiveness,
  Moderator,
  Post,
  User,
} from '../../core/forum/items.ts'
import { DELETED_AUTHOR, makeComment, makePost } from '../items.ts'
import { type PublicState, publicState, type PublicView, type Standing } from '../public.ts'
import { fieldsOf, idAt, isId, isoOf, numberAt, rowsOf, textAt } from '../values.ts'

type Row = Record<string, unknown>

/** The API of a server: its base path, its words, its pages. */
export type Dialect = {
  generation: 'v3' | 'v4' | 'piefed'
  base: string
  /** The server has a partial copy of the API of 0.19: comments without pages and ids. */
  is_wrapper: boolean
  /** Form of a value of an enumeration, which is given as `TopDay`. */
  word(name: string): string
  /** Lists whose next page is named by the answer; the others are numbered. */
  cursors: ReadonlySet<string>
  cursor: string
  list: Readonly<Record<string, string | number | boolean>>
  /** Pages of comments that one tree may take: an API without pages answers all of them at once. */
  tree_pages: number
  /** Rows of one answer of a tree, at most; more are left out. */
  tree_rows: number
  /** Paths and parameters that differ. */
  person: string
  query: string
  login: { path: string; name: string }
}

const V3: Dialect = {
  generation: 'v3',
  base: '/api/v3',
  is_wrapper: false,
  word: (name) => name,
  cursors: new Set(['/post/list']),
  cursor: 'page_cursor',
  list: { show_nsfw: true },
  tree_pages: 1,
  tree_rows: 300,
  person: '/user',
  query: 'q',
  login: { path: '/user/login', name: 'username_or_email' },
}

const V4: Dialect = {
  ...V3,
  generation: 'v4',
  // Absent, it is the default of the site, also for trees.
  list: { show_nsfw: true, time_range_seconds: 0 },
  tree_pages: 20,
  tree_rows: Infinity,
  base: '/api/v4',
  word: (name) => name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase(),
  cursors: new Set([
    '/post/list',
    '/comment/list',
    '/community/list',
    '/search',
    '/person/content',
    '/modlog',
  ]),
  person: '/person',
  query: 'search_term',
  login: { path: '/account/auth/login', name: 'username_or_email' },
}

/**
 * PieFed's API, modelled after version 3. Its description names the parameters.
 * @see https://piefed.social/api/alpha/swagger
 */
const PIEFED: Dialect = {
  ...V3,
  generation: 'piefed',
  base: '/api/alpha',
  cursors: new Set(['/post/list', '/comment/list', '/community/list']),
  cursor: 'page',
  list: { show_nsfw: true, nsfw: 'Include', include_content: true },
  tree_pages: 20,
  tree_rows: Infinity,
  login: { path: '/user/login', name: 'username' },
}

/** The APIs that a server of each kind may have, in the order of the search for them. */
export const DIALECTS = { lemmy: [V4, V3], piefed: [PIEFED] } as const

/** First text among fields: the generations name the same value differently. */
const firstText = (row: Row, ...fields: string[]): string | null => {
  for (const field of fields) {
    const value = textAt(row, field)
    if (value !== null) return value
  }
  return null
}

/** Epoch ms of an API's time; texts of old servers lack the zone, which is UTC. NaN: none. */
function timeOf(text: string | null): number {
  if (text === null) return Number.NaN
  return Date.parse(/(?:z|[+-]\d\d:?\d\d)$/i.test(text) ? text : `${text}Z`)
}

/** Epoch ms of the creation; NaN if the row states none. */
export const createdOf = (row: Row): number => timeOf(firstText(row, 'published_at', 'published'))
const editedOf = (row: Row): string | null => firstText(row, 'updated_at', 'updated', 'edited_at')

/** Name on this server: with `@` and the host where it is of another one. */
function localName(row: Row, name: string): string {
  if (row['local'] !== false) return name
  const host = peerUrl(firstText(row, 'ap_id', 'actor_id') ?? '')?.host
  return host === undefined ? name : `${name}@${host}`
}

const personName = (row: Row): string => {
  const name = firstText(row, 'name', 'user_name')
  return name === null || row['deleted'] === true ? DELETED_AUTHOR : localName(row, name)
}

const authorInfo = (creator: Row) => ({
  fullname: numberAt(creator, 'id') === null ? null : `t2_${String(creator['id'])}`,
  flair: null,
  premium: null,
})

const VIEWS = {
  post: { object: 'post', lists: ['posts'] },
  comment: { object: 'comment', lists: ['comments'] },
  community: { object: 'community', lists: ['communities'] },
  person: { object: 'person', lists: ['users', 'persons', 'people'] },
} as const
type ObjectKind = keyof typeof VIEWS
/** `item`: posts and comments. */
export type ViewKind = ObjectKind | 'item'

/** Rows of a kind in an answer; null if it has no list of them. */
export function viewsOf(value: unknown, kind: ViewKind): Row[] | null {
  if (kind === 'item') {
    const [posts, comments] = [viewsOf(value, 'post'), viewsOf(value, 'comment')]
    return posts === null && comments === null ? null : [...(posts ?? []), ...(comments ?? [])]
  }
  const body = fieldsOf(value)
  const { object, lists } = VIEWS[kind]
  for (const list of lists) if (Array.isArray(body[list])) return rowsOf(body[list])
  for (const list of ['items', 'results', 'search']) {
    if (!Array.isArray(body[list])) continue
    return rowsOf(body[list]).filter((row) => isObject(row[object]) && kindOf(row) === kind)
  }
  return null
}

/** Kind of a row of a mixed list: a comment also has its post, and both their community. */
function kindOf(row: Row): ObjectKind | null {
  const order: ObjectKind[] = ['comment', 'post', 'community', 'person']
  return order.find((kind) => isObject(row[VIEWS[kind].object])) ?? null
}

/** How an API shows a view: by a list or by an id, to an account or to all. */
export type Shown = {
  from: PublicView['from']
  generation: Dialect['generation']
  is_account: boolean
  shows_nsfw?: boolean
}

const isOn = (row: Row, ...fields: string[]): boolean => fields.some((it) => row[it] === true)

const standingOf = (row: Row): Standing => ({
  is_removed: isOn(row, 'removed'),
  is_deleted: isOn(row, 'deleted'),
  is_pending: isOn(row, 'federation_pending'),
  scheduled_at:
    timeOf(firstText(row, 'scheduled_publish_time_at', 'scheduled_publish_time')) || null,
})

/** State of the post or comment of a view, and until when it is not shown. */
export function shownState(view: Row, { from, generation, is_account, shows_nsfw = false }: Shown) {
  const kind = kindOf(view) === 'comment' ? 'comment' : 'post'
  const post = fieldsOf(view['post'])
  const community = fieldsOf(view['community'])
  const visibility = textAt(community, 'visibility')?.toLowerCase() ?? 'public'
  // Lists of comments leave out those of unlisted and NSFW communities, and of NSFW posts.
  const is_nsfw = isOn(post, 'nsfw') || isOn(community, 'nsfw')
  const is_left_out =
    generation === 'v4' &&
    kind === 'comment' &&
    (visibility === 'unlisted' || (is_nsfw && !shows_nsfw))
  return publicState({
    item: standingOf(fieldsOf(view[kind])),
    ...(kind === 'comment' && { thread: standingOf(post) }),
    place: {
      ...standingOf(community),
      is_banned: isOn(community, 'banned'),
      is_restricted: !is_account && /private|^local_?only/.test(visibility),
      // PieFed leaves a hidden one out of the list of everything only.
      is_unlisted: is_left_out || (generation === 'v3' && isOn(community, 'hidden')),
    },
    from,
    // Drafts of PieFed, and posts in review, have the same view as all others.
    tells: generation !== 'piefed' || kind === 'comment',
  })
}

const isOut = ({ is_removed, is_deleted }: Standing): boolean =>
  is_removed === true || is_deleted === true

/**
 * The thread or the place with which the item of a view is hidden, as `t3_12` or `t5_3`: all items of it are shown again at once.
 * The author of one that was removed, as `t2_7`: the end of a ban restores all of them. Null: none of these.
 * `closes_hidden`: false for PieFed, whose hidden communities show their own list.
 */
export function hiddenWith(view: Row, closes_hidden: boolean): string | null {
  const is_comment = kindOf(view) === 'comment'
  const post = fieldsOf(view['post'])
  const object = is_comment ? fieldsOf(view['comment']) : post
  const own = standingOf(object)
  if (object['removed'] === true) return `t2_${idAt(fieldsOf(view['creator']), 'id')}`
  if (isOut(own) || own.is_pending === true || own.scheduled_at != null) return null
  if (is_comment && isOut(standingOf(post))) return `t3_${idAt(post, 'id')}`
  const community = fieldsOf(view['community'])
  const visibility = textAt(community, 'visibility')?.toLowerCase() ?? 'public'
  const is_closed =
    isOut(standingOf(community)) ||
    isOn(community, 'banned', ...(closes_hidden ? ['hidden'] : [])) ||
    visibility !== 'public'
  return is_closed ? `t5_${idAt(community, 'id')}` : null
}

const STATE = Symbol('state')

/** Notes the state of a view for its reader. */
export const noteState = (view: Row, state: ReturnType<typeof publicState>): void =>
  void Reflect.set(view, STATE, state)

const notedState = (view: Row): ReturnType<typeof publicState> | null =>
  Reflect.get(view, STATE) ?? null

/** The state that was noted; a view without one, as of a caller's own act, is public. */
export const stateOf = (view: Row): PublicState => notedState(view)?.state ?? 'public'

/** Epoch ms before which a view is not shown; null: not stated. */
export const hiddenUntil = (view: Row): number | null => notedState(view)?.until ?? null

/** State of a view as ports have it. */
export function livenessOf(view: Row): ItemLiveness {
  const state = stateOf(view)
  if (state === 'public') return 'live'
  return state === 'removed' || state === 'deleted' ? state : 'not_found'
}

const edited = (row: Row): string | false => {
  const at = timeOf(editedOf(row))
  return Number.isNaN(at) ? false : isoOf(at)
}

/** Kind of the linked file, by the server's word or its content type. */
function mediaKindOf(post: Row): 'image' | 'video' | null {
  const type = textAt(post, 'post_type')?.toLowerCase() ?? textAt(post, 'url_content_type') ?? ''
  return /^image(?:\/|$)/.test(type) ? 'image' : /^video(?:\/|$)/.test(type) ? 'video' : null
}

/** A post from its view; null if the row is none. */
export function toPost(view: Row, site: string): Post | null {
  const post = fieldsOf(view['post'])
  const id = idAt(post, 'id')
  const title = firstText(post, 'name', 'title')
  const created_ms = createdOf(post)
  if (id === null || title === null || Number.isNaN(created_ms)) return null
  const creator = fieldsOf(view['creator'])
  const counts = { ...fieldsOf(view['counts']), ...post }
  const up = numberAt(counts, 'upvotes') ?? 0
  const down = numberAt(counts, 'downvotes') ?? 0
  const flag = (field: string): boolean => post[field] === true
  const media_kind = mediaKindOf(post)
  return makePost({
    id: String(id),
    title,
    author: personName(creator),
    subforum: communityName(fieldsOf(view['community'])),
    url: `${site}/post/${id}`,
    text: textAt(post, 'body') ?? '',
    link_url: textAt(post, 'url'),
    flair: textAt(post, 'flair') || null,
    upvotes: numberAt(counts, 'score') ?? up - down,
    upvote_ratio: up + down === 0 ? null : Math.round((up / (up + down)) * 100) / 100,
    comments: numberAt(counts, 'comments') ?? 0,
    over_18: flag('nsfw') || isOn(fieldsOf(view['community']), 'nsfw'),
    locked: flag('locked'),
    stickied: ['featured_community', 'featured_local', 'sticky', 'instance_sticky'].some(flag),
    thumbnail_url: textAt(post, 'thumbnail_url'),
    media_kind,
    is_video: media_kind === 'video',
    edited: edited(post),
    author_info: authorInfo(creator),
    created_ms,
  })
}

export const communityName = (row: Row): string => localName(row, textAt(row, 'name') ?? '')

/** Comments above a comment; deeper ones have no place in a tree. */
const PATH_MAX = 500

/** A comment from its view; null if the row is none. */
export function toComment(view: Row, site: string): Comment | null {
  const comment = fieldsOf(view['comment'])
  const id = idAt(comment, 'id')
  const created_ms = createdOf(comment)
  const post = fieldsOf(view['post'])
  const post_id = idAt(comment, 'post_id') ?? idAt(post, 'id')
  if (id === null || post_id === null || Number.isNaN(created_ms)) return null
  const creator = fieldsOf(view['creator'])
  const counts = { ...fieldsOf(view['counts']), ...comment }
  // 0, the comments above it, and the comment itself.
  const path = (textAt(comment, 'path') ?? `0.${id}`).split('.', PATH_MAX)
  const parent = path.at(-2) ?? '0'
  const author_id = numberAt(creator, 'id') ?? numberAt(comment, 'creator_id')
  const post_author = numberAt(post, 'creator_id') ?? numberAt(post, 'user_id')
  return makeComment({
    id: String(id),
    author: personName(creator),
    body: firstText(comment, 'content', 'body') ?? '',
    subforum: communityName(fieldsOf(view['community'])),
    url: `${site}/comment/${id}`,
    post_id: String(post_id),
    parent_id: parent === '0' ? `t3_${post_id}` : `t1_${parent}`,
    depth: Math.max(0, path.length - 2),
    link_title: firstText(post, 'name', 'title'),
    link_url: textAt(post, 'url'),
    is_submitter: author_id !== null && author_id === post_author,
    upvotes: numberAt(counts, 'score') ?? 0,
    over_18:
      typeof post['nsfw'] === 'boolean'
        ? post['nsfw'] || isOn(fieldsOf(view['community']), 'nsfw')
        : null,
    edited: edited(comment),
    author_info: authorInfo(creator),
    created_ms,
  })
}

export function toItem(view: Row, site: string): Item | null {
  const kind = kindOf(view)
  if (stateOf(view) !== 'public') return null
  const comment = kind === 'comment' ? toComment(view, site) : null
  if (comment !== null) return { kind: 'comment', ...comment }
  const post = kind === 'post' ? toPost(view, site) : null
  return post === null ? null : { kind: 'post', ...post }
}

const times = (row: Row) => {
  const at = createdOf(row)
  return Number.isNaN(at)
    ? { created: null, created_utc: null }
    : { created: isoOf(at), created_utc: Math.floor(at / 1000) }
}

/** An account from its view; null if the row is none. The platform keeps no karma. */
export function toUser(view: Row, site: string): User | null {
  const person = fieldsOf(view['person'])
  const id = idAt(person, 'id')
  const name = firstText(person, 'name', 'user_name')
  if (id === null || name === null) return null
  const local = localName(person, name)
  return {
    id: String(id),
    name: local,
    url: `${site}/u/${local}`,
    ...times(person),
    link_karma: null,
    comment_karma: null,
    total_karma: null,
    verified: null,
    is_employee: null,
    is_mod: typeof view['is_admin'] === 'boolean' ? view['is_admin'] : null,
    is_suspended: view['banned'] === true || person['banned'] === true,
    over_18: null,
    display_name: firstText(person, 'display_name', 'title'),
    description: firstText(person, 'bio', 'about'),
    avatar_url: textAt(person, 'avatar'),
    banner_url: textAt(person, 'banner'),
  }
}

/** A community from its view; null if the row is none. */
export function toCommunity(view: Row, site: string): Community | null {
  const community = fieldsOf(view['community'])
  const id = idAt(community, 'id')
  if (id === null || textAt(community, 'name') === null) return null
  const name = communityName(community)
  const counts = { ...fieldsOf(view['counts']), ...community }
  return {
    id: String(id),
    name,
    display_name_prefixed: `!${name}`,
    title: textAt(community, 'title'),
    description: firstText(community, 'description', 'sidebar', 'summary'),
    subscribers: numberAt(counts, 'subscribers') ?? numberAt(counts, 'subscriptions_count'),
    active_users: numberAt(counts, 'users_active_month') ?? numberAt(counts, 'active_monthly'),
    ...times(community),
    type: textAt(community, 'visibility')?.toLowerCase() ?? 'public',
    over_18: community['nsfw'] === true,
    quarantined: null,
    url: `${site}/c/${name}`,
    icon_url: textAt(community, 'icon'),
    banner_url: textAt(community, 'banner'),
    language: null,
  }
}

export const toModerators = (value: unknown): Moderator[] =>
  rowsOf(fieldsOf(value)['moderators']).flatMap((row): Moderator[] => {
    const person = fieldsOf(row['moderator'])
    const id = idAt(person, 'id')
    return id === null
      ? []
      : [
          {
            id: String(id),
            name: personName(person),
            mod_permissions: [],
            flair_text: null,
            added: null,
          },
        ]
  })

/** The software's description: its limit of reads as requests a minute; null where it names none. */
export type SiteInfo = {
  title: string | null
  version: string | null
  message_per_minute: number | null
  is_private: boolean
  /** Lists show adult content to all, as those of a site with a content warning. */
  shows_nsfw: boolean
}

/** The description of a site; null if the answer is none. */
export function toSite(value: unknown): SiteInfo | null {
  const body = fieldsOf(value)
  const view = fieldsOf(body['site_view'])
  const site = fieldsOf(view['site'] ?? body['site'])
  const version = textAt(body, 'version')
  if (version === null && textAt(site, 'name') === null) return null
  const limit = fieldsOf(view['local_site_rate_limit'])
  const count = numberAt(limit, 'message_max_requests') ?? numberAt(limit, 'message')
  const span_s =
    numberAt(limit, 'message_interval_seconds') ?? numberAt(limit, 'message_per_second')
  return {
    title: textAt(site, 'name'),
    version,
    message_per_minute: count === null || !span_s ? null : (count * 60) / span_s,
    is_private: fieldsOf(view['local_site'])['private_instance'] === true,
    shows_nsfw: (textAt(site, 'content_warning') ?? '') !== '',
  }
}

/** A removal or restoration of the moderation log, or a ban; `is_restored` null: not stated. */
export type ModAction = {
  id: number
  /** Epoch ms; null: not stated. */
  at: number | null
  fullname: string
  is_restored: boolean | null
}

/** Removals and restorations in an answer of the moderation log, newest first where it states times. */
export function modActionsOf(value: unknown): ModAction[] {
  const body = fieldsOf(value)
  const actions: ModAction[] = []
  const add = (entry: Row, prefix: string, target: unknown, restored: unknown) => {
    const id = idAt(entry, 'id')
    const at = timeOf(firstText(entry, 'published_at', 'when_'))
    if (id !== null && isId(target))
      actions.push({
        id,
        at: Number.isNaN(at) ? null : at,
        fullname: `${prefix}_${target}`,
        is_restored: typeof restored === 'boolean' ? restored : null,
      })
  }
  for (const row of [...rowsOf(body['removed_posts']), ...rowsOf(body['removed_comments'])]) {
    const of_post = isObject(row['mod_remove_post'])
    const entry = fieldsOf(row[of_post ? 'mod_remove_post' : 'mod_remove_comment'])
    const removed = entry['removed']
    const target = entry[of_post ? 'post_id' : 'comment_id']
    add(entry, of_post ? 't3' : 't1', target, typeof removed === 'boolean' ? !removed : null)
  }
  // 0.19 logs a ban, and not what it removes.
  for (const name of ['mod_ban', 'mod_ban_from_community'])
    for (const row of rowsOf(body[name === 'mod_ban' ? 'banned' : 'banned_from_community'])) {
      const entry = fieldsOf(row[name])
      add(entry, 't2', entry['other_person_id'], entry['banned'] === true ? false : null)
    }
  for (const row of rowsOf(body['items'])) {
    const entry = fieldsOf(row['modlog'])
    const kind = /^mod_remove_(post|comment)$/.exec(textAt(entry, 'kind') ?? '')?.[1]
    if (kind === undefined) continue
    const target = entry[`target_${kind}_id`] ?? fieldsOf(row[`target_${kind}`])['id']
    add(entry, kind === 'post' ? 't3' : 't1', target, entry['is_revert'])
  }
  return actions.toSorted((a, b) => (b.at ?? 0) - (a.at ?? 0))
}
