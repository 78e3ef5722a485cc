import { hash } from 'node:crypto'

import { encodeItem } from '../../core/archive/rows.ts'
import { type Item, itemKey } from '../../core/forum/items.ts'
import { eraseRow, type Erasure } from '../../core/forum/purge.ts'
import { firstBytes, insertRows } from '../db/bulk.ts'
import { afterCommit, type Db } from '../db/connection.ts'

export type QueuedItem = {
  seq: number
  item_id: string
  item: string
  /** JSON of the list of scopes. */
  scopes: string
  seen_at: number
}

/** Items to archive; absent: none. `on_queued` is called after each commit that has left items. */
export type Archiving = { keep: 'matches' | 'feeds'; on_queued: () => void }

export const monitorScope = (id: string): string => `m:${id}`
/** Scope of items that a feed showed. The key of a feed may hold terms of a filter, which do not belong into the archive. */
export const feedScope = (key: string): string => `f:${hash('sha256', key, 'hex').slice(0, 16)}`

/**
 * Notes items for the archive, in the transaction that found them: before its commit there is no trace of them, after it the
 * copy cannot be lost. Their content is stored, see `keepItems`.
 */
export function queueItems(
  db: Db,
  archiving: Archiving | undefined,
  items: readonly { item: Item; scopes: readonly string[] }[],
  now: number,
): void {
  if (archiving === undefined || items.length === 0) return
  afterCommit(db, archiving.on_queued)
  insertRows(db, items, {
    into: 'INSERT INTO archive_queue (item_id, item, scopes, seen_at)',
    values: '(?, ?, ?, ?)',
    bind: ({ item, scopes }) => [itemKey(item), encodeItem(item), JSON.stringify(scopes), now],
  })
}

/** The oldest queued items, as many as one step takes. */
export const listQueued = (db: Db, limit: number): QueuedItem[] =>
  firstBytes(
    db
      .query<QueuedItem, [{ limit: number }]>(
        'SELECT seq, item_id, item, scopes, seen_at FROM archive_queue ORDER BY seq LIMIT $limit + 0',
      )
      .iterate({ limit }),
    ({ item }) => item.length,
  )

export const deleteQueued = (db: Db, seqs: readonly number[]): void =>
  void db
    .query('DELETE FROM archive_queue WHERE seq IN (SELECT value FROM json_each($seqs))')
    .run({ seqs: JSON.stringify(seqs) })

export const countQueued = (db: Db): number =>
  db.query<{ n: number }, []>('SELECT count(*) AS n FROM archive_queue').get()?.n ?? 0

/** Number of the oldest items beyond `bytes_max` of newer ones. */
export const countQueuedBeyond = (db: Db, bytes_max: number): number =>
  db
    .query<{ n: number }, [{ bytes_max: number }]>(
      `SELECT count(*) AS n FROM (SELECT sum(octet_length(item)) OVER (ORDER BY seq DESC) AS bytes FROM archive_queue)
        WHERE bytes > $bytes_max`,
    )
    .get({ bytes_max })?.n ?? 0

/** Gives up the oldest items of the queue. */
export const dropOldestQueued = (db: Db, count: number): void =>
  void db
    .query(
      'DELETE FROM archive_queue WHERE seq IN (SELECT seq FROM archive_queue ORDER BY seq LIMIT $count + 0)',
    )
    .run({ count })

/**
 * Deletes erased items that wait, and the names of accounts that are gone. `touched`: JSON of the keys of all affected
 * items. Returns the number of changed rows.
 */
export function eraseQueued({
  db,
  erasure,
  touched,
}: {
  db: Db
  erasure: Erasure
  touched: string
}): number {
  const rows = db
    .query<{ seq: number; item_id: string; item: string }, [{ ids: string }]>(
      'SELECT seq, item_id, item FROM archive_queue WHERE item_id IN (SELECT value FROM json_each($ids))',
    )
    .all({ ids: touched })
  const drop = db.query('DELETE FROM archive_queue WHERE seq = $seq')
  const write = db.query('UPDATE archive_queue SET item = $item WHERE seq = $seq')
  for (const { seq, item_id, item } of rows)
    if (erasure.items.has(item_id)) drop.run({ seq })
    else write.run({ seq, item: JSON.stringify(eraseRow(JSON.parse(item), erasure, 'subforum')) })
  return rows.length
}
