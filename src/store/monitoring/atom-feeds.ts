import type { Db } from '../db/connection.ts'

/** Number of addresses that a monitor's Atom feed has had. */
export const feedRevision = (db: Db, monitor_id: string): number =>
  db
    .query<{ feed_revision: number }, [{ monitor_id: string }]>(
      'SELECT feed_revision FROM monitors WHERE id = $monitor_id',
    )
    .get({ monitor_id })?.feed_revision ?? 1

/** Replaces the address of a monitor's Atom feed; the previous one stops working. */
export function rotateAtomFeed(db: Db, monitor_id: string): void {
  db.query('UPDATE monitors SET feed_revision = feed_revision + 1 WHERE id = $monitor_id').run({
    monitor_id,
  })
}

/** Fields of a monitor that its Atom feed shows; null once the monitor is removed. */
export type AtomFeedMonitor = {
  id: string
  name: string | null
  created_at: number
  feed_revision: number
}

export function findAtomFeedMonitor(db: Db, id: string): AtomFeedMonitor | null {
  return db
    .query<AtomFeedMonitor, [{ id: string }]>(
      `SELECT m.id, m.name, m.created_at, m.feed_revision FROM monitors m JOIN customers c ON c.id = m.customer_id
        WHERE m.id = $id AND m.removed_at IS NULL AND c.removed_at IS NULL`,
    )
    .get({ id })
}
