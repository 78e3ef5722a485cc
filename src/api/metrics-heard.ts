import type { AttemptEvent } from '../core/ladder.ts'
import { WEBHOOK_KINDS } from '../core/webhook-kind.ts'
import type { Clock, Lateness, Log } from '../outside.ts'
import { type Db, onCommit } from '../store/db.ts'
import { onEnded } from '../store/ended.ts'
import type { MoneyEvent } from './meter.ts'
import type { Metrics } from './metrics.ts'

/** Begins the series that an alert compares with what they were: one that appears with its first event shows no rise. */
export function startSeries(metrics: Metrics): void {
  for (const kind of WEBHOOK_KINDS) {
    for (const status of ['delivered', 'failed', 'dead'])
      metrics.count('deliveries_ended_total', { status, kind }, 0)
    for (const status of ['pending', 'suppressed', 'failed'])
      metrics.count('deliveries_written_total', { status, kind }, 0)
  }
  for (const outcome of ['reached', 'cut']) metrics.count('checks_total', { outcome }, 0)
  for (const state of ['hit', 'shared', 'miss']) metrics.count('reads_cache_total', { state }, 0)
}

/** The same log, whose events are counted on their way, and what some of them say. */
export function hearLog(log: Log, metrics: Metrics): Log {
  return (level, event, fields = {}) => {
    log(level, event, fields)
    metrics.count('log_events_total', { event, level })
    const { matched, count, reason } = fields
    if (event === 'check.recorded' && typeof count === 'number')
      metrics.count('checks_total', { outcome: 'reached' }, count)
    if (event === 'check.cut') metrics.count('checks_total', { outcome: 'cut' })
    // Both are told after the commit.
    if (
      (event === 'check.recorded' || event === 'candidates.matched') &&
      typeof matched === 'number'
    )
      metrics.count('matches_total', {}, matched)
    if (event === 'act.blocked' || (event === 'account.needs_login' && reason === 'human_check'))
      metrics.count('human_checks_total')
  }
}

/** Counts an attempt to deliver, and how long its delivery has waited. */
export function countAttempt(metrics: Metrics, it: AttemptEvent): void {
  const { kind, verdict } = it
  const { status } = verdict
  const outcome = status === 'pending' ? 'retry' : status
  const error = verdict.status === 'delivered' ? '' : classOf(verdict.error)
  metrics.count('delivery_attempts_total', { kind, outcome, error })
  if (it.first) metrics.observe('match_to_attempt_seconds', seconds(it.began_after_ms))
  // What somebody sends again days later says nothing of how fast it was.
  if (it.first_round && status === 'delivered')
    metrics.observe('match_to_acceptance_seconds', seconds(it.ended_after_ms))
}

// Rows tell true time, which may be corrected between two of them.
const seconds = (ms: number): number => Math.max(0, ms) / 1000

/** Of a status its hundred: a receiver must not be able to make series. */
const classOf = (error: string): string => error.replace(/^(http|smtp)_(\d)\d*$/, '$1_$2xx')

/** Counts the deliveries that a database's own process has ended, by an attempt or without one. */
export function countEnded(metrics: Metrics, db: Db): void {
  onEnded(db, ({ status, kind, count }) =>
    metrics.count('deliveries_ended_total', { status, kind }, count),
  )
}

/** Counts money as it moves. */
export function countMoney(metrics: Metrics, { what, tier, micros }: MoneyEvent): void {
  metrics.count(`billing_${what}_micro_usd_total`, { tier }, micros)
}

/** Times the commits of a database. */
export function timeCommits(metrics: Metrics, db: Db, clock: Clock): void {
  onCommit(db, {
    mono: () => clock.mono(),
    told: (ms) => metrics.observe('db_commit_seconds', ms / 1000),
  })
}

const MINUTE_MS = 60_000

/** Watches how late the event loop is, and answers the longest stall (s) of the last minute. */
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
