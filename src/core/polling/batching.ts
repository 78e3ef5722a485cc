/**
 * Plans merged polls: which feeds share a request, and how often each is polled. Several places cost one request where the platform
 * lists them as one, as long as the new rows of an interval fit on its first page. Pure arithmetic: the previous plan is
 * an input, because moving a feed costs a poll of its own.
 * Rejected: feeds of several places in the store. Each place would lose its own evidence: its gaps, the start of a monitor
 * on it, the items seen. So only requests are shared.
 */
import type { FeedKind } from './feed.ts'

/** At 60 new rows expected, 100 or more come once in 700,000 intervals (Poisson). */
const ROWS_MAX = 60
/** Feeds join a batch up to here, so that a busier day does not split it. */
const ROWS_FILL = 45
/** Two batches with at most this many rows together are merged. */
const ROWS_JOINED = 30
const NAMES_MAX = 100
const NAMES_LENGTH_MAX = 1800
const EXPRESSION_MAX = 512
/** New rows on a first page from which the plan counts as wrong. */
export const FULL_PAGE = 80
/** New rows in an interval up to which a feed keeps its interval. */
const ROWS_WANTED = 50
const INTERVAL_MIN_S = 5

/** A polled feed, as the planner sees it. */
export type FeedLoad = {
  id: number
  kind: FeedKind
  place: string
  /** New items a second in its busiest hours; null: unknown, polled individually. */
  rate_per_s: number | null
  requested_interval_s: number
  /** Its present batch; null: polled individually. */
  poll_batch_id: number | null
}

/** Two or more feeds that share a request. `id` null: a new batch. */
export type Batch = { id: number | null; feeds: FeedLoad[] }

/** True for a feed that brings too much in an interval to share a request. */
export const isBusy = (rate_per_s: number | null, requested_s: number): boolean =>
  rate_per_s !== null && rate_per_s * requested_s > ROWS_JOINED

/** True for a feed that has to be polled more often than requested. */
const isRush = (rate_per_s: number | null, requested_s: number): boolean =>
  rate_per_s !== null && rate_per_s * requested_s > ROWS_WANTED

/** Poll interval of a feed, seconds: as requested, or shorter where a page would not hold its new rows. */
export function intervalOf(requested_s: number, rate_per_s: number | null): number {
  if (rate_per_s === null || !isRush(rate_per_s, requested_s)) return requested_s
  return Math.max(Math.min(requested_s, INTERVAL_MIN_S), Math.floor(ROWS_WANTED / rate_per_s))
}

/** Joins places, or search expressions, into the one that lists the rows of all of them. */
export function joinPlaces(kind: FeedKind, places: readonly string[]): string {
  if (kind !== 'search') return places.join('+')
  return places.length === 1 ? (places[0] ?? '') : places.map((it) => `(${it})`).join(' OR ')
}

/** New rows of a feed in an interval. */
const rowsOf = ({ rate_per_s, requested_interval_s }: FeedLoad): number =>
  (rate_per_s ?? 0) * requested_interval_s

const rowsIn = (feeds: readonly FeedLoad[]): number =>
  feeds.reduce((sum, it) => sum + rowsOf(it), 0)

function fits(feeds: readonly FeedLoad[], rows_max: number): boolean {
  const [first] = feeds
  if (first === undefined) return true
  const joined = joinPlaces(
    first.kind,
    feeds.map(({ place }) => place),
  )
  return (
    feeds.length <= NAMES_MAX &&
    joined.length <= (first.kind === 'search' ? EXPRESSION_MAX : NAMES_LENGTH_MAX) &&
    rowsIn(feeds) <= rows_max
  )
}

/** Feeds of one class may share a request: same kind, same interval. */
const classOf = ({ kind, requested_interval_s }: FeedLoad): string =>
  `${kind} ${requested_interval_s}`
const JOINABLE: readonly FeedKind[] = ['posts', 'comments', 'search']
const isAlone = (it: FeedLoad): boolean =>
  !JOINABLE.includes(it.kind) ||
  it.rate_per_s === null ||
  rowsOf(it) > ROWS_JOINED ||
  !fits([it], ROWS_JOINED)

/** Batches of these feeds; a feed in none is polled individually. Planning its own result again changes nothing. */
export function planBatches(loads: readonly FeedLoad[]): Batch[] {
  const classes = Map.groupBy(
    loads.filter((it) => !isAlone(it)),
    classOf,
  )
  return [...classes.values()].flatMap(planClass).filter(({ feeds }) => feeds.length > 1)
}

function planClass(loads: FeedLoad[]): Batch[] {
  const [unassigned, batches] = keepFitting(loads)
  for (const it of unassigned.toSorted((a, b) => (a.place < b.place ? -1 : 1))) {
    const target = leastLoaded(batches.filter(({ feeds }) => fits([...feeds, it], ROWS_FILL)))
    if (target === null) batches.push({ id: null, feeds: [it] })
    else target.feeds.push(it)
  }
  return mergeSmall(batches)
}

/** Present batches without the feeds that no longer fit; the busiest leave first. */
function keepFitting(loads: FeedLoad[]): [FeedLoad[], Batch[]] {
  const unassigned = loads.filter(({ poll_batch_id }) => poll_batch_id === null)
  const batches: Batch[] = []
  const old = Map.groupBy(
    loads.filter(({ poll_batch_id }) => poll_batch_id !== null),
    ({ poll_batch_id }) => poll_batch_id,
  )
  for (const [id, all] of old) {
    const feeds = all.toSorted((a, b) => rowsOf(a) - rowsOf(b) || a.id - b.id)
    if (!fits(feeds, ROWS_MAX)) while (!fits(feeds, ROWS_FILL)) unassigned.push(...feeds.splice(-1))
    batches.push({ id, feeds })
  }
  return [unassigned, batches]
}

const leastLoaded = (batches: readonly Batch[]): Batch | null =>
  batches.reduce<Batch | null>(
    (best, it) => (best === null || rowsIn(it.feeds) < rowsIn(best.feeds) ? it : best),
    null,
  )

/** Merges small batches: one poll for each feed that moves, and a request less in every interval after that. */
function mergeSmall(batches: Batch[]): Batch[] {
  const merged: Batch[] = []
  for (const it of batches.toSorted((a, b) => b.feeds.length - a.feeds.length)) {
    const host = merged.find(({ feeds }) => fits([...feeds, ...it.feeds], ROWS_JOINED))
    if (host === undefined) merged.push({ id: it.id, feeds: [...it.feeds] })
    else host.feeds.push(...it.feeds)
  }
  return merged
}

/** Chance of a silence from which a place is polled individually. */
const SILENCE_CHANCE = 1e-6
/** Longest silence of any place in a batch before it is polled individually. */
const SILENCE_MAX_MS = 6 * 3_600_000

/**
 * True for a place without rows for so long that it may have been closed: a merged listing leaves closed places out
 * without a sign.
 */
export const isTooSilent = (silent_ms: number, rate_per_s: number | null): boolean =>
  silent_ms > SILENCE_MAX_MS || (rate_per_s ?? 0) * (silent_ms / 1000) > -Math.log(SILENCE_CHANCE)

const HOURS_A_WEEK = 168

/**
 * The rate of the busiest hours, in items a second: the 95th percentile of the last week's hourly counts.
 * `counts`: hours in which something was created; `hours`: how many hours are known, quiet ones too. Null: too few.
 */
export function busyRate(counts: readonly number[], hours: number): number | null {
  const window_hours = Math.min(HOURS_A_WEEK, hours)
  if (window_hours < 24) return null
  const sorted = counts.toSorted((a, b) => b - a)
  return (sorted[Math.floor(window_hours * 0.05)] ?? 0) / 3600
}

const SLOWER = 1.5
const FASTER = 0.8
const SLOWEST = 8

/** Backoff factor of a feed's interval after a poll that was throttled, or was not. */
export const paceAfter = (backoff_factor: number, throttled: boolean): number =>
  throttled ? Math.min(SLOWEST, backoff_factor * SLOWER) : Math.max(1, backoff_factor * FASTER)
