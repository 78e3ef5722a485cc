import { normalise } from '../../core/base/form.ts'
import { HOME, type Item, itemKey } from '../../core/forum/items.ts'
import { CHECK_EVERY_MS, contentDigest, nextCheckAt } from '../../core/polling/reverify.ts'
import { insertRows } from '../db/bulk.ts'
import type { Db } from '../db/connection.ts'

// Every item of which content is stored has a row here, written in the transaction that stores it. A loop reads the items
// again by their ids, and erases what is deleted.

/** Digest of an item of which nothing but its title is stored, in a comment under it. */
const UNREAD = ''

type Kept = {
  item_id: string
  source: string
  thread: string | null
  author: string | null
  author_id: string | null
  digest: string
}

/** Rows of an item and of its post, whose title a comment contains. */
function keptOf(item: Item): Kept[] {
  const { source = HOME, author, author_info } = item
  const thread =
    item.kind === 'comment' && item.post_id !== ''
      ? itemKey({ name: `t3_${item.post_id}`, source: item.source })
      : null
  const own = {
    item_id: itemKey(item),
    source,
    thread,
    author: normalise(author),
    author_id: author_info.fullname,
    digest: contentDigest(item),
  }
  if (thread === null) return [own]
  const title = { item_id: thread, source, thread: null, author: null, author_id: null }
  return [own, { ...title, digest: UNREAD }]
}

/**
 * Notes that content of items is stored; a known item keeps its time of the next check. A comment contains the title of
 * its post, so that the post is checked too.
 */
export function keepItems(db: Db, items: Iterable<Item>, now: number): void {
  const next_check_at = nextCheckAt(now, now)
  insertRows(db, Array.from(new Set(items)).flatMap(keptOf), {
    into: `INSERT INTO kept_items (item_id, source, thread, author, author_id, digest, first_kept_at, last_kept_at,
                                     next_check_at)`,
    values: '(?, ?, ?, ?, ?, ?, ?, ?, ?)',
    after: `ON CONFLICT (item_id) DO UPDATE SET last_kept_at = max(last_kept_at, excluded.last_kept_at),
                author = coalesce(author, excluded.author), author_id = coalesce(author_id, excluded.author_id),
                digest = CASE digest WHEN '${UNREAD}' THEN excluded.digest ELSE digest END`,
    bind: (it) => [
      it.item_id,
      it.source,
      it.thread,
      it.author,
      it.author_id,
      it.digest,
      now,
      now,
      next_check_at,
    ],
  })
}

/**
 * Forgets the author and the text of an item, and its erasure, because its source has given its id to another one. Its copies
 * stay named by the id.
 */
export function forgetItem(db: Db, item_id: string): void {
  db.query(
    `UPDATE kept_items SET author = NULL, author_id = NULL, digest = '${UNREAD}' WHERE item_id = $item_id`,
  ).run({ item_id })
  // The sequence of tombstones has no holes that a reader could take for its end.
  db.query(
    "UPDATE item_tombstones SET item_id = item_id || '@' || at WHERE item_id = $item_id",
  ).run({ item_id })
}

/** Notes that content of a known item is stored again, such as a match that was delivered late. */
export const keepLonger = (db: Db, item_id: string, now: number): void =>
  void db
    .query(
      `UPDATE kept_items SET last_kept_at = max(last_kept_at, $now)
        WHERE item_id IN ($item_id, (SELECT thread FROM kept_items WHERE item_id = $item_id))`,
    )
    .run({ item_id, now })

export type KeptItem = {
  item_id: string
  author: string | null
  digest: string
  first_kept_at: number
  checks: number
  absent_at: number | null
}

export const listKeptSources = (db: Db): { source: string; next_check_at: number }[] =>
  db
    .query<{ source: string; next_check_at: number }, []>(
      `WITH RECURSIVE named (source) AS (
         SELECT min(source) FROM kept_items
         UNION ALL
         SELECT (SELECT min(source) FROM kept_items WHERE source > named.source) FROM named
          WHERE named.source IS NOT NULL)
       SELECT source, (SELECT min(next_check_at) FROM kept_items k WHERE k.source = named.source) AS next_check_at
         FROM named WHERE source IS NOT NULL`,
    )
    .all()

/** Due items of a source, the most overdue first. */
export const listDueKept = (
  db: Db,
  query: { source: string; now: number; limit: number },
): KeptItem[] =>
  db
    .query<KeptItem, [typeof query]>(
      `SELECT item_id, author, digest, first_kept_at, checks, absent_at FROM kept_items
        WHERE source = $source AND next_check_at <= $now ORDER BY next_check_at, item_id LIMIT $limit + 0`,
    )
    .all(query)

/** Records a read of a kept item. `digest` null: it stays; `checked`: the answer was clear. */
export function settleKept(
  db: Db,
  it: {
    item_id: string
    next_check_at: number
    absent_at: number | null
    digest: string | null
    checked: boolean
  },
): void {
  db.query(
    `UPDATE kept_items SET next_check_at = $next_check_at, absent_at = $absent_at, digest = coalesce($digest, digest),
            checks = checks + $checked WHERE item_id = $item_id`,
  ).run({ ...it, checked: it.checked ? 1 : 0 })
}

/** Makes items due at once of which their source has said that they were changed or are gone. */
export function checkSoon(db: Db, item_ids: readonly string[], now: number): void {
  if (item_ids.length === 0) return
  db.query(
    `UPDATE kept_items SET next_check_at = min(next_check_at, $now)
      WHERE item_id IN (SELECT value FROM json_each($ids))`,
  ).run({ ids: JSON.stringify(item_ids), now })
}

/** Limits the wait of every item to the longest one: the clock may have been set back. */
export const clampKept = (db: Db, now: number): void =>
  void db
    .query('UPDATE kept_items SET next_check_at = $latest WHERE next_check_at > $latest')
    .run({ latest: now + CHECK_EVERY_MS })

/** Items by the account that wrote one of them. */
export function listByAuthor(
  db: Db,
  { source, author }: { source: string; author: string },
): string[] {
  return db
    .query<{ item_id: string }, [{ source: string; author: string }]>(
      `SELECT item_id FROM kept_items WHERE source = $source
          AND (author = $author OR author_id IN (SELECT author_id FROM kept_items
                WHERE source = $source AND author = $author AND author_id IS NOT NULL))`,
    )
    .all({ source, author })
    .map(({ item_id }) => item_id)
}

/** Forgets at most `limit` items whose newest copy is older than the retention. Returns their number. */
export function pruneKept(db: Db, { before_at, limit }: { before_at: number; limit: number }) {
  const old = db
    .query<{ item_id: string }, [{ before_at: number; limit: number }]>(
      'SELECT item_id FROM kept_items WHERE last_kept_at < $before_at LIMIT $limit + 0',
    )
    .all({ before_at, limit })
  forgetKept(
    db,
    old.map(({ item_id }) => item_id),
  )
  return old.length
}

/** Deletes the rows of items of which no content is stored any more. */
export function forgetKept(db: Db, item_ids: readonly string[]): void {
  if (item_ids.length === 0) return
  const ids = JSON.stringify(item_ids)
  for (const table of ['message_items', 'kept_items'])
    db.query(`DELETE FROM ${table} WHERE item_id IN (SELECT value FROM json_each($ids))`).run({
      ids,
    })
}

/** Due items are counted up to this number. */
const DUE_COUNTED_MAX = 5000

/** Kept items that are due, and by how long the most overdue one is late, ms. */
export function checksState(db: Db, now: number): { due: number; lag_ms: number } {
  const sources = listKeptSources(db)
  const count = db.query<{ n: number }, [{ source: string; now: number }]>(
    `SELECT count(*) AS n FROM (SELECT 1 FROM kept_items WHERE source = $source AND next_check_at <= $now
        LIMIT ${DUE_COUNTED_MAX})`,
  )
  const due = sources.reduce((sum, { source }) => sum + (count.get({ source, now })?.n ?? 0), 0)
  const oldest = Math.min(now, ...sources.map(({ next_check_at }) => next_check_at))
  return { due, lag_ms: now - oldest }
}

/** An erased item. `seq` grows with every erasure. */
export type Tombstone = { seq: number; item_id: string; source: string; reason: string; at: number }

/** Erased items after a position, oldest first: what a store of its own has to erase too. */
export const listTombstones = (db: Db, query: { after: number; limit: number }): Tombstone[] =>
  db
    .query<Tombstone, [typeof query]>(
      'SELECT seq, item_id, source, reason, at FROM item_tombstones WHERE seq > $after ORDER BY seq LIMIT $limit + 0',
    )
    .all(query)

/** `seq` of the newest tombstone; 0: there is none. */
export const newestTombstone = (db: Db): number =>
  db.query<{ seq: number }, []>('SELECT coalesce(max(seq), 0) AS seq FROM item_tombstones').get()
    ?.seq ?? 0

/** The tombstone at a position; null: it moved on, or is gone. */
export const tombstoneAt = (db: Db, seq: number): Pick<Tombstone, 'item_id'> | null =>
  db
    .query<{ item_id: string }, [{ seq: number }]>(
      'SELECT item_id FROM item_tombstones WHERE seq = $seq',
    )
    .get({ seq })
