import { createMetrics } from '../../src/api/metrics/registry.ts'
import { createReadsHealth } from '../../src/api/status.ts'
import type { Clock } from '../../src/runtime/runtime.ts'

/** `[limits]` with their defaults. */
export const LIMITS = {
  key_burst: 20,
  key_rate: 10,
  key_max_wait_s: 10,
  writes_per_minute: 120,
  uploads_per_minute: 10,
  management_per_minute: 60,
  webhook_test_per_minute: 10,
  account_per_minute: 30,
  feedback_per_minute: 10,
  dashboard_per_minute: 30,
  open_per_minute: 300,
  inbox_per_minute: 600,
  feeds_per_minute: 120,
  health_per_minute: 600,
  failed_auth_per_minute: 30,
  unknown_routes_per_minute: 60,
}

/** No limits; short waits. */
export const NO_LIMITS = {
  key_burst: 0,
  key_rate: 0,
  key_max_wait_s: 10,
  writes_per_minute: 0,
  uploads_per_minute: 0,
  management_per_minute: 0,
  webhook_test_per_minute: 0,
  account_per_minute: 0,
  feedback_per_minute: 0,
  dashboard_per_minute: 0,
  open_per_minute: 0,
  inbox_per_minute: 0,
  feeds_per_minute: 0,
  health_per_minute: 0,
  failed_auth_per_minute: 0,
  unknown_routes_per_minute: 0,
}

/** Default prices, in micro-dollars. */
export const PRICES = { read: 2_000, deep_search: 20_000, vote: 5_000, write: 12_000, dm: 25_000 }

/** Defaults of `createApp` for tests of single routes: no log, and a healthy platform. */
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
  monitors: () => ({ used: 0, total: 10, cadence_s: 60 }),
})
