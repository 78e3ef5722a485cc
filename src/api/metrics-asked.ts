import { readdirSync } from 'node:fs'

import { version } from '../../package.json'
import { WEBHOOK_KINDS } from '../core/webhook-kind.ts'
import type { Clock } from '../outside.ts'
import type { Db } from '../store/db.ts'
import {
  measureCredit,
  measureHolds,
  measureLag,
  measurePending,
  measureTargets,
  nextAttemptAt,
} from '../store/measures.ts'
import { createCoverageSums } from './metrics-coverage.ts'
import type { Metrics, Reading } from './metrics.ts'
import type { ReadsHealth } from './reads-health.ts'

type Budget = { allowance: number; remaining: number; waiting: number }

/** Whom a scrape asks for what is not counted as it happens. */
export type Asked = {
  db: Db
  clock: Clock
  /** Every account of the pool, by name, with how it stands; budget null while nothing was asked through it. */
  accounts: () => { name: string; state: string; budget: Budget | null }[]
  account_states: readonly string[]
  usable: () => boolean
  reads: ReadsHealth['state']
  stream_kinds: readonly string[]
  /** How far true time is ahead of our clock, and how far the platform's is. */
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
    audit: { at: number | null; breaches: readonly unknown[]; audit_edited: boolean }
  }
  /** The price of a read, in micro-dollars. */
  read_price: () => number
  /** In seconds. */
  worst_stall: () => number
}

const one = (it: boolean) => (it ? 1 : 0)

/** Lets a scrape ask how everything stands. Each question is short, and others have their turn between two. */
export function askAround(metrics: Metrics, deps: Asked): void {
  askUpstream(metrics, deps)
  askMonitors(metrics, deps)
  askDeliveries(metrics, deps)
  askMoney(metrics, deps)
  askStorage(metrics, deps)
  askProcess(metrics, deps)
}

function askUpstream(metrics: Metrics, { accounts, account_states, usable, reads }: Asked) {
  metrics.askAll(
    [
      'pool_accounts',
      'upstream_budget_allowance',
      'upstream_budget_used',
      'upstream_budget_waiting',
    ],
    () => {
      const all = accounts()
      const budgets = (of: (budget: Budget) => number): Reading =>
        all.flatMap(({ name, budget }) =>
          budget === null ? [] : [[{ account: name }, of(budget)] as const],
        )
      return {
        pool_accounts: account_states.map((state) => [
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
  metrics.ask('pool_usable', () => one(usable()))
  metrics.ask('reads_health', () => {
    const now = reads()
    return (['ok', 'degraded', 'unknown'] as const).map((state) => [{ state }, one(state === now)])
  })
}

function askMonitors(metrics: Metrics, { db, clock, stream_kinds, ...deps }: Asked) {
  metrics.askAll(['streams', 'poll_lag_seconds', 'poll_late_streams'], () => {
    const lags = measureLag(db, clock.now())
    // A kind that nobody watches is in time.
    const of = (kind: string) => lags.find((lag) => lag.kind === kind)
    return {
      streams: stream_kinds.map((kind) => [{ kind }, of(kind)?.streams ?? 0]),
      poll_lag_seconds: stream_kinds.map((kind) => [{ kind }, (of(kind)?.worst_ms ?? 0) / 1000]),
      poll_late_streams: stream_kinds.map((kind) => [{ kind }, of(kind)?.late ?? 0]),
    }
  })
  const coverage = createCoverageSums({ db, clock, ahead_ms: deps.platform_ahead_ms })
  metrics.askAll(['monitors'], async () => ({
    monitors: Object.entries(await coverage()).map(([status, n]) => [{ coverage: status }, n]),
  }))
}

function askDeliveries(metrics: Metrics, { db, clock, true_ahead_ms, attempts_max }: Asked) {
  metrics.askAll(['deliveries_pending', 'delivery_oldest_pending_seconds'], () => {
    const { by_rung, oldest_at } = measurePending(db)
    const age_ms = oldest_at === null ? 0 : clock.now() + true_ahead_ms() - oldest_at
    return {
      deliveries_pending: Array.from({ length: attempts_max }, (_, rung) => [
        { rung: String(rung) },
        by_rung.get(rung) ?? 0,
      ]),
      delivery_oldest_pending_seconds: Math.max(0, age_ms) / 1000,
    }
  })
  metrics.ask('delivery_overdue_seconds', () => {
    const at = nextAttemptAt(db)
    return at === null ? 0 : Math.max(0, clock.now() - at) / 1000
  })
  metrics.ask('webhooks', () => {
    const known = measureTargets(db)
    return WEBHOOK_KINDS.flatMap((kind) =>
      (['active', 'paused', 'unconfirmed', 'off'] as const).map((state) => {
        const n = known.find((it) => it.kind === kind && it.state === state)?.n
        return [{ kind, state }, n ?? 0] as const
      }),
    )
  })
}

function askMoney(metrics: Metrics, { db, read_price }: Asked) {
  metrics.askAll(['billing_open_holds', 'billing_open_holds_micro_usd'], () => {
    const { holds, micros } = measureHolds(db)
    return { billing_open_holds: holds, billing_open_holds_micro_usd: micros }
  })
  metrics.ask('customers', () =>
    Object.entries(measureCredit(db, read_price())).map(([credit, n]) => [{ credit }, n]),
  )
}

function askStorage(metrics: Metrics, { storage }: Asked) {
  metrics.askAll(
    [
      'db_bytes',
      'db_wal_bytes',
      'disk_free_bytes',
      'disk_free_files',
      'ballast',
      'storage_trouble',
      'auditor_findings',
      'auditor_last_run_timestamp_seconds',
    ],
    () => {
      const { audit, ...it } = storage()
      return {
        db_bytes: it.db_bytes,
        db_wal_bytes: it.wal_bytes,
        disk_free_bytes: it.free_bytes,
        disk_free_files: it.free_files,
        ballast: one(it.ballast),
        storage_trouble: one(it.trouble !== null),
        auditor_findings: audit.breaches.length + one(audit.audit_edited),
        auditor_last_run_timestamp_seconds: audit.at === null ? null : audit.at / 1000,
      }
    },
  )
}

function askProcess(metrics: Metrics, { clock, worst_stall }: Asked) {
  const began_s = clock.now() / 1000 - process.uptime()
  metrics.ask('event_loop_stall_max_seconds', worst_stall)
  metrics.ask('build_info', () => [[{ version, runtime: `bun ${Bun.version}` }, 1]])
  metrics.ask('process_start_time_seconds', () => began_s)
  metrics.ask('process_cpu_seconds_total', () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  })
  metrics.ask('process_resident_memory_bytes', () => process.memoryUsage.rss())
  metrics.ask('process_open_fds', countOpenFiles)
}

/** Null where the system does not tell. */
function countOpenFiles(): number | null {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return null
  }
}
