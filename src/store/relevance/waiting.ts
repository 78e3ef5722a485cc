import type { ModelFault } from '../../core/relevance/judgement.ts'
import type { Db } from '../db/connection.ts'

// Matches that wait for a verdict, each written in the transaction that matched it and deleted in the one that writes its
// deliveries: a waiting match is as safe as a delivery.

/** Adds a match; does nothing if it waits already. */
export function insertWaiting(
  db: Db,
  match: { monitor_id: string; item_id: string; created_at: number; body: string },
  now: number,
): void {
  db.query(
    `INSERT OR IGNORE INTO relevance_waiting (monitor_id, item_id, created_at, body, since_at, next_attempt_at)
     VALUES ($monitor_id, $item_id, $created_at, $body, $now, $now)`,
  ).run({ ...match, now })
}

type Key = { monitor_id: string; item_id: string }

/** Deletes a waiting match, in the transaction that delivers it; false if it was erased or delivered meanwhile. */
export const deleteWaiting = (db: Db, { monitor_id, item_id }: Key): boolean =>
  db
    .query('DELETE FROM relevance_waiting WHERE monitor_id = $monitor_id AND item_id = $item_id')
    .run({ monitor_id, item_id }).changes > 0

/** Puts a match off. `failed`: a call for it has failed. */
export function holdWaiting(
  db: Db,
  { monitor_id, item_id }: Key,
  until: { next_attempt_at: number; fault: ModelFault; failed: boolean },
): void {
  db.query(
    `UPDATE relevance_waiting SET next_attempt_at = $next_attempt_at, last_fault = $fault, failures = failures + $failed
      WHERE monitor_id = $monitor_id AND item_id = $item_id`,
  ).run({
    monitor_id,
    item_id,
    next_attempt_at: until.next_attempt_at,
    fault: until.fault,
    failed: until.failed ? 1 : 0,
  })
}

/** Makes all waiting matches due. */
export const wakeWaiting = (db: Db, now: number): void =>
  void db
    .query('UPDATE relevance_waiting SET next_attempt_at = $now WHERE next_attempt_at > $now')
    .run({ now })

/** Makes held matches due: those of a monitor whose rules have changed, or all that no call has failed for. */
export function releaseWaiting(db: Db, now: number, monitor_id: string | null = null): void {
  db.query(
    `UPDATE relevance_waiting SET next_attempt_at = $now WHERE next_attempt_at > $now
        AND CASE WHEN $monitor_id IS NULL THEN failures = 0 ELSE monitor_id = $monitor_id END`,
  ).run({ now, monitor_id })
}

/** Due time of the next waiting match; Infinity when there is none. */
export function nextWaitingAt(db: Db): number {
  const row = db
    .query<{ at: number | null }, []>('SELECT min(next_attempt_at) AS at FROM relevance_waiting')
    .get()
  return row?.at ?? Infinity
}

/** Waiting matches, of a monitor or of all, and since when the oldest waits; null when none does. */
export function measureWaiting(
  db: Db,
  monitor_id: string | null = null,
): { waiting: number; since_at: number | null } {
  return (
    db
      .query<{ waiting: number; since_at: number | null }, [{ monitor_id: string | null }]>(
        `SELECT count(*) AS waiting, min(since_at) AS since_at FROM relevance_waiting
          WHERE $monitor_id IS NULL OR monitor_id = $monitor_id`,
      )
      .get({ monitor_id }) ?? { waiting: 0, since_at: null }
  )
}

/** The waiting match of an item at a monitor; null when it does not wait. */
export const findWaiting = (
  db: Db,
  key: Key,
): { since_at: number; next_attempt_at: number; last_fault: ModelFault | null } | null =>
  db
    .query<{ since_at: number; next_attempt_at: number; last_fault: ModelFault | null }, [Key]>(
      `SELECT since_at, next_attempt_at, last_fault FROM relevance_waiting
        WHERE monitor_id = $monitor_id AND item_id = $item_id`,
    )
    .get({ monitor_id: key.monitor_id, item_id: key.item_id })

/**
 * Changes the bodies of waiting matches, of these items or of all: `items` is a JSON list of their keys. Null from `change`
 * deletes the match, the same row leaves it. Returns the number of changed ones.
 */
export function changeWaiting(
  db: Db,
  items: string | null,
  change: (item_id: string, row: Record<string, unknown>) => object | null,
): number {
  const rows = db
    .query<Key & { body: string }, [{ items: string | null }]>(
      `SELECT monitor_id, item_id, body FROM relevance_waiting
        WHERE $items IS NULL OR item_id IN (SELECT value FROM json_each($items))`,
    )
    .all({ items })
  const write = db.query(
    'UPDATE relevance_waiting SET body = $body WHERE monitor_id = $monitor_id AND item_id = $item_id',
  )
  let changed = 0
  for (const { monitor_id, item_id, body } of rows) {
    const before: Record<string, unknown> = JSON.parse(body)
    const after = change(item_id, before)
    if (after === before) continue
    changed += 1
    if (after === null) deleteWaiting(db, { monitor_id, item_id })
    else write.run({ monitor_id, item_id, body: JSON.stringify(after) })
  }
  return changed
}
