import { fail, ok, type Outcome } from '../core/base/result.ts'
import { filterPage, isFiltering, type PageFilter } from '../core/filter/search-query.ts'
import type {
  Achievement,
  Comment,
  Community,
  Moderator,
  Node,
  Post,
  Rules,
  User,
  Visibility,
  WikiPage,
} from '../core/forum/items.ts'
import type { ListingKind, PageEnd } from '../core/forum/listing.ts'
import type { PermalinkTarget } from '../core/forum/permalink.ts'
import type { Session } from '../core/forum/session.ts'
import type { ByteBudget } from '../core/limits/byte-budget.ts'
import type { SourceReads } from '../platforms/port.ts'
import type { Clock } from '../runtime/runtime.ts'
import {
  type CacheResult,
  type CacheState,
  createShare,
  type Shared,
  type Take,
  toCacheResult,
} from './cache.ts'
import {
  readCommentTree,
  readFullCommentTree,
  readReplies,
  type TreeBody,
  type TreeQuery,
  withReplies,
} from './comments.ts'
import {
  deepAuthors,
  type DeepAuthorsBody,
  type DeepAuthorsQuery,
  type DeepBody,
  type DeepQuery,
  deepSearch,
  type DiscussionsBody,
  type DiscussionsQuery,
  searchDiscussions,
} from './deep-search.ts'
import { createCaller, createSessionObserver, type Identities } from './identity.ts'
import {
  type ByIdBody,
  type MediaBody,
  type MediaQuery,
  moderatorsOf,
  type OwnBody,
  ownItems,
  type OwnQuery,
  readById,
  searchMedia,
  type VerifyBody,
  verifyComments,
} from './items.ts'
import {
  bySort,
  createPositions,
  type Paged,
  pagedRead,
  paging,
  postsIn,
  settlePage,
  type Work,
} from './listing.ts'

type PostsQuery = Paged & { subforum: string; sort: string; t: string | null }
type HomeQuery = Paged & { sort: string; t: string | null }
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
type SubforumsQuery = Paged & { which: 'popular' | 'new' | 'default' }

/** The comments under a post; `full` also reads those behind `more` nodes. */
export type TreeRead = TreeQuery & { full: boolean }

type PostsBody = { posts: Post[] } & PageEnd
type SearchBody = PostsBody & { meta?: { scanned: number; kept: number } }
type CommentsBody = { comments: Comment[] } & PageEnd
type CommunitiesBody = { communities: Community[] } & PageEnd
type SubforumsBody = { subforums: Community[] } & PageEnd
type UsersBody = { users: User[] } & PageEnd
type CommentBody = { comment: Node }
type AchievementsBody = { achievements: Achievement[]; count: number }

/** An answer with its source: cached, shared or requested. */
type Answered<Body> = Promise<Outcome<CacheResult<Body>>>
/** A shared read. With a session it returns the account's view, and is never shared or cached. */
export type SharedAs<Query, Body> = {
  (query: Query, session: Session | null): Answered<Body>
  cached(query: Query, session: Session | null): Take<Body> | null
}
type OwnRead<Query, Body> = (query: Query, session: Session) => Answered<Body>

/** All reads of the platform. Names and ids are checked by the caller. */
export type Reads = {
  posts: SharedAs<PostsQuery, PostsBody>
  post: Shared<{ id: string }, Post>
  /** Posts by their ids, without prefix; at most 100. */
  byId: Shared<{ ids: string[] }, ByIdBody>
  search: SharedAs<SearchQuery, SearchBody>
  searchMedia: Shared<MediaQuery, MediaBody>
  searchCommunities: Shared<NamesQuery, CommunitiesBody>
  searchUsers: Shared<NamesQuery, UsersBody>
  /** Posts by their comments; at most tree_fetches posts are read. */
  discussions: Shared<DiscussionsQuery, DiscussionsBody>
  deepSearch: Shared<DeepQuery, DeepBody>
  deepAuthors: Shared<DeepAuthorsQuery, DeepAuthorsBody>
  /** A post and its comments; with `full`, `more` nodes are followed within tree_fetches. */
  tree: SharedAs<TreeRead, TreeBody>
  comment: Shared<{ id: string; replies: boolean }, CommentBody>
  subforum: Shared<{ name: string }, Community>
  subforumComments: SharedAs<Paged & { subforum: string }, CommentsBody>
  subforums: Shared<SubforumsQuery, SubforumsBody>
  rules: Shared<{ name: string }, Rules>
  wiki: Shared<{ subforum: string; page: string }, WikiPage>
  user: Shared<{ name: string }, User>
  userComments: Shared<UserPageQuery, CommentsBody>
  userPosts: Shared<UserPageQuery, PostsBody>
  achievements: Shared<{ name: string }, AchievementsBody>
  home: OwnRead<HomeQuery, PostsBody>
  ownItems: OwnRead<OwnQuery, OwnBody>
  /** Null: no account, for a source that shows them to every reader. */
  moderators: (
    query: { name: string },
    session: Session | null,
  ) => Answered<{ moderators: Moderator[] }>
  /** The item of a permalink; null if it is not a link to the platform. */
  place(permalink: string): PermalinkTarget | null
  /** Never shared or cached, because it reads the present state. */
  verify(ids: readonly string[]): Answered<VerifyBody>
  /** Visibility of a post to others. Never shared or cached either. */
  visibility(id: string): Answered<{ id: string } & Visibility>
  forget(): void
}

type Deps = {
  platform: SourceReads
  identities: Identities
  clock: Clock
  /** Deadline of one read with all its requests and retries. */
  read_deadline_ms: number
  /** Milliseconds that a throttled read may wait, read at each call; 0: until its deadline. */
  read_wait_ms: () => number
  /** Further requests for a full tree; 0: {@link TREE_FETCHES_MAX}. */
  tree_fetches: number
  /** Lifetime of a cached answer; 0: no cache. */
  read_cache_ms: number
  /** Receives the source of each answer that could have been shared. */
  on_read?: (cache: CacheState) => void
  /** Memory budget that cached answers count towards; absent: only the limit of the cache. */
  budget?: ByteBudget
  /** Item of a link; null: it leads to none. */
  placeOf: (permalink: string) => PermalinkTarget | null
}

const TREE_FETCHES_MAX = 200

export function createReads(deps: Deps): Reads {
  const { clock, identities, read_deadline_ms: deadline_ms, read_wait_ms: wait_ms } = deps
  const observer = createSessionObserver(deps.platform)
  const { platform } = observer
  const caller = createCaller({ observer, identities, clock, deadline_ms, wait_ms })
  const share = createShare(clock, deps.read_cache_ms, deps.on_read, deps.budget)
  const tree_fetches = deps.tree_fetches === 0 ? TREE_FETCHES_MAX : deps.tree_fetches

  const positions = createPositions()
  let listings = 0

  /** A listing with bare fullnames of the platform as its issued cursors. */
  function listed<Query extends Paged, Body extends { after: string | null }>(
    work: Work<Query, Body>,
  ): Work<Query, Body> {
    const number = listings++
    return async (query, call) => {
      const { id, whose } = call.identity
      const reader = whose === 'caller' ? id : 'pool'
      const listing = `${number} ${reader} ${keyOf({ ...query, limit: null, after: null })}`
      const after = positions.resolve(listing, query.after)
      const outcome = await work({ ...query, after }, call)
      if (!outcome.ok) return outcome
      return ok({ ...outcome.value, after: positions.issue(listing, outcome.value.after) })
    }
  }

  const shared = <Query, Body extends object>(work: Work<Query, Body>) => {
    const common = share(keyOf, (query: Query) => caller.pool((call) => work(query, call)))
    const readOne = async (query: Query, session?: Session | null): Answered<Body> =>
      session
        ? toCacheResult(await caller.caller(session, (call) => work(query, call)), 'miss')
        : common(query)
    const cached = (query: Query, session?: Session | null) =>
      session ? null : common.cached(query)
    return Object.assign(readOne, { cached })
  }

  const own =
    <Query, Body>(work: Work<Query, Body>): OwnRead<Query, Body> =>
    async (query, session) =>
      toCacheResult(await caller.account(session, (call) => work(query, call)), 'miss')

  const sharedPage = <Query extends Paged, Body extends { after: string | null }>(
    work: Work<Query, Body>,
  ) => shared(listed(work))
  const ownPage = <Query extends Paged, Body extends { after: string | null }>(
    work: Work<Query, Body>,
  ) => own(listed(work))

  const ownModerators = own(moderatorsOf(platform))
  const openModerators = shared(async ({ name }: { name: string }, call) => {
    const moderators = await platform.moderators(name, call)
    return moderators.ok ? ok({ moderators: moderators.value }) : moderators
  })

  return {
    forget: share.forget,

    posts: sharedPage(
      pagedRead(
        bySort,
        ({ subforum, sort, t, ...paged }: PostsQuery, call) =>
          platform.posts({ subforums: [subforum], sort, t, ...paging(paged) }, call),
        (posts) => ({ posts }),
      ),
    ),

    post: shared(async ({ id }, call) => {
      const posts = await platform.postsById([id], call)
      if (!posts.ok) return posts
      const [post] = posts.value
      return post === undefined ? ABSENT : ok(post)
    }),
    byId: shared(({ ids }, call) => readById(platform, ids, call)),

    search: sharedPage(async ({ q, subforum, sort, t, nsfw, filter, ...paged }, call) => {
      const page = await platform.search({ q, subforum, sort, t, nsfw, ...paging(paged) }, call)
      if (!page.ok) return page
      const { rows, turn } = settlePage('search', paged, page.value)
      if (!isFiltering(filter)) return ok({ posts: rows, ...turn })
      const posts = filterPage(filter, rows)
      return ok({ posts, ...turn, meta: { scanned: rows.length, kept: posts.length } })
    }),
    searchMedia: sharedPage((query, call) => searchMedia(platform, query, call)),
    searchCommunities: sharedPage(
      pagedRead(
        searchListing,
        ({ q, nsfw, ...paged }: NamesQuery, call) =>
          platform.searchCommunities({ q, nsfw, ...paging(paged) }, call),
        (communities) => ({ communities }),
      ),
    ),
    searchUsers: sharedPage(
      pagedRead(
        searchListing,
        ({ q, nsfw, ...paged }: NamesQuery, call) =>
          platform.searchUsers({ q, nsfw, ...paging(paged) }, call),
        (users) => ({ users }),
      ),
    ),
    discussions: sharedPage(({ limit, ...query }, call) =>
      searchDiscussions(platform, { ...query, limit: Math.min(limit, tree_fetches) }, call),
    ),
    deepSearch: sharedPage((query, call) => deepSearch(platform, query, call)),
    deepAuthors: sharedPage((query, call) => deepAuthors(platform, query, call)),

    tree: shared(({ full, ...query }, call) =>
      full
        ? readFullCommentTree(platform, query, tree_fetches, call)
        : readCommentTree(platform, query, call),
    ),
    comment: shared(async ({ id, replies }, call) => {
      const nodes = await platform.nodesById([id], call)
      if (!nodes.ok) return nodes
      const [comment] = nodes.value
      if (comment === undefined) return ABSENT
      if (!replies) return ok({ comment })
      const { post_id } = platform.commentOf(comment)
      const below = await readReplies(platform, { ...WHOLE, post_id, comment_id: id }, call)
      return below.ok ? ok({ comment: withReplies(comment, below.value) }) : below
    }),

    subforum: shared(({ name }, call) => platform.community(name, call)),
    subforumComments: sharedPage(
      pagedRead(
        () => 'chronological',
        ({ subforum, ...paged }: Paged & { subforum: string }, call) =>
          platform.comments({ subforums: [subforum], ...paging(paged) }, call),
        (comments) => ({ comments }),
      ),
    ),
    subforums: sharedPage(
      pagedRead(
        ({ which }) => (which === 'new' ? 'chronological' : 'ranked'),
        ({ which, ...paged }: SubforumsQuery, call) =>
          platform.communities({ which, ...paging(paged) }, call),
        (subforums) => ({ subforums }),
      ),
    ),
    rules: shared(({ name }, call) => platform.rules(name, call)),
    wiki: shared((query, call) => platform.wiki(query, call)),

    user: shared(({ name }, call) => platform.user(name, call)),
    userComments: sharedPage(
      pagedRead(
        userListing,
        ({ name, sort, t, ...paged }: UserPageQuery, call) =>
          platform.userComments({ name, sort, t, ...paging(paged) }, call),
        (comments) => ({ comments }),
      ),
    ),
    userPosts: sharedPage(
      pagedRead(
        userListing,
        ({ name, sort, t, ...paged }: UserPageQuery, call) =>
          platform.userItems({ name, tab: 'submitted', sort, t, ...paging(paged) }, call),
        (items) => ({ posts: postsIn(items) }),
      ),
    ),
    achievements: shared(async ({ name }, call) => {
      const found = await platform.achievements(name, call)
      return found.ok ? ok({ achievements: found.value, count: found.value.length }) : found
    }),

    home: ownPage(
      pagedRead(
        bySort,
        ({ sort, t, ...paged }: HomeQuery, call) =>
          platform.feed({ sort, t, ...paging(paged) }, call),
        (posts) => ({ posts }),
      ),
    ),
    ownItems: ownPage(ownItems(platform)),
    moderators: (query, session) =>
      session === null ? openModerators(query) : ownModerators(query, session),

    place: deps.placeOf,
    verify: async (ids) =>
      toCacheResult(await caller.pool((call) => verifyComments(platform, ids, call)), 'miss'),
    visibility: async (id) => {
      const seen = await caller.pool((call) => platform.visibility(id, call))
      return toCacheResult(seen.ok ? ok({ id, ...seen.value }) : seen, 'miss')
    },
  }
}

const ABSENT = fail({ kind: 'not_found', reason: null })
/** The part of a branch that one request returns. */
const WHOLE = { sort: 'confidence', depth: null, limit: null }

const searchListing = (): ListingKind => 'search'
const userListing = (): ListingKind => 'user'

/** Two spellings of a name are the same read. */
const keyOf = (query: unknown): string =>
  JSON.stringify(query, (field, value: unknown) =>
    (field === 'subforum' || field === 'name') && typeof value === 'string'
      ? value.toLowerCase()
      : value,
  )
