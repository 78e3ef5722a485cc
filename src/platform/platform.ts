import type {
  Achievement,
  Comment,
  Community,
  Item,
  Liveness,
  Me,
  MediaPost,
  Moderator,
  Node,
  Page,
  Post,
  Rules,
  User,
  Visibility,
  WikiPage,
} from '../core/items.ts'
import type { OwnTab } from '../core/listing.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Proxy } from '../core/proxy.ts'

/** Whose eyes a call looks through. One pair's cookies never travel on another's request. */
export type Eyes = {
  /** Names the budget and the log line: `anonymous`, an account's id, or `caller:` and a hash of the session. */
  id: string
  /** nobody; one of the pool's accounts; the caller's own session. */
  whose: 'nobody' | 'pool' | 'caller'
  /** The Cookie header, or null. */
  cookie: string | null
  /** An access token for the bearer host, or null. With one, requests go to `api_url` and carry no cookie. */
  bearer: string | null
  /** The way out; null: direct. It is kept through every retry. */
  proxy: Proxy | null
  /** The way out is one of ours that a caller's session borrows: it needs no guard, and its trouble is ours. */
  lent?: true
  /** Told the Set-Cookie lines of an answer whose cookies may be taken over. */
  on_cookies?: (lines: string[]) => void
}

/** Nobody's eyes. */
export const ANONYMOUS: Eyes = {
  id: 'anonymous',
  whose: 'nobody',
  cookie: null,
  bearer: null,
  proxy: null,
}

/** What a request is for: a caller who waits, or a monitor's look. Each has a share of what a pair of eyes may ask. */
export type Use = 'read' | 'poll'

/** How a call is made: through whose eyes, what for, and when all its tries must be over. */
export type Call = {
  eyes: Eyes
  /** A read, unless it says otherwise. */
  use?: Use
  /** Epoch ms. Past it the outcome is `timeout`. */
  deadline_at: number
  signal?: AbortSignal
}

type Paging = { limit: number; after: string | null }

/** A listing's rows, and whether the platform took us for somebody (null: it does not tell). */
export type Listing<T> = Page<T> & { logged_in: boolean | null }

/** A post and the comments under it, in the platform's own form. */
export type Tree = {
  post: Post
  /** Top-level native nodes, `more` nodes among them, replies nested. Untouched. */
  comments: Node[]
}

/**
 * The forum platform, as the rest of the house sees it. Names and ids are checked by the caller
 * (`[A-Za-z0-9_-]`); sorts and times are its own words. Nothing here throws for what the platform did.
 */
export type Platform = {
  posts(
    query: Paging & { subforums: string[]; sort: string; t: string | null },
    call: Call,
  ): Promise<Outcome<Listing<Post>>>
  comments(query: Paging & { subforums: string[] }, call: Call): Promise<Outcome<Listing<Comment>>>
  search(
    query: Paging & {
      q: string
      subforum: string | null
      sort: string
      t: string
      nsfw: boolean
    },
    call: Call,
  ): Promise<Outcome<Listing<Post>>>
  /** As search, with each post's media; null where it has none. */
  searchMedia(
    query: Paging & { q: string; sort: string; t: string; nsfw: boolean },
    call: Call,
  ): Promise<Outcome<Listing<Post & { media: MediaPost['media'] | null }>>>
  searchCommunities(
    query: Paging & { q: string; nsfw: boolean },
    call: Call,
  ): Promise<Outcome<Listing<Community>>>
  searchUsers(
    query: Paging & { q: string; nsfw: boolean },
    call: Call,
  ): Promise<Outcome<Listing<User>>>
  /** A user's comments; `sort` new, hot, top, controversial. */
  userComments(
    query: Paging & { name: string; sort: string; t: string | null },
    call: Call,
  ): Promise<Outcome<Listing<Comment>>>
  /** Posts and comments as they stand in one of a user's listings. */
  userItems(
    query: Paging & { name: string; tab: UserTab; sort: string; t: string | null },
    call: Call,
  ): Promise<Outcome<Listing<Item>>>
  tree(
    query: {
      post_id: string
      /** A comment's id: only the branch that begins there. */
      comment_id?: string
      sort: string
      depth: number | null
      limit: number | null
    },
    call: Call,
  ): Promise<Outcome<Tree>>
  /** The nodes behind a `more`, flat, as native nodes; at most 100 ids. */
  more(
    query: { post_id: string; ids: string[]; sort: string },
    call: Call,
  ): Promise<Outcome<Node[]>>
  /** Posts by id (without prefix), in the order the platform gave; unknown ids are left out. At most 100. */
  postsById(ids: string[], call: Call): Promise<Outcome<Post[]>>
  /** Native t1 nodes by id, untouched; unknown ids are left out. At most 100. */
  nodesById(ids: string[], call: Call): Promise<Outcome<Node[]>>
  /** Whether each comment is still there. Unknown ids are left out. At most 100. */
  liveness(ids: string[], call: Call): Promise<Outcome<Map<string, Liveness>>>
  /** The front page of whoever is looking; `login_required` when that is nobody. */
  feed(
    query: Paging & { sort: string; t: string | null },
    call: Call,
  ): Promise<Outcome<Listing<Post>>>
  /** Who is looking; null when the platform takes us for nobody: the session is dead. */
  me(call: Call): Promise<Outcome<Me | null>>
  rules(name: string, call: Call): Promise<Outcome<Rules>>
  wiki(query: { subforum: string; page: string }, call: Call): Promise<Outcome<WikiPage>>
  communities(
    query: Paging & { which: 'popular' | 'new' | 'default' },
    call: Call,
  ): Promise<Outcome<Listing<Community>>>
  achievements(name: string, call: Call): Promise<Outcome<Achievement[]>>
  /** Whether a post can be seen by others. */
  visibility(id: string, call: Call): Promise<Outcome<Visibility>>
  user(name: string, call: Call): Promise<Outcome<User>>
  community(name: string, call: Call): Promise<Outcome<Community>>
  moderators(name: string, call: Call): Promise<Outcome<Moderator[]>>
  /** A native comment node in our own shape. */
  commentOf(node: Node): Comment
  /** How far the platform's clock is ahead of ours, in ms; 0 until three answers agree that it is over 60 s. */
  clock_offset_ms(): number
  /** The same however little it is, to about a second; 0 until three answers have told. */
  clock_measured_ms(): number
}

/** The calls that answer a page at a time. */
export type Listings = {
  [Name in keyof Platform as Platform[Name] extends ListingCall ? Name : never]: Platform[Name]
}
type ListingCall = (query: never, call: never) => Promise<Outcome<Listing<unknown>>>

/** The listings of a person that hold posts and comments as they come. */
export type UserTab = 'overview' | 'submitted' | 'comments' | OwnTab
