import { type Db, transact } from '../db/connection.ts'
import { requestScrub } from '../erasure/scrub.ts'
import { findMove, noteMove } from './freeze.ts'
import { isLeaving } from './frozen.ts'
import { MOVED_TABLES } from './tables.ts'

/** Rows deleted in one transaction, which takes milliseconds: a daemon beside this waits for the lock. */
const AT_ONCE = 500

/** Rows that lead to this instance and did not move. */
const ONLY_HERE: readonly { table: string; where: string }[] = [
  {
    table: 'web_sessions',
    where: 'key_id IN (SELECT id FROM api_keys WHERE customer_id = $id)',
  },
  {
    table: 'sign_in_links',
    where: 'key_id IN (SELECT id FROM api_keys WHERE customer_id = $id)',
  },
  { table: 'holds', where: 'customer_id = $id' },
]

/** Feeds that nothing names any more, whose places may name people. */
const UNUSED_FEEDS = `(SELECT id FROM feeds WHERE next_check_at IS NULL AND id IN $feeds
   AND id NOT IN (SELECT feed_id FROM monitor_feeds) AND id NOT IN (SELECT feed_id FROM feed_spans)
   AND NOT EXISTS (SELECT 1 FROM matches WHERE feed_id = feeds.id) AND id NOT IN (SELECT feed_id FROM candidates))`

/**
 * Deletes a customer that has moved, with everything of it but the lines of the audit, and what content it shares with
 * others. In many short transactions: a kill leaves a rest, which the next call deletes. Returns the number of rows.
 *
 * @throws {RangeError} the customer is not frozen, or was never exported
 */
export function forgetCustomer(db: Db, customer_id: string, now: number): number {
  const move = findMove(db, customer_id)
  if (move === null || move.exported_at === null)
    throw new RangeError('the customer was not exported')
  // Before the first row: a kill must not leave a customer that goes on with a part of its rows.
  if (!isLeaving(db, customer_id))
    noteMove(db, {
      kind: 'customer.leaving',
      customer_id,
      detail: { receipt: move.receipt },
      now,
    })
  const feeds = `(${move.feeds.map(({ feed }) => Number(feed['id'])).join(', ')})`
  // The customer itself and its keys are last, so that its keys are answered until the end.
  const own = MOVED_TABLES.filter(
    ({ of_feed, stays, table }) => of_feed !== true && stays !== true && table !== 'customers',
  ).toReversed()
  let rows = 0
  for (const { table, where } of [...ONLY_HERE, ...own])
    rows += deleteRows(db, { table, where, id: customer_id })
  const of_feeds = MOVED_TABLES.filter(({ of_feed }) => of_feed === true).toReversed()
  const unused = UNUSED_FEEDS.replace('$feeds', feeds)
  for (const { table } of of_feeds)
    rows += deleteRows(db, {
      table,
      where: table === 'feeds' ? `id IN ${unused}` : `feed_id IN ${unused}`,
      id: customer_id,
    })
  transact(db, () => {
    db.query('DELETE FROM customer_moves WHERE customer_id = $customer_id').run({ customer_id })
    db.query('DELETE FROM customers WHERE id = $customer_id').run({ customer_id })
    noteMove(db, { kind: 'customer.moved', customer_id, detail: { rows: rows + 1 }, now })
    requestScrub(db)
  })
  return rows + 1
}

/** Deletes the rows of a condition in parts, by their keys, so that no part reads what an earlier one has read. */
function deleteRows(
  db: Db,
  { table, where, id }: { table: string; where: string; id: string },
): number {
  const keys = db
    .query<{ name: string }, []>(
      `SELECT name FROM pragma_table_info('${table}') WHERE pk > 0 ORDER BY pk`,
    )
    .all()
    .map(({ name }) => name)
  const found = db
    .query<Record<string, string | number | Uint8Array>, [{ id: string }]>(
      `SELECT ${keys.join(', ')} FROM ${table} WHERE ($id = $id) AND (${where})`,
    )
    .all({ id })
  const remove = db.query(
    `DELETE FROM ${table} WHERE ${keys.map((it) => `${it} = ?`).join(' AND ')}`,
  )
  for (let from = 0; from < found.length; from += AT_ONCE)
    transact(db, () => {
      for (const row of found.slice(from, from + AT_ONCE)) remove.run(...Object.values(row))
      // The work on old bodies walks by row: a number that is given again must not count as done.
      if (table === 'deliveries')
        db.run(
          `UPDATE instance SET packed_to = min(packed_to, coalesce((SELECT max(row) FROM deliveries), 0)),
                  blanked_to = min(blanked_to, coalesce((SELECT max(row) FROM deliveries), 0))`,
        )
    })
  return found.length
}
