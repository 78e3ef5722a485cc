import { judgeLiveness, judgeStatus } from '../core/coverage.ts'
import type { Clock } from '../outside.ts'
import { type Covered, lastHidden, listCovered } from '../store/coverage-sums.ts'
import type { Db } from '../store/db.ts'

/** How many monitors cover their last day completely, degraded or in part, or are paused (unknown). */
export type CoverageSums = Record<'complete' | 'degraded' | 'partial' | 'unknown', number>

const AT_ONCE = 250
/** A day changes slowly, and ten thousand monitors take a while. */
const KEPT_MS = 60_000

/** Judges every monitor by the rule that its health is judged by, some at a time, and at most once a minute. */
export function createCoverageSums(deps: {
  db: Db
  clock: Clock
  /** How far the platform's clock is ahead. */
  ahead_ms: () => number
}): () => Promise<CoverageSums> {
  const { db, clock } = deps
  let kept: { until: number; sums: Promise<CoverageSums> } | null = null

  async function judgeAll(): Promise<CoverageSums> {
    const sums = { complete: 0, degraded: 0, partial: 0, unknown: 0 }
    const now = clock.now()
    const hidden = lastHidden(db, now)
    let after_id = ''
    for (;;) {
      const page = listCovered(db, hidden, {
        after_id,
        limit: AT_ONCE,
        now,
        offset_ms: deps.ahead_ms(),
      })
      for (const it of page) sums[statusOf(it, now)] += 1
      after_id = page.at(-1)?.id ?? ''
      if (page.length < AT_ONCE) return sums
      await new Promise<void>((resolve) => setImmediate(resolve))
    }
  }

  return () => {
    if (kept !== null && clock.mono() < kept.until) return kept.sums
    const sums = judgeAll()
    kept = { until: clock.mono() + KEPT_MS, sums }
    sums.catch(() => (kept = null))
    return sums
  }
}

function statusOf({ active, streams, ...events }: Covered, now: number) {
  if (!active) return 'unknown'
  return judgeStatus(events, judgeLiveness(streams, { active, now })).status
}
