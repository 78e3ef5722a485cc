import { recordOf } from '../core/base/object.ts'
import { fail, ok, type Outcome } from '../core/base/result.ts'
import { peerUrl } from '../core/base/url.ts'
import type { Item } from '../core/forum/items.ts'
import type { Acted } from '../core/forum/native-refusals.ts'
import type { PermalinkTarget } from '../core/forum/permalink.ts'
import type { Direction, PostedOrPending, SentMessage } from '../core/forum/writes.ts'
import type { ChangesWaiting } from '../core/polling/coverage.ts'
import type { ByteAllowance, HttpCall, HttpClientOptions } from './http.ts'
import type { ItemStates, LoginCode, LoginRequest, SourceReads, Use } from './port.ts'

/** The reads that a source may have; each is a capability of its name. */
export const READ_CAPABILITIES = [
  'posts',
  'comments',
  'search',
  'searchMedia',
  'searchCommunities',
  'searchUsers',
  'userComments',
  'userItems',
  'tree',
  'more',
  'postsById',
  'nodesById',
  'liveness',
  'rules',
  'wiki',
  'communities',
  'achievements',
  'visibility',
  'user',
  'community',
  'moderators',
] as const satisfies readonly (keyof SourceReads)[]
export type ReadCapability = (typeof READ_CAPABILITIES)[number]

/** Capabilities beyond reads. */
export const ACT_CAPABILITIES = [
  'login',
  'comment',
  'vote',
  'downvote',
  'message',
  'inbox',
  'profile',
] as const
type Capability =
  ReadCapability | (typeof ACT_CAPABILITIES)[number] | 'authorize' | 'monitor' | 'home'

export type ActCall = HttpCall & { credential: string }

/** Result of a sign-in: the credential of later acts, or the reason why there is none. */
export type SourceSignIn =
  { ok: true; credential: string } | { ok: false; code: LoginCode; retry_after_s?: number }

/**
 * Acts as one account; one that is absent is a capability that the source lacks. Fullnames hold the
 * source's own ids. Each request that changes something is sent once.
 */
export type CredentialActs = {
  /** Fullname of a link that names a comment by its number; absent: no link does. */
  numbered?(place: { post_id: string; number: number }, call: ActCall): Promise<Outcome<string>>
  login?(
    account: Pick<LoginRequest, 'username' | 'password' | 'totp_secret'>,
    call: HttpCall,
  ): Promise<SourceSignIn>
  /** Replies to a post or a comment; `text` is Markdown. */
  comment?(
    request: { parent: string; text: string },
    call: ActCall,
  ): Promise<Acted<PostedOrPending>>
  /** `id` is a fullname. */
  vote?(request: { id: string; direction: Direction }, call: ActCall): Promise<Acted<null>>
  message?(
    request: { to: string; subject: string; text: string },
    call: ActCall,
  ): Promise<Acted<SentMessage>>
}

/** Address for a person to open, and what reads the answer. `private_key` is PEM, and secret. */
export type KeyRequest = { authorize_url: string; nonce: string; private_key: string }

/** Way by which a person allows forumd to act as their account, without a password. */
export type Authorization = {
  /** `auth_redirect`: address that gets the answer; null: the source shows it to the person. */
  begin(request: {
    application_name: string
    auth_redirect: string | null
    random: { bytes(count: number): Uint8Array }
  }): Promise<KeyRequest>
  /** The credential in the answer; `unreadable` names what is wrong with it. */
  read(
    payload: string,
    request: Pick<KeyRequest, 'private_key' | 'nonce'>,
  ): Outcome<{ key: string }>
}

/**
 * Proof that a monitor missed nothing. `time_listing`: polls and audits of listings.
 * `keyset`: a walk by descending id reached the last known id. `dense`: every id was answered.
 * `sparse_walk`: every local id was listed or requested once. `overlap`: each list has entries of the one before.
 */
type ProofKind = 'time_listing' | 'keyset' | 'dense' | 'sparse_walk' | 'overlap'

/** Why a source cannot prove completeness now, although its answers were read. */
export type PartialReason =
  | 'order_is_not_arrival'
  | 'copy_of_remote'
  | 'seen_as_anonymous'
  | 'not_affordable'
  | 'no_paging'
  | 'places_not_read'

/** Range of ids, both inclusive. */
export type IdRange = { from_id: number; to_id: number }

/** Position of a watch, as JSON text that only its adapter reads. */
type WatchState = string

export type WatchStep = {
  /** New items and current texts of edited ones, oldest first. */
  items: Item[]
  /** Fullnames of those with an id above the highest known one of the state; absent: their times decide what is new. */
  arrived?: readonly string[]
  /** Fullnames of those that were asked for or listed before and not public then: they are as old as this step. */
  published?: readonly string[]
  /** Fullnames of known items that were deleted or removed. */
  gone: string[]
  state: WatchState
  /** The first id after the start and the highest proven one; null before anything was proven. */
  proven: IdRange | null
  /** Ids that exist and were not read yet, because the step's requests were used up: the next step reads them. */
  behind: IdRange | null
  /** Ids that the state has passed without reading them: no later step does, `reread` can. */
  skipped: IdRange[]
  /** Ids that had no item for longer than the patience: no later step asks for them, `reread` can. */
  unanswered: number[]
  /** Ids that had an item: those among them that were reported before are no longer missing. */
  answered: number[]
  /**
   * Epoch ms by the source's clock: everything that was visible to the reader and created before was
   * read. Answers from a cache of the source prove the time before the cache's age only.
   */
  verified_until: number
  partial: PartialReason | null
  /** Ids went back, as after a restore of the source: the watch begins again at the present end. */
  went_back?: true
  /** A list has no entry of the one before: what came between was not seen. Epoch ms, null: not known. */
  overran?: { from_at: number | null; until_at: number | null }
  /**
   * Items that the source has named as changed and that were not read since. `oldest_at`: when the first of them was
   * named, epoch ms by our clock. `dropped_24h`: those that no later step reads. Absent: the source names none.
   */
  changes?: ChangesWaiting
  /** When the next step is worth its request, epoch ms by our clock; absent: at the pace of the monitors. */
  next_at?: number
  /**
   * First step only: everything that was created since then was read, or is read by later steps. Absent: nothing from before
   * the step.
   */
  verified_from?: number
  requests: number
}

export type WatchCall = {
  /** The feed to read, of a watch that has several. */
  feed?: string | undefined
  /** At most this many requests. */
  requests: number
  /**
   * The earliest start of a monitor that waits for the first step, epoch ms by the source's clock as far as it is known.
   * Absent: none waits.
   */
  since?: () => number
  /** Places that monitors name. Absent: none. */
  places?: readonly string[]
  deadline_at: number
  /** Time between two steps. Absent: not known. */
  interval_s?: number
  signal?: AbortSignal | undefined
  /** `poll`: forumd requests it by itself. */
  use?: Use
  /** Part of a minute's requests that monitors may use; absent: all of them. */
  share?: number | undefined
  /** The next step reads the rest. Absent: any number of bytes. */
  allowance?: ByteAllowance
}

/** True when a step has read as much as it should: the next one goes on. */
export const hasReadEnough = ({ allowance }: Pick<HttpCall, 'allowance'>): boolean =>
  allowance !== undefined && allowance.left <= 0

/** The bounds of a request that a poll sends. */
export const pollCall = ({ deadline_at, signal, share, allowance }: WatchCall) =>
  ({ deadline_at, signal, share, allowance, use: 'poll' }) as const

export type Reread = {
  /** Items of the range as they are now, oldest first. */
  items: Item[]
  /** Fullnames of items that were deleted or removed; absent: not known. */
  gone?: string[]
  /** Ids of the range that have no item. */
  unanswered: number[]
  /** The rest of the range, which was not read. Null: none. */
  behind: IdRange | null
  requests: number
}

/**
 * All items of a source in the order of their ids. A step starts where the state ends; null: at the last item before
 * `since`, or at the present end, which proves nothing of the past.
 */
export type IdWatch = {
  proof: Exclude<ProofKind, 'time_listing'>
  /**
   * So long, in ms, an item may be listed again under an old id without a word of the source: `reread` of the ids of this
   * time finds it. 0: the steps do.
   */
  relisted_ms: number
  /** A step may send this many requests, however short the interval. Absent: a few. */
  requests_min?: number
  /** Names of feeds that are polled each alone, each with a state of its own. Absent: the source is one. */
  feeds?: readonly string[]
  /**
   * Steps are made at least this often, also if monitors ask for less, because the source soon forgets what it has
   * announced. Absent: as often as they ask.
   */
  interval_max_s?: number
  advance(state: WatchState | null, call: WatchCall): Promise<Outcome<WatchStep>>
  /**
   * Goes on where a step ended, once its items are recorded: requests by id that would delay them. Called until it has
   * sent no request. Absent: steps leave nothing.
   */
  settle?(state: WatchState, call: WatchCall): Promise<Outcome<WatchStep>>
  /** Reads a range again, whose ids are those of a step's report; the state does not move. */
  reread(range: IdRange, call: WatchCall): Promise<Outcome<Reread>>
}

/** An address of several that a source reads, with its name as a place. A user or a query may be secret. */
export type FeedAddress = {
  name: string
  url: string
  /** Seconds; 0: by the feed's own rhythm. */
  interval_s: number
  user: string
  password: string
}

/** Options of an adapter. `base_url` is '' for a kind with a fixed address. */
export type SourceOptions = Omit<HttpClientOptions, 'headers' | 'verdict' | 'isOwnLimit'> & {
  /** API key or token of the operator's account at the source; null: anonymous. */
  credential: string | null
  /** Addresses of a kind that has several; absent: `base_url` is one. */
  feeds?: readonly FeedAddress[]
  /** True if the operator has set `requests_per_minute`. */
  is_pace_set?: boolean
}

/** Rows that were left out since the start, because a value of theirs cannot be. `field`: the last such value. */
export type LeftOut = { rows: number; field: string; at: number }

/** Result of asking a source once who it is, for `forumd source test` and doctor. */
type SourceProbe = {
  /** Name and version of the site's software, as it states them. */
  title: string | null
  version: string | null
  /** Sentences about limits that the operator should know. */
  notes: string[]
}

/** A platform that forumd reads by ids. */
export type Source = {
  /** Name of its kind. */
  kind: string
  url: string
  capabilities: ReadonlySet<Capability>
  reads: SourceReads
  watch: IdWatch | null
  /** Its listings are polled. Default: false. */
  has_listings?: true
  /** True: names of places and users have the form of those of `home`. Default: false. */
  has_names_of_home?: true
  /** The newest posts with fewer requests than `posts` takes; absent: that is one request. */
  newestPosts?: SourceReads['posts']
  /** States of items, with one or two requests for each; absent: kept items are not read again. */
  states?: ItemStates
  acts: CredentialActs
  /** Null: acts need no such permission, or there are none. */
  authorization: Authorization | null
  /** True when `place` is a name that the source could have. */
  isPlace(place: string): boolean
  /** A place as the source's own items name it, as without its own host. Absent: as it is. */
  spell?(place: string): string
  /** Names of places as a reader would write them, for forms and messages. */
  place_examples: readonly string[]
  /** Why the watch proves nothing of one place, as for a copy of another server's; null: it does. */
  partialFor?(place: string): PartialReason | null
  /** Post, or comment under it, that a link to the source leads to; null if it is none. */
  targetOf(url: URL): PermalinkTarget | null
  /** Lead of its clock over ours, ms, accurate to about a second; 0 until three answers were measured. */
  clock_offset_ms(): number
  /** The highest age of the last answers in caches, ms; absent: there are none. */
  copy_ms?(): number
  /** Rows that were left out since the start; null or absent: none. */
  left_out?(): LeftOut | null
  /** Requests a minute that the source allows now; absent: the configured ones. */
  perMinute?(): number
  /** True while the source cannot be reached. */
  isDown(): boolean
  /** Requests the source's description once. */
  probe(call: WatchCall): Promise<Outcome<SourceProbe>>
}

/** Item of a link to a source: an address, or a path as its items have it. Null: it is none of the source. */
export function itemAt(
  text: string,
  { url, targetOf }: Pick<Source, 'url' | 'targetOf'>,
): PermalinkTarget | null {
  const link = text.trim()
  const address = peerUrl(link, /^\/(?!\/)/.test(link) ? url : undefined)
  return address === null ? null : targetOf(address)
}

export const unsupported = (capability: string) => fail({ kind: 'unsupported', capability })

const NO_READS = {
  ...recordOf(READ_CAPABILITIES, (name) => async () => unsupported(name)),
  feed: async () => unsupported('session'),
  me: async () => ok(null),
}

/** All reads of the port: those that a source has, the others as `unsupported`. */
export const withUnsupported = (
  reads: Partial<SourceReads>,
  commentOf: SourceReads['commentOf'],
): SourceReads => ({ ...NO_READS, ...reads, commentOf })

export const readCapabilities = (reads: Partial<SourceReads>): ReadCapability[] =>
  READ_CAPABILITIES.filter((name) => reads[name] !== undefined)

export const actCapabilities = (acts: CredentialActs): (typeof ACT_CAPABILITIES)[number][] =>
  (['login', 'comment', 'vote', 'message'] as const).filter((name) => acts[name] !== undefined)
