/**
 * Rate limit: `burst` calls at once, then `per_s` a second; a call may wait up to `max_wait_ms`.
 */
export type Pace = { burst: number; per_s: number; max_wait_ms: number }

/** Tokens left at the instant `at` (ms, monotonic clock); below zero, calls wait. */
export type Bucket = { tokens: number; at: number }

export type Step = {
  bucket: Bucket
  /** Wait of this call in ms; null: refused. */
  wait_ms: number | null
  retry_ms: number
}

/** Limit of `count` a minute, all at once if need be; further calls are refused without a wait. */
export const perMinute = (count: number): Pace => ({
  burst: count,
  per_s: count / 60,
  max_wait_ms: 0,
})

/** Takes `count` tokens from a bucket (undefined: a full one). A refused call takes none. */
export function step(bucket: Bucket | undefined, pace: Pace, now: number, count = 1): Step {
  const { tokens, at } = bucket ?? { tokens: pace.burst, at: now }
  const refilled = Math.min(pace.burst, tokens + (Math.max(0, now - at) / 1000) * pace.per_s)
  const left = refilled - count
  const wait_ms = Math.max(0, (-left / pace.per_s) * 1000)
  if (wait_ms <= pace.max_wait_ms)
    return { bucket: { tokens: left, at: now }, wait_ms, retry_ms: 0 }
  return {
    bucket: { tokens: refilled, at: now },
    wait_ms: null,
    retry_ms: wait_ms - pace.max_wait_ms,
  }
}

/** Maximum calls at once: more never fit, even after a long idle time. */
export const mostAtOnce = ({ burst, per_s, max_wait_ms }: Pace): number =>
  Math.floor(burst + (per_s * max_wait_ms) / 1000)
