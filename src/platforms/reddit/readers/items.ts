import { isObject } from '../../../core/base/object.ts'
import { ok, type Outcome } from '../../../core/base/result.ts'
import type {
  AuthorInfo,
  Comment,
  ItemLiveness,
  Node,
  Post,
  Visibility,
  VisibilityReason,
} from '../../../core/forum/items.ts'
import type { Tree } from '../../port.ts'
import { numberAt, textAt } from '../../values.ts'
import {
  flagAt,
  isoOfSeconds,
  lacking,
  type NativeRow,
  rowAt,
  secondsAt,
  soundRows,
  unreadable,
  wholeAt,
  wordAt,
} from './fields.ts'
import { crosspostParentOf, mediaKindOf, targetOf, thumbnailOf } from './media.ts'

export const POST_NEEDS = {
  id: 'string',
  title: 'string',
  permalink: 'string',
  created_utc: 'seconds',
} as const

export const COMMENT_NEEDS = {
  id: 'string',
  body: 'string',
  subreddit: 'string',
  created_utc: 'seconds',
} as const

/** `base` is the platform's address without a trailing slash. */
export function toPost(base: string, row: NativeRow): Post {
  const id = textAt(row, 'id') ?? ''
  const permalink = pathOf(base, textAt(row, 'permalink') ?? '')
  const created_utc = secondsAt(row, 'created_utc') ?? 0
  const target = targetOf(row)
  return {
    id,
    name: `t3_${id}`,
    title: textAt(row, 'title') ?? '',
    author: authorOf(row),
    subforum: textAt(row, 'subreddit') ?? placeIn(permalink),
    permalink,
    url: base + permalink,
    upvotes: scoreOf(row),
    comments: wholeAt(row, 'num_comments') ?? 0,
    created: isoOfSeconds(created_utc),
    created_utc,
    text: textAt(row, 'selftext') ?? '',
    link_url: row['is_self'] === true || target === null ? null : absolute(base, target),
    upvote_ratio: numberAt(row, 'upvote_ratio'),
    over_18: row['over_18'] === true,
    spoiler: row['spoiler'] === true,
    contest_mode: row['contest_mode'] === true,
    locked: row['locked'] === true,
    stickied: row['stickied'] === true,
    is_self: row['is_self'] === true,
    is_video: row['is_video'] === true,
    is_crosspost: crosspostParentOf(row) !== null || textAt(row, 'crosspost_parent') !== null,
    crosspost_origin: originOf(base, row),
    flair: wordAt(row, 'link_flair_text'),
    domain: wordAt(row, 'domain'),
    media_kind: mediaKindOf(row),
    thumbnail_url: thumbnailOf(row),
    edited: editedOf(row),
    author_info: authorInfoOf(row),
    ...hiddenScore(row),
  }
}

/** `base` is the platform's address without a trailing slash. */
export function toComment(base: string, row: NativeRow): Comment {
  const id = textAt(row, 'id') ?? ''
  const permalink = commentPath(base, row, id)
  const created_utc = secondsAt(row, 'created_utc') ?? 0
  const link_url = wordAt(row, 'link_url')
  return {
    id,
    name: `t1_${id}`,
    author: authorOf(row),
    body: textAt(row, 'body') ?? '',
    subforum: textAt(row, 'subreddit') ?? '',
    upvotes: scoreOf(row),
    permalink,
    url: base + permalink,
    post_id: postIdOf(row),
    link_title: textAt(row, 'link_title'),
    link_url: link_url === null ? null : absolute(base, link_url),
    created: isoOfSeconds(created_utc),
    created_utc,
    parent_id: wordAt(row, 'parent_id'),
    is_submitter: row['is_submitter'] === true,
    depth: wholeAt(row, 'depth'),
    edited: editedOf(row),
    over_18: flagAt(row, 'over_18'),
    author_info: authorInfoOf(row),
    ...hiddenScore(row),
  }
}

/** A native node has a kind and an object under `data`; it is passed on as the same object. */
export const isNode = (value: unknown): value is Node =>
  isObject(value) && typeof value['kind'] === 'string' && isObject(value['data'])

const MASKED = '[deleted]'

const authorOf = (row: NativeRow): string => wordAt(row, 'author') ?? MASKED

// Comments before 2014 have only the votes that make up their score.
const scoreOf = (row: NativeRow): number =>
  wholeAt(row, 'score') ?? (wholeAt(row, 'ups') ?? 0) - (wholeAt(row, 'downs') ?? 0)

/** The platform hides a young item's score: the number in its place is invented. */
const hiddenScore = (row: NativeRow): { score_hidden?: true } =>
  row['score_hidden'] === true || row['hide_score'] === true ? { score_hidden: true } : {}

/** ISO time of the last edit; old edits are `true`, without a time. */
function editedOf(row: NativeRow): string | boolean {
  const seconds = secondsAt(row, 'edited')
  return seconds === null || seconds === 0 ? row['edited'] === true : isoOfSeconds(seconds)
}

const authorInfoOf = (row: NativeRow): AuthorInfo => ({
  fullname: wordAt(row, 'author_fullname'),
  flair: wordAt(row, 'author_flair_text'),
  premium: flagAt(row, 'author_premium'),
})

function originOf(base: string, row: NativeRow): Post['crosspost_origin'] {
  const parent = crosspostParentOf(row)
  const id = parent && textAt(parent, 'id')
  const subforum = parent && textAt(parent, 'subreddit')
  const permalink = parent && textAt(parent, 'permalink')
  return id && subforum && permalink ? { id, subforum, permalink: pathOf(base, permalink) } : null
}

const postIdOf = (row: NativeRow): string => {
  const parent = textAt(row, 'parent_id')
  const link = textAt(row, 'link_id') ?? (parent?.startsWith('t3_') ? parent : '')
  return link.replace(/^t3_/, '')
}

/** Comments before 2017 have no permalink; that of their post may be in the row. */
function commentPath(base: string, row: NativeRow, id: string): string {
  const own = wordAt(row, 'permalink')
  if (own !== null) return pathOf(base, own)
  const post = wordAt(row, 'link_permalink')
  if (post !== null) return `${pathOf(base, post).replace(/\/?$/, '/')}${id}/`
  return `/r/${textAt(row, 'subreddit') ?? ''}/comments/${postIdOf(row)}/_/${id}/`
}

/** A path on the platform, also from an absolute address. */
function pathOf(base: string, link: string): string {
  if (link.startsWith('/')) return link
  if (link.startsWith(`${base}/`)) return link.slice(base.length)
  return link.replace(/^https?:\/\/[^/]+/i, '')
}

// An advertisement has no subforum, and its permalink shows none.
const placeIn = (permalink: string): string => /^\/r\/([^/]+)\//.exec(permalink)?.[1] ?? ''

const absolute = (base: string, link: string): string => (link.startsWith('/') ? base + link : link)

/** The data of a native object of this kind; null for any other. */
export const dataOf = (value: unknown, kind: string): NativeRow | null =>
  isObject(value) && value['kind'] === kind ? rowAt(value, 'data') : null

/** A post and the nodes below it: two listings in one array, the second of which may be empty. */
export function readNativeTree(base: string, value: unknown): Outcome<Tree> {
  if (!Array.isArray(value)) return unreadable('')
  const posts = childrenOf(value[0])
  if (!posts) return unreadable('[0].data.children')
  const post = dataOf(posts[0], 't3')
  if (!post) return unreadable('[0].data.children[0]')
  const missing = lacking(post, POST_NEEDS)
  if (missing !== null) return unreadable(`[0].data.children[0].data.${missing}`)

  const nodes = childrenOf(value[1])
  if (!nodes) return unreadable('[1].data.children')
  const comments = nodesOf(nodes, '[1].data.children')
  return comments.ok ? ok({ post: toPost(base, post), comments: comments.value }) : comments
}

/** The nodes behind a `more`, flat. An answer without `things` has none left. */
export function readMore(value: unknown): Outcome<Node[]> {
  const json = isObject(value) ? rowAt(value, 'json') : null
  if (!json) return unreadable('json')
  const data = rowAt(json, 'data')
  if (!data) return ok([])
  const things = data['things']
  return Array.isArray(things)
    ? nodesOf(things, 'json.data.things')
    : unreadable('json.data.things')
}

/**
 * Native nodes as the same objects. A row that is rendered as HTML, without its text, is no node.
 */
export function nodesOf(values: readonly unknown[], path: string): Outcome<Node[]> {
  return soundRows(values, path, (value) => {
    if (!isNode(value) || (value.kind !== 't1' && value.kind !== 'more')) return 'kind'
    return value.kind === 'more' || typeof value.data['body'] === 'string' ? { value } : 'data.body'
  })
}

/** The children of a native listing; null for any other value. */
export function childrenOf(value: unknown): readonly unknown[] | null {
  const children = dataOf(value, 'Listing')?.['children']
  return Array.isArray(children) ? children : null
}

const MASKED_AUTHOR = '[deleted]'
const REMOVED: ReadonlySet<string> = new Set(['[removed]', '[ Removed by Reddit ]'])

/**
 * Liveness of a comment, from its row as an anonymous visitor receives it. Removal masks the author
 * and the text together: an author may have written "[removed]", and the text of a deleted account
 * stays.
 */
export function livenessOf(row: NativeRow): ItemLiveness {
  const author = textAt(row, 'author') ?? MASKED_AUTHOR
  const body = textAt(row, 'body') ?? ''
  if (author !== MASKED_AUTHOR) return 'live'
  if (REMOVED.has(body)) return 'removed'
  return body === '[deleted]' ? 'deleted' : 'live'
}

const DELETED: ReadonlySet<string> = new Set(['deleted', 'author'])

const REMOVED_TEXT: ReadonlySet<string> = new Set(['[removed]', '[ Removed by Reddit ]'])

const hidden = (reason: VisibilityReason, confident = true): Visibility => ({
  verdict: 'not_visible',
  reason,
  confident,
})

/**
 * Visibility of a post to others, from its row as received; null: not received. A moderator
 * receives a removed post with its text, so a moderator's row without a sign of removal is no evidence. A post that was not
 * received may be in an inaccessible subforum, so that is not certain.
 */
export function visibilityOf(row: NativeRow | null): Visibility {
  if (!row) return hidden('absent', false)
  const category = wordAt(row, 'removed_by_category')
  if (category !== null) return hidden(DELETED.has(category) ? 'deleted' : 'removed')
  if (row['can_mod_post'] === true)
    return { verdict: 'undecidable', reason: 'seen_by_moderator', confident: false }

  const masked = textAt(row, 'author') === MASKED_AUTHOR
  const text = textAt(row, 'selftext') ?? ''
  if (REMOVED_TEXT.has(text)) {
    if (masked) return hidden('removed')
    // The platform states that it was not removed, so the author wrote these words.
    return 'removed_by_category' in row ? live(true) : hidden('removed', false)
  }
  if (masked && text === '[deleted]') return hidden('deleted')
  // Filtered posts look live. The exclusion of robots is the only sign, and it can have other
  // reasons.
  return live(row['is_robot_indexable'] !== false)
}

const live = (confident: boolean): Visibility => ({ verdict: 'live', reason: null, confident })
