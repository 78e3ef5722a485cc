import type { Outcome } from '../core/base/result.ts'
import type { PageFilter } from '../core/filter/search-query.ts'
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
import type { PageEnd } from '../core/forum/listing.ts'
import type { PermalinkTarget } from '../core/forum/permalink.ts'
import type { Session } from '../core/forum/session.ts'
import type { CacheResult, Shared, Take } from './cache.ts'
import type { TreeBody, TreeQuery } from './comments.ts'
import type {
  DeepAuthorsBody,
  DeepAuthorsQuery,
  DeepBody,
  DeepQuery,
  DiscussionsBody,
  DiscussionsQuery,
} from './deep-search.ts'
import type { ByIdBody, MediaBody, MediaQuery, OwnBody, OwnQuery, VerifyBody } from './items.ts'
import type { Paged } from './listing.ts'

/** A page of the posts of a subforum. */
export type PostsQuery = Paged & { subforum: string; sort: string; t: string | null }
/** A page of the front page of an account. */
export type HomeQuery = Paged & { sort: string; t: string | null }
type SearchQuery = Paged & {
  q: string
  subforum: string | null
  sort: string
  t: string
  nsfw: boolean
  filter: PageFilter
}
/** A page of users or subforums by a part of their name. */
export type NamesQuery = Paged & { q: string; nsfw: boolean }
/** A page of a user's posts or comments. */
export type UserPageQuery = Paged & { name: string; sort: string; t: string | null }
/** A page of one of the platform's own lists of subforums. */
export type SubforumsQuery = Paged & { which: 'popular' | 'new' | 'default' }

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
export type Answered<Body> = Promise<Outcome<CacheResult<Body>>>
/** A shared read. With a session it returns the account's view, and is never shared or cached. */
export type SharedAs<Query, Body> = {
  (query: Query, session: Session | null): Answered<Body>
  kept(query: Query, session: Session | null): Take<Body> | null
}
/** A read of content that requires an account. */
export type OwnRead<Query, Body> = (query: Query, session: Session) => Answered<Body>

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
  moderators: OwnRead<{ name: string }, { moderators: Moderator[] }>
  /** The item of a permalink; null if it is not a link to the platform. */
  place(permalink: string): PermalinkTarget | null
  /** Never shared or cached, because it reads the present state. */
  verify(ids: readonly string[]): Answered<VerifyBody>
  /** Visibility of a post to others. Never shared or cached either. */
  visibility(id: string): Answered<{ id: string } & Visibility>
}
