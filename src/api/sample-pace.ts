import { ApiError } from '../core/errors.ts'
import { type Bucket, perMinute, step } from '../core/pace.ts'
import type { Clock } from '../outside.ts'

/** How often a customer may have the platform asked for nothing but a look. */
const ASKED_PER_MINUTE = 40
const CUSTOMERS_MAX = 10_000

/**
 * Keeps free looks at the platform from eating what watching and reading live on. `before` throws 429 rate_limited when
 * a customer has none left; `after` counts the requests that were really made.
 */
export type SamplePace = {
  before(customer_id: string): void
  after(customer_id: string, requests: number): void
}

/** Nobody has looked yet. */
export function createSamplePace(clock: Clock): SamplePace {
  const pace = perMinute(ASKED_PER_MINUTE)
  // What one look took beyond what was left, or several at once did, is waited for before the next.
  const made = { ...pace, max_wait_ms: Infinity }
  const buckets = new Map<string, Bucket>()
  return {
    before(customer_id) {
      const { wait_ms, retry_ms } = step(buckets.get(customer_id), pace, clock.mono())
      if (wait_ms !== null) return
      throw new ApiError('rate_limited', {
        message: `too many looks at the platform, at most ${ASKED_PER_MINUTE} a minute; what is repeated within 30 seconds costs none`,
        retry_after_s: Math.max(1, Math.ceil(retry_ms / 1000)),
      })
    },
    after(customer_id, requests) {
      for (let i = 0; i < requests; i++) {
        const { bucket } = step(buckets.get(customer_id), made, clock.mono())
        buckets.delete(customer_id)
        buckets.set(customer_id, bucket)
      }
      const [oldest] = buckets.keys()
      if (buckets.size > CUSTOMERS_MAX && oldest !== undefined) buckets.delete(oldest)
    },
  }
}
