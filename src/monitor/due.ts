import type { Log } from '../outside.ts'
import { transact } from '../store/db.ts'
import { insertEvent } from '../store/events.ts'
import { firstLookFloor } from '../store/monitors.ts'
import {
  claimDueStreams,
  clampStreams,
  nextStreamDueAt,
  rebaseStreams,
  settleStreams,
  type Stream,
} from '../store/streams.ts'
import { lookAt, type LookDeps } from './check.ts'
import { createJumpWatch } from './clock.ts'
import type { Unwritten } from './position.ts'
import { record, type RecordDeps } from './record.ts'
import type { Schedule } from './schedule.ts'

export type MonitoringDeps = LookDeps &
  RecordDeps & {
    log: Log
    schedule: Schedule
    /** Wakes the loop that runs `checkDue`. */
    wake: () => void
    /** Called after a commit that has left deliveries to be sent. */
    on_pending: () => void
  }

export type Monitoring = {
  /** Starts what is due and has room, waits for none of it, and returns the instant at which to look again. */
  checkDue(): Promise<number>
  /** Looks for due streams at once, whatever the schedule says: somebody has changed what is watched. */
  nudge(): void
  /** Resolves when every check under way has ended. */
  idle(): Promise<void>
}

/** Streams looked at together: enough that one slow answer holds nobody up, few enough for the platform. */
const CHECKS_AT_ONCE = 4
/** A check that is later than this at start means that nobody was there to make it. */
const DOWN_MIN_MS = 60_000
const LOOK_AGAIN_MS = 60_000

/** The loop that looks at streams. What is due, and since when, stands in the rows; only checks under way are in memory. */
export function createMonitoring(deps: MonitoringDeps): Monitoring {
  const { db, clock, log, signal } = deps
  const under_way = new Map<number, Promise<void>>()
  const unwritten = new Map<number, Unwritten>()
  const jumped = createJumpWatch(clock)
  let looks_at = -Infinity
  let failure: { error: unknown } | null = null

  transact(db, () => {
    const now = clock.now()
    const due_at = nextStreamDueAt(db)
    if (now - due_at > DOWN_MIN_MS)
      insertEvent(db, { kind: 'process_down', stream_id: null, at: due_at, until_at: now })
    clampStreams(db, now)
    settleStreams(db, now)
  })

  function followJump(jump_ms: number): void {
    const now = clock.now()
    looks_at = -Infinity
    transact(db, () => {
      rebaseStreams(db, jump_ms)
      insertEvent(db, { kind: 'clock_jump', stream_id: null, at: now - jump_ms, until_at: now })
    })
    log('warn', 'monitor.clock_jumped', { jump_ms })
  }

  async function check(stream: Stream, floor_at: number | null): Promise<void> {
    const finding = await lookAt(deps, stream, floor_at)
    const { ending } = finding
    if (ending.kind === 'void') {
      if (ending.why !== 'stopping')
        log('info', 'check.void', { stream: stream.key, why: ending.why })
      return
    }
    if (ending.kind === 'cut')
      log('warn', 'check.cut', { stream: stream.key, reason: ending.reason, fault: ending.fault })
    try {
      const { new_items, matched, pending } = record(
        deps,
        finding,
        unwritten.get(stream.id) ?? null,
      )
      unwritten.delete(stream.id)
      if (pending > 0) deps.on_pending()
      log('debug', 'check.recorded', { stream: stream.key, new_items, matched, pending })
    } catch (error) {
      // The head has not moved: the next check finds the same. What is lost is the note that this one ended here.
      const kind = isFull(error) ? 'storage_full' : 'poll_log_failed'
      unwritten.set(stream.id, { at: finding.ended_at, kind })
      throw error
    }
  }

  function start({ stream, floor_at }: { stream: Stream; floor_at: number | null }): void {
    const landed = check(stream, floor_at)
      .catch((error: unknown) => {
        failure = { error }
      })
      .finally(() => {
        under_way.delete(stream.id)
        deps.wake()
      })
    under_way.set(stream.id, landed)
  }

  function claim(now: number) {
    const limit = CHECKS_AT_ONCE - under_way.size
    if (limit <= 0) return []
    return transact(db, () =>
      claimDueStreams(db, { now, limit, busy: under_way.keys() }).map((stream) => ({
        stream,
        floor_at: firstLookFloor(db, stream.id),
      })),
    )
  }

  return {
    async checkDue() {
      const jump_ms = jumped()
      if (jump_ms !== 0) followJump(jump_ms)
      if (failure !== null) {
        const { error } = failure
        failure = null
        throw error
      }
      const now = clock.now()
      if (now >= looks_at && !signal.aborted) {
        for (const claimed of claim(now)) start(claimed)
        // With every slot taken there is nothing to look for until one is free, which wakes the loop.
        if (under_way.size >= CHECKS_AT_ONCE) return Infinity
        const due_at = Math.min(nextStreamDueAt(db), now + LOOK_AGAIN_MS)
        looks_at = deps.schedule(Math.max(now, due_at - 1))
      }
      return looks_at
    },

    nudge() {
      looks_at = -Infinity
      deps.wake()
    },

    async idle() {
      await Promise.all(under_way.values())
    },
  }
}

const isFull = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'SQLITE_FULL'
