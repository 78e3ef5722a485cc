import type { Db } from '../db/connection.ts'

/** Version of a monitor's Atom URL, counted from 1. */
export function atomFeedVersion(db: Db, monitor_id: string): number {
  return (
    db
      .query<{ round: number }, [{ monitor_id: string }]>(
        'SELECT round FROM atom_feed_keys WHERE monitor_id = $monitor_id',
      )
      .get({ monitor_id })?.round ?? 1
  )
}

/** Replaces a monitor's Atom URL; the previous one stops working. */
export function rotateAtomFeed(db: Db, monitor_id: string): void {
  db.query(
    `INSERT INTO atom_feed_keys (monitor_id, round) VALUES ($monitor_id, 2)
     ON CONFLICT DO UPDATE SET round = round + 1`,
  ).run({ monitor_id })
}

/** Fields of a monitor that its Atom feed shows; null once the monitor is removed. */
export type AtomFeedMonitor = { id: string; name: string | null; created_at: number }

export function findAtomFeedMonitor(db: Db, id: string): AtomFeedMonitor | null {
  return db
    .query<AtomFeedMonitor, [{ id: string }]>(
      `SELECT m.id, m.name, m.created_at FROM monitors m JOIN customers c ON c.id = m.customer_id
        WHERE m.id = $id AND m.removed_at IS NULL AND c.removed_at IS NULL`,
    )
    .get({ id })
}
