import type { Shelf } from '../core/listing.ts'
import { fail, ok } from '../core/outcome.ts'
import { asksForSomething, filterPage } from '../core/page-filter.ts'
import { type LinkHosts, parsePermalink } from '../core/permalink.ts'
import type { Session } from '../core/session.ts'
import type { Clock } from '../outside.ts'
import type { Platform } from '../platform/platform.ts'
import { readById } from './by-id.ts'
import { type CacheState, createShare, read } from './cache.ts'
import { deepAuthors, deepSearch } from './deep-search.ts'
import { type Paged, paging, settlePage } from './listing.ts'
import { createLooking, type EyesOf } from './looking.ts'
import { searchMedia } from './media.ts'
import { withReplies } from './nodes.ts'
import { moderatorsOf, ownItems } from './own.ts'
import { bySort, listed, postsIn, type Work } from './pages.ts'
import type {
  Answered,
  FeedQuery,
  NamesQuery,
  Own,
  PostsQuery,
  Reads,
  SubforumsQuery,
  UserPageQuery,
} from './reads.ts'
import { branch, readFullTree, readTree } from './tree.ts'
import { verifyComments } from './verify.ts'
import { createWitness } from './witness.ts'

type Deps = {
  platform: Platform
  eyes_of: EyesOf
  clock: Clock
  /** One read with all its requests and retries. */
  read_deadline_ms: number
  /** Further requests for a full tree; 0 = as many as {@link TREE_FETCHES_MAX}. */
  tree_fetches: number
  /** How long an answer serves the same read again; 0 = not at all. */
  read_cache_ms: number
  /** Told where the answer of each read came from that could have been shared. */
  on_read?: (cache: CacheState) => void
  hosts: LinkHosts
}

const TREE_FETCHES_MAX = 200

/** The reads, each within one deadline: through the pool, or through the account of the caller who sends a session. */
export function createReads(deps: Deps): Reads {
  const { clock, eyes_of, read_deadline_ms: deadline_ms } = deps
  const witness = createWitness(deps.platform)
  const { platform } = witness
  const looking = createLooking({ witness, eyes_of, clock, deadline_ms })
  const share = createShare(clock, deps.read_cache_ms, deps.on_read)
  const tree_fetches = deps.tree_fetches === 0 ? TREE_FETCHES_MAX : deps.tree_fetches

  const shared = <Query, Body extends object>(work: Work<Query, Body>) => {
    const common = share(keyOf, (query: Query) => looking.pool((call) => work(query, call)))
    const ask = async (query: Query, session?: Session | null): Answered<Body> =>
      session
        ? read(await looking.caller(session, (call) => work(query, call)), 'miss')
        : common(query)
    const kept = (query: Query, session?: Session | null) => (session ? null : common.kept(query))
    return Object.assign(ask, { kept })
  }

  const own =
    <Query, Body>(work: Work<Query, Body>): Own<Query, Body> =>
    async (query, session) =>
      read(await looking.account(session, (call) => work(query, call)), 'miss')

  return {
    posts: shared(
      listed(
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

    search: shared(async ({ q, subforum, sort, t, nsfw, filter, ...paged }, call) => {
      const page = await platform.search({ q, subforum, sort, t, nsfw, ...paging(paged) }, call)
      if (!page.ok) return page
      const { rows, turn } = settlePage('search', paged, page.value)
      if (!asksForSomething(filter)) return ok({ posts: rows, ...turn })
      const posts = filterPage(filter, rows)
      return ok({ posts, ...turn, meta: { scanned: rows.length, kept: posts.length } })
    }),
    searchMedia: shared((query, call) => searchMedia(platform, query, call)),
    searchCommunities: shared(
      listed(
        searched,
        ({ q, nsfw, ...paged }: NamesQuery, call) =>
          platform.searchCommunities({ q, nsfw, ...paging(paged) }, call),
        (communities) => ({ communities }),
      ),
    ),
    searchUsers: shared(
      listed(
        searched,
        ({ q, nsfw, ...paged }: NamesQuery, call) =>
          platform.searchUsers({ q, nsfw, ...paging(paged) }, call),
        (users) => ({ users }),
      ),
    ),
    deepSearch: shared((query, call) => deepSearch(platform, query, call)),
    deepAuthors: shared((query, call) => deepAuthors(platform, query, call)),

    tree: shared(({ full, ...query }, call) =>
      full ? readFullTree(platform, query, tree_fetches, call) : readTree(platform, query, call),
    ),
    comment: shared(async ({ id, replies }, call) => {
      const nodes = await platform.nodesById([id], call)
      if (!nodes.ok) return nodes
      const [comment] = nodes.value
      if (comment === undefined) return ABSENT
      if (!replies) return ok({ comment })
      const { post_id } = platform.commentOf(comment)
      const below = await branch(platform, { ...WHOLE, post_id, comment_id: id }, call)
      return below.ok ? ok({ comment: withReplies(comment, below.value) }) : below
    }),

    subforum: shared(({ name }, call) => platform.community(name, call)),
    subforumComments: shared(
      listed(
        () => 'chronological',
        ({ subforum, ...paged }: Paged & { subforum: string }, call) =>
          platform.comments({ subforums: [subforum], ...paging(paged) }, call),
        (comments) => ({ comments }),
      ),
    ),
    subforums: shared(
      listed(
        ({ which }) => (which === 'new' ? 'chronological' : 'ranked'),
        ({ which, ...paged }: SubforumsQuery, call) =>
          platform.communities({ which, ...paging(paged) }, call),
        (subforums) => ({ subforums }),
      ),
    ),
    rules: shared(({ name }, call) => platform.rules(name, call)),
    wiki: shared((query, call) => platform.wiki(query, call)),

    user: shared(({ name }, call) => platform.user(name, call)),
    userComments: shared(
      listed(
        theirs,
        ({ name, sort, t, ...paged }: UserPageQuery, call) =>
          platform.userComments({ name, sort, t, ...paging(paged) }, call),
        (comments) => ({ comments }),
      ),
    ),
    userPosts: shared(
      listed(
        theirs,
        ({ name, sort, t, ...paged }: UserPageQuery, call) =>
          platform.userItems({ name, tab: 'submitted', sort, t, ...paging(paged) }, call),
        (items) => ({ posts: postsIn(items) }),
      ),
    ),
    achievements: shared(async ({ name }, call) => {
      const found = await platform.achievements(name, call)
      return found.ok ? ok({ achievements: found.value, count: found.value.length }) : found
    }),

    feed: own(
      listed(
        bySort,
        ({ sort, t, ...paged }: FeedQuery, call) =>
          platform.feed({ sort, t, ...paging(paged) }, call),
        (posts) => ({ posts }),
      ),
    ),
    ownItems: own(ownItems(platform)),
    moderators: own(moderatorsOf(platform)),

    place: (permalink) => parsePermalink(permalink, deps.hosts),
    verify: async (ids) =>
      read(await looking.pool((call) => verifyComments(platform, ids, call)), 'miss'),
    visibility: async (id) => {
      const seen = await looking.pool((call) => platform.visibility(id, call))
      return read(seen.ok ? ok({ id, ...seen.value }) : seen, 'miss')
    },
  }
}

const ABSENT = fail({ kind: 'not_found', reason: null })
/** As much of a branch as one request brings. */
const WHOLE = { sort: 'confidence', depth: null, limit: null }

const searched = (): Shelf => 'search'
const theirs = (): Shelf => 'user'

/** Two spellings of a name are the same read. */
const keyOf = (query: unknown): string =>
  JSON.stringify(query, (field, value: unknown) =>
    (field === 'subforum' || field === 'name') && typeof value === 'string'
      ? value.toLowerCase()
      : value,
  )
