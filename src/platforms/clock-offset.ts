import { httpDate } from '../core/base/wait.ts'
import { type Clock, JUMP_MIN_MS } from '../runtime/runtime.ts'

type HeaderReader = { get(name: string): string | null }

/** Age of an answer in caches, ms; 0 for a header that states none. */
export const ageMs = (headers: HeaderReader): number => {
  const text = headers.get('age')?.trim() ?? ''
  return /^\d{1,9}$/.test(text) ? Number(text) * 1000 : 0
}

/** Offset of the platform's clock to ours, from the Date headers of its answers. */
export type ClockOffset = {
  /** Records the headers of an answer that has just arrived. */
  observe(headers: HeaderReader): void
  /** Milliseconds; 0 until three answers agree that it is more than a minute. */
  ms(): number
  /**
   * The same without the threshold, accurate to about a second; 0 until three answers were
   * measured.
   */
  measured_ms(): number
  /** True after three answers with a date: the offset is known. */
  known(): boolean
}

const OFFSETS_MAX = 5
/** A header that is further off is no time. */
const OFFSET_MAX_MS = 7 * 86_400_000
const NEEDED = 3
const REPORTED_MIN_MS = 60_000
/** Dates are whole seconds, and an answer can be slow. */
const AGREE_MS = 30_000

/** Stores the last few offsets and uses their median, so that one wrong date changes nothing. */
export function createClockOffset(clock: Pick<Clock, 'now' | 'mono'>): ClockOffset {
  let offsets: number[] = []
  let between = clock.now() - clock.mono()
  const middle = () => offsets.toSorted((a, b) => a - b)[offsets.length >> 1] ?? 0

  /** Milliseconds by which our clock has jumped since the last answer; 0: no jump. */
  function jumped(): number {
    // The monotonic clock has fractions; instants are whole.
    const jump_ms = Math.round(clock.now() - clock.mono() - between)
    return Math.abs(jump_ms) > JUMP_MIN_MS ? jump_ms : 0
  }

  function measured(): number {
    if (offsets.length < NEEDED) return 0
    // Sleep never sets a clock back: it was set by hand, and true time went on.
    return middle() - Math.min(0, jumped())
  }

  /**
   * An offset from before a jump holds after it in one of two ways. Either our clock was set, and
   * true time went on as the monotonic clock did. Or the machine slept, and our clock is as right
   * as before. The first answer after the jump decides.
   */
  function rebase(jump_ms: number, offset_ms: number): number[] {
    const near = (share_ms: number) => Math.abs(middle() - share_ms - offset_ms) <= AGREE_MS
    if (near(0)) return offsets
    return near(jump_ms) ? offsets.map((it) => it - jump_ms) : []
  }

  return {
    observe(headers) {
      const now = clock.now()
      const date = httpDate(headers.get('date') ?? '', now)
      if (date === null) return
      // A cached answer has the date of its creation.
      const age_ms = ageMs(headers)
      // Dates are truncated to the second, so they are half a second late on average.
      const offset_ms = Math.round(date + 500 + age_ms - now)
      if (Math.abs(offset_ms) > OFFSET_MAX_MS) return
      const jump_ms = jumped()
      if (jump_ms !== 0) offsets = rebase(jump_ms, offset_ms)
      between = now - clock.mono()
      offsets = [...offsets, offset_ms].slice(-OFFSETS_MAX)
    },
    ms: () => (Math.abs(measured()) > REPORTED_MIN_MS ? measured() : 0),
    measured_ms: measured,
    known: () => offsets.length >= NEEDED,
  }
}
