import type { Pools } from '../accounts/pool.ts'
import type { SourceEnd } from '../core/limits/ends-at.ts'
import type { OperatorNotifier } from '../delivery/operator.ts'
import { createStallWatch, createUpkeep } from '../monitor/maintenance.ts'
import type { Monitoring } from '../monitor/scheduler.ts'
import type { Storage } from '../monitor/storage.ts'
import type { Clock, Log } from '../runtime/runtime.ts'
import type { Db } from '../store/db/connection.ts'
import type { CoverageContext } from '../store/monitoring/coverage-days.ts'
import { createSourceEndWatch } from './source-ends.ts'

/** Interval at which monitors check whether a full disk has space again. */
const FULL_DISK_MS = 1000

type LoopContext = {
  db: Db
  clock: Clock
  log: Log
  signal: AbortSignal
  /** Milliseconds by which the platform's clock is ahead of ours. */
  clock_offset_ms: () => number
  archive_days: number
  retention_days: number
  feedback_days: () => number
  ends: readonly SourceEnd[]
  coverage: () => CoverageContext
}

type Parts = {
  monitoring: Monitoring
  /** Checks the alarms of monitors; returns the next instant to run. */
  checkAlarms: () => number
  pools: Pick<Pools, 'reload'>
  operator: Pick<OperatorNotifier, 'turn'>
  storage: Pick<Storage, 'changedBeside' | 'full'>
  nudgeSender: () => void
}

export function createLoops(
  context: LoopContext,
  { monitoring, checkAlarms, pools, operator, storage, nudgeSender }: Parts,
) {
  const { db, clock, log } = context
  const stalls = createStallWatch({ db, clock, log })
  const keepUp = createUpkeep(context)
  const checkEnds = createSourceEndWatch(context.ends, context)
  let started = false

  /** Picks up changes that another process, such as the command line, made since the last call. */
  function noticeExternalWrites(): void {
    // Changes from before the start count once.
    if (!storage.changedBeside() && started) return
    started = true
    nudgeSender()
    monitoring.nudge()
    pools.reload()
  }

  return {
    noticeExternalWrites,

    async checkDue(): Promise<number> {
      noticeExternalWrites()
      // On a full disk no result could be stored, so nothing is polled.
      if (storage.full()) return clock.now() + FULL_DISK_MS
      return Math.min(await monitoring.checkDue(), checkAlarms())
    },

    notifyOperator(): Promise<number> {
      stalls()
      return operator.turn()
    },

    upkeep(): Promise<number> {
      checkEnds()
      return keepUp()
    },
  }
}
