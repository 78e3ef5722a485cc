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
} from '../core/items.ts'
import type { Turn } from '../core/listing.ts'
import type { Outcome } from '../core/outcome.ts'
import type { PageFilter } from '../core/page-filter.ts'
import type { Place } from '../core/permalink.ts'
import type { Session } from '../core/session.ts'
import type { ByIdBody } from './by-id.ts'
import type { Read, Shared, Take } from './cache.ts'
import type { DeepAuthorsBody, DeepAuthorsQuery, DeepBody, DeepQuery } from './deep-search.ts'
import type { Paged } from './listing.ts'
import type { MediaBody, MediaQuery } from './media.ts'
import type { OwnBody, OwnQuery } from './own.ts'
import type { TreeBody, TreeQuery } from './tree.ts'
import type { VerifyBody } from './verify.ts'

/** A page of the posts of a subforum. */
export type PostsQuery = Paged & { subforum: string; sort: string; t: string | null }
/** A page of the front page of an account. */
export type FeedQuery = Paged & { sort: string; t: string | null }
type SearchQuery = Paged & {
  q: string
  subforum: string | null
  sort: string
  t: string
  nsfw: boolean
  filter: PageFilter
}
/** A page of people or places by a part of their name. */
export type NamesQuery = Paged & { q: string; nsfw: boolean }
/** A page of what a person wrote. */
export type UserPageQuery = Paged & { name: string; sort: string; t: string | null }
/** A page of one of the platform's own lists of subforums. */
export type SubforumsQuery = Paged & { which: 'popular' | 'new' | 'default' }

/** The comments under a post; `full` follows what is folded. */
export type TreeRead = TreeQuery & { full: boolean }

type PostsBody = { posts: Post[] } & Turn
type SearchBody = PostsBody & { meta?: { scanned: number; kept: number } }
type CommentsBody = { comments: Comment[] } & Turn
type CommunitiesBody = { communities: Community[] } & Turn
type SubforumsBody = { subforums: Community[] } & Turn
type UsersBody = { users: User[] } & Turn
type CommentBody = { comment: Node }
type AchievementsBody = { achievements: Achievement[]; count: number }

/** An answer, and whether it was kept, shared or asked for. */
export type Answered<Body> = Promise<Outcome<Read<Body>>>
/** A shared read, or with a session what its account sees: that is never shared or kept. */
export type SharedAs<Query, Body> = {
  (query: Query, session: Session | null): Answered<Body>
  kept(query: Query, session: Session | null): Take<Body> | null
}
/** A read of what nobody sees without an account. */
export type Own<Query, Body> = (query: Query, session: Session) => Answered<Body>

/** Everything that can be read of the platform. Names and ids are checked by the caller. */
export type Reads = {
  posts: SharedAs<PostsQuery, PostsBody>
  post: Shared<{ id: string }, Post>
  /** Posts by their ids, without prefix; at most 100. */
  byId: Shared<{ ids: string[] }, ByIdBody>
  search: SharedAs<SearchQuery, SearchBody>
  searchMedia: Shared<MediaQuery, MediaBody>
  searchCommunities: Shared<NamesQuery, CommunitiesBody>
  searchUsers: Shared<NamesQuery, UsersBody>
  deepSearch: Shared<DeepQuery, DeepBody>
  deepAuthors: Shared<DeepAuthorsQuery, DeepAuthorsBody>
  /** A post and its comments; with `full`, `more` nodes are followed as far as tree_fetches reaches. */
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
  feed: Own<FeedQuery, PostsBody>
  ownItems: Own<OwnQuery, OwnBody>
  moderators: Own<{ name: string }, { moderators: Moderator[] }>
  /** What a permalink names; null when it is none of the platform's. */
  place(permalink: string): Place | null
  /** Never shared or kept: what it asks is how things stand now. */
  verify(ids: readonly string[]): Answered<VerifyBody>
  /** Whether others see a post. Never shared or kept either. */
  visibility(id: string): Answered<{ id: string } & Visibility>
}
