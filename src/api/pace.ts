import { ApiError } from '../core/errors.ts'
import { type Bucket, isFull, type Pace, perMinute, step } from '../core/pace.ts'
import type { Clock } from '../outside.ts'
import type { LimitName } from './policy.ts'

/** The numbers of `[limits]` that concern pace, read at each call; 0 is no limit. */
export type Limits = {
  key_burst: number
  key_rate: number
  key_max_wait_s: number
  management_per_minute: number
  webhook_test_per_minute: number
  account_per_minute: number
  feedback_per_minute: number
  dashboard_per_minute: number
  unknown_routes_per_minute: number
}

/** Lets a call go, after a wait if need be, or throws 429 rate_limited with the seconds until it may. */
type Pacer = (id: string, signal?: AbortSignal) => Promise<void>

const BUCKETS_MAX = 100_000
const SWEEP = 100

/** One pace, kept for each id apart. */
function createPacer(clock: Clock, paceNow: () => Pace, what: () => string): Pacer {
  const buckets = new Map<string, Bucket>()

  /** The least recently used go first; the full ones among them are missed by nobody. */
  function makeRoom(pace: Pace, now: number) {
    if (buckets.size < BUCKETS_MAX) return
    let looked = 0
    for (const [id, bucket] of buckets) {
      if (looked === 0 || isFull(bucket, pace, now)) buckets.delete(id)
      looked += 1
      if (looked === SWEEP) return
    }
  }

  return async (id, signal) => {
    const pace = paceNow()
    if (pace.burst <= 0 || pace.per_s <= 0) return
    const now = clock.mono()
    const { bucket, wait_ms, retry_ms } = step(buckets.get(id), pace, now)
    buckets.delete(id)
    makeRoom(pace, now)
    buckets.set(id, bucket)
    if (wait_ms === null)
      throw new ApiError('rate_limited', {
        message: `too many requests: ${what()}`,
        retry_after_s: Math.max(1, Math.ceil(retry_ms / 1000)),
      })
    if (wait_ms === 0) return
    await clock.sleep(wait_ms, signal)
    // Nobody hears the answer any more: what would be asked for it, and paid, is not.
    if (signal?.aborted)
      throw new ApiError('rate_limited', {
        message: `the caller left before its turn came: ${what()}`,
        retry_after_s: 1,
      })
  }
}

/** A pace for each kind of call, and one for calls to nowhere. */
export type Pacers = Record<LimitName | 'unknown_routes', Pacer>

/** All the paces of the house. */
export function createPacers(clock: Clock, limits: Limits): Pacers {
  const minute = (name: keyof Limits, what: string) =>
    createPacer(
      clock,
      () => perMinute(limits[name]),
      () => `${what}, at most ${limits[name]} a minute`,
    )
  const ofKey = (what: string) =>
    createPacer(
      clock,
      () => ({
        burst: limits.key_burst,
        per_s: limits.key_rate,
        max_wait_ms: limits.key_max_wait_s * 1000,
      }),
      () => `${what} by this key, ${limits.key_rate} a second after a burst of ${limits.key_burst}`,
    )
  return {
    none: () => Promise.resolve(),
    reads: ofKey('reads'),
    // Beside what the call itself counts for that a message asks for.
    mcp: ofKey('MCP messages'),
    management: minute('management_per_minute', 'monitoring calls by this key'),
    webhook_test: minute('webhook_test_per_minute', 'test deliveries by this key'),
    account: minute('account_per_minute', 'account calls by this key'),
    feedback: minute('feedback_per_minute', 'feedback calls by this key'),
    dashboard: minute('dashboard_per_minute', 'usage calls by this key'),
    sign_in: minute('dashboard_per_minute', 'attempts to sign in from this address'),
    unknown_routes: minute('unknown_routes_per_minute', 'calls that match no route'),
  }
}
