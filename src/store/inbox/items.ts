import type { InboxArrival } from '../../core/inbox/arrival.ts'
import type { Db } from '../db/connection.ts'

/**
 * Puts the items of a match into the inbox of the customer, in the transaction that stores its body. An item that another
 * monitor has matched before keeps its place and its state.
 */
export function insertInbox(
  db: Db,
  {
    customer_id,
    monitor_id,
    match_row,
    found_at,
    items,
  }: {
    customer_id: string
    monitor_id: string
    /** Row of match_bodies. */
    match_row: number
    /** True time, epoch ms. */
    found_at: number
    items: readonly InboxArrival[]
  },
): void {
  const insert = db.query<never, InboxArrival & { customer_id: string; found_at: number }>(
    `INSERT OR IGNORE INTO inbox_items (customer_id, item_id, matched_at, source, place, author)
     VALUES ($customer_id, $item_id, $found_at, $source, $place, $author)`,
  )
  const find = db.query<
    { item: number; matched_at: number },
    { customer_id: string; item_id: string }
  >(
    'SELECT row AS item, matched_at FROM inbox_items WHERE customer_id = $customer_id AND item_id = $item_id',
  )
  const link = db.query(
    `INSERT OR IGNORE INTO inbox_matches (item, monitor_id, matched_at, found_at, match_row)
     VALUES ($item, $monitor_id, $matched_at, $found_at, $match_row)`,
  )
  for (const it of items) {
    const { changes, lastInsertRowid } = insert.run({ ...it, customer_id, found_at })
    const found =
      changes === 1
        ? { item: Number(lastInsertRowid), matched_at: found_at }
        : find.get({ customer_id, item_id: it.item_id })
    if (found !== null) link.run({ ...found, monitor_id, found_at, match_row })
  }
}

/**
 * Deletes at most `limit` items of a customer that no monitor has matched since `before_at`, with their states. Returns
 * their number.
 */
export function pruneInbox(
  db: Db,
  old: { customer_id: string; before_at: number; limit: number },
): number {
  const rows = db
    .query<{ row: number }, [typeof old]>(
      `SELECT row FROM inbox_items i WHERE customer_id = $customer_id AND matched_at < $before_at
          AND NOT EXISTS (SELECT 1 FROM inbox_matches WHERE item = i.row AND found_at >= $before_at)
        ORDER BY matched_at LIMIT $limit + 0`,
    )
    .all(old)
  const ids = JSON.stringify(rows.map(({ row }) => row))
  db.query('DELETE FROM inbox_matches WHERE item IN (SELECT value FROM json_each($ids))').run({
    ids,
  })
  db.query('DELETE FROM inbox_items WHERE row IN (SELECT value FROM json_each($ids))').run({ ids })
  return rows.length
}

export const listInboxCustomers = (db: Db): string[] =>
  db
    .query<{ id: string }, []>(
      'SELECT id FROM customers c WHERE EXISTS (SELECT 1 FROM inbox_items WHERE customer_id = c.id)',
    )
    .all()
    .map(({ id }) => id)

// The page of an account is a place of its own, whose name contains that of the account.
const ERASED = `author = NULL, place = CASE WHEN place = 'u_' || author THEN '' ELSE place END`

/**
 * Erases what the inbox holds of items, which is their author. `gone`, `authors`: JSON lists of their keys. Returns the
 * number of rows.
 */
export function eraseInbox(db: Db, { gone, authors }: { gone: string; authors: string }): number {
  const erase = db.query(
    `UPDATE inbox_items SET ${ERASED} WHERE row IN (
       SELECT i.row FROM json_each($ids) k CROSS JOIN inbox_items i ON i.item_id = k.value)`,
  )
  return erase.run({ ids: gone }).changes + erase.run({ ids: authors }).changes
}

/** Erases the author of the items by an author, whose name is in lower case. Returns the number of rows. */
export const eraseInboxAuthor = (db: Db, author: string): number =>
  db.query(`UPDATE inbox_items SET ${ERASED} WHERE author = $author`).run({ author }).changes
