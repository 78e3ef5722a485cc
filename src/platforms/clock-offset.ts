import { reportedOffset } from '../core/base/time.ts'
import { httpDate } from '../core/base/wait.ts'
import { type Clock, JUMP_MIN_MS } from '../runtime/runtime.ts'

type HeaderReader = { get(name: string): string | null }

const secondsOf = (text: string | null | undefined): number | null =>
  text !== null && text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : null

/** Age of an answer in caches that it states, ms; null: none. */
const statedAge = (headers: HeaderReader): number | null => {
  const age_s = secondsOf(headers.get('age')?.trim())
  return age_s === null ? null : age_s * 1000
}

/** Copies are not kept for longer, whatever an answer allows. */
const COPY_MAX_MS = 300_000
const NOT_KEPT = /\b(?:private|no-store|no-cache)\b/

/** So long, in ms, a shared cache that states no age may have kept an answer. */
function keptMs(headers: HeaderReader): number {
  const control = headers.get('cache-control')?.toLowerCase() ?? ''
  if (NOT_KEPT.test(control)) return 0
  const [, text] =
    /(?:^|[\s,])s-maxage=(\d+)/.exec(control) ?? /(?:^|[\s,])max-age=(\d+)/.exec(control) ?? []
  return Math.min(COPY_MAX_MS, Number(text ?? 0) * 1000)
}

/** Headers by which caches say that an answer is no copy; every cache on its way has to. */
const CACHES = ['x-cache', 'x-cache-status', 'cf-cache-status']
const isMiss = (headers: HeaderReader): boolean => {
  const said = CACHES.flatMap((name) => headers.get(name)?.split(',') ?? [])
  return said.length > 0 && said.every((it) => /^\s*(?:tcp_)?(?:miss|dynamic|bypass)\b/i.test(it))
}

/** Offset of the platform's clock to ours, from the Date headers of its answers. */
export type ClockOffset = {
  /**
   * Records the headers of an answer that has just arrived. Its age in caches, ms: the stated one, else as old as a copy may be,
   * unless the answer shows that it is none.
   */
  observe(headers: HeaderReader): number
  /** The highest age of the last answers, ms. */
  copy_ms(): number
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
/** Requests of others may count in between. */
const COUNTED_MAX = 16
const RESET_AGREES_MS = 2000
/** Dates are whole seconds, and an answer can be slow. */
const AGREE_MS = 30_000

/** Stores the last few offsets and uses their median, so that one wrong date changes nothing. */
export function createClockOffset(clock: Pick<Clock, 'now' | 'mono'>): ClockOffset {
  let offsets: number[] = []
  let between = clock.now() - clock.mono()
  let ages: number[] = []
  let allowance: { left: number; ends_at: number } | null = null
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

  /** True for an answer whose rate headers go on from those of the last one, in the same window: it was made for us. */
  function isCounted(headers: HeaderReader): boolean {
    const left = secondsOf(headers.get('x-ratelimit-remaining'))
    const reset_s = secondsOf(headers.get('x-ratelimit-reset'))
    if (left === null || reset_s === null) return false
    const before = allowance
    allowance = { left, ends_at: clock.mono() + reset_s * 1000 }
    if (before === null || Math.abs(allowance.ends_at - before.ends_at) > RESET_AGREES_MS)
      return false
    return left < before.left && before.left - left <= COUNTED_MAX
  }

  function ageOf(headers: HeaderReader): number {
    const is_own = isCounted(headers) || isMiss(headers)
    return statedAge(headers) ?? (is_own ? 0 : keptMs(headers))
  }

  return {
    observe(headers) {
      const copy_ms = ageOf(headers)
      ages = [...ages, copy_ms].slice(-OFFSETS_MAX)
      const now = clock.now()
      const date = httpDate(headers.get('date') ?? '', now)
      if (date === null) return copy_ms
      // A cached answer has the date of its creation.
      const age_ms = statedAge(headers) ?? 0
      // Dates are truncated to the second, so they are half a second late on average.
      const offset_ms = Math.round(date + 500 + age_ms - now)
      if (Math.abs(offset_ms) > OFFSET_MAX_MS) return copy_ms
      const jump_ms = jumped()
      if (jump_ms !== 0) offsets = rebase(jump_ms, offset_ms)
      between = now - clock.mono()
      offsets = [...offsets, offset_ms].slice(-OFFSETS_MAX)
      return copy_ms
    },
    copy_ms: () => Math.max(0, ...ages),
    ms: () => reportedOffset(measured()),
    measured_ms: measured,
    known: () => offsets.length >= NEEDED,
  }
}
