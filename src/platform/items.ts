import type { AuthorInfo, Comment, Node, Post } from '../core/items.ts'
import { isObject } from '../core/object.ts'
import { crosspostParentOf, mediaKindOf, targetOf, thumbnailOf } from './media.ts'
import {
  flagAt,
  isoOfSeconds,
  numberAt,
  type Row,
  rowAt,
  secondsAt,
  textAt,
  wholeAt,
  wordAt,
} from './read.ts'

/** What a post's row must hold to be one. */
export const POST_NEEDS = {
  id: 'string',
  title: 'string',
  permalink: 'string',
  created_utc: 'seconds',
} as const

/** What a comment's row must hold to be one. */
export const COMMENT_NEEDS = {
  id: 'string',
  body: 'string',
  subreddit: 'string',
  created_utc: 'seconds',
} as const

/** A post's row in our own shape. `base` is the platform's address without a slash at its end. */
export function toPost(base: string, row: Row): Post {
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

/** A comment's row in our own shape. `base` is the platform's address without a slash at its end. */
export function toComment(base: string, row: Row): Comment {
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

const authorOf = (row: Row): string => wordAt(row, 'author') ?? MASKED

// Before 2014 a comment carried only what its score is made of.
const scoreOf = (row: Row): number =>
  wholeAt(row, 'score') ?? (wholeAt(row, 'ups') ?? 0) - (wholeAt(row, 'downs') ?? 0)

/** A young item's score is kept back: what stands in its place is made up. */
const hiddenScore = (row: Row): { score_hidden?: true } =>
  row['score_hidden'] === true || row['hide_score'] === true ? { score_hidden: true } : {}

/** ISO of the last edit; old edits are told as `true`, without their time. */
function editedOf(row: Row): string | boolean {
  const seconds = secondsAt(row, 'edited')
  return seconds === null || seconds === 0 ? row['edited'] === true : isoOfSeconds(seconds)
}

const authorInfoOf = (row: Row): AuthorInfo => ({
  fullname: wordAt(row, 'author_fullname'),
  flair: wordAt(row, 'author_flair_text'),
  premium: flagAt(row, 'author_premium'),
})

function originOf(base: string, row: Row): Post['crosspost_origin'] {
  const parent = crosspostParentOf(row)
  const id = parent && textAt(parent, 'id')
  const subforum = parent && textAt(parent, 'subreddit')
  const permalink = parent && textAt(parent, 'permalink')
  return id && subforum && permalink ? { id, subforum, permalink: pathOf(base, permalink) } : null
}

const postIdOf = (row: Row): string => {
  const parent = textAt(row, 'parent_id')
  const link = textAt(row, 'link_id') ?? (parent?.startsWith('t3_') ? parent : '')
  return link.replace(/^t3_/, '')
}

/** Before 2017 comments came without a permalink; their post's may stand beside them. */
function commentPath(base: string, row: Row, id: string): string {
  const own = wordAt(row, 'permalink')
  if (own !== null) return pathOf(base, own)
  const post = wordAt(row, 'link_permalink')
  if (post !== null) return `${pathOf(base, post).replace(/\/?$/, '/')}${id}/`
  return `/r/${textAt(row, 'subreddit') ?? ''}/comments/${postIdOf(row)}/_/${id}/`
}

/** A path on the platform, also where it was written as an address. */
function pathOf(base: string, link: string): string {
  if (link.startsWith('/')) return link
  if (link.startsWith(`${base}/`)) return link.slice(base.length)
  return link.replace(/^https?:\/\/[^/]+/i, '')
}

// An advertisement stands in no place, and its permalink shows none.
const placeIn = (permalink: string): string => /^\/r\/([^/]+)\//.exec(permalink)?.[1] ?? ''

const absolute = (base: string, link: string): string => (link.startsWith('/') ? base + link : link)

/** Whether a native object names its own kind of thing. */
export const dataOf = (value: unknown, kind: string): Row | null =>
  isObject(value) && value['kind'] === kind ? rowAt(value, 'data') : null
