import { once } from '../core/base/lazy.ts'
import { isObject } from '../core/base/object.ts'
import type { Comment, Node, Post } from '../core/forum/items.ts'

/** Fields of a post that every source states; the others have a neutral default. */
type PostFields = Pick<Post, 'id' | 'title' | 'author' | 'subforum' | 'url' | 'text'> &
  Partial<Omit<Post, 'name' | 'created' | 'created_utc' | 'permalink'>> & { created_ms: number }

type CommentFields = Pick<Comment, 'id' | 'author' | 'body' | 'subforum' | 'url' | 'post_id'> &
  Partial<Omit<Comment, 'name' | 'created' | 'created_utc' | 'permalink'>> & { created_ms: number }

/** Author of an item whose account is gone. */
export const DELETED_AUTHOR = '[deleted]'

const timesOf = (created_ms: number) => ({
  created: new Date(created_ms).toISOString(),
  created_utc: Math.floor(created_ms / 1000),
})

const pathOf = (url: string): string => {
  const { pathname, search, hash } = new URL(url)
  return `${pathname}${search}${hash}`
}

/** A post with the defaults of a source that has no such fields. */
export function makePost({ created_ms, ...fields }: PostFields): Post {
  const { id, title, author, subforum, url, link_url = null, ...rest } = fields
  return {
    id,
    name: `t3_${id}`,
    title,
    author,
    subforum,
    permalink: pathOf(url),
    url,
    upvotes: 0,
    comments: 0,
    upvote_ratio: null,
    over_18: false,
    spoiler: false,
    locked: false,
    stickied: false,
    is_self: link_url === null,
    is_video: false,
    is_crosspost: false,
    crosspost_origin: null,
    flair: null,
    domain: link_url === null ? null : (URL.parse(link_url)?.hostname ?? null),
    media_kind: null,
    thumbnail_url: null,
    edited: false,
    author_info: { fullname: null, flair: null, premium: null },
    ...rest,
    link_url,
    ...timesOf(created_ms),
  }
}

/** A comment with the defaults of a source that has no such fields. */
export function makeComment({ created_ms, ...fields }: CommentFields): Comment {
  const { id, author, body, subforum, url, post_id, ...rest } = fields
  return {
    id,
    name: `t1_${id}`,
    author,
    body,
    subforum,
    permalink: pathOf(url),
    url,
    post_id,
    upvotes: 0,
    link_title: null,
    link_url: null,
    parent_id: `t3_${post_id}`,
    is_submitter: false,
    depth: null,
    edited: false,
    over_18: null,
    author_info: { fullname: null, flair: null, premium: null },
    ...rest,
    ...timesOf(created_ms),
  }
}

/** A comment as the node of a tree, with the documented subset of fields. */
export function toNode(comment: Comment, replies: Node[] = []): Node {
  const { name, link_title, link_url, upvotes, post_id, created, author_info, ...rest } = comment
  return {
    kind: 't1',
    data: {
      ...rest,
      name,
      link_id: `t3_${post_id}`,
      ...(link_title !== null && { link_title }),
      ...(link_url !== null && { link_url }),
      score: upvotes,
      ups: upvotes,
      created,
      author_flair_text: author_info.flair,
      replies: repliesOf(replies),
    },
  }
}

const repliesOf = (children: Node[]) =>
  children.length === 0
    ? ''
    : { kind: 'Listing', data: { after: null, before: null, dist: null, children } }

/** The comment of a node that {@link toNode} has made. */
export function fromNode({ data }: Node): Comment {
  const text = (field: string): string => {
    const value = data[field]
    return typeof value === 'string' ? value : ''
  }
  const number = (field: string): number => {
    const value = data[field]
    return typeof value === 'number' ? value : 0
  }
  const parent_id = text('parent_id')
  const { edited } = data
  return makeComment({
    id: text('id'),
    author: text('author'),
    body: text('body'),
    subforum: text('subforum'),
    url: text('url'),
    post_id: text('link_id').slice(3),
    created_ms: number('created_utc') * 1000,
    upvotes: number('score'),
    link_title: text('link_title') || null,
    link_url: text('link_url') || null,
    parent_id: parent_id === '' ? null : parent_id,
    is_submitter: data['is_submitter'] === true,
    depth: typeof data['depth'] === 'number' ? data['depth'] : null,
    edited: typeof edited === 'string' ? edited : edited === true,
    author_info: { fullname: null, flair: text('author_flair_text') || null, premium: null },
    ...(data['score_hidden'] === true && { score_hidden: true as const }),
  })
}

/** Comments behind a `more` node: those that are known by id alone. */
export type HiddenReplies = { parent: string; ids: string[] }

/**
 * Nests comments under their parents, in the given order, with a `more` node where replies are known
 * by id alone. A comment whose parent is missing hangs under the post.
 */
export function toTree(
  root: string,
  comments: readonly Comment[],
  hidden: readonly HiddenReplies[] = [],
): Node[] {
  const known = new Set(comments.map(({ name }) => name))
  const parentOf = ({ parent_id }: Comment) =>
    parent_id !== null && known.has(parent_id) ? parent_id : root
  const by_parent = Map.groupBy(comments, parentOf)
  const more_by_parent = Map.groupBy(hidden, ({ parent }) => (known.has(parent) ? parent : root))
  const depths = new Map([[root, -1]])
  // Top down by a queue, then bottom up: the depth of a tree is set by others, so nothing recurses.
  const order: Comment[] = []
  const waiting = [root]
  for (let at = 0; at < waiting.length; at++) {
    const parent = waiting[at] ?? root
    for (const child of by_parent.get(parent) ?? []) {
      if (depths.has(child.name)) continue
      const depth = (depths.get(parent) ?? -1) + 1
      depths.set(child.name, depth)
      order.push({ ...child, depth })
      waiting.push(child.name)
    }
  }
  const children = new Map<string, Node[]>()
  const finish = (parent: string): Node[] => {
    const nodes = (children.get(parent) ?? []).toReversed()
    for (const { ids } of more_by_parent.get(parent) ?? [])
      nodes.push(toMore(parent, ids, (depths.get(parent) ?? -1) + 1))
    return nodes
  }
  for (const comment of order.toReversed()) {
    const parent = parentOf(comment)
    const siblings = children.get(parent) ?? []
    siblings.push(toNode(comment, finish(comment.name)))
    children.set(parent, siblings)
  }
  return finish(root)
}

const toMore = (parent_id: string, ids: string[], depth: number): Node => ({
  kind: 'more',
  data: {
    id: ids[0] ?? '_',
    name: `t1_${ids[0] ?? '_'}`,
    parent_id,
    depth,
    count: ids.length,
    children: ids,
  },
})

// Loaded with the first body in HTML: a start needs none.
const markdown = once(() => {
  const { NodeHtmlMarkdown }: typeof import('node-html-markdown') = require('node-html-markdown')
  return new NodeHtmlMarkdown({ maxConsecutiveNewlines: 2 })
})
/** Longer texts are converted up to here, so that one post cannot block the process. */
const HTML_MAX = 200_000

/** Markdown of a body in HTML; relative links and pictures become absolute. */
export function toMarkdown(html: string, base_url: string): string {
  if (html === '') return ''
  if (isDeep(html)) return plainText(html.slice(0, HTML_MAX).replaceAll(/<[^>]*>/g, ' ')).trim()
  const absolute = html
    .slice(0, HTML_MAX)
    .replaceAll(/(\s(?:href|src)=)(["'])(\/(?!\/)[^"']*)\2/gi, `$1$2${base_url}$3$2`)
    .replaceAll(/(\s(?:href|src)=)(["'])(\/\/[^"']*)\2/gi, '$1$2https:$3$2')
  return markdown().translate(absolute).trim()
}

/** Elements within elements; the conversion takes the cube of it. */
const DEPTH_MAX = 100
const VOID = new Set([
  'area',
  'br',
  'col',
  'embed',
  'hr',
  'img',
  'input',
  'link',
  'meta',
  'source',
  'wbr',
])
// Their end is optional, and an open one ends with the next.
const SELF_ENDING = new Set(['p', 'li', 'dt', 'dd', 'tr', 'td', 'th', 'option'])

/** True for a text whose elements are nested further than a person's text is. */
function isDeep(html: string): boolean {
  let depth = 0
  for (const [, end, name = ''] of html.matchAll(/<(\/?)([a-z][a-z0-9]*)/gi)) {
    const element = name.toLowerCase()
    if (VOID.has(element) || SELF_ENDING.has(element)) continue
    depth = Math.max(0, depth + (end === '' ? 1 : -1))
    if (depth > DEPTH_MAX) return true
  }
  return false
}

/** Text of a value of HTML without blocks, such as a title. */
export const plainText = (html: string): string =>
  html
    .replaceAll(/&#x([0-9a-f]{1,6});/gi, (_, hex: string) => codePoint(Number.parseInt(hex, 16)))
    .replaceAll(/&#(\d{1,7});/g, (_, digits: string) => codePoint(Number(digits)))
    .replaceAll(/&(lt|gt|quot|apos|nbsp);/g, (_, name: string) => ENTITIES[name] ?? '')
    .replaceAll('&amp;', '&')

const ENTITIES: Record<string, string> = { lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }
const codePoint = (value: number): string => (value <= 0x10ffff ? String.fromCodePoint(value) : '�')

/** The fields of an object of an answer; none for any other value. */
export const fieldsOf = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {})

/** The objects of a list of an answer. */
export const rowsOf = (value: unknown): Record<string, unknown>[] =>
  Array.isArray(value) ? value.filter(isObject) : []

/** The text of a field; null for any other value. */
export const textAt = (row: Record<string, unknown>, field: string): string | null => {
  const value = row[field]
  return typeof value === 'string' ? value : null
}

/** The number of a field; null for any other value. */
export const numberAt = (row: Record<string, unknown>, field: string): number | null => {
  const value = row[field]
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}
