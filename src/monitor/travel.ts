import { errorCode } from '../core/error-code.ts'
import { transact } from '../store/db.ts'
import { listWatchers } from '../store/monitors.ts'
import type { Trip } from '../store/trips.ts'
import { lookAt, type Report, type Void } from './check.ts'
import type { MonitoringDeps } from './due.ts'
import type { Planner } from './plan.ts'
import { recordLate, type Unwritten } from './position.ts'
import { record } from './record.ts'

/** Makes trips: looks, writes down what was seen, and tells whom it concerns. */
export function createTravel(
  deps: MonitoringDeps,
  planner: Planner,
): (trip: Trip) => Promise<void> {
  const { db, clock, log } = deps
  const unwritten = new Map<number, Unwritten>()

  return async (trip) => {
    const found = await lookAt(deps, trip)
    if ('why' in found) return goHome(trip, found)
    tellCuts(found)
    await warmUp(found)
    if (deps.signal.aborted) return
    try {
      const { new_items, matched, pending } = record(deps, found, unwritten)
      for (const { stream } of found.findings) unwritten.delete(stream.id)
      planner.learn(found, new_items, clock.mono())
      if (pending > 0) deps.on_pending()
      const count = found.findings.filter(({ ending }) => ending.kind === 'reached').length
      log('debug', 'check.recorded', { streams: nameOf(trip), count, new_items, matched, pending })
    } catch (error) {
      // The head has not moved: the next check finds the same. What is lost is the note that this one ended here.
      const kind = isFull(error) ? 'storage_full' : 'poll_log_failed'
      for (const { stream, ended_at: at } of found.findings) unwritten.set(stream.id, { at, kind })
      throw error
    }
  }

  /**
   * What is written down is written in one go, and everybody waits for it. So whatever the first question of a stream
   * takes, with thousands of filters to make, is made before, in small parts.
   */
  async function warmUp({ findings }: Report): Promise<void> {
    const { filters, signal } = deps
    for (const { stream, items } of findings) {
      if (items.size === 0 || filters.isWarm(stream.id)) continue
      const watchers = listWatchers(db, stream.id)
      while (filters.warmUp(stream.id, watchers) && !signal.aborted) await clock.sleep(0, signal)
    }
  }

  /** A trip that was no check of anything. */
  function goHome(trip: Trip, { why, wait_s }: Void): void {
    if (why === 'stopping') return
    log('info', 'check.void', { stream: nameOf(trip), why })
    if (why !== 'over_budget' && why !== 'throttled') return
    transact(db, () => {
      for (const { stream } of trip.travellers) recordLate(db, stream, clock.now(), wait_s)
    })
  }

  function tellCuts({ findings }: Report): void {
    for (const { stream, ending } of findings)
      if (ending.kind === 'cut')
        log('warn', 'check.cut', {
          stream: stream.key,
          reason: ending.reason,
          fault: ending.fault,
        })
  }
}

/** A stream by its key, several by their number. */
function nameOf({ travellers, convoy }: Trip): string {
  const [first] = travellers
  return convoy === null ? (first?.stream.key ?? '') : `${convoy.kind} of ${travellers.length}`
}

const isFull = (error: unknown): boolean => errorCode(error) === 'SQLITE_FULL'
