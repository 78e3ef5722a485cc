import { LRUCache } from 'lru-cache'

import { perMinute } from '../../core/limits/pace.ts'
import type { Clock, Log, Random } from '../../runtime/runtime.ts'
import type { Metrics } from '../metrics/registry.ts'
import { createBuckets } from './buckets.ts'
import { type Limits, tooFast } from './pacers.ts'

/** Recently valid tokens, by fingerprint. */
const RECENT_MAX = 10_000
const SEED_BYTES = 8
const REPORT_MS = 60_000
/** Addresses listed in one log line. */
const ADDRESSES_MAX = 1_000

type Deps = {
  clock: Clock
  random: Pick<Random, 'bytes'>
  limits: Pick<Limits, 'failed_auth_per_minute'>
  log: Log
  metrics: Metrics
}

/**
 * Limits failed authentications. A token is hashed and looked up only while its address has
 * failures left.
 * A recently valid token is always looked up, so that another client behind the same address locks
 * no client out.
 */
export type FailedAuth = {
  /**
   * Looks up a token with `find`; null if it is absent or unknown, which counts as a failure of the
   * address.
   * @throws {ApiError} rate_limited, before `find`, if the address has failed too often
   */
  attempt<T>(from: string, token: string | null, find: (token: string) => T | null): T | null
  /**
   * Logs the failures since the last line, at most once a minute. Called at every request, so that
   * no timer is needed.
   */
  report(): void
}

/** Creates the limit, which counts failures by address and reports them to metrics and log. */
export function createFailedAuth({ clock, random, limits, log, metrics }: Deps): FailedAuth {
  const failures = createBuckets(clock, () => perMinute(limits.failed_auth_per_minute))
  const recent = new LRUCache<bigint, true>({ max: RECENT_MAX })
  let seed: bigint | null = null
  let reported_at = -Infinity
  let failed = 0
  let by_address = new Map<string, number>()

  // Fast rather than collision-resistant: a colliding token is still looked up, and fails there.
  function fingerprintOf(token: string): bigint {
    seed ??= Buffer.from(random.bytes(SEED_BYTES)).readBigUInt64LE()
    const hash = Bun.hash(token, seed)
    return typeof hash === 'bigint' ? hash : BigInt(hash)
  }

  function fail(from: string, reason: 'missing' | 'invalid' | 'rate_limited') {
    metrics.count('auth_failures_total', { reason })
    failed += 1
    if (by_address.has(from) || by_address.size < ADDRESSES_MAX)
      by_address.set(from, (by_address.get(from) ?? 0) + 1)
    report()
  }

  function report() {
    if (failed === 0 || clock.mono() - reported_at < REPORT_MS) return
    const [address] = [...by_address].reduce((most, it) => (it[1] > most[1] ? it : most), ['', 0])
    log('warn', 'auth.failed', { count: failed, address, addresses: by_address.size })
    reported_at = clock.mono()
    failed = 0
    by_address = new Map()
  }

  return {
    report,
    attempt(from, token, find) {
      const fingerprint = token === null ? null : fingerprintOf(token)
      const known = fingerprint !== null && recent.has(fingerprint)
      const next = known ? null : failures.look(from)
      if (next?.wait_ms === null) {
        fail(from, 'rate_limited')
        throw tooFast(
          `calls without a valid key from this address, at most ${limits.failed_auth_per_minute} a minute`,
          next,
        )
      }
      const found = token === null ? null : find(token)
      if (found !== null) {
        if (fingerprint !== null) recent.set(fingerprint, true)
        return found
      }
      if (fingerprint !== null) recent.delete(fingerprint)
      failures.take(from)
      fail(from, token === null ? 'missing' : 'invalid')
      return null
    },
  }
}
