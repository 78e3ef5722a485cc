/**
 * A simulated site of a further source, as the runner and the judge see it. A platform plugs in by
 * a `SourceWorld` in `worlds.ts`; it is written from the protocol and the recordings only.
 *
 * Every time is in milliseconds since the start of the world unless its name says otherwise.
 */

export type Span = readonly [fromMs: number, untilMs: number]

/** Text and places of an item from `fromMs` until its next state. */
export type ItemState = {
  readonly fromMs: number
  /** An anonymous reader of the site, asking without any cache, is shown the item. */
  readonly visible: boolean
  readonly places: readonly string[]
  readonly author: string
  readonly title: string
  readonly text: string
  /** As a delivery has it, where that differs from `text`. */
  readonly body?: string
  /** Target of a link post; absent: not judged. */
  readonly link?: string | null
  readonly over18?: boolean
  /** False: a site that publishes in steps has not written the rest yet. */
  readonly whole?: boolean
}

export type TruthItem = {
  /** The name of the `[[source]]` it belongs to. */
  readonly source: string
  /** As a delivery names it: `t3_12`, `t1_34`. */
  readonly name: string
  readonly kind: 'post' | 'comment'
  /** The id by which gaps of health name it. */
  readonly gapId: number
  readonly createdMs: number
  /** Deliveries in this span are of this item, where a restored database gives its id to another one. */
  readonly era?: Span
  /** In order of time, the first one at or after `createdMs`. */
  readonly states: readonly ItemState[]
  /** The misbehaviour that this item met, for people who read a finding; "" for none. */
  readonly note: string
}

/** An answer about a filter: `either` where the documentation leaves it open. */
export type Match = 'yes' | 'no' | 'either'

export type SourceMonitor = {
  readonly label: string
  /** A whole filter_spec, with its `source`. */
  readonly spec: Readonly<Record<string, unknown>>
  readonly addAtMs: number
  readonly matches: (item: TruthItem, state: ItemState) => Match
  /** What it watches is never `complete`, as copies of places of other sites. */
  readonly isPartial?: boolean
}

export type LoggedRequest = {
  readonly atMs: number
  readonly source: string
  readonly path: string
  readonly status: number
  /** The misbehaviour that the answer met, or "". */
  readonly note: string
  /** Ids of the items that the answer showed. */
  readonly ids: readonly number[]
}

type SourceTable = {
  readonly name: string
  readonly kind: string
  readonly baseUrl: string
  /** The most requests a minute that it may send. */
  readonly requestsPerMinute: number
  /** The value of its key; absent: `requestsPerMinute`. */
  readonly configured?: number
  /** Further lines of the `[[source]]` table. */
  readonly toml?: string
}

/**
 * The time for which an item must be shown without interruption for its absence to be a miss.
 *
 * - fresh: shown from its creation on;
 * - late: created before it was first shown, or shown again after it was hidden;
 * - edited: shown before, but matching only after an edit or a move.
 */
export type Bounds = {
  readonly fresh: number
  readonly late: number
  readonly edited: number
  /** Late and edited items within so many ids of the newest one are found in time. */
  readonly recentIds?: number
}

/** A span of which a claim is false: the account of the source sees less than it has to, and no answer says so. */
type Blind = { readonly span: Span; readonly label: string }

/** A call at an instant, and the status that it should get. */
export type Probe = {
  readonly atMs: number
  readonly path: string
  readonly body?: unknown
  readonly expects: readonly number[]
  /** A pattern that the answer has to match. */
  readonly says?: RegExp
}

export type Truth = {
  readonly items: readonly TruthItem[]
  readonly blind?: readonly Blind[]
  /** Spans in which the site gave no useful answer, by its own fault. */
  readonly holes: readonly Span[]
  /** Spans in which it asked for no request at all (429 with a time to wait). */
  readonly pauses: readonly Span[]
}

export type RunningSource = {
  readonly tables: readonly SourceTable[]
  readonly monitors: readonly SourceMonitor[]
  readonly bounds: Bounds
  /** Difference of the site's clock to the true one. */
  readonly skewMs: number
  /** Nothing in this world keeps health from being `complete` at its end. */
  readonly faultFree: boolean
  /** Health of this world reads `complete` for 97 % of the time. Absent: as `faultFree`. */
  readonly staysComplete?: boolean
  readonly probes?: readonly Probe[]
  /** Age up to which an answer may be a copy. */
  readonly cacheMs?: number
  /** Instants at which a kill hurts most; the runner adds random ones. */
  readonly killAtMs?: readonly number[]
  readonly truth: () => Truth
  readonly log: readonly LoggedRequest[]
  readonly stop: () => Promise<void>
}

export type StartOptions = {
  readonly scenario: string
  readonly seed: number
  /** The instant of 0 ms, in Unix time. */
  readonly startMs: number
  /** Nothing new happens after `contentMs`; the world ends at `endMs`. */
  readonly contentMs: number
  readonly endMs: number
  readonly cadenceMs: number
}

export type SourceWorld = {
  /** Worlds are named `kind/scenario`. */
  readonly kind: string
  readonly scenarios: readonly string[]
  /** The cadence of a scenario; absent: that of the run. */
  readonly cadenceS?: (scenario: string) => number | undefined
  readonly start: (options: StartOptions) => Promise<RunningSource>
}

/** The longest age of an answer that the cadence and one slow step explain, and the stated bounds beside it. */
export const boundsOf = (cadenceMs: number, cacheMs: number): Bounds => {
  const step = 3 * cadenceMs + 10_000 + cacheMs
  // Twice the shortest audit interval: the documentation states none for sources.
  const again = Math.max(step, 60_000 + cacheMs)
  return { fresh: step, late: again, edited: again }
}

/** `span` without `holes`, in order. */
export const without = (span: Span, holes: readonly Span[]): Span[] => {
  let left: Span[] = [span]
  for (const [from, until] of holes) {
    left = left.flatMap(([a, b]): Span[] =>
      until <= a || b <= from
        ? [[a, b]]
        : [[a, Math.min(b, from)] as const, [Math.max(a, until), b] as const],
    )
    left = left.filter(([a, b]) => b > a)
  }
  return left
}

/** Changes that health counts as named and not read. */
export type UnreadChanges = { readonly oldestMs: number | null; readonly dropped: number }

const field = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined

/** The unread changes in `sources` of an answer of health; null: none. */
export const unreadChanges = (sources: unknown, startMs: number): UnreadChanges | null => {
  for (const one of Array.isArray(sources) ? sources : []) {
    const changes = field(one, 'changes')
    const oldest = field(changes, 'oldest_at')
    const dropped = Number(field(changes, 'dropped_24h') ?? 0)
    const oldestMs = typeof oldest === 'string' ? Date.parse(oldest) - startMs : null
    if (oldestMs !== null || dropped > 0) return { oldestMs, dropped }
  }
  return null
}

/** The time for which a change may be listed before the list is read. */
const LISTED_MS = 60_000

/** Tests whether a change may be one of those that were named and not read. */
export const isWaiting = (changes: UnreadChanges | null, changedMs: number): boolean =>
  changes !== null &&
  (changes.dropped > 0 || (changes.oldestMs !== null && changedMs >= changes.oldestMs - LISTED_MS))
