import { tooManyPage } from '../render/pages.ts'
import { json, page, type SandboxResponse } from '../server/response.ts'

/** The platform counts requests in windows of ten minutes. */
const WINDOW_S = 600

type Bucket = { used: number; ends_s: number }

type RateLimitHeaders = Record<
  'x-ratelimit-used' | 'x-ratelimit-remaining' | 'x-ratelimit-reset',
  string
>
type RateResult = { headers: RateLimitHeaders; rejection: SandboxResponse | null }

/** Counts one request in the bucket of a session or an address. */
export type RateCounter = (
  key: string,
  caller: { session: boolean; allowance: number },
  now_s: number,
) => RateResult

const MOST_BUCKETS = 10_000

/** Buckets that refill when their window ends. */
export function createRateCounter(): RateCounter {
  const buckets = new Map<string, Bucket>()
  return (key, { session, allowance }, now_s) => {
    let bucket = buckets.get(key)
    if (bucket === undefined || bucket.ends_s <= now_s) {
      if (buckets.size >= MOST_BUCKETS) buckets.clear()
      bucket = { used: 0, ends_s: now_s + WINDOW_S }
      buckets.set(key, bucket)
    }
    bucket.used++
    const left = Math.max(0, allowance - bucket.used)
    const reset = bucket.ends_s - now_s
    const headers = {
      'x-ratelimit-used': String(Math.min(bucket.used, allowance)),
      // A cookie session receives a whole number, every other client a float.
      'x-ratelimit-remaining': session || left === Infinity ? String(left) : left.toFixed(1),
      'x-ratelimit-reset': String(reset),
    }
    return { headers, rejection: bucket.used > allowance ? tooManyRequests(session, reset) : null }
  }
}

/** Page with Retry-After, or JSON without it: both forms occur. */
export function tooManyRequests(asJson: boolean, reset_s: number | null): SandboxResponse {
  if (asJson) return json('{"message": "Too Many Requests", "error": 429}', 429)
  const answer = page(tooManyPage(reset_s ?? WINDOW_S), 429)
  return reset_s === null
    ? answer
    : { ...answer, headers: { ...answer.headers, 'retry-after': String(reset_s) } }
}
