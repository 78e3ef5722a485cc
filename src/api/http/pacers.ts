import { ApiError, invalid } from '../../core/base/errors.ts'
import { createLru } from '../../core/base/lru.ts'
import {
  type Bucket,
  mostAtOnce,
  type Pace,
  perMinute,
  type Step,
  step,
} from '../../core/limits/pace.ts'
import type { Clock } from '../../runtime/runtime.ts'
import type { LimitName } from './routes.ts'

/** Ids in one table, about 2 MB. The id unused for longest is evicted; it starts with a full bucket again. */
export const BUCKETS_MAX = 10_000

export type Buckets = {
  /** Takes `count` calls of an id; null while the limit is disabled. */
  take(id: string, count?: number): Step | null
  /** Result that {@link take} would return. */
  peek(id: string): Step | null
  size(): number
}

/** `paceNow` is read at each call: a reload may change it. */
export function createBuckets(clock: Clock, paceNow: () => Pace): Buckets {
  const buckets = createLru<string, Bucket>(BUCKETS_MAX)

  function peek(id: string, count = 1): Step | null {
    const pace = paceNow()
    if (pace.burst <= 0 || pace.per_s <= 0) return null
    return step(buckets.peek(id), pace, clock.mono(), count)
  }

  return {
    peek,
    take(id, count) {
      const taken = peek(id, count)
      if (taken === null) return null
      buckets.set(id, taken.bucket)
      return taken
    },
    size: () => buckets.size,
  }
}

/** Rate limits of `[limits]`, read at each call; 0: no limit. */
export type Limits = {
  key_burst: number
  key_rate: number
  key_max_wait_s: number
  writes_per_minute: number
  uploads_per_minute: number
  management_per_minute: number
  inbox_per_minute: number
  webhook_test_per_minute: number
  account_per_minute: number
  feedback_per_minute: number
  dashboard_per_minute: number
  open_per_minute: number
  feeds_per_minute: number
  health_per_minute: number
  failed_auth_per_minute: number
  unknown_routes_per_minute: number
}

type Counted = {
  signal?: AbortSignal
  /** Messages in the call, each of which counts; default 1. */
  count?: number
}

/**
 * Admits a call of this id, after a wait if needed.
 * @throws {ApiError} rate_limited (429) with the seconds to wait; INVALID_REQUEST for more messages
 * than the limit ever permits at once
 */
type Pacer = (id: string, counted?: Counted) => Promise<void>

export type Pacers = Record<LimitName | 'preflight' | 'unknown_routes', Pacer>

export const tooFast = (what: string, { retry_ms }: Pick<Step, 'retry_ms'>): ApiError =>
  new ApiError('rate_limited', {
    message: `too many requests: ${what}`,
    retry_after_s: Math.max(1, Math.ceil(retry_ms / 1000)),
  })

function createPacer(clock: Clock, paceNow: () => Pace, what: () => string): Pacer {
  const buckets = createBuckets(clock, paceNow)

  return async (id, { signal, count = 1 } = {}) => {
    const taken = buckets.take(id, count)
    if (taken === null) return
    const { wait_ms } = taken
    if (wait_ms === null) {
      const most = mostAtOnce(paceNow())
      if (count > 1 && count > most)
        throw invalid('body', `body must hold at most ${most} messages: ${what()}, each counted`)
      throw tooFast(what(), taken)
    }
    if (wait_ms === 0) return
    await clock.sleep(wait_ms, signal)
    // The caller has disconnected: no work is done or billed.
    if (signal?.aborted)
      throw new ApiError('rate_limited', {
        message: `the caller disconnected while it waited: ${what()}`,
        retry_after_s: 1,
      })
  }
}

/** Creates every rate limit; a missing one is a type error. */
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
    reads: ofKey('reads'),
    // In addition to the call that a message makes.
    mcp: ofKey('MCP messages'),
    writes: minute('writes_per_minute', 'writes by this key'),
    uploads: minute('uploads_per_minute', 'images by this key'),
    management: minute('management_per_minute', 'monitoring calls by this key'),
    inbox: minute('inbox_per_minute', 'calls of the inbox by this key'),
    webhook_test: minute('webhook_test_per_minute', 'test deliveries by this key'),
    account: minute('account_per_minute', 'account calls by this key'),
    feedback: minute('feedback_per_minute', 'feedback calls by this key'),
    dashboard: minute('dashboard_per_minute', 'usage calls by this key'),
    sign_in: minute('dashboard_per_minute', 'attempts to sign in from this address'),
    signed_in: minute('open_per_minute', 'dashboard calls from this address'),
    open: minute('open_per_minute', 'calls without a key from this address'),
    feeds: minute('feeds_per_minute', 'feed requests from this address'),
    health: minute('health_per_minute', 'health checks from this address'),
    preflight: minute('health_per_minute', 'CORS preflights from this address'),
    unknown_routes: minute('unknown_routes_per_minute', 'calls that match no route'),
  }
}
