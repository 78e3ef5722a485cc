import type { Fault, Outcome } from '../core/base/result.ts'
import type { Item } from '../core/forum/items.ts'
import type { Egress } from '../net/egress.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Platform } from './port.ts'

/** Kinds of platforms that forumd reads. */
export const SOURCE_KINDS = ['reddit', 'discourse', 'hackernews', 'lemmy'] as const
export type SourceKind = (typeof SOURCE_KINDS)[number]

/** The reads of the port that a source may have; each is a capability of its name. */
export type ReadPort = Omit<
  Platform,
  'me' | 'feed' | 'commentOf' | 'clock_offset_ms' | 'clock_measured_ms'
>
export type ReadCapability = keyof ReadPort

/** What a source can do beyond reads. */
export const ACT_CAPABILITIES = ['login', 'comment', 'vote', 'message'] as const
export type Capability = ReadCapability | (typeof ACT_CAPABILITIES)[number] | 'monitor' | 'home'

/**
 * How a source proves that a monitor missed nothing. `time_listing`: polls and audits of listings.
 * `keyset`: a walk by descending id reached the last known id. `dense`: every id was answered.
 * `sparse_walk`: every local id was listed or requested once.
 */
export type ProofKind = 'time_listing' | 'keyset' | 'dense' | 'sparse_walk'

/** Why a source cannot prove completeness now, although its answers were read. */
export type PartialReason =
  'order_is_not_arrival' | 'copy_of_remote' | 'seen_as_anonymous' | 'not_affordable' | 'no_paging'

/** Range of ids, both inclusive. */
export type IdRange = { from_id: number; to_id: number }

/** Position of a stream, as JSON text that only its adapter reads. */
export type StreamState = string

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
  signal?: AbortSignal
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

/** Options of an adapter. */
export type SourceOptions = Pick<Runtime, 'clock' | 'random'> & {
  egress: Egress
  /** Without a slash at its end; '' for a kind with a fixed address. */
  base_url: string
  user_agent: string
  /** At most this many requests per minute to the source. */
  requests_per_minute: number
  timeout_ms: number
  /** Answers larger than this are `unreadable`. */
  bytes_max: number
  /** API key or token of the operator's account at the source; null: anonymous. */
  credential: string | null
}

/** Result of asking a source once who it is, for `forumd source test` and doctor. */
export type SourceProbe = {
  /** Name and version of the site's software, as it states them. */
  title: string | null
  version: string | null
  /** Sentences about limits that the operator should know. */
  notes: string[]
}

/** A platform that forumd reads by ids. */
export type Source = {
  kind: Exclude<SourceKind, 'reddit'>
  capabilities: ReadonlySet<Capability>
  reads: ReadPort
  stream: ItemStream | null
  /** Path of a place's page at the source, for messages. */
  placeUrl(place: string): string
  /** True when `place` is a name that the source could have. */
  isPlace(place: string): boolean
  /** Target of a link to the source: fullname; null if it is none. */
  fullnameOf(url: URL): string | null
  probe(call: StreamCall): Promise<Outcome<SourceProbe>>
}

/** Reads that a source has; the others answer `unsupported`. */
export function withUnsupported(reads: Partial<ReadPort>): ReadPort {
  const refuse = (capability: ReadCapability) => () =>
    Promise.resolve({ ok: false as const, fault: { kind: 'unsupported', capability } as Fault })
  return new Proxy(reads, {
    get: (target, name) => Reflect.get(target, name) ?? refuse(name as ReadCapability),
  }) as ReadPort
}
