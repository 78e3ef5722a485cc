import { createMetrics } from '../../src/api/metrics.ts'
import { createReadsHealth } from '../../src/api/reads-health.ts'
import type { Clock } from '../../src/outside.ts'

/** `[limits]` as interface.md has them. */
export const LIMITS = {
  key_burst: 20,
  key_rate: 10,
  key_max_wait_s: 10,
  management_per_minute: 60,
  webhook_test_per_minute: 10,
  account_per_minute: 30,
  feedback_per_minute: 10,
  dashboard_per_minute: 30,
  unknown_routes_per_minute: 60,
}

/** No limit on anything; whoever waited all the same would not wait long. */
export const NO_LIMITS = {
  key_burst: 0,
  key_rate: 0,
  key_max_wait_s: 10,
  management_per_minute: 0,
  webhook_test_per_minute: 0,
  account_per_minute: 0,
  feedback_per_minute: 0,
  dashboard_per_minute: 0,
  unknown_routes_per_minute: 0,
}

/** Prices as interface.md has them, in micro-dollars. */
export const PRICES = { read: 2_000, deep_search: 20_000, vote: 5_000, write: 12_000, dm: 25_000 }

/** What `createApp` takes that a test of some routes does not care about: nobody listens to the log, and all is well. */
export const quietApp = (clock: Clock) => ({
  clock,
  log: () => {},
  billing: { enabled: true, prices: PRICES },
  health_cache_s: 10,
  metrics: createMetrics({}),
  metrics_token: '',
  trusted_proxies: [],
  public_url: () => 'https://api.forum.example',
  reads_health: createReadsHealth(clock),
  trouble: () => null,
  monitors: () => ({ used: 0, total: 10 }),
})
