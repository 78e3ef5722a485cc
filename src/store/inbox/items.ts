import type { InboxArrival } from '../../core/inbox/arrival.ts'
import { insertRows } from '../db/bulk.ts'
import type { Db } from '../db/connection.ts'

/** A match of a customer's monitor. `message`: its row. `found_at`: true time, epoch ms. */
export type InboxMatchRow = {
  customer_id: string
  monitor_id: string
  message: number
  found_at: number
  items: readonly InboxArrival[]
}

/**
 * Puts the items of matches into the inboxes of their customers, in the transaction that stores their bodies. An item that
 * another monitor has matched before keeps its place and its state.
 */
export function insertInbox(db: Db, matches: readonly InboxMatchRow[]): void {
  const rows = matches.flatMap(({ items, ...match }) => items.map((it) => ({ ...match, ...it })))
  if (rows.length === 0) return
  insertRows(db, rows, {
    into: 'INSERT OR IGNORE INTO inbox_items (customer_id, item_id, matched_at, source, place, author)',
    values: '(?, ?, ?, ?, ?, ?)',
    bind: (it) => [it.customer_id, it.item_id, it.found_at, it.source, it.place, it.author],
  })
  db.query(
    `INSERT OR IGNORE INTO inbox_matches (item, monitor_id, matched_at, found_at, message)
     SELECT i.row, value ->> 'monitor_id', i.matched_at, value ->> 'found_at', value ->> 'message'
       FROM json_each($rows) CROSS JOIN inbox_items i
         ON i.item_id = value ->> 'item_id' AND i.customer_id = value ->> 'customer_id'
      ORDER BY key`,
  ).run({
    rows: JSON.stringify(
      rows.map(({ customer_id, item_id, monitor_id, found_at, message }) => ({
        customer_id,
        item_id,
        monitor_id,
        found_at,
        message,
      })),
    ),
  })
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
