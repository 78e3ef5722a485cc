import type { DraftDesk } from '../api/drafts-desk.ts'
import type { Operator } from '../delivery/operator.ts'
import type { Monitoring } from '../monitor/due.ts'
import { createStallWatch } from '../monitor/stalls.ts'
import type { Storage } from '../monitor/storage.ts'
import { createUpkeep } from '../monitor/upkeep.ts'
import { OWED_MAX_BYTES, type Sweep } from '../net/sweep.ts'
import type { Clock, Log, Own } from '../outside.ts'
import type { Pool } from '../pool/pool.ts'
import type { Db } from '../store/db.ts'
import { createShrink } from './shrink.ts'

/** How often monitors look whether a full disk has room again. */
const FULL_DISK_MS = 1000
/** Upkeep comes every minute; with so many of its turns everything is freed, whether much was left behind or not. */
const FREE_EVERY_TURNS = 4

type Around = {
  db: Db
  clock: Clock
  log: Log
  own: Own | undefined
  /** Aborts when the daemon stops. */
  signal: AbortSignal
  sweep: Sweep
  /** How far the platform's clock is ahead of ours. */
  clock_offset_ms: () => number
  retention_days: number
}

type Parts = {
  monitoring: Monitoring
  pool: Pick<Pool, 'reload'>
  operator: Pick<Operator, 'turn'>
  storage: Pick<Storage, 'changedBeside' | 'full'>
  nudgeSender: () => void
  /** The desk of drafts; null until the routes are made. */
  drafting: () => DraftDesk | null
}

/** What the loops do in a turn where that is more than one part's own. */
export function createTurns(
  { db, clock, log, own, signal, sweep, clock_offset_ms, retention_days }: Around,
  { monitoring, pool, operator, storage, nudgeSender, drafting }: Parts,
) {
  const stalls = createStallWatch({ db, clock, log })
  const keepUp = createUpkeep({ db, clock, signal, clock_offset_ms, retention_days })
  let upkeeps = 0
  let looked = false

  /** Takes up what the command line, or somebody else beside us, has written since this was last called. */
  function lookBeside(): void {
    // What was written before the start counts once.
    if (!storage.changedBeside() && looked) return
    looked = true
    nudgeSender()
    monitoring.nudge()
    // Who was paused before a draft was approved does not write it.
    pool.reload()
    drafting()?.takeUp()
  }

  return {
    lookBeside,

    checkDue(): Promise<number> {
      lookBeside()
      // On a full disk nothing could be kept of what would be seen.
      return storage.full() ? Promise.resolve(clock.now() + FULL_DISK_MS) : monitoring.checkDue()
    },

    tellOperator(): Promise<number> {
      stalls()
      return operator.turn()
    },

    upkeep(): Promise<number> {
      upkeeps += 1
      // What is under way when the engine frees the young lives on among the old, and may do so for many minutes.
      if (upkeeps % FREE_EVERY_TURNS === 0) sweep(OWED_MAX_BYTES)
      return keepUp()
    },

    /** Null where nothing is known of the process. */
    shrink: own === undefined ? null : createShrink(clock, own),
  }
}
