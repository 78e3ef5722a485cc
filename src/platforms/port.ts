import type { Outcome, ProxyTrouble } from '../core/base/result.ts'
import type {
  Achievement,
  Comment,
  Community,
  Item,
  ItemLiveness,
  ItemState,
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
} from '../core/forum/items.ts'
import type { OwnTab } from '../core/forum/listing.ts'
import type { Acted } from '../core/forum/native-refusals.ts'
import type { PermalinkTarget } from '../core/forum/permalink.ts'
import type { Proxy } from '../core/forum/proxy.ts'
import type {
  Direction,
  Folder,
  ImageKind,
  Messages,
  Posted,
  SentMessage,
  Threads,
} from '../core/forum/writes.ts'

/**
 * Actions of one account on the platform over plain HTTP. Each call uses the identity of a session;
 * an anonymous one is `login_required`. A write is sent once. Only one that was refused because its
 * write token had been replaced is sent again. Ids, names and lengths are checked by the caller.
 */
export type Acts = {
  /** Replies to a post or a comment; `text` is Markdown. */
  comment(request: { parent: string; text: string }, call: Call): Promise<Acted<Posted>>
  /** `id` is a fullname. */
  vote(request: { id: string; direction: Direction }, call: Call): Promise<Acted<null>>
  /** Sent as a private message, or by chat where the recipient accepts no private messages. */
  send(
    request: { to: string; subject: string; text: string },
    call: Call,
  ): Promise<Acted<SentMessage>>
  threads(
    request: { folder: Folder; limit: number; after: string | null },
    call: Call,
  ): Promise<Acted<Threads>>
  messages(
    request: { thread_id: string; limit: number; after: string | null },
    call: Call,
  ): Promise<Acted<Messages>>
  /** Changes the named fields only. */
  profile(change: ProfileChange, call: Call): Promise<Acted<null>>
  picture(change: PictureChange, call: Call): Promise<Acted<{ url: string }>>
  /** A comment as its own author sees it; null if it does not exist. `id` without prefix. */
  readBack(id: string, call: Call): Promise<Outcome<Comment | null>>
  /** Target of a share link; null if it leads to no post. `path` is that of core/post-url.ts. */
  resolveShare(path: string, call: Call): Promise<Outcome<PermalinkTarget | null>>
}

/** Changes to a profile; an absent field stays unchanged. */
export type ProfileChange = { description?: string; display_name?: string }

/** A checked picture; its kind is detected from its bytes. */
export type ImageFile = { bytes: Uint8Array; kind: ImageKind }

export type PictureChange = { place: 'avatar' | 'banner'; picture: ImageFile }

export type BrowserCommentRequest = {
  place: PermalinkTarget
  text: string
  /** Canonical: see core/locale.ts. */
  locale: string
  /** Primary: see core/timezone.ts. */
  timezone: string
}

type NoBrowser = Extract<BrowserFault, { kind: 'unavailable' | 'scheme' }>

/**
 * As over HTTP; or `no_browser`: no browser is available, or none supports the proxy's scheme.
 * Nothing was sent then.
 */
export type BrowserCommentResult = Acted<Posted> | { ok: false; no_browser: NoBrowser }

/**
 * Replies to a post or a comment on its own page, with the session of the call's identity. Sent at
 * most once: if the answer is lost after the request was sent, the result is `unknown`. `comment`
 * is not read back here.
 */
export type BrowserComment = (
  request: BrowserCommentRequest,
  call: Call,
) => Promise<BrowserCommentResult>

type BrowserLoginRequest = LoginRequest & {
  /** Canonical: see core/locale.ts. */
  locale: string
  /** Primary: see core/timezone.ts. */
  timezone: string
}

/** As over HTTP; or `fault`: no browser is available, or none supports the proxy's scheme. */
export type BrowserLoginResult =
  | LoginResult
  | { ok: false; code: null; fault: Extract<BrowserFault, { kind: 'unavailable' | 'scheme' }> }

/** Signs in once, in a browser. Every outcome is a value. */
export type BrowserLogin = (request: BrowserLoginRequest) => Promise<BrowserLoginResult>

/**
 * Why a browser call failed. `timeout`: no free seat, or no end in time. `scheme`: browsers do not
 * support the proxy's scheme. `unavailable`: no browser. `lost`: the browser or the connection to
 * the platform failed; `trouble` is set if the proxy did.
 */
export type BrowserFault =
  | { kind: 'timeout' }
  | { kind: 'scheme' }
  | { kind: 'unavailable'; why: string }
  | { kind: 'lost'; trouble: ProxyTrouble | null }

/**
 * Result of a failed sign-in. The first three are the platform's own verdicts on the credentials
 * and are final; the others mean that no verdict could be read.
 */
export type LoginCode =
  | 'AUTH_FAILED'
  | 'TWO_FACTOR_REQUIRED'
  | 'TWO_FACTOR_INVALID'
  | 'UNKNOWN'
  | 'UPSTREAM_ERROR'
  | 'UPSTREAM_BLOCKED'

export type LoginRequest = Origin & {
  /** A name or an e-mail address. */
  username: string
  password: string
  /** Base32; null: no second factor. */
  totp_secret: string | null
}

/** Result of a sign-in: the jar, a verdict on the credentials, or the reason why there is none. */
export type LoginResult =
  | {
      ok: true
      jar: CookieJar
      name: string
      link_karma: number | null
      comment_karma: number | null
    }
  /** `trouble` is set if the proxy failed, `retry_after_s` if the platform asks to wait. */
  | { ok: false; code: LoginCode; trouble?: ProxyTrouble; retry_after_s?: number }

/**
 * Signs in once. Every outcome is a value; only the three verdicts on the credentials are final.
 */
export type Login = (request: LoginRequest) => Promise<LoginResult>

/**
 * One cookie as returned to a caller. `expires_at` is epoch ms; null: a session cookie of the
 * browser.
 */
type JarCookie = { name: string; value: string; expires_at: number | null }

/** The cookies of one account at the platform. Only its own requests may carry them. */
export type CookieJar = {
  /** The Cookie header for the platform; null if there is nothing to send. */
  header(): string | null
  /**
   * Stores the cookies that an answer sets; true if the jar changed. `kept` are the cookies that
   * are refreshed later; a sign-in stores `all`. An empty or expired cookie is a deletion.
   */
  take(lines: readonly string[], which?: 'kept' | 'all'): boolean
  has_session(): boolean
  /** Exchanges the session's cookie for the one that it has replaced, if there is one that may still be valid. */
  swap(): void
  /** Notes that the session's cookie is proven; true if another one was kept until now. */
  settle(): boolean
  /**
   * Expiry of the session in epoch ms, from the session token or its cookie; null if neither states
   * it.
   */
  expires_at(): number | null
  cookies(): JarCookie[]
  /** The serialised jar, for encryption and storage. */
  text(): string
}

/**
 * A jar and the number of cookies of other sites that were left out; or problems, which never quote
 * a cookie's content.
 */
type Imported =
  { ok: true; jar: CookieJar; cookies: number; others: number } | { ok: false; problems: string[] }

export type CookieJars = {
  empty(): CookieJar
  /** A serialised jar; null if the text is none. */
  open(text: string): CookieJar | null
  /** A cookies.txt, JSON or a Cookie header exported from a browser. */
  import(text: string): Imported
}

export type Origin = {
  proxy: Proxy | null
  /** `pool`: one of the operator's proxies. `caller`: named by a caller. */
  whose: 'pool' | 'caller'
  deadline_at: number
  signal?: AbortSignal | undefined
}

/** The identity of a call. Cookies of one identity never travel on another's request. */
export type Identity = {
  /** For log lines: `anonymous`, an account's id, or `caller:` and a hash of the session. */
  id: string
  /** Anonymous; one of the pool's accounts; the caller's own session. */
  whose: 'anonymous' | 'pool' | 'caller'
  /** The Cookie header, or null. */
  cookie: string | null
  /**
   * An access token for the bearer host, or null. With one, requests go to `api_url` and carry no
   * cookie.
   */
  bearer: string | null
  /** The egress; null: direct. It stays the same through every retry. */
  proxy: Proxy | null
  /**
   * Set if a caller's session uses one of the operator's proxies: it needs no guard, and its
   * failures are the operator's.
   */
  pool_proxy?: true
  /** Receives the Set-Cookie lines of an answer whose cookies may be stored. */
  on_cookies?: (lines: string[]) => void
}

export const ANONYMOUS: Identity = {
  id: 'anonymous',
  whose: 'anonymous',
  cookie: null,
  bearer: null,
  proxy: null,
}

/** The part of an identity that decides which rate budget its requests use. */
export type Payer = Pick<Identity, 'id' | 'bearer' | 'proxy'>

/**
 * Key of a rate budget. The platform counts a bearer's requests by its application, and all others by the address that
 * they come from: sessions behind one egress share a budget with each other and with anonymous requests.
 */
export function budgetKey({ id, bearer, proxy }: Payer): string {
  if (bearer !== null) return `bearer ${id}`
  if (proxy === null) return 'direct'
  // The credentials of a proxy often select its exit.
  const { scheme, host, port, username, password } = proxy
  return JSON.stringify([scheme, host, port, username, password])
}

/**
 * Purpose of a request: a caller who waits, or a monitor's poll. Each has a share of a
 * budget.
 */
export type Use = 'read' | 'poll'

export type Call = {
  identity: Identity
  /** Default: `read`. */
  use?: Use
  /** Epoch ms. Past it the outcome is `timeout`. */
  deadline_at: number
  /**
   * Epoch ms until which the call may wait for its turn or for the end of a throttling; default:
   * `deadline_at`.
   */
  wait_until?: number
  signal?: AbortSignal
  /** The same call by another account of the pool; null: there is none. */
  another?(): Call | null
}

type Paging = { limit: number; after: string | null }

/** `logged_in`: whether the platform accepted the session; null if it does not say. */
export type Listing<T> = Page<T> & { logged_in: boolean | null }

/** A post and the comments under it, in the platform's own form. */
export type Tree = {
  post: Post
  /** Top-level native nodes, including `more` nodes, with nested replies. Unmodified. */
  comments: Node[]
}

/**
 * Port of the forum platform. Names and ids are checked by the caller (`[A-Za-z0-9_-]`); sorts and
 * times are the port's own words. Failures of the platform are returned as faults, never thrown.
 */
export type SourceReads = {
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
  /** As search, with each post's media; null if it has none. */
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
  /** Posts and comments in the order of one of a user's listings. */
  userItems(
    query: Paging & { name: string; tab: UserTab; sort: string; t: string | null },
    call: Call,
  ): Promise<Outcome<Listing<Item>>>
  tree(
    query: {
      post_id: string
      /** Id of a comment: only the branch that begins there. */
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
  /**
   * Posts by id (without prefix), in the platform's order; unknown ids are left out. At most 100.
   */
  postsById(ids: string[], call: Call): Promise<Outcome<Post[]>>
  /** Native t1 nodes by id, unmodified; unknown ids are left out. At most 100. */
  nodesById(ids: string[], call: Call): Promise<Outcome<Node[]>>
  /** Liveness of each comment. Unknown ids are left out. At most 100. */
  liveness(ids: string[], call: Call): Promise<Outcome<Map<string, ItemLiveness>>>
  /** The front page of the identity; `login_required` for an anonymous one. */
  feed(
    query: Paging & { sort: string; t: string | null },
    call: Call,
  ): Promise<Outcome<Listing<Post>>>
  /** The signed-in account; null if the platform treats the session as anonymous: it is dead. */
  me(call: Call): Promise<Outcome<Me | null>>
  rules(name: string, call: Call): Promise<Outcome<Rules>>
  wiki(query: { subforum: string; page: string }, call: Call): Promise<Outcome<WikiPage>>
  communities(
    query: Paging & { which: 'popular' | 'new' | 'default' },
    call: Call,
  ): Promise<Outcome<Listing<Community>>>
  achievements(name: string, call: Call): Promise<Outcome<Achievement[]>>
  visibility(id: string, call: Call): Promise<Outcome<Visibility>>
  user(name: string, call: Call): Promise<Outcome<User>>
  community(name: string, call: Call): Promise<Outcome<Community>>
  moderators(name: string, call: Call): Promise<Outcome<Moderator[]>>
  commentOf(node: Node): Comment
}

/**
 * Present state of posts and comments by fullname, at most 100. An item of which the source states nothing clear is left
 * out: one that is not in its answer, that this identity may not see, or that it sees as its moderator.
 */
export type ItemStates = (
  fullnames: readonly string[],
  call: Call,
) => Promise<Outcome<Map<string, ItemState>>>

export type Listings = {
  [
    Name in keyof SourceReads as SourceReads[Name] extends ListingCall ? Name : never
  ]: SourceReads[Name]
}
type ListingCall = (query: never, call: never) => Promise<Outcome<Listing<unknown>>>

export type UserTab = 'overview' | 'submitted' | 'comments' | OwnTab
