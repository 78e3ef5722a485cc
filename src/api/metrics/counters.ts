import type { AttemptEvent } from '../../core/delivery/retry.ts'
import { HELD_FOR } from '../../core/limits/byte-budget.ts'
import { WEBHOOK_KINDS } from '../../delivery/kinds.ts'
import type { Clock, Lateness, Log } from '../../runtime/runtime.ts'
import { type Db, onCommit } from '../../store/db/connection.ts'
import { onEnded } from '../../store/delivery/pending.ts'
import { JUDGEMENT_OUTCOMES } from '../../store/relevance/judgements.ts'
import type { MoneyEvent } from '../billing.ts'
import type { Metrics } from './registry.ts'

/**
 * Creates the series that alerts compare over time: a series that appears with its first event
 * shows no increase.
 */
export function startSeries(metrics: Metrics): void {
  for (const kind of WEBHOOK_KINDS) {
    for (const status of ['delivered', 'failed', 'dead'])
      metrics.count('deliveries_ended_total', { status, kind }, 0)
    for (const status of ['pending', 'suppressed', 'failed'])
      metrics.count('deliveries_written_total', { status, kind }, 0)
  }
  metrics.count('relevance_calls_total', { outcome: 'judged' }, 0)
  for (const outcome of [...JUDGEMENT_OUTCOMES, 'abandoned'])
    metrics.count('relevance_results_total', { outcome }, 0)
  for (const outcome of ['reached', 'cut']) metrics.count('checks_total', { outcome }, 0)
  for (const reason of ['missing', 'invalid', 'rate_limited'])
    metrics.count('auth_failures_total', { reason }, 0)
  for (const held_for of HELD_FOR)
    for (const limit of ['owner', 'process'])
      metrics.count('overloaded_total', { held_for, limit }, 0)
  metrics.count('write_timeouts_total', {}, 0)
  for (const state of ['hit', 'shared', 'miss']) metrics.count('reads_cache_total', { state }, 0)
}

export function onLog(log: Log, metrics: Metrics): Log {
  return (level, event, fields = {}) => {
    log(level, event, fields)
    metrics.count('log_events_total', { event, level })
    const { matched, count, reason } = fields
    if (event === 'check.recorded' && typeof count === 'number')
      metrics.count('checks_total', { outcome: 'reached' }, count)
    if (event === 'filter.too_slow') metrics.count('filters_too_slow_total')
    if (event === 'check.cut') metrics.count('checks_total', { outcome: 'cut' })
    // Both events are logged after the commit.
    if (
      (event === 'check.recorded' || event === 'candidates.matched') &&
      typeof matched === 'number'
    )
      metrics.count('matches_total', {}, matched)
    if (event === 'act.blocked' || (event === 'account.needs_login' && reason === 'human_check'))
      metrics.count('human_checks_total')
  }
}

export function countAttempt(metrics: Metrics, it: AttemptEvent): void {
  const { kind, verdict } = it
  const { status } = verdict
  const outcome = status === 'pending' ? 'retry' : status
  const error = verdict.status === 'delivered' ? '' : classOf(verdict.error)
  metrics.count('delivery_attempts_total', { kind, outcome, error })
  if (it.first) metrics.observe('match_to_attempt_seconds', seconds(it.began_after_ms))
  // A redelivery days later is no measure of latency.
  if (it.is_original && status === 'delivered')
    metrics.observe('match_to_acceptance_seconds', seconds(it.ended_after_ms))
}

// Rows carry true time, which may be corrected between two of them.
const seconds = (ms: number): number => Math.max(0, ms) / 1000

/** Class of a status: a receiver must not be able to create series. */
const classOf = (error: string): string => error.replace(/^(http|smtp)_(\d)\d*$/, '$1_$2xx')

/** Counts the deliveries that this process ends, with or without an attempt. */
export function countEnded(metrics: Metrics, db: Db): void {
  onEnded(db, ({ status, kind, count }) =>
    metrics.count('deliveries_ended_total', { status, kind }, count),
  )
}

export function countMoney(metrics: Metrics, { what, tier, micros }: MoneyEvent): void {
  metrics.count(`billing_${what}_micro_usd_total`, { tier }, micros)
}

export function timeCommits(metrics: Metrics, db: Db, clock: Clock): void {
  onCommit(db, {
    mono: () => clock.mono(),
    observe: (ms) => metrics.observe('db_commit_seconds', ms / 1000),
  })
}

const MINUTE_MS = 60_000

/** Measures event loop lag. Returns the longest stall of the last minute, s. */
export function watchLateness(
  metrics: Metrics,
  { clock, lateness }: { clock: Clock; lateness?: Lateness | undefined },
  signal: AbortSignal,
): () => number {
  let slots: { second: number; ms: number }[] = []
  const recent = () => slots.filter(({ second }) => second > (clock.mono() - MINUTE_MS) / 1000)
  lateness?.((ms) => {
    metrics.observe('event_loop_late_seconds', ms / 1000)
    const second = Math.floor(clock.mono() / 1000)
    const last = slots.at(-1)
    if (last?.second === second) last.ms = Math.max(last.ms, ms)
    else slots = [...recent(), { second, ms }]
  }, signal)
  return () => Math.max(0, ...recent().map(({ ms }) => ms)) / 1000
}
