/** How far the platform's clock is ahead of ours, from the dates of its answers. */
export type ClockOffset = {
  heard(headers: { get(name: string): string | null }, now: number): void
  /** Milliseconds; 0 until three answers agree that it is more than a minute. */
  ms(): number
  /** The same however little it is, to about a second; 0 until three answers have told. */
  measured_ms(): number
}

const KEPT = 5
const NEEDED = 3
const WORTH_TELLING_MS = 60_000

/** Remembers the last few answers. Their middle one is believed, so that one stray date changes nothing. */
export function createClockOffset(): ClockOffset {
  let offsets: number[] = []
  const middle = () =>
    offsets.length < NEEDED ? 0 : (offsets.toSorted((a, b) => a - b)[offsets.length >> 1] ?? 0)
  return {
    heard(headers, now) {
      const date = Date.parse(headers.get('date') ?? '')
      if (Number.isNaN(date)) return
      // A cached answer has the date on which it was made.
      const age_ms = Number(headers.get('age') ?? 0) * 1000 || 0
      // Dates are cut to the second; in the mean they are half of one late.
      offsets = [...offsets, date + 500 + age_ms - now].slice(-KEPT)
    },
    ms: () => (Math.abs(middle()) > WORTH_TELLING_MS ? middle() : 0),
    measured_ms: middle,
  }
}
