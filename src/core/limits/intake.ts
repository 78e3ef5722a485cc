const DAY_S = 86_400
/** So many hours' worth may come at once. */
const BURST_HOURS = 1

/** Bytes that each source may add to the database in a day, which come evenly but for a burst. */
export type Intake = {
  /** Seconds until the source may add more; 0: it may now. */
  wait_s(source: string): number
  /** Counts what was added; the last addition may exceed the bound. */
  add(source: string, bytes: number): void
}

/** Creates the account of all sources. `per_day()`: bytes; its value may change at run time. */
export function createIntake({ mono }: { mono(): number }, per_day: () => number): Intake {
  const accounts = new Map<string, { left: number; at: number }>()

  function account(source: string) {
    const at = mono()
    const burst = (per_day() * BURST_HOURS) / 24
    const before = accounts.get(source) ?? { left: burst, at }
    // Without a bound nothing is counted: zero seconds times infinity is no number.
    const gained = at === before.at ? 0 : ((at - before.at) / 1000) * (per_day() / DAY_S)
    const now = { left: Math.min(burst, before.left + gained), at }
    accounts.set(source, now)
    return now
  }

  return {
    wait_s(source) {
      if (per_day() === Infinity) return 0
      const { left } = account(source)
      return left > 0 ? 0 : Math.ceil((1 - left) / (per_day() / DAY_S))
    },
    add(source, bytes) {
      if (per_day() < Infinity) account(source).left -= bytes
    },
  }
}
