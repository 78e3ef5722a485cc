import { type Fault, ok, type Outcome } from '../core/base/result.ts'
import type { Item, Page } from '../core/forum/items.ts'
import { type AuditTokens, refill } from '../core/polling/audit.ts'
import { createItemClock } from '../core/polling/item-clock.ts'
import { ANONYMOUS, type Platform } from '../platforms/port.ts'
import type {
  IdRange,
  ItemStream,
  PartialReason,
  Reread,
  Source,
  StreamStep,
} from '../platforms/source.ts'
import type { Clock } from '../runtime/runtime.ts'
import { createWatch } from './watch.ts'

/** A further source as monitors see it. */
export type StreamSource = {
  name: string
  /** Proof by its ids that nothing was missed. */
  proof: ItemStream['proof']
  has(capability: Parameters<Source['capabilities']['has']>[0]): boolean
  /** True when `place` is a name that it could have. */
  isPlace(place: string): boolean
  /** Why it proves nothing of one of these places; no places: of all of it. Null: it does. */
  partialFor(places: readonly string[]): PartialReason | null
  /** Reads what came after `state`, within the share of requests of an interval. Null: from now on. */
  step(
    state: string | null,
    call: { interval_s: number; signal: AbortSignal },
  ): Promise<Outcome<StreamStep>>
  /** Time in which an item may be listed again under an old id; 0: steps find it. */
  relisted_ms: number
  /** Requests that `reread` may send now; 0: none. */
  reread_requests(): number
  /** Reads ids again, within the share of requests that is kept for it. */
  reread(ids: IdRange, signal: AbortSignal): Promise<Outcome<Reread>>
  /**
   * Present state of items by fullname, as many as its requests allow: `tried`. Items that are
   * deleted or could not be read are left out.
   */
  refetch(
    fullnames: readonly string[],
    signal?: AbortSignal,
  ): Promise<{ tried: readonly string[]; found: Item[]; fault: Fault | null }>
  /** The newest items of a kind, by its listings: a sample, which proves nothing. */
  newest(of: 'posts' | 'comments', signal: AbortSignal): Promise<Outcome<Page<Item>>>
  /** Milliseconds by which the clock of its items is ahead of ours; 0 unless it is more than a minute. */
  ahead_ms(): number
}

/** The further sources that can be monitored, by name. */
export type StreamSources = ReadonlyMap<string, StreamSource>

/** The place that stands for all of a source. */
const EVERYWHERE = 'all'
/** Share of a source's requests that its monitors may use; callers' reads have the rest. */
const SHARE = 0.75
/** A step may send this many requests, however short the interval: the source's pace delays them. */
const REQUESTS_MIN = 10
/** A step that catches up after an outage reads for a minute, even if its interval is shorter. */
const STEP_MIN_MS = 60_000
/** Share of a source's requests for ids that are read again, beside that of steps. */
const REREAD_SHARE = 0.1
/** Share of any minute's requests that all of this may use. */
const MINUTE_SHARE = 0.9
const REREAD_DEADLINE_MS = 20_000
/** Share of a minute's requests that one round of lookups by id may use. */
const REFETCH_SHARE = 1 / 6
const REFETCH_DEADLINE_MS = 20_000
/** Newest items in a sample. */
const SAMPLE_ROWS = 50

type Options = {
  name: string
  source: Source
  /** The port of the source. */
  platform: Platform
  requests_per_minute: number
  clock: Clock
}

/** A source for monitors; null: it has no stream. */
export function createStreamSource({
  name,
  source,
  platform,
  requests_per_minute,
  clock,
}: Options): StreamSource | null {
  const { stream, capabilities, isPlace, clock_offset_ms } = source
  if (stream === null) return null
  const item_clock = createItemClock(clock, clock_offset_ms)
  const watch = createWatch({
    platform,
    // A source has one way in, which its own client paces.
    identities: { lease: () => ANONYMOUS, report: () => {}, free_in_ms: () => 0 },
    clock,
    item_clock,
    deadline_ms: REFETCH_DEADLINE_MS,
  })
  const mark = (item: Item): Item => ({ ...item, source: name })
  const allowance = REREAD_SHARE * requests_per_minute
  let saved: AuditTokens = { tokens: 0, mono: clock.mono() }
  const rereadRequests = (): number => {
    saved = refill(saved, clock.mono(), allowance)
    return Math.max(0, Math.floor(saved.tokens))
  }
  return {
    name,
    proof: stream.proof,
    has: (capability) => capabilities.has(capability),
    isPlace,
    partialFor(places) {
      const reasons = (places.length === 0 ? [EVERYWHERE] : places).map((it) =>
        source.partialFor?.(it),
      )
      return reasons.find((it) => it != null) ?? null
    },
    ahead_ms: item_clock.ms,
    async step(state, { interval_s, signal }) {
      const share = Math.floor((SHARE * requests_per_minute * interval_s) / 60)
      const step = await stream.advance(state, {
        requests: Math.max(stream.requests_min ?? REQUESTS_MIN, share),
        deadline_at: clock.now() + Math.max(STEP_MIN_MS, interval_s * 1000),
        signal,
        share: MINUTE_SHARE,
      })
      if (!step.ok) return step
      item_clock.observe(step.value.items)
      return { ...step, value: { ...step.value, items: step.value.items.map(mark) } }
    },
    relisted_ms: stream.relisted_ms,
    reread_requests: rereadRequests,
    async reread(ids, signal) {
      const requests = rereadRequests()
      const read = await stream.reread(ids, {
        requests,
        deadline_at: clock.now() + REREAD_DEADLINE_MS,
        signal,
        share: MINUTE_SHARE,
      })
      // A request that failed has cost one too.
      saved = { ...saved, tokens: saved.tokens - (read.ok ? read.value.requests : 1) }
      return read.ok
        ? { ...read, value: { ...read.value, items: read.value.items.map(mark) } }
        : read
    },
    async newest(of, signal) {
      const call = { identity: ANONYMOUS, use: 'poll' as const, signal }
      const until = { ...call, deadline_at: clock.now() + REFETCH_DEADLINE_MS }
      const paging = { limit: SAMPLE_ROWS, after: null, subforums: [] }
      if (of === 'comments') {
        const found = await platform.comments(paging, until)
        if (!found.ok) return found
        return ok({
          rows: found.value.rows.map((it) => mark({ ...it, kind: 'comment' })),
          after: null,
        })
      }
      const list = source.newestPosts ?? platform.posts
      const found = await list({ ...paging, sort: 'new', t: null }, until)
      if (!found.ok) return found
      return ok({ rows: found.value.rows.map((it) => mark({ ...it, kind: 'post' })), after: null })
    },
    async refetch(fullnames, signal) {
      const tried = fullnames.slice(0, Math.max(1, Math.floor(REFETCH_SHARE * requests_per_minute)))
      const outcome = await watch.refetch(tried, signal)
      return outcome.ok
        ? { tried, found: outcome.value.map(mark), fault: null }
        : { tried, found: [], fault: outcome.fault }
    },
  }
}
