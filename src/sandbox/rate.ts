import { type Answer, json, page } from './answer.ts'
import { tooManyPage } from './pages.ts'

/** The platform counts calls in windows of ten minutes. */
const WINDOW_S = 600

type Bucket = { used: number; ends_s: number }

type RateHeaders = Record<
  'x-ratelimit-used' | 'x-ratelimit-remaining' | 'x-ratelimit-reset',
  string
>
type Counted = { headers: RateHeaders; refused: Answer | null }

/** Counts one call against a session's or an address's bucket. */
export type Rate = (
  key: string,
  who: { session: boolean; allowance: number },
  now_s: number,
) => Counted

const MOST_BUCKETS = 10_000

/** Buckets that empty with use and are full again when their window ends. */
export function createRate(): Rate {
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
      // A cookie session is told a whole number, everybody else a float.
      'x-ratelimit-remaining': session || left === Infinity ? String(left) : left.toFixed(1),
      'x-ratelimit-reset': String(reset),
    }
    return { headers, refused: bucket.used > allowance ? tooMany(session, reset) : null }
  }
}

/** A page with Retry-After, or JSON without one: clients have met both. */
export function tooMany(asJson: boolean, reset_s: number | null): Answer {
  if (asJson) return json('{"message": "Too Many Requests", "error": 429}', 429)
  const answer = page(tooManyPage(reset_s ?? WINDOW_S), 429)
  return reset_s === null
    ? answer
    : { ...answer, headers: { ...answer.headers, 'retry-after': String(reset_s) } }
}
