import { type Clock, JUMP_MIN_MS } from '../outside.ts'

/** How far the platform's clock is ahead of ours, from the dates of its answers. */
export type ClockOffset = {
  /** An answer has just come. */
  heard(headers: { get(name: string): string | null }): void
  /** Milliseconds; 0 until three answers agree that it is more than a minute. */
  ms(): number
  /** The same however little it is, to about a second; 0 until three answers have told. */
  measured_ms(): number
}

const KEPT = 5
const NEEDED = 3
const WORTH_TELLING_MS = 60_000
/** Dates are whole seconds, and answers may take a while. */
const AGREE_MS = 30_000

/** Remembers the last few answers. Their middle one is believed, so that one stray date changes nothing. */
export function createClockOffset(clock: Pick<Clock, 'now' | 'mono'>): ClockOffset {
  let offsets: number[] = []
  let between = clock.now() - clock.mono()
  const middle = () => offsets.toSorted((a, b) => a - b)[offsets.length >> 1] ?? 0

  /** By how much our clock has jumped since the last answer; 0 for not. */
  function jumped(): number {
    // The clock that only grows tells fractions; instants are whole.
    const jump_ms = Math.round(clock.now() - clock.mono() - between)
    return Math.abs(jump_ms) > JUMP_MIN_MS ? jump_ms : 0
  }

  function measured(): number {
    if (offsets.length < NEEDED) return 0
    // No sleep puts a clock back: somebody did, and true time went on.
    return middle() - Math.min(0, jumped())
  }

  /**
   * What was known before a jump holds after it in one of two ways: our clock was set, and true time went on as the
   * other clock did; or the machine slept, and our clock is as right as it was. The first answer tells which.
   */
  function carryOver(jump_ms: number, told_ms: number): number[] {
    const near = (share_ms: number) => Math.abs(middle() - share_ms - told_ms) <= AGREE_MS
    if (near(0)) return offsets
    return near(jump_ms) ? offsets.map((it) => it - jump_ms) : []
  }

  return {
    heard(headers) {
      const date = Date.parse(headers.get('date') ?? '')
      if (Number.isNaN(date)) return
      const now = clock.now()
      // A cached answer has the date on which it was made.
      const age_ms = Number(headers.get('age') ?? 0) * 1000 || 0
      // Dates are cut to the second; in the mean they are half of one late.
      const told_ms = Math.round(date + 500 + age_ms - now)
      const jump_ms = jumped()
      if (jump_ms !== 0) offsets = carryOver(jump_ms, told_ms)
      between = now - clock.mono()
      offsets = [...offsets, told_ms].slice(-KEPT)
    },
    ms: () => (Math.abs(measured()) > WORTH_TELLING_MS ? measured() : 0),
    measured_ms: measured,
  }
}
