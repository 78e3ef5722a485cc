// The platform has two clocks: the one of its Date headers, and the one that dates items (`created_utc`). They may run
// minutes apart, and where a monitor begins is an instant of the second one. An item that was received proves how late
// that clock is at least; the Date header and our own clock are the two guesses that this bound confirms or refutes.
// Taking the Date header alone silently loses the items of the difference when the header is ahead.

/** Offset of the item clock from ours, in milliseconds; positive: it is ahead. */
export type ItemClock = {
  observe(items: readonly Dated[]): void
  /** Best estimate; 0 unless it is more than a minute. */
  ms(): number
  /** Best estimate, to about the time that items take to be seen. */
  measured_ms(): number
  /** Least plausible value: a monitor that begins by it loses nothing that is created later. */
  earliest_ms(): number
}

/**
 * Clock of a source by the Date headers of its answers alone, else ours: its items may have the times of other servers, and
 * of the future.
 */
export const dateClock = (date_ahead_ms: () => number): ItemClock => ({
  observe: () => {},
  ms: () => (Math.abs(date_ahead_ms()) > REPORTED_MIN_MS ? date_ahead_ms() : 0),
  measured_ms: date_ahead_ms,
  earliest_ms: () => Math.round(Math.min(0, date_ahead_ms())),
})

type Dated = { name: string; created_utc: number }

/** A bound as an instant of the item clock at which the clock that only grows stood at zero. */
type Bound = { name: string; at: number }

/** Bounds hold until our clock drifts, or the platform corrects its own. */
const BUCKET_MS = 600_000
const BUCKETS_MAX = 6
/** Items are seen so long after their creation, at most, where feeds are busy. */
const AGREE_MS = 30_000
/** Both clocks tell whole seconds. */
const ROUNDING_MS = 2000
/** So many new items within a minute, equally late, show the item clock by themselves. */
const STEADY_COUNT = 3
const STEADY_MS = 60_000
const STEADY_SPREAD_MS = 15_000
/** Our clock was set, or the machine slept. */
const STEP_MIN_MS = 2000
const REPORTED_MIN_MS = 60_000

/** Estimates the item clock from received items. `date_ahead_ms`: the Date headers against our clock. */
export function createItemClock(
  clock: { now(): number; mono(): number },
  date_ahead_ms: () => number,
): ItemClock {
  let buckets: { index: number; top: readonly Bound[] }[] = []
  let latest: { mono: number; between: number; bound_at: number }[] = []
  let newest_at = -Infinity

  /** Our clock against the one that only grows, as both run now. */
  const between = () => clock.now() - clock.mono()

  /** Least offset that the received items allow. */
  function lower(): number {
    const oldest = Math.floor(clock.mono() / BUCKET_MS) - BUCKETS_MAX
    const found = buckets.filter(({ index }) => index > oldest).flatMap(({ top }) => top)
    const [first, second] = topTwo(found)
    if (first === undefined) return -Infinity
    const offset_ms = first.at - between()
    // A single item from the future of both clocks is misdated.
    if (offset_ms > Math.max(0, date_ahead_ms()) + AGREE_MS)
      return second === undefined ? -Infinity : second.at - between()
    return offset_ms
  }

  /** True when new items have kept coming equally late since our clock was last set. */
  function isSteady(): boolean {
    const current = latest.filter(
      (it) =>
        clock.mono() - it.mono <= STEADY_MS && Math.abs(between() - it.between) <= STEP_MIN_MS,
    )
    const bounds = current.map(({ bound_at }) => bound_at)
    return (
      current.length >= STEADY_COUNT &&
      Math.max(...bounds) - Math.min(...bounds) <= STEADY_SPREAD_MS
    )
  }

  function measured(): number {
    const [least_ms, date_ms] = [lower(), date_ahead_ms()]
    const isConfirmed = (ms: number) => ms >= least_ms - ROUNDING_MS && ms <= least_ms + AGREE_MS
    const confirmed = [date_ms, 0].find(isConfirmed)
    if (confirmed !== undefined) return confirmed
    return least_ms > date_ms || isSteady() ? Math.round(least_ms) : date_ms
  }

  return {
    observe(items) {
      const mono = clock.mono()
      const index = Math.floor(mono / BUCKET_MS)
      const bounds = items.map(({ name, created_utc }) => ({ name, at: created_utc * 1000 - mono }))
      const top = topTwo([...(buckets.find((it) => it.index === index)?.top ?? []), ...bounds])
      buckets = [...buckets.filter((it) => it.index !== index), { index, top }].slice(-BUCKETS_MAX)
      const plausible_at = between() + Math.max(0, date_ahead_ms()) + AGREE_MS
      const newest = topTwo(bounds.filter(({ at }) => at <= plausible_at))[0]
      if (newest === undefined || newest.at + mono <= newest_at) return
      newest_at = newest.at + mono
      latest = [...latest, { mono, between: between(), bound_at: newest.at }].slice(-STEADY_COUNT)
    },
    ms: () => (Math.abs(measured()) > REPORTED_MIN_MS ? measured() : 0),
    measured_ms: measured,
    earliest_ms: () => Math.round(Math.max(lower(), Math.min(0, date_ahead_ms()))),
  }
}

/** The two largest bounds of different items, largest first. */
function topTwo(bounds: readonly Bound[]): Bound[] {
  let top: Bound[] = []
  for (const bound of bounds) {
    const same = top.find(({ name }) => name === bound.name)
    if (same !== undefined && same.at >= bound.at) continue
    top = [...top.filter((it) => it !== same), bound].toSorted((a, b) => b.at - a.at).slice(0, 2)
  }
  return top
}
