import { ok, type Outcome } from '../core/base/result.ts'
import { parseSearch } from '../core/filter/search-query.ts'
import type { Comment, Node, Post } from '../core/forum/items.ts'
import type { PageEnd } from '../core/forum/listing.ts'
import type { Call, SourceReads } from '../platforms/port.ts'
import { everyNode } from './comments.ts'
import { type Paged, paging, settlePage } from './listing.ts'

export type DeepAuthor = {
  author: string
  comment_count: number
  total_score: number
  /** Subforums, in the order of the author's best comments. */
  subforums: string[]
  top_comment: DeepComment
}

/** Author of comments by deleted accounts. It is not one person and gets no row. */
const DELETED_AUTHOR = '[deleted]'

/** Groups comments by author, given highest score first; sorted by total score, highest first. */
export function byAuthor(comments: readonly DeepComment[]): DeepAuthor[] {
  const authors = new Map<string, DeepAuthor>()
  for (const comment of comments) {
    const { author, score, subforum } = comment
    if (author === DELETED_AUTHOR) continue
    const existing = authors.get(author)
    if (existing === undefined) {
      authors.set(author, {
        author,
        comment_count: 1,
        total_score: score,
        subforums: [subforum],
        top_comment: comment,
      })
      continue
    }
    existing.comment_count++
    existing.total_score += score
    if (!existing.subforums.includes(subforum)) existing.subforums.push(subforum)
  }
  return [...authors.values()].toSorted(
    (a, b) => b.total_score - a.total_score || b.comment_count - a.comment_count,
  )
}

/** A search of comments; `limit` is the number of posts to read. */
export type DeepQuery = Paged & {
  q: string
  sort: string
  t: string
  nsfw: boolean
  max_comments: number
}
export type DeepAuthorsQuery = Omit<DeepQuery, 'max_comments'> & { max_authors: number }

export type DeepComment = Pick<
  Comment,
  'id' | 'body' | 'author' | 'permalink' | 'url' | 'created' | 'subforum'
> & { score: number; post: Post }

/** A search of posts by their comments; `limit` is the number of posts to read. */
export type DiscussionsQuery = Omit<DeepQuery, 'max_comments'>

/** Posts with a comment that contains the words, in the order of the search. */
export type DiscussionsBody = { posts: Post[] } & PageEnd & {
    /** `searched`: posts whose comments were read. `truncated`: see {@link DeepMeta}. */
    meta: { searched: number; comments_scanned: number; truncated: boolean }
  }

type DeepMeta = {
  /**
   * True if comments were not read: a tree is incomplete or failed, more posts follow, or the
   * platform's search found no post.
   */
  truncated: boolean
  posts_expanded: number
  comments_scanned: number
}

/** Matching comments; `meta` states the comments that were not read. */
export type DeepBody = {
  /** Highest score first. */
  comments: DeepComment[]
  after: string | null
  /** `capped`: more comments matched than `max_comments`. */
  meta: DeepMeta & { capped: boolean }
}

/** Authors of matching comments; `meta` states the comments that were not read. */
export type DeepAuthorsBody = {
  /** Highest total score first. */
  authors: DeepAuthor[]
  after: string | null
  /**
   * `authors_capped`: there are more than `max_authors`. Every comment is counted, so `capped` is
   * always false.
   */
  meta: DeepMeta & { capped: false; authors_capped: boolean }
}

const PARALLEL_MAX = 3
/** Comments per tree, the platform's maximum. */
const TREE_LIMIT = 500
/** The platform's placeholder in place of a removed comment. */
const MASK = /^\[ ?(?:deleted|removed)[^\]]*\]$/i

/** Finds the comments that contain the words of `q`. */
export async function deepSearch(
  platform: SourceReads,
  { max_comments, ...query }: DeepQuery,
  call: Call,
): Promise<Outcome<DeepBody>> {
  const searched = await searchTrees(platform, query, call)
  if (!searched.ok) return searched
  const { found, turn, meta } = searched.value
  const { after } = turn
  const capped = found.length > max_comments
  return ok({ comments: found.slice(0, max_comments), after, meta: { ...meta, capped } })
}

/** Finds the authors of the comments that contain the words of `q`. */
export async function deepAuthors(
  platform: SourceReads,
  { max_authors, ...query }: DeepAuthorsQuery,
  call: Call,
): Promise<Outcome<DeepAuthorsBody>> {
  const searched = await searchTrees(platform, query, call)
  if (!searched.ok) return searched
  const { found, turn, meta } = searched.value
  const { after } = turn
  const authors = byAuthor(found)
  return ok({
    authors: authors.slice(0, max_authors),
    after,
    meta: { ...meta, capped: false, authors_capped: authors.length > max_authors },
  })
}

/** Finds the posts with comments that contain the words of `q`. */
export async function searchDiscussions(
  platform: SourceReads,
  query: DiscussionsQuery,
  call: Call,
): Promise<Outcome<DiscussionsBody>> {
  const searched = await searchTrees(platform, query, call)
  if (!searched.ok) return searched
  const { found, turn, meta } = searched.value
  // Found in order of score; the rows keep the order of the search.
  const matching = new Set(found.map(({ post }) => post.name))
  const posts = searched.value.posts.filter(({ name }) => matching.has(name))
  const { posts_expanded, comments_scanned, truncated } = meta
  return ok({ posts, ...turn, meta: { searched: posts_expanded, comments_scanned, truncated } })
}

type SearchedTrees = { posts: Post[]; found: DeepComment[]; turn: PageEnd; meta: DeepMeta }

/**
 * Searches posts, reads one tree for each, and returns the comments that contain the words, highest
 * score first. An unreadable tree makes the answer `truncated`; it is a fault only if no tree is
 * readable. The platform has no search of comments, so comments under posts that its search does
 * not find are not found.
 */
async function searchTrees(
  platform: SourceReads,
  { q, sort, t, nsfw, ...paged }: DiscussionsQuery,
  call: Call,
): Promise<Outcome<SearchedTrees>> {
  const search = { q, sort, t, nsfw, subforum: null, ...paging(paged) }
  const page = await platform.search(search, call)
  if (!page.ok) return page
  const { rows: posts, turn } = settlePage('search', paged, page.value)

  const trees = await inParallel(posts, (post) =>
    platform.tree({ post_id: post.id, sort: 'top', depth: null, limit: TREE_LIMIT }, call),
  )
  const failed = trees.find((tree) => !tree.ok)
  if (failed && !failed.ok && trees.every((tree) => !tree.ok)) return failed

  const matches = parseSearch(q) ?? (() => false)
  const found: DeepComment[] = []
  const truncated = failed !== undefined || turn.after !== null || posts.length === 0
  const meta = { truncated, posts_expanded: 0, comments_scanned: 0 }
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
  return ok({ posts, found, turn, meta })
}

const isRead = ({ data: { body } }: Node): boolean => typeof body === 'string' && !MASK.test(body)

function toDeepComment(comment: Comment, post: Post): DeepComment {
  const { id, body, upvotes, author, permalink, url, created, subforum } = comment
  return { id, body, score: upvotes, author, permalink, url, created, subforum, post }
}

/**
 * Runs `work` for each item, a few at a time, and returns the results in the order of the items.
 */
async function inParallel<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  let next = 0
  async function lane() {
    for (let at = next++; at < items.length; at = next++) {
      const item = items[at]
      if (item !== undefined) results[at] = await work(item)
    }
  }
  await Promise.all(Array.from({ length: PARALLEL_MAX }, lane))
  return results
}
