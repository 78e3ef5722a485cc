import { fail, type Outcome } from '../core/base/result.ts'
import type { Item } from '../core/forum/items.ts'
import type { PermalinkTarget } from '../core/forum/permalink.ts'
import type { HttpClientOptions } from './http.ts'
import type { Platform } from './port.ts'

/** Kinds of platforms that are read without the pool's accounts. */
type SourceKind = 'discourse' | 'hackernews' | 'lemmy' | 'piefed'

/** The reads of the port that a source may have; each is a capability of its name. */
export type ReadPort = Omit<
  Platform,
  'me' | 'feed' | 'commentOf' | 'clock_offset_ms' | 'clock_measured_ms'
>
/** The reads in a fixed order. */
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
] as const satisfies readonly (keyof ReadPort)[]
export type ReadCapability = (typeof READ_CAPABILITIES)[number]

/** Capabilities beyond reads. */
export const ACT_CAPABILITIES = ['login', 'comment', 'vote', 'message'] as const
/** Names of capabilities, as callers see them. */
type Capability = ReadCapability | (typeof ACT_CAPABILITIES)[number] | 'monitor' | 'home'

/**
 * Proof that a monitor missed nothing. `time_listing`: polls and audits of listings.
 * `keyset`: a walk by descending id reached the last known id. `dense`: every id was answered.
 * `sparse_walk`: every local id was listed or requested once.
 */
type ProofKind = 'time_listing' | 'keyset' | 'dense' | 'sparse_walk'

/** Why a source cannot prove completeness now, although its answers were read. */
export type PartialReason =
  'order_is_not_arrival' | 'copy_of_remote' | 'seen_as_anonymous' | 'not_affordable' | 'no_paging'

/** Range of ids, both inclusive. */
export type IdRange = { from_id: number; to_id: number }

/** Position of a stream, as JSON text that only its adapter reads. */
type StreamState = string

/** One step of a stream: everything that was read, and the position after it. */
export type StreamStep = {
  /** New items and current texts of edited ones, oldest first. */
  items: Item[]
  /** Fullnames of known items that were deleted or removed. */
  gone: string[]
  state: StreamState
  /** The first id after the start and the highest proven one; null before anything was proven. */
  proven: IdRange | null
  /** Ids that exist and were not read yet, because the step's requests were used up. */
  behind: IdRange | null
  /** Ids that stayed without an answer longer than the patience. Exact, not an estimate. */
  unanswered: number[]
  /**
   * Epoch ms by the source's clock: everything that was visible to the reader and created before was
   * read. Answers from a cache of the source prove the time before the cache's age only.
   */
  verified_until: number
  partial: PartialReason | null
  /** Requests that were sent. */
  requests: number
}

/** Bounds of one step. */
export type StreamCall = {
  /** At most this many requests. */
  requests: number
  /** Epoch ms. */
  deadline_at: number
  signal?: AbortSignal | undefined
}

/**
 * All items of a source in the order of their ids. A step starts where the state ends; null: at the
 * present end, which proves nothing of the past.
 */
export type ItemStream = {
  proof: Exclude<ProofKind, 'time_listing'>
  /** Requests of a step when nothing is new. */
  idle_requests: number
  advance(state: StreamState | null, call: StreamCall): Promise<Outcome<StreamStep>>
  /** Reads a range again that a step left behind; the state does not move. */
  reread(
    range: IdRange,
    call: StreamCall,
  ): Promise<Outcome<Pick<StreamStep, 'items' | 'behind' | 'requests'>>>
}

/** Options of an adapter. `base_url` is '' for a kind with a fixed address. */
export type SourceOptions = Omit<HttpClientOptions, 'headers' | 'verdict'> & {
  /** API key or token of the operator's account at the source; null: anonymous. */
  credential: string | null
}

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
  kind: SourceKind
  /** Address of its pages. */
  url: string
  capabilities: ReadonlySet<Capability>
  reads: ReadPort
  stream: ItemStream | null
  /** True when `place` is a name that the source could have. */
  isPlace(place: string): boolean
  /** Names of places as a reader would write them, for forms and messages. */
  place_examples: readonly string[]
  /** Why the stream proves nothing of one place, as for a copy of another server's; null: it does. */
  partialFor?(place: string): PartialReason | null
  /** Post, or comment under it, that a link to the source leads to; null if it is none. */
  targetOf(url: URL): PermalinkTarget | null
  /** Converts a node of its trees to the port's shape. */
  commentOf: Platform['commentOf']
  clock_offset_ms(): number
  /** True while the source cannot be reached. */
  isDown(): boolean
  /** Requests the source's description once. */
  probe(call: StreamCall): Promise<Outcome<SourceProbe>>
}

/** Outcome of a call that a source has no means for. */
export const unsupported = (capability: string) => fail({ kind: 'unsupported', capability })

const refuse = (capability: ReadCapability) => async () => unsupported(capability)

const NO_READS: ReadPort = {
  posts: refuse('posts'),
  comments: refuse('comments'),
  search: refuse('search'),
  searchMedia: refuse('searchMedia'),
  searchCommunities: refuse('searchCommunities'),
  searchUsers: refuse('searchUsers'),
  userComments: refuse('userComments'),
  userItems: refuse('userItems'),
  tree: refuse('tree'),
  more: refuse('more'),
  postsById: refuse('postsById'),
  nodesById: refuse('nodesById'),
  liveness: refuse('liveness'),
  rules: refuse('rules'),
  wiki: refuse('wiki'),
  communities: refuse('communities'),
  achievements: refuse('achievements'),
  visibility: refuse('visibility'),
  user: refuse('user'),
  community: refuse('community'),
  moderators: refuse('moderators'),
}

/** All reads of the port: those that a source has, the others as `unsupported`. */
export const withUnsupported = (reads: Partial<ReadPort>): ReadPort => ({ ...NO_READS, ...reads })

/** The names of the reads that a source has. */
export const readCapabilities = (reads: Partial<ReadPort>): ReadCapability[] =>
  READ_CAPABILITIES.filter((name) => reads[name] !== undefined)
