import { type FeedRow, oldestAt, type PollState } from './cursor.ts'

/**
 * Creation times that a truncated check did not observe: from its checkpoint (null: unknown) to the oldest row it read.
 * `checked_at`: the last finished check, by the platform's clock. Rows created before it were visible to it, even where
 * the newest row of a quiet place is much older.
 */
export function gapOf(
  state: PollState,
  checked_at: number | null = null,
): { from_at: number | null; until_at: number | null } {
  const until_at = oldestAt(state.rows)
  if (state.overlapped) return { from_at: state.backfill_since, until_at }
  const checkpoint_at = state.checkpoint?.checkpoint_at ?? null
  const bounds = [checkpoint_at, checked_at].filter((it) => it !== null)
  const from_at = bounds.length === 0 ? state.backfill_since : Math.max(...bounds)
  return {
    from_at: from_at !== null && until_at !== null ? Math.min(from_at, until_at) : from_at,
    until_at,
  }
}

/** Lean of estimates: rather too high than too low. */
const OVER = 1.15
/** The platform tells whole seconds: on average half of the one in which a gap ends belongs to it. */
const ENDS_WITHIN_S = 0.5
/** Rates next to a gap are measured over its own length, and at least over this. */
const MEASURED_MIN_S = 60
/** One side of a gap is a burst when it has so many items, at so many times the rate of the other side. */
const BURST_MIN = 50
const BURST_RATIO = 4
/**
 * Reach of a burst into a gap, as shares of the gap and of its own observed span. Bursts of up to two and a half
 * listings, beginning anywhere in the gap, reach between a third of it and three times as far.
 */
const REACH_OF_GAP = 0.65
const REACH_OF_BURST = 0.5
/** A gap longer than this outlives the rates next to it. */
const LONG_GAP_S = 3600

/** Evidence of how many items come to a feed, beside the rows of the poll that leaves the gap. */
export type Arrivals = {
  /** Creation of items that had been seen before, in any order, from `known_from_at` on. Epoch ms. */
  before: readonly number[]
  /** Start of what was observed before the gap; null: nothing was. */
  known_from_at: number | null
  /** The poll that the gap follows, by the platform's clock; null: only the start of the gap is known. */
  polled_at: number | null
  /** Items a second at other times: recently, and in the same hour of last week. */
  recent: number | null
  last_week: number | null
}

/**
 * Instant up to which a gap's own beginning had been observed: gaps allow for items that become visible late, and so
 * begin before the poll that they follow. Epoch ms.
 */
const observedUntil = (
  { before, polled_at }: Arrivals,
  { from_at, until_at }: { from_at: number; until_at: number },
): number =>
  [...before, polled_at ?? from_at].reduce(
    (at, it) => (it > at ? Math.min(it, until_at) : at),
    Math.min(from_at, until_at),
  )

/**
 * Number of items that a gap hides, leaning high; null when no rate is known. `rows` are what was read above it, at
 * `read_at`. Rates come from both sides, each measured over the gap's own length. A burst on one side is extended into
 * the gap by a part of its observed span: extrapolated over the gap, a crowded second would fill an hour.
 */
export function estimateMissed(
  { from_at, until_at }: { from_at: number | null; until_at: number | null },
  arrivals: Arrivals,
  rows: readonly FeedRow[] = [],
  read_at: number | null = until_at,
): number | null {
  if (from_at === null || until_at === null) return null
  const start_at = observedUntil(arrivals, { from_at, until_at })
  const length_s = (until_at - start_at) / 1000 + ENDS_WITHIN_S
  const measured_s = Math.max(length_s, MEASURED_MIN_S)
  const { known_from_at } = arrivals
  const before =
    known_from_at === null
      ? null
      : sideOf(
          arrivals.before.map((at) => (start_at - at) / 1000),
          Math.min(measured_s, (start_at - known_from_at) / 1000),
        )
  const plain = rows.filter(({ sticky }) => !sticky)
  const after =
    plain.length === 0
      ? null
      : sideOf(
          plain.map(({ created_at }) => (created_at - until_at) / 1000),
          Math.min(measured_s, ((read_at ?? until_at) - until_at) / 1000),
        )
  const expected = expectedIn(length_s, before, after, arrivals)
  if (expected === null) return null
  const mu = OVER * expected
  return Math.ceil(mu + 2 * Math.sqrt(mu) + 2)
}

/** One side of a gap: items of a span next to it. `near_per_s`: the rate of the half that is nearer. */
type Side = { count: number; span_s: number; rate_per_s: number; near_per_s: number }

/** Side of a gap by the distances of its items; null when it is too short to measure anything. */
function sideOf(distances_s: readonly number[], span_s: number): Side | null {
  const inside = distances_s.filter((it) => it >= 0 && it <= span_s).toSorted((a, b) => a - b)
  const count = inside.length
  if (count === 0 && span_s < MEASURED_MIN_S / 2) return null
  // Items tell whole seconds, so nothing is known to have come in less.
  const least_s = 2 * ENDS_WITHIN_S
  const middle_s = inside[Math.ceil(count / 2) - 1] ?? span_s
  const near = inside.filter((it) => it <= middle_s).length
  return {
    count,
    span_s: Math.max(least_s, span_s),
    rate_per_s: count / Math.max(least_s, span_s),
    near_per_s: near / Math.max(least_s, middle_s + ENDS_WITHIN_S),
  }
}

/** Mean number of items in a gap of this length; null when nothing is known. */
function expectedIn(
  length_s: number,
  before: Side | null,
  after: Side | null,
  { recent, last_week }: Arrivals,
): number | null {
  const elsewhere = last_week ?? recent
  const sides = [before, after].filter((it) => it !== null)
  const [one, other] = sides.toSorted((a, b) => b.near_per_s - a.near_per_s)
  if (one === undefined) return elsewhere === null ? null : elsewhere * length_s
  const calm_per_s = other?.near_per_s ?? elsewhere ?? one.rate_per_s
  if (one.count < BURST_MIN || one.near_per_s <= BURST_RATIO * calm_per_s) {
    const beside = sides.reduce((sum, { rate_per_s }) => sum + rate_per_s, 0) / sides.length
    return length_s * blend(beside, length_s, last_week)
  }
  const burst_s = one.count / one.near_per_s
  const reach_s = Math.min(REACH_OF_GAP * (length_s + ENDS_WITHIN_S), REACH_OF_BURST * burst_s)
  const background = other?.rate_per_s ?? calm_per_s
  return length_s * blend(background, length_s, last_week) + reach_s * one.near_per_s
}

/** The rate beside a gap, and in a long one half of what came in that hour a week ago. */
const blend = (rate_per_s: number, length_s: number, last_week: number | null): number =>
  length_s < LONG_GAP_S || last_week === null ? rate_per_s : (rate_per_s + last_week) / 2
