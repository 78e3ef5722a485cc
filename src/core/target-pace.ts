/** How often something may start, as receivers wish it. Instants are those of the clock that only grows. */
export type TargetPace = {
  /** How many may start now. */
  room(target: string, per_second: number | null, now: number): number
  /** The earliest instant at which one more may start; `now` when it may at once. */
  nextAt(target: string, per_second: number | null, now: number): number
  /** Notes that one has started. */
  started(target: string, per_second: number | null, now: number): void
}

/** A wish below one a second is kept over so many seconds as one takes. */
const windowOf = (per_second: number) =>
  per_second >= 1
    ? { count: Math.floor(per_second), ms: 1000 }
    : { count: 1, ms: Math.ceil(1000 / per_second) }

/**
 * Counts starts in the last second, so that no second anywhere holds more than was wished. It lives in memory: a new
 * start of the daemon begins a new second.
 */
export function createTargetPace(): TargetPace {
  const starts = new Map<string, number[]>()

  function recent(target: string, ms: number, now: number): number[] {
    const left = (starts.get(target) ?? []).filter((at) => at > now - ms)
    if (left.length === 0) starts.delete(target)
    else starts.set(target, left)
    return left
  }

  return {
    room(target, per_second, now) {
      if (per_second === null) return Infinity
      const { count, ms } = windowOf(per_second)
      return Math.max(0, count - recent(target, ms, now).length)
    },
    nextAt(target, per_second, now) {
      if (per_second === null) return now
      const { count, ms } = windowOf(per_second)
      const oldest = recent(target, ms, now).at(-count)
      return oldest === undefined ? now : oldest + ms
    },
    started(target, per_second, now) {
      if (per_second === null) return
      starts.set(target, [...recent(target, windowOf(per_second).ms, now), now])
    },
  }
}
