import { createJumpWatch, type Log } from '../outside.ts'
import { clampBundles, nextCloseAt, rebaseBundles } from '../store/bundles.ts'
import { clampCandidates, rebaseCandidates } from '../store/candidates.ts'
import { type Db, transact } from '../store/db.ts'
import { insertEvent } from '../store/events.ts'
import { settleStreams } from '../store/stream-life.ts'
import { clampStreams, nextStreamDueAt, rebaseStreams } from '../store/streams.ts'
import { claimTrips } from '../store/trips.ts'
import { closeBundles } from './bundles.ts'
import { askAgain, nextAskAt } from './late.ts'
import { createPlanner } from './plan.ts'
import type { LookDeps } from './read-back.ts'
import type { RecordDeps } from './record.ts'
import type { Schedule } from './schedule.ts'
import { createTravel } from './travel.ts'

export type MonitoringDeps = LookDeps &
  RecordDeps & {
    log: Log
    schedule: Schedule
    /** Wakes the loop that runs `checkDue`. */
    wake: () => void
    /** Called after a commit that has left deliveries to be sent. */
    on_pending: () => void
  }

/** Looks at streams as they fall due, as a loop drives it. */
export type Monitoring = {
  /** Starts what is due and has room, waits for none of it, and returns the instant at which to look again. */
  checkDue(): Promise<number>
  /** Looks for due streams at once, whatever the schedule says: somebody has changed what is watched. */
  nudge(): void
  /** Resolves when everything under way has ended. */
  idle(): Promise<void>
}

/** Trips made together: enough that one slow answer holds nobody up, few enough for the platform. */
const TRIPS_AT_ONCE = 4
/** A check that is later than this at start means that nobody was there to make it. */
const DOWN_MIN_MS = 60_000
const LOOK_AGAIN_MS = 60_000
const WINDOW_MAX_MS = 3_600_000

/**
 * The loop that looks at streams, asks about candidates and closes bundles. What is due, and since when, stands in the
 * rows; only what is under way is in memory.
 */
export function createMonitoring(deps: MonitoringDeps): Monitoring {
  const { db, clock, log, signal } = deps
  const under_way = new Set<Promise<void>>()
  const busy = { streams: new Set<number>(), convoys: new Set<number>() }
  const jumped = createJumpWatch(clock)
  const planner = createPlanner(db)
  const travel = createTravel(deps, planner)
  let trips = 0
  let asking = false
  let looks_at = -Infinity
  /** How far the clock has jumped and the rows have yet to follow: there may be no room to write it down. */
  let jump_owed_ms = 0
  let failure: { error: unknown } | null = null

  transact(db, () => wakeUp(db, clock.now()))

  function followJump(jump_ms: number): void {
    const now = clock.now()
    looks_at = -Infinity
    transact(db, () => {
      rebaseStreams(db, jump_ms, now)
      rebaseBundles(db, jump_ms, now)
      rebaseCandidates(db, jump_ms, now)
      insertEvent(db, { kind: 'clock_jump', stream_id: null, at: now - jump_ms, until_at: now })
    })
    log('warn', 'monitor.clock_jumped', { jump_ms })
  }

  function start(work: Promise<void>, done: () => void): void {
    const landed = work
      .catch((error: unknown) => {
        failure = { error }
      })
      .finally(() => {
        under_way.delete(landed)
        done()
        deps.wake()
      })
    under_way.add(landed)
  }

  function setOut(now: number): void {
    const limit = TRIPS_AT_ONCE - trips
    const claimed =
      limit <= 0 ? [] : transact(db, () => claimTrips(db, { now, limit, under_way: busy }))
    for (const trip of claimed) {
      const ids = trip.travellers.map(({ stream }) => stream.id)
      trips += 1
      const convoy_id = trip.convoy?.id ?? null
      for (const id of ids) busy.streams.add(id)
      if (convoy_id !== null) busy.convoys.add(convoy_id)
      start(travel(trip), () => {
        trips -= 1
        for (const id of ids) busy.streams.delete(id)
        if (convoy_id !== null) busy.convoys.delete(convoy_id)
        // Whom a round has not proved anything of is looked at alone at once, before the next one begins.
        if (convoy_id !== null) looks_at = -Infinity
      })
    }
  }

  async function ask(): Promise<void> {
    const { matched, pending } = await askAgain(deps)
    if (matched > 0) log('debug', 'candidates.matched', { matched, pending })
    if (pending > 0) deps.on_pending()
  }

  return {
    async checkDue() {
      jump_owed_ms += jumped()
      if (jump_owed_ms !== 0) followJump(jump_owed_ms)
      jump_owed_ms = 0
      if (failure !== null) {
        const { error } = failure
        failure = null
        throw error
      }
      if (signal.aborted) return Infinity
      const now = clock.now()
      if (closeBundles(deps, now) > 0) deps.on_pending()
      if (!asking && nextAskAt(db) <= now) {
        asking = true
        start(ask(), () => {
          asking = false
        })
      }
      if (now >= looks_at) {
        planner.turn(clock.mono())
        setOut(now)
        const due_at = Math.min(nextStreamDueAt(db), now + LOOK_AGAIN_MS)
        looks_at = deps.schedule(Math.max(now, due_at - 1))
      }
      // With every slot taken there is nothing to look for until one is free, which wakes the loop.
      const next_look_at = trips >= TRIPS_AT_ONCE ? Infinity : looks_at
      if (trips >= TRIPS_AT_ONCE) looks_at = -Infinity
      return Math.min(next_look_at, nextCloseAt(db), asking ? Infinity : nextAskAt(db))
    },

    nudge() {
      looks_at = -Infinity
      planner.changed(clock.mono())
      deps.wake()
    },

    async idle() {
      while (under_way.size > 0) await Promise.all(under_way)
    },
  }
}

/** What nobody was there to do, and what a clock that was put back meanwhile would keep from being done. */
function wakeUp(db: Db, now: number): void {
  const due_at = nextStreamDueAt(db)
  if (now - due_at > DOWN_MIN_MS)
    insertEvent(db, { kind: 'process_down', stream_id: null, at: due_at, until_at: now })
  clampStreams(db, now)
  clampBundles(db, now, WINDOW_MAX_MS)
  clampCandidates(db, now)
  settleStreams(db, now)
}
