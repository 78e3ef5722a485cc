/** How fast somebody may go: `burst` at once, then `per_s` a second; a call may be made to wait up to `max_wait_ms`. */
export type Pace = { burst: number; per_s: number; max_wait_ms: number }

/** What is left of a pace: `tokens` at the instant `at` (ms of a clock that never goes back); below zero, calls wait. */
export type Bucket = { tokens: number; at: number }

/** What a pace says of one call, and how it stands afterwards. */
export type Step = {
  bucket: Bucket
  /** How long this call has to wait, in ms; null when it may not go at all. */
  wait_ms: number | null
  /** For a refused call: when it is worth coming back, in ms. */
  retry_ms: number
}

/** `count` a minute, all of them at once if need be, and nobody waits. */
export const perMinute = (count: number): Pace => ({
  burst: count,
  per_s: count / 60,
  max_wait_ms: 0,
})

/** Takes one call out of a bucket (undefined: a full one). A refused call takes nothing. */
export function step(bucket: Bucket | undefined, pace: Pace, now: number): Step {
  const { tokens, at } = bucket ?? { tokens: pace.burst, at: now }
  const refilled = Math.min(pace.burst, tokens + (Math.max(0, now - at) / 1000) * pace.per_s)
  const left = refilled - 1
  const wait_ms = Math.max(0, (-left / pace.per_s) * 1000)
  if (wait_ms <= pace.max_wait_ms)
    return { bucket: { tokens: left, at: now }, wait_ms, retry_ms: 0 }
  return {
    bucket: { tokens: refilled, at: now },
    wait_ms: null,
    retry_ms: wait_ms - pace.max_wait_ms,
  }
}

/** Whether a bucket is full again, and may be forgotten. */
export const isFull = (bucket: Bucket, pace: Pace, now: number): boolean =>
  bucket.tokens + (Math.max(0, now - bucket.at) / 1000) * pace.per_s >= pace.burst
