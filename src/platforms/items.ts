import { peerUrl } from '../core/base/url.ts'
import type { Comment, Node, Post } from '../core/forum/items.ts'
import { isoOf } from './values.ts'

/** Fields of a post that every source states; the others have a neutral default. */
type PostFields = Pick<Post, 'id' | 'title' | 'author' | 'subforum' | 'url' | 'text'> &
  Partial<Omit<Post, 'name' | 'created' | 'created_utc' | 'permalink'>> & { created_ms: number }

type CommentFields = Pick<Comment, 'id' | 'author' | 'body' | 'subforum' | 'url' | 'post_id'> &
  Partial<Omit<Comment, 'name' | 'created' | 'created_utc' | 'permalink'>> & { created_ms: number }

export const DELETED_AUTHOR = '[deleted]'

const timesOf = (created_ms: number) => ({
  created: isoOf(created_ms),
  created_utc: Math.floor(created_ms / 1000),
})

const pathOf = (address: string): string => {
  const url = peerUrl(address)
  return url === null ? '' : `${url.pathname}${url.search}${url.hash}`
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
    domain: link_url === null ? null : (peerUrl(link_url)?.hostname ?? null),
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
