import { readdirSync, readFileSync } from 'node:fs'

import { version } from '../../../package.json'
import { ACCOUNT_STATES } from '../../core/accounts/status.ts'
import { HELD_FOR, type HeldFor } from '../../core/limits/byte-budget.ts'
import { judgeMonitor } from '../../core/polling/coverage.ts'
import { FEED_KINDS } from '../../core/polling/feed.ts'
import { WEBHOOK_KINDS } from '../../delivery/kinds.ts'
import { LOOPS } from '../../runtime/loop.ts'
import type { Clock, Fence } from '../../runtime/runtime.ts'
import type { Db } from '../../store/db/connection.ts'
import { countUnread, PROJECTIONS } from '../../store/delivery/projections.ts'
import { checksState } from '../../store/erasure/kept-items.ts'
import {
  lastBackupAt,
  lastHidden,
  listMonitorCoverage,
  measureCredit,
  measureHolds,
  measureLag,
  measurePending,
  measureSources,
  measureTargets,
  nextAttemptAt,
} from '../../store/maintenance/metric-queries.ts'
import type { ReadsHealth } from '../status.ts'
import type { Metrics, MetricValue } from './registry.ts'

/** Monitors by the coverage of their last day: complete, degraded, partial, or unknown (paused). */
type CoverageSums = Record<'complete' | 'degraded' | 'partial' | 'unknown', number>

const AT_ONCE = 250
/** Coverage of a day changes slowly, and ten thousand monitors take a while. */
const CACHE_MS = 60_000

/**
 * Sums the coverage of all monitors by the rule of their health, in chunks, at most once a minute.
 */
function createCoverageSums(deps: {
  db: Db
  clock: Clock
  /** Lead of the platform's clock, ms. */
  ahead_ms: () => number
}): () => Promise<CoverageSums> {
  const { db, clock } = deps
  let cached: { until: number; sums: Promise<CoverageSums> } | null = null

  async function judgeAll(): Promise<CoverageSums> {
    const sums = { complete: 0, degraded: 0, partial: 0, unknown: 0 }
    const now = clock.now()
    const hidden = lastHidden(db, now)
    let after_id = ''
    for (;;) {
      const page = listMonitorCoverage(db, hidden, {
        after_id,
        limit: AT_ONCE,
        now,
        offset_ms: deps.ahead_ms(),
      })
      for (const it of page) sums[judgeMonitor(it, now, deps.ahead_ms()).status] += 1
      after_id = page.at(-1)?.id ?? ''
      if (page.length < AT_ONCE) return sums
      await new Promise<void>((resolve) => setImmediate(resolve))
    }
  }

  return () => {
    if (cached !== null && clock.mono() < cached.until) return cached.sums
    const sums = judgeAll()
    cached = { until: clock.mono() + CACHE_MS, sums }
    sums.catch(() => (cached = null))
    return sums
  }
}

type Budget = { allowance: number; remaining: number; waiting: number }

/** Sources of the gauges, read at each scrape. */
export type GaugeSources = {
  db: Db
  clock: Clock
  /**
   * Accounts of the pool by name, with their state; budget null before the first request through
   * it.
   */
  accounts: () => { name: string; state: string; budget: Budget | null }[]
  /** False: there is no platform with a pool, a clock and a reachability. */
  has_platform: boolean
  usable: () => boolean
  /** True while the platform cannot be reached. */
  unreachable: () => boolean
  reads: ReadsHealth['state']
  /** Lead of the platform's clock over the local one, however small; null while unknown. */
  clock_offset_ms: () => number | null
  /** Lead of true time over the local clock, and lead of the platform's clock, ms. */
  true_ahead_ms: () => number
  platform_ahead_ms: () => number
  attempts_max: number
  storage: () => {
    trouble: string | null
    free_bytes: number
    free_files: number | null
    db_bytes: number
    wal_bytes: number
    ballast: boolean
    /** Time of the newest snapshot, epoch ms. */
    snapshot_at: number | null
  }
  /** Bytes of memory held for calls and answers. */
  bytes_in_flight: (held_for: HeldFor) => number
  /**
   * `ok` is false after a refused reload; `at`: the time at which the current configuration was
   * read.
   */
  reloads: () => { ok: boolean; at: number }
  failing_loops: () => { loop: string }[]
  /** The lease of this primary; absent: there is none. */
  fence?: Pick<Fence, 'remainingMs'> | undefined
  read_price: () => number
  /** Longest event loop stall, in seconds. */
  worst_stall: () => number
}

const toNumber = (it: boolean) => (it ? 1 : 0)

/** Each query is short, and the event loop runs between two. */
export function registerGauges(metrics: Metrics, deps: GaugeSources): void {
  if (deps.has_platform) registerPlatformGauges(metrics, deps)
  metrics.onScrape('reads_health', () => {
    const now = deps.reads()
    return (['ok', 'degraded', 'unknown'] as const).map((state) => [
      { state },
      toNumber(state === now),
    ])
  })
  metrics.onScrapeAll(['bytes_in_flight'], () => ({
    bytes_in_flight: HELD_FOR.map((held_for) => [{ held_for }, deps.bytes_in_flight(held_for)]),
  }))
  registerMonitorGauges(metrics, deps)
  registerDeliveryGauges(metrics, deps)
  registerBillingGauges(metrics, deps)
  registerStorageGauges(metrics, deps)
  registerProcessGauges(metrics, deps)
}

function registerPlatformGauges(
  metrics: Metrics,
  { accounts, usable, unreachable, clock_offset_ms }: GaugeSources,
) {
  metrics.onScrapeAll(
    [
      'pool_accounts',
      'upstream_budget_allowance',
      'upstream_budget_used',
      'upstream_budget_waiting',
    ],
    () => {
      const all = accounts()
      const budgets = (of: (budget: Budget) => number): MetricValue =>
        all.flatMap(({ name, budget }) =>
          budget === null ? [] : [[{ account: name }, of(budget)] as const],
        )
      return {
        pool_accounts: ACCOUNT_STATES.map((state) => [
          { state },
          all.filter((it) => it.state === state).length,
        ]),
        upstream_budget_allowance: budgets(({ allowance }) => allowance),
        upstream_budget_used: budgets(({ allowance, remaining }) =>
          Math.max(0, allowance - remaining),
        ),
        upstream_budget_waiting: budgets(({ waiting }) => waiting),
      }
    },
  )
  metrics.onScrape('pool_usable', () => toNumber(usable()))
  metrics.onScrape('clock_offset_seconds', () => {
    const offset_ms = clock_offset_ms()
    return offset_ms === null ? null : offset_ms / 1000
  })
  metrics.onScrape('platform_unreachable', () => toNumber(unreachable()))
}

function registerMonitorGauges(metrics: Metrics, { db, clock, platform_ahead_ms }: GaugeSources) {
  metrics.onScrapeAll(['feeds', 'poll_lag_seconds', 'poll_overdue_feeds'], () => {
    const lags = measureLag(db, clock.now())
    // A kind without watched feeds has no lag.
    const of = (kind: string) => lags.find((lag) => lag.kind === kind)
    return {
      feeds: FEED_KINDS.map((kind) => [{ kind }, of(kind)?.feeds ?? 0]),
      poll_lag_seconds: FEED_KINDS.map((kind) => [{ kind }, (of(kind)?.worst_ms ?? 0) / 1000]),
      poll_overdue_feeds: FEED_KINDS.map((kind) => [{ kind }, of(kind)?.late ?? 0]),
    }
  })
  metrics.onScrapeAll(
    ['source_lag_seconds', 'source_lag_ids', 'source_open_ids', 'source_requests_per_minute'],
    () => {
      const now = clock.now()
      const states = measureSources(db, now)
      return {
        source_lag_seconds: states.flatMap(({ source, verified_until: at }) =>
          at === null ? [] : [[{ source }, Math.max(0, now - at) / 1000]],
        ),
        source_lag_ids: states.map(({ source, lag_ids }) => [{ source }, lag_ids]),
        source_open_ids: states.flatMap(({ source, unanswered, skipped }) => [
          [{ source, reason: 'unanswered' }, unanswered],
          [{ source, reason: 'skipped' }, skipped],
        ]),
        source_requests_per_minute: states.map(({ source, requests }) => [{ source }, requests]),
      }
    },
  )
  const coverage = createCoverageSums({ db, clock, ahead_ms: platform_ahead_ms })
  metrics.onScrapeAll(['monitors'], async () => ({
    monitors: Object.entries(await coverage()).map(([status, n]) => [{ coverage: status }, n]),
  }))
}

function registerDeliveryGauges(
  metrics: Metrics,
  { db, clock, true_ahead_ms, attempts_max }: GaugeSources,
) {
  metrics.onScrapeAll(['kept_items_due', 'kept_items_lag_seconds'], () => {
    const { due, lag_ms } = checksState(db, clock.now())
    return { kept_items_due: due, kept_items_lag_seconds: lag_ms / 1000 }
  })
  metrics.onScrape('projection_unread', () =>
    PROJECTIONS.map((projection) => [{ projection }, countUnread(db, projection)] as const),
  )
  metrics.onScrapeAll(['deliveries_pending', 'delivery_oldest_pending_seconds'], () => {
    const { by_retry_index, oldest_at } = measurePending(db)
    const age_ms = oldest_at === null ? 0 : clock.now() + true_ahead_ms() - oldest_at
    return {
      deliveries_pending: Array.from({ length: attempts_max }, (_, retry_index) => [
        { retry_index: String(retry_index) },
        by_retry_index.get(retry_index) ?? 0,
      ]),
      delivery_oldest_pending_seconds: Math.max(0, age_ms) / 1000,
    }
  })
  metrics.onScrape('delivery_overdue_seconds', () => {
    const at = nextAttemptAt(db)
    return at === null ? 0 : Math.max(0, clock.now() - at) / 1000
  })
  metrics.onScrape('webhooks', () => {
    const targets = measureTargets(db)
    return WEBHOOK_KINDS.flatMap((kind) =>
      (['active', 'paused', 'unconfirmed', 'off'] as const).map((state) => {
        const n = targets.find((it) => it.kind === kind && it.state === state)?.n
        return [{ kind, state }, n ?? 0] as const
      }),
    )
  })
}

function registerBillingGauges(metrics: Metrics, { db, read_price }: GaugeSources) {
  metrics.onScrapeAll(['billing_open_holds', 'billing_open_holds_micro_usd'], () => {
    const { holds, micros } = measureHolds(db)
    return { billing_open_holds: holds, billing_open_holds_micro_usd: micros }
  })
  metrics.onScrape('customers', () =>
    Object.entries(measureCredit(db, read_price())).map(([credit, n]) => [{ credit }, n]),
  )
}

function registerStorageGauges(metrics: Metrics, { db, storage }: GaugeSources) {
  metrics.onScrapeAll(
    [
      'db_bytes',
      'db_wal_bytes',
      'disk_free_bytes',
      'disk_free_files',
      'reserve_file',
      'storage_failing',
      'backup_last_timestamp_seconds',
      'snapshot_last_timestamp_seconds',
    ],
    () => {
      const it = storage()
      const backup_at = lastBackupAt(db)
      return {
        db_bytes: it.db_bytes,
        db_wal_bytes: it.wal_bytes,
        disk_free_bytes: it.free_bytes,
        disk_free_files: it.free_files,
        reserve_file: toNumber(it.ballast),
        storage_failing: toNumber(it.trouble !== null),
        backup_last_timestamp_seconds: backup_at === null ? null : backup_at / 1000,
        snapshot_last_timestamp_seconds: it.snapshot_at === null ? null : it.snapshot_at / 1000,
      }
    },
  )
}

function registerProcessGauges(
  metrics: Metrics,
  { clock, worst_stall, failing_loops, reloads, fence }: GaugeSources,
) {
  const began_s = clock.now() / 1000 - process.uptime()
  metrics.onScrape('event_loop_stall_max_seconds', worst_stall)
  // A series for each loop, including healthy ones: an alert has to see the failure end.
  metrics.onScrape('loop_failing', () => {
    const failing = new Set(failing_loops().map(({ loop }) => loop))
    return LOOPS.map((loop) => [{ loop }, toNumber(failing.has(loop))])
  })
  metrics.onScrape('lease_remaining_seconds', () => (fence ? fence.remainingMs() / 1000 : null))
  metrics.onScrapeAll(
    ['config_last_reload_successful', 'config_last_reload_success_timestamp_seconds'],
    () => ({
      config_last_reload_successful: toNumber(reloads().ok),
      config_last_reload_success_timestamp_seconds: reloads().at / 1000,
    }),
  )
  metrics.onScrape('build_info', () => [[{ version, runtime: `bun ${Bun.version}` }, 1]])
  metrics.onScrape('process_start_time_seconds', () => began_s)
  metrics.onScrape('process_cpu_seconds_total', () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  })
  metrics.onScrape('process_resident_memory_bytes', () => process.memoryUsage.rss())
  metrics.onScrape('process_open_fds', countOpenFiles)
  metrics.onScrape('process_max_fds', readFileLimit)
}

/** Limit of open files of this process; null if unknown or unlimited. */
function readFileLimit(): number | null {
  try {
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return limit === undefined ? null : Number(limit)
  } catch {
    return null
  }
}

/** Open files of this process; null if unknown. */
function countOpenFiles(): number | null {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return null
  }
}
