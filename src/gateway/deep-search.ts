import type { Comment, Node, Post } from '../core/items.ts'
import { ok, type Outcome } from '../core/outcome.ts'
import { parseSearch } from '../core/text.ts'
import type { Call, Platform } from '../platform/platform.ts'
import { byAuthor, type DeepAuthor } from './by-author.ts'
import { type Paged, paging, settlePage } from './listing.ts'
import { everyNode } from './nodes.ts'

/** A search of comments; `limit` is how many posts are read through. */
export type DeepQuery = Paged & {
  q: string
  sort: string
  t: string
  nsfw: boolean
  max_comments: number
}
/** The same search, put together by author. */
export type DeepAuthorsQuery = Omit<DeepQuery, 'max_comments'> & { max_authors: number }

/** A comment that matched, with the post it is under. */
export type DeepComment = Pick<
  Comment,
  'id' | 'body' | 'author' | 'permalink' | 'url' | 'created' | 'subforum'
> & { score: number; post: Post }

type DeepMeta = {
  /** A tree was not seen whole. */
  truncated: boolean
  posts_expanded: number
  comments_scanned: number
}

/** Comments that matched, the best first; `meta` says what was not looked at. */
export type DeepBody = {
  /** Highest score first. */
  comments: DeepComment[]
  after: string | null
  /** `capped`: more comments matched than `max_comments`. */
  meta: DeepMeta & { capped: boolean }
}

/** Authors of comments that matched; `meta` says what was not looked at. */
export type DeepAuthorsBody = {
  /** Highest scores together first. */
  authors: DeepAuthor[]
  after: string | null
  /** `authors_capped`: there are more than `max_authors`. No comment is left out of the count, so it is never `capped`. */
  meta: DeepMeta & { capped: false; authors_capped: boolean }
}

/** Trees read at once. */
const ABREAST = 3
/** Comments of one tree, as many as the platform gives at once. */
const TREE_LIMIT = 500
/** What stands where a comment was; nobody wrote these words. */
const MASK = /^\[ ?(?:deleted|removed)[^\]]*\]$/i

/** The comments in which the words of `q` occur. */
export async function deepSearch(
  platform: Platform,
  { max_comments, ...query }: DeepQuery,
  call: Call,
): Promise<Outcome<DeepBody>> {
  const dug = await dig(platform, query, call)
  if (!dug.ok) return dug
  const { found, after, meta } = dug.value
  const capped = found.length > max_comments
  return ok({ comments: found.slice(0, max_comments), after, meta: { ...meta, capped } })
}

/** The same, by the people who wrote them. */
export async function deepAuthors(
  platform: Platform,
  { max_authors, ...query }: DeepAuthorsQuery,
  call: Call,
): Promise<Outcome<DeepAuthorsBody>> {
  const dug = await dig(platform, query, call)
  if (!dug.ok) return dug
  const { found, after, meta } = dug.value
  const authors = byAuthor(found)
  return ok({
    authors: authors.slice(0, max_authors),
    after,
    meta: { ...meta, capped: false, authors_capped: authors.length > max_authors },
  })
}

/**
 * Searches posts, reads one tree for each, and keeps the comments in which the words occur, highest score first. A tree
 * that cannot be read makes the answer `truncated`; it is a fault only when none could.
 */
async function dig(
  platform: Platform,
  { q, sort, t, nsfw, ...paged }: Omit<DeepQuery, 'max_comments'>,
  call: Call,
): Promise<Outcome<{ found: DeepComment[]; after: string | null; meta: DeepMeta }>> {
  const search = { q, sort, t, nsfw, subforum: null, ...paging(paged) }
  const page = await platform.search(search, call)
  if (!page.ok) return page
  const { rows: posts, turn } = settlePage('search', paged, page.value)

  const trees = await abreast(posts, (post) =>
    platform.tree({ post_id: post.id, sort: 'top', depth: null, limit: TREE_LIMIT }, call),
  )
  const lost = trees.find((tree) => !tree.ok)
  if (lost && !lost.ok && trees.every((tree) => !tree.ok)) return lost

  const matches = parseSearch(q) ?? (() => false)
  const found: DeepComment[] = []
  const meta = { truncated: lost !== undefined, posts_expanded: 0, comments_scanned: 0 }
  for (const [index, tree] of trees.entries()) {
    const post = posts[index]
    if (!tree.ok || post === undefined) continue
    meta.posts_expanded++
    for (const node of everyNode(tree.value.comments)) {
      if (node.kind === 'more') meta.truncated = true
      if (node.kind !== 't1') continue
      meta.comments_scanned++
      if (isRead(node) && matches(String(node.data['body'])))
        found.push(toDeepComment(platform.commentOf(node), post))
    }
  }
  found.sort((a, b) => b.score - a.score || (a.created < b.created ? 1 : -1))
  return ok({ found, after: turn.after, meta })
}

const isRead = ({ data: { body } }: Node): boolean => typeof body === 'string' && !MASK.test(body)

function toDeepComment(comment: Comment, post: Post): DeepComment {
  const { id, body, upvotes, author, permalink, url, created, subforum } = comment
  return { id, body, score: upvotes, author, permalink, url, created, subforum, post }
}

/** Does the work for each, a few at a time, and answers in their order. */
async function abreast<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  let next = 0
  async function lane() {
    for (let at = next++; at < items.length; at = next++) {
      const item = items[at]
      if (item !== undefined) results[at] = await work(item)
    }
  }
  await Promise.all(Array.from({ length: ABREAST }, lane))
  return results
}
