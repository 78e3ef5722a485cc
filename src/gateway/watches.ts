import { type Fault, ok, type Outcome } from '../core/base/result.ts'
import { earliestOffset, reportedOffset } from '../core/base/time.ts'
import { decodeFilterSpec } from '../core/filter/parse.ts'
import type { Item, ItemState, Page } from '../core/forum/items.ts'
import { beginningAhead } from '../core/limits/plan.ts'
import { type AuditTokens, refill } from '../core/polling/audit.ts'
import { ANONYMOUS, type Platform } from '../platforms/port.ts'
import {
  type IdRange,
  type IdWatch,
  type LeftOut,
  type PartialReason,
  type Reread,
  type Source,
  unsupported,
  type WatchStep,
} from '../platforms/source.ts'
import type { Clock } from '../runtime/runtime.ts'
import { createWatch, type Watch } from './watch.ts'

type StepCall = {
  interval_s: number
  signal: AbortSignal
  places: readonly string[]
  feed?: string
  /** The earliest start of a monitor that waits for the first step, epoch ms; null: none does. */
  since?: number | null
}

export type SourceWatch = {
  name: string
  /** Proof by its ids that nothing was missed. */
  proof: IdWatch['proof']
  feeds?: readonly string[] | undefined
  has(capability: Parameters<Source['capabilities']['has']>[0]): boolean
  /** True when `place` is a name that it could have. */
  isPlace(place: string): boolean
  /** A place as the items of the source name it. */
  spell(place: string): string
  /** Asks the source for a place; `unverified`: it does not answer. */
  place(name: string): Promise<'exists' | 'absent' | 'private' | 'unverified'>
  /** Names of its places, as many as one list has. */
  placeNames(): Promise<string[]>
  /** Why it proves nothing of one of these places; no places: of all of it. Null: it does. */
  partialFor(places: readonly string[]): PartialReason | null
  /** Reads what came after `state`, within the share of requests of an interval. Null: since the first start. */
  step(state: string | null, call: StepCall): Promise<Outcome<WatchStep>>
  /** Goes on where a step ended, after its items were recorded; null: nothing is left, or no request for it. */
  settle?(state: string, call: StepCall): Promise<Outcome<WatchStep | null>>
  /** A step is made at least this often, in seconds; Infinity: as often as monitors ask. */
  interval_max_s: number
  /** Time in which an item may be listed again under an old id; 0: steps find it. */
  relisted_ms: number
  /** Requests that `reread` may send now; 0: none. */
  reread_requests(): number
  /** Reads ids again, within the share of requests that is kept for it. */
  reread(
    ids: IdRange,
    call: { signal: AbortSignal; places: readonly string[] },
  ): Promise<Outcome<Reread>>
  /**
   * Present state of items by fullname, as many as its requests allow: `tried`. Items that are
   * deleted or could not be read are left out.
   */
  refetch(
    fullnames: readonly string[],
    signal?: AbortSignal,
  ): Promise<{ tried: readonly string[]; found: Item[]; fault: Fault | null }>
  /** States of items; absent: they are not read again. */
  recheck?: {
    /** Requests a minute that the source allows now. */
    per_minute(): number
    /** Requests for one item, at most. */
    requests_each: number
    states: NonNullable<Watch['states']>
  }
  /** The newest items of a kind, by its listings: a sample, which proves nothing. */
  newest(of: 'posts' | 'comments', signal: AbortSignal): Promise<Outcome<Page<Item>>>
  /** Milliseconds by which the clock of its items is ahead of ours; 0 unless it is more than a minute. */
  ahead_ms(): number
  /** Rows that were left out since the start; null: none. */
  left_out(): LeftOut | null
  /** Milliseconds by which that clock is behind ours; 0 if it is ahead, or behind by less than can be measured. */
  behind_ms(): number
  /** An instant of that clock by ours, or a little earlier. */
  ours(at: number): number
}

export type Watches = ReadonlyMap<string, SourceWatch>

/** What coverage of past days needs of the sources: the clock of the platform, and what they cannot prove. */
export const coverageContext = (
  { clock_earliest_ms }: Pick<Watch, 'clock_earliest_ms'>,
  sources: Watches,
) => ({
  offset_ms: clock_earliest_ms(),
  limitOf: (source: string, filter_spec: string) =>
    sources.get(source)?.partialFor(decodeFilterSpec(filter_spec).subforum) ?? null,
})

const EVERYWHERE = 'all'
/** Share of a source's requests that its monitors may use; callers' reads have the rest. */
const SHARE = 0.75
/** A step may send this many requests, however short the interval: the source's pace delays them. */
const REQUESTS_MIN = 10
/** A step that catches up after an outage reads for a minute, even if its interval is shorter. */
const STEP_MIN_MS = 60_000
const SETTLE_MIN_MS = 10_000
/** Share of a source's requests for ids that are read again, beside that of steps. */
const REREAD_SHARE = 0.2
/** Requests of one reread, so that the next step is in time. */
const REREAD_AT_ONCE = 5
/** Share of any minute's requests that all of this may use. */
const MINUTE_SHARE = 0.9
const REREAD_DEADLINE_MS = 20_000
/** Share of a minute's requests that one round of lookups by id may use. */
const REFETCH_SHARE = 1 / 6
const REFETCH_DEADLINE_MS = 20_000
/** Bytes of answers that a step reads before it is recorded, so that ten sources fit into memory. One answer may be larger. */
const STEP_BYTES = 2 * 1024 * 1024
const SAMPLE_ROWS = 50
/** A caller waits for it. */
const PLACE_DEADLINE_MS = 8000
const PLACE_NAMES = 100

/** The Date header has whole seconds, and answers take a while. */
const CLOCKS_AGREE_MS = 1500

const lead = (ms: number): number => (Math.abs(ms) > CLOCKS_AGREE_MS ? ms + CLOCKS_AGREE_MS : 0)

type Options = {
  name: string
  source: Source
  platform: Platform
  requests_per_minute: number
  clock: Clock
}

/** A source for monitors; null: it has no watch. */
export function createSourceWatch({
  name,
  source,
  platform,
  requests_per_minute,
  clock,
}: Options): SourceWatch | null {
  const { watch, capabilities, isPlace, clock_offset_ms } = source
  if (watch === null) return null
  const lookups = createWatch({
    platform,
    states: source.states,
    // A source has one way in, which its own client paces.
    identities: { lease: () => ANONYMOUS, report: () => {}, free_in_ms: () => 0 },
    clock,
    deadline_ms: REFETCH_DEADLINE_MS,
  })
  const mark = (item: Item): Item => ({ ...item, source: name })
  const placeCall = () => ({ identity: ANONYMOUS, deadline_at: clock.now() + PLACE_DEADLINE_MS })
  const perMinute = () => Math.min(requests_per_minute, source.perMinute?.() ?? Infinity)
  let saved: AuditTokens = { tokens: 0, mono: clock.mono() }
  const rereadRequests = (): number => {
    saved = refill(saved, clock.mono(), REREAD_SHARE * perMinute())
    return Math.max(0, Math.floor(saved.tokens))
  }
  const behindMs = () => Math.max(0, -beginningAhead(earliestOffset(clock_offset_ms())))
  const shareOf = (interval_s: number): number =>
    Math.max(REQUESTS_MIN, Math.floor((SHARE * perMinute() * interval_s) / 60))
  return {
    name,
    proof: watch.proof,
    feeds: watch.feeds,
    has: (capability) => capabilities.has(capability),
    isPlace,
    spell: (place) => source.spell?.(place) ?? place,
    async place(place) {
      const found = await platform.community(place, placeCall())
      if (found.ok) return 'exists'
      const { fault } = found
      if (fault.kind === 'forbidden' && fault.reason === 'private') return 'private'
      const { kind } = fault
      return kind === 'not_found' || kind === 'forbidden' ? 'absent' : 'unverified'
    },
    async placeNames() {
      const query = { which: 'popular', limit: PLACE_NAMES, after: null } as const
      const found = await platform.communities(query, placeCall())
      return found.ok ? found.value.rows.map((it) => it.name) : []
    },
    partialFor(places) {
      const reasons = (places.length === 0 ? [EVERYWHERE] : places).map((it) =>
        source.partialFor?.(it),
      )
      return reasons.find((it) => it != null) ?? null
    },
    ahead_ms: () => reportedOffset(clock_offset_ms()),
    left_out: () => source.left_out?.() ?? null,
    behind_ms: behindMs,
    // What a source states is never later than the present.
    ours: (at) => Math.min(at - lead(clock_offset_ms()), clock.now()),
    async step(state, { interval_s, signal, places, since = null, feed }) {
      const step = await watch.advance(state, {
        requests: Math.max(watch.requests_min ?? 0, shareOf(interval_s)),
        feed,
        // The clock of a source is known from its first answer on.
        ...(since !== null && { since: () => since - behindMs() }),
        interval_s,
        deadline_at: clock.now() + Math.max(STEP_MIN_MS, interval_s * 1000),
        signal,
        places,
        share: MINUTE_SHARE,
        allowance: { left: STEP_BYTES },
      })
      if (!step.ok) return step
      return { ...step, value: { ...step.value, items: step.value.items.map(mark) } }
    },
    async settle(state, { interval_s, signal, places }) {
      if (watch.settle === undefined) return ok(null)
      const step = await watch.settle(state, {
        requests: shareOf(interval_s),
        interval_s,
        // The next step must not wait for it.
        deadline_at: clock.now() + Math.max(SETTLE_MIN_MS, (interval_s * 1000) / 2),
        signal,
        places,
        share: MINUTE_SHARE,
        allowance: { left: STEP_BYTES },
      })
      if (!step.ok) return step
      if (step.value.requests === 0) return ok(null)
      return { ...step, value: { ...step.value, items: step.value.items.map(mark) } }
    },
    interval_max_s: watch.interval_max_s ?? Infinity,
    relisted_ms: watch.relisted_ms,
    reread_requests: rereadRequests,
    async reread(ids, { signal, places }) {
      const requests = Math.min(REREAD_AT_ONCE, rereadRequests())
      const read = await watch.reread(ids, {
        requests,
        deadline_at: clock.now() + REREAD_DEADLINE_MS,
        signal,
        places,
        share: MINUTE_SHARE,
        allowance: { left: STEP_BYTES },
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
    ...(lookups.states && {
      recheck: {
        per_minute: perMinute,
        // The thread of a comment may take another.
        requests_each: 2,
        states: async (...query: Parameters<NonNullable<Watch['states']>>) => {
          const read = await lookups.states?.(...query)
          if (read?.ok !== true) return read ?? unsupported('states')
          const marked = [...read.value].map(([key, it]): [string, ItemState] => [
            key,
            it.state === 'live' ? { ...it, item: mark(it.item) } : it,
          ])
          return ok(new Map(marked))
        },
      },
    }),
    async refetch(fullnames, signal) {
      const tried = fullnames.slice(0, Math.max(1, Math.floor(REFETCH_SHARE * perMinute())))
      const outcome = await lookups.refetch(tried, signal)
      return outcome.ok
        ? { tried, found: outcome.value.map(mark), fault: null }
        : { tried, found: [], fault: outcome.fault }
    },
  }
}
