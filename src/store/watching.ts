import type { StreamKind } from '../core/stream.ts'
import { streamKey } from '../core/stream.ts'
import { type Db, transact } from './db.ts'
import { insertMonitor, type Monitor, removeMonitor, updateMonitor } from './monitors.ts'
import {
  attachStreams,
  detachStreams,
  listStreamKeys,
  restartStreams,
  settleStreams,
} from './stream-life.ts'

// A monitor and the streams it watches change together. Each of these belongs into one transaction with the
// checks that allowed it.

/** What a monitor watches. */
export type Place = { kind: StreamKind; place: string }

/** Writes a new monitor and lets it watch its places, from its `active_since` on. */
export function startMonitor(db: Db, monitor: Monitor, places: readonly Place[]): void {
  const { id, active_since, cadence_s, created_at: now } = monitor
  insertMonitor(db, monitor)
  attachStreams(db, id, places, { active_since, cadence_s, now })
  settleStreams(db, now, listStreamKeys(db, id))
}

/**
 * Writes a changed monitor. Places it adds begin at `begins_at`, those it keeps go on as they were, unless
 * `restart` says that all of them begin there. Null places: they did not change.
 */
export function changeMonitor(
  db: Db,
  monitor: Monitor,
  change: { places: readonly Place[] | null; restart: boolean; begins_at: number; now: number },
): void {
  const { id, cadence_s } = monitor
  const { places, restart, begins_at: active_since, now } = change
  const before = listStreamKeys(db, id)
  updateMonitor(db, monitor)
  if (places !== null) {
    const added = places.filter((it) => !before.includes(streamKey(it)))
    attachStreams(db, id, added, { active_since, cadence_s, now })
    detachStreams(db, id, places.map(streamKey))
  }
  if (restart) restartStreams(db, id, active_since)
  settleStreams(db, now, [...new Set([...before, ...listStreamKeys(db, id)])])
}

/** Removes a customer's monitor, which stops it at once; false when there is none such. */
export function removeMonitorOf(db: Db, customer_id: string, id: string, now: number): boolean {
  return transact(db, () => {
    if (!removeMonitor(db, customer_id, id, now)) return false
    const keys = listStreamKeys(db, id)
    detachStreams(db, id)
    settleStreams(db, now, keys)
    return true
  })
}
