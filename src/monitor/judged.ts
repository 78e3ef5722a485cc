import { coverageContext, type Watches } from '../gateway/watch.ts'
import type { PatternJudge } from '../patterns/judge.ts'
import type { Clock, Log } from '../runtime/runtime.ts'
import type { Db } from '../store/db/connection.ts'
import { listWatchers, pauseMonitor } from '../store/monitoring/monitors.ts'
import type { Filters } from './match.ts'
import { UnknownVerdicts } from './record.ts'

export type PollSlot = {
  /** Frees the slot for another poll: this one needs the platform no more and waits for its patterns. */
  release(): void
}

export type JudgedDeps = {
  db: Db
  clock: Clock
  log: Log
  filters: Filters
  signal: AbortSignal
  patterns?: PatternJudge
  watches: Watches
}

/**
 * Compiles the filters of feeds in small parts before the transaction, which blocks everything else while it lasts. The
 * first poll of a feed may need thousands of them.
 */
export async function prewarmFilters(
  { db, clock, filters, signal }: JudgedDeps,
  feed_ids: readonly number[],
): Promise<void> {
  for (const id of feed_ids) {
    if (filters.isWarm(id)) continue
    const watchers = listWatchers(db, id)
    while (filters.warmUp(id, watchers) && !signal.aborted) await clock.sleep(0, signal)
  }
}

/**
 * Runs the transaction of a check, with the patterns of its filters evaluated outside the event loop: a first pass notes
 * what they need and is rolled back. A monitor over its budget is paused, and the check recorded without it. Null
 * when the daemon stops.
 */
export async function recordJudged<T>(
  { db, clock, log, patterns, signal, watches }: JudgedDeps,
  feed_ids: readonly number[],
  record: () => T,
  slot?: PollSlot,
): Promise<T | null> {
  for (;;) {
    patterns?.verdicts.takeNeeds()
    try {
      return record()
    } catch (error) {
      if (!(error instanceof UnknownVerdicts) || patterns === undefined) throw error
    }
    const needs = patterns.verdicts.takeNeeds()
    slot?.release()
    const owners = ownersIn(db, feed_ids)
    const owner = (monitor_id: string) => owners.get(monitor_id) ?? monitor_id
    const too_slow = await patterns.judge(needs, { owner, kind: 'check' })
    if (signal.aborted) return null
    const coverage = coverageContext(watches)
    const pause = { reason: 'filter_too_slow', now: clock.now() } as const
    for (const { subjects, spent_ms } of too_slow)
      for (const monitor of subjects)
        if (pauseMonitor(db, monitor, pause, coverage))
          log('warn', 'filter.too_slow', { monitor, duration_ms: spent_ms })
  }
}

function ownersIn(db: Db, feed_ids: readonly number[]): Map<string, string> {
  const watchers = feed_ids.flatMap((id) => listWatchers(db, id))
  return new Map(watchers.map(({ id, customer_id }) => [id, customer_id]))
}
