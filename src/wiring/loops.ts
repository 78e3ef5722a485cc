import type { Pool } from '../accounts/pool.ts'
import type { DraftExecutor } from '../api/drafts/executor.ts'
import type { OperatorNotifier } from '../delivery/operator.ts'
import { createStallWatch, createUpkeep } from '../monitor/maintenance.ts'
import type { Monitoring } from '../monitor/scheduler.ts'
import type { Storage } from '../monitor/storage.ts'
import { type CollectGarbage, OWED_MAX_BYTES } from '../net/egress.ts'
import type { Iteration } from '../runtime/loop.ts'
import type { Clock, Log, OwnProcess } from '../runtime/runtime.ts'
import type { Db } from '../store/db/connection.ts'

const SAMPLE_MS = 10_000
/** Growth below this is not worth the recompilation. */
const GROWN_BYTES = 8 * 1024 * 1024
/** Minimum pause between two releases when idle, and the extra pause when a processor is fully busy. */
const REST_MS = 30_000
const BUSY_REST_MS = 30 * 60_000

/**
 * Creates the iteration of a loop that releases memory once 8 MiB more is in use than at the least since the last
 * release: compiled code of a burst, and free pages that the allocator holds. The busier the process, the rarer the
 * releases: released code has to be compiled again on use, which takes up to a few seconds of processor time in all.
 */
export function createMemoryRelease(clock: Clock, own: OwnProcess): Iteration {
  let least_bytes = Infinity
  let sampled_at = clock.mono()
  // Code compiled during the start is needed at once.
  let released_at = sampled_at
  let worked_ms = own.cpu_ms()

  return () => {
    const at = clock.mono()
    const now_ms = own.cpu_ms()
    const busy = (now_ms - worked_ms) / (at - sampled_at)
    sampled_at = at
    worked_ms = now_ms

    const resident_bytes = own.resident_bytes()
    least_bytes = Math.min(least_bytes, resident_bytes)
    const rested = at - released_at >= REST_MS + busy * BUSY_REST_MS
    if (resident_bytes - least_bytes >= GROWN_BYTES && rested) {
      own.releaseMemory()
      released_at = at
      // The next sample shows the effect of the release.
      least_bytes = Infinity
    }
    return Promise.resolve(clock.now() + SAMPLE_MS)
  }
}

/** Interval at which monitors check whether a full disk has space again. */
const FULL_DISK_MS = 1000
/** Upkeep runs every minute; after this many runs everything is freed, however much garbage there is. */
const COLLECT_EVERY_UPKEEPS = 4

type LoopContext = {
  db: Db
  clock: Clock
  log: Log
  own: OwnProcess | undefined
  /** Aborts when the daemon stops. */
  signal: AbortSignal
  collectGarbage: CollectGarbage
  /** Milliseconds by which the platform's clock is ahead of ours. */
  clock_offset_ms: () => number
  retention_days: number
  feedback_days: () => number
}

type Parts = {
  monitoring: Monitoring
  pool: Pick<Pool, 'reload'>
  operator: Pick<OperatorNotifier, 'turn'>
  storage: Pick<Storage, 'changedBeside' | 'full'>
  nudgeSender: () => void
  /** Executes drafts; null until the routes are created. */
  drafting: () => DraftExecutor | null
}

/** Creates the iterations of loops that involve more than one part. */
export function createLoops(
  context: LoopContext,
  { monitoring, pool, operator, storage, nudgeSender, drafting }: Parts,
) {
  const { db, clock, log, own, signal, collectGarbage, clock_offset_ms } = context
  const { retention_days, feedback_days } = context
  const stalls = createStallWatch({ db, clock, log })
  const keepUp = createUpkeep({ db, clock, signal, clock_offset_ms, retention_days, feedback_days })
  let upkeeps = 0
  let started = false

  /** Picks up changes that another process, such as the command line, made since the last call. */
  function noticeExternalWrites(): void {
    // Changes from before the start count once.
    if (!storage.changedBeside() && started) return
    started = true
    nudgeSender()
    monitoring.nudge()
    // An account that was paused before a draft was approved must not execute it.
    pool.reload()
    drafting()?.resumeQueued()
  }

  return {
    noticeExternalWrites,

    checkDue(): Promise<number> {
      noticeExternalWrites()
      // On a full disk no result could be stored, so nothing is polled.
      return storage.full() ? Promise.resolve(clock.now() + FULL_DISK_MS) : monitoring.checkDue()
    },

    notifyOperator(): Promise<number> {
      stalls()
      return operator.turn()
    },

    upkeep(): Promise<number> {
      upkeeps += 1
      // Objects alive during a minor GC are promoted, and a minor GC may not free them for many minutes.
      if (upkeeps % COLLECT_EVERY_UPKEEPS === 0) collectGarbage(OWED_MAX_BYTES)
      return keepUp()
    },

    /** Null where no process figures are available. */
    releaseMemory: own === undefined ? null : createMemoryRelease(clock, own),
  }
}
