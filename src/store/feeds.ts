import type { Db } from './db.ts'

/** Which of its successive addresses a monitor's feed answers at, counted from 1. */
export function feedRound(db: Db, monitor_id: string): number {
  return (
    db
      .query<{ round: number }, [{ monitor_id: string }]>(
        'SELECT round FROM feed_rounds WHERE monitor_id = $monitor_id',
      )
      .get({ monitor_id })?.round ?? 1
  )
}

/** Moves a monitor's feed to its next address; the last one is dead from then on. */
export function rotateFeed(db: Db, monitor_id: string): void {
  db.query(
    `INSERT INTO feed_rounds (monitor_id, round) VALUES ($monitor_id, 2)
     ON CONFLICT DO UPDATE SET round = round + 1`,
  ).run({ monitor_id })
}

/** What a feed shows of its monitor; null once the monitor is removed. */
export type FeedMonitor = { id: string; name: string | null; created_at: number }

/** A monitor, whosever it is: for who holds its feed's address. */
export function findFeedMonitor(db: Db, id: string): FeedMonitor | null {
  return db
    .query<FeedMonitor, [{ id: string }]>(
      `SELECT m.id, m.name, m.created_at FROM monitors m JOIN customers c ON c.id = m.customer_id
        WHERE m.id = $id AND m.removed_at IS NULL AND c.removed_at IS NULL`,
    )
    .get({ id })
}
