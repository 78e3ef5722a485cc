import type { Comment, Community, Item, Node, Post, User } from '../core/items.ts'
import type { Shelf, Turn } from '../core/listing.ts'
import { fail, ok, type Outcome } from '../core/outcome.ts'
import { asksForSomething, filterPage, type PageFilter } from '../core/page-filter.ts'
import { parsePermalink, type Place } from '../core/permalink.ts'
import type { Clock } from '../outside.ts'
import { ANONYMOUS, type Call, type Listing, type Platform } from '../platform/platform.ts'
import { createShare, type Read } from './cache.ts'
import { type DeepBody, type DeepQuery, deepSearch } from './deep-search.ts'
import { type Paged, paging, settlePage } from './listing.ts'
import { type MediaBody, type MediaQuery, searchMedia } from './media.ts'
import { everyNode, withReplies } from './nodes.ts'
import { branch, readFullTree, readTree, type TreeBody, type TreeQuery } from './tree.ts'
import { type VerifyBody, verifyComments } from './verify.ts'

type PostsQuery = Paged & { subforum: string; sort: string; t: string | null }
type SearchQuery = Paged & {
  q: string
  subforum: string | null
  sort: string
  t: string
  nsfw: boolean
  filter: PageFilter
}
type NamesQuery = Paged & { q: string; nsfw: boolean }
type UserPageQuery = Paged & { name: string; sort: string; t: string | null }

export type TreeRead = TreeQuery & { full: boolean }

type PostsBody = { posts: Post[] } & Turn
type SearchBody = PostsBody & { meta?: { scanned: number; kept: number } }
type CommentsBody = { comments: Comment[] } & Turn
type CommunitiesBody = { communities: Community[] } & Turn
type UsersBody = { users: User[] } & Turn
type CommentBody = { comment: Node }

type Asked<Query, Body> = (query: Query) => Promise<Outcome<Read<Body>>>

/** Everything that can be read of the platform without being somebody there. Names and ids are checked by the caller. */
export type Reads = {
  posts: Asked<PostsQuery, PostsBody>
  post: Asked<{ id: string }, Post>
  search: Asked<SearchQuery, SearchBody>
  searchMedia: Asked<MediaQuery, MediaBody>
  searchCommunities: Asked<NamesQuery, CommunitiesBody>
  searchUsers: Asked<NamesQuery, UsersBody>
  deepSearch: Asked<DeepQuery, DeepBody>
  /** A post and its comments; with `full`, `more` nodes are followed as far as tree_fetches reaches. */
  tree: Asked<TreeRead, TreeBody>
  comment: Asked<{ id: string; replies: boolean }, CommentBody>
  subforum: Asked<{ name: string }, Community>
  subforumComments: Asked<Paged & { subforum: string }, CommentsBody>
  user: Asked<{ name: string }, User>
  userComments: Asked<UserPageQuery, CommentsBody>
  userPosts: Asked<UserPageQuery, PostsBody>
  /** What a permalink names; null when it is none of the platform's. */
  place(permalink: string): Place | null
  /** Never shared or kept: what it asks is how things stand now. */
  verify(ids: readonly string[]): Promise<Outcome<VerifyBody>>
}

type Deps = {
  platform: Platform
  clock: Clock
  /** One read with all its requests and retries. */
  read_deadline_ms: number
  /** Further requests for a full tree; 0 = as many as {@link TREE_FETCHES_MAX}. */
  tree_fetches: number
  /** How long an answer serves the same read again; 0 = not at all. */
  read_cache_ms: number
  /** Where the platform lives, and the other hosts of its links. */
  base_url: string
  link_hosts: readonly string[]
  short_link_hosts: readonly string[]
}

const TREE_FETCHES_MAX = 200

/** The public reads, each within one deadline and through nobody's eyes. */
export function createReads(deps: Deps): Reads {
  const { platform, clock } = deps
  const share = createShare(clock, deps.read_cache_ms)
  const tree_fetches = deps.tree_fetches === 0 ? TREE_FETCHES_MAX : deps.tree_fetches
  const hosts = {
    link: [new URL(deps.base_url).host, ...deps.link_hosts],
    short: deps.short_link_hosts,
  }
  const call = (): Call => ({
    eyes: ANONYMOUS,
    deadline_at: clock.now() + deps.read_deadline_ms,
  })

  const shared = <Query, Body extends object>(
    work: (query: Query, call: Call) => Promise<Outcome<Body>>,
    weigh: (body: Body) => number = rowsIn,
  ): Asked<Query, Body> => share(keyOf, weigh, (query: Query) => work(query, call()))

  /** A read of one page of rows; `dress` names them as the answer does. */
  const listed = <Query extends Paged, Row extends { name: string }, Body extends object>(
    shelf: (query: Query) => Shelf,
    page: (query: Query, call: Call) => Promise<Outcome<Listing<Row>>>,
    dress: (rows: Row[]) => Body,
  ) =>
    shared(async (query: Query, at: Call) => {
      const listing = await page(query, at)
      if (!listing.ok) return listing
      const { rows, turn } = settlePage(shelf(query), query, listing.value)
      return ok({ ...dress(rows), ...turn })
    })

  return {
    posts: listed(
      ({ sort }: PostsQuery) => (sort === 'new' ? 'chronological' : 'ranked'),
      ({ subforum, sort, t, ...paged }, at) =>
        platform.posts({ subforums: [subforum], sort, t, ...paging(paged) }, at),
      (posts) => ({ posts }),
    ),

    post: shared(async ({ id }, at) => {
      const posts = await platform.postsById([id], at)
      if (!posts.ok) return posts
      const [post] = posts.value
      return post === undefined ? ABSENT : ok(post)
    }),

    search: shared(async ({ q, subforum, sort, t, nsfw, filter, ...paged }, at) => {
      const page = await platform.search({ q, subforum, sort, t, nsfw, ...paging(paged) }, at)
      if (!page.ok) return page
      const { rows, turn } = settlePage('search', paged, page.value)
      if (!asksForSomething(filter)) return ok({ posts: rows, ...turn })
      const posts = filterPage(filter, rows)
      return ok({ posts, ...turn, meta: { scanned: rows.length, kept: posts.length } })
    }),

    searchMedia: shared((query, at) => searchMedia(platform, query, at)),
    searchCommunities: listed(
      searched,
      ({ q, nsfw, ...paged }: NamesQuery, at) =>
        platform.searchCommunities({ q, nsfw, ...paging(paged) }, at),
      (communities) => ({ communities }),
    ),
    searchUsers: listed(
      searched,
      ({ q, nsfw, ...paged }: NamesQuery, at) =>
        platform.searchUsers({ q, nsfw, ...paging(paged) }, at),
      (users) => ({ users }),
    ),
    deepSearch: shared((query, at) => deepSearch(platform, query, at)),

    tree: shared(
      ({ full, ...query }, at) =>
        full ? readFullTree(platform, query, tree_fetches, at) : readTree(platform, query, at),
      ({ comments }) => [...everyNode(comments)].length,
    ),
    comment: shared(async ({ id, replies }, at) => {
      const nodes = await platform.nodesById([id], at)
      if (!nodes.ok) return nodes
      const [comment] = nodes.value
      if (comment === undefined) return ABSENT
      if (!replies) return ok({ comment })
      const { post_id } = platform.commentOf(comment)
      const below = await branch(platform, { ...WHOLE, post_id, comment_id: id }, at)
      return below.ok ? ok({ comment: withReplies(comment, below.value) }) : below
    }),

    subforum: shared(({ name }, at) => platform.community(name, at)),
    subforumComments: listed(
      () => 'chronological',
      ({ subforum, ...paged }: Paged & { subforum: string }, at) =>
        platform.comments({ subforums: [subforum], ...paging(paged) }, at),
      (comments) => ({ comments }),
    ),

    user: shared(({ name }, at) => platform.user(name, at)),
    userComments: listed(
      theirs,
      ({ name, sort, t, ...paged }: UserPageQuery, at) =>
        platform.userComments({ name, sort, t, ...paging(paged) }, at),
      (comments) => ({ comments }),
    ),
    userPosts: shared(async ({ name, sort, t, ...paged }, at) => {
      const query = { name, tab: 'submitted' as const, sort, t, ...paging(paged) }
      const page = await platform.userItems(query, at)
      if (!page.ok) return page
      const { rows, turn } = settlePage('user', paged, page.value)
      return ok({ posts: rows.flatMap(toPost), ...turn })
    }),

    place: (permalink) => parsePermalink(permalink, hosts),
    verify: (ids) => verifyComments(platform, ids, call()),
  }
}

const ABSENT = fail({ kind: 'not_found', reason: null })
/** As much of a branch as one request brings. */
const WHOLE = { sort: 'confidence', depth: null, limit: null }

const searched = (): Shelf => 'search'
const theirs = (): Shelf => 'user'

/** The post of a listing that could have been mixed; none for a comment. */
function toPost(item: Item): Post[] {
  if (item.kind !== 'post') return []
  const { kind: _, ...post } = item
  return [post]
}

/** Two spellings of a name are the same read. */
const keyOf = (query: unknown): string =>
  JSON.stringify(query, (field, value: unknown) =>
    (field === 'subforum' || field === 'name') && typeof value === 'string'
      ? value.toLowerCase()
      : value,
  )

const rowsIn = (body: object): number =>
  Object.values(body).reduce<number>(
    (rows, part) => rows + (Array.isArray(part) ? part.length : 0),
    1,
  )
