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
/** Of what everybody sees: shared with others who ask the same. */
type Asked<Query, Body> = Shared<Query, Body>
/** The same, or with a session what its account sees: never shared or kept. */
type AskedAs<Query, Body> = {
  (query: Query, session: Session | null): Answered<Body>
  kept(query: Query, session: Session | null): Take<Body> | null
}
/** Of what nobody sees without an account. */
export type OwnAsked<Query, Body> = (query: Query, session: Session) => Answered<Body>

/** Everything that can be read of the platform. Names and ids are checked by the caller. */
export type Reads = {
  posts: AskedAs<PostsQuery, PostsBody>
  post: Asked<{ id: string }, Post>
  /** Posts by their ids, without prefix; at most 100. */
  byId: Asked<{ ids: string[] }, ByIdBody>
  search: AskedAs<SearchQuery, SearchBody>
  searchMedia: Asked<MediaQuery, MediaBody>
  searchCommunities: Asked<NamesQuery, CommunitiesBody>
  searchUsers: Asked<NamesQuery, UsersBody>
  deepSearch: Asked<DeepQuery, DeepBody>
  deepAuthors: Asked<DeepAuthorsQuery, DeepAuthorsBody>
  /** A post and its comments; with `full`, `more` nodes are followed as far as tree_fetches reaches. */
  tree: AskedAs<TreeRead, TreeBody>
  comment: Asked<{ id: string; replies: boolean }, CommentBody>
  subforum: Asked<{ name: string }, Community>
  subforumComments: AskedAs<Paged & { subforum: string }, CommentsBody>
  subforums: Asked<SubforumsQuery, SubforumsBody>
  rules: Asked<{ name: string }, Rules>
  wiki: Asked<{ subforum: string; page: string }, WikiPage>
  user: Asked<{ name: string }, User>
  userComments: Asked<UserPageQuery, CommentsBody>
  userPosts: Asked<UserPageQuery, PostsBody>
  achievements: Asked<{ name: string }, AchievementsBody>
  feed: OwnAsked<FeedQuery, PostsBody>
  ownItems: OwnAsked<OwnQuery, OwnBody>
  moderators: OwnAsked<{ name: string }, { moderators: Moderator[] }>
  /** What a permalink names; null when it is none of the platform's. */
  place(permalink: string): Place | null
  /** Never shared or kept: what it asks is how things stand now. */
  verify(ids: readonly string[]): Answered<VerifyBody>
  /** Whether others see a post. Never shared or kept either. */
  visibility(id: string): Answered<{ id: string } & Visibility>
}
