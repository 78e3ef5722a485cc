import {
  decodeItem,
  encodeItem,
  firstRowOf,
  indexSpanOf,
  ROWS_PER_SECOND,
} from '../../core/archive/rows.ts'
import { indexText } from '../../core/archive/words.ts'
import { type Item, placesOfItem } from '../../core/forum/items.ts'
import { contentDigest } from '../../core/polling/reverify.ts'
import type { Chunks } from '../db/chunked.ts'
import { type Db, transact } from '../db/connection.ts'
import {
  addToCount,
  createIndexOf,
  dropIndexOf,
  indexOf,
  listSpans,
  noteIndexVersion,
  readMeta,
  writeMeta,
} from './file.ts'
import type { QueuedItem } from './queue.ts'

export const INGESTED_AT_ONCE = 200

/** A row of `items`. */
export type ArchivedItem = {
  row: number
  key: string
  digest: string
  first_seen_at: number
  seen_at: number
  item: string
}

/** An archived item by its key; null: none. */
export const findArchived = (db: Db, key: string): ArchivedItem | null =>
  db
    .query<ArchivedItem, [{ key: string }]>(
      'SELECT row, key, digest, first_seen_at, seen_at, item FROM items WHERE key = $key',
    )
    .get({ key })

/** Changes with author, texts and places: what the index depends on. */
const digestOf = (item: Item): string => `${contentDigest(item)} ${placesOfItem(item).join(' ')}`

function indexItem(db: Db, row: number, item: Item): void {
  const span = indexSpanOf(row)
  createIndexOf(db, span)
  db.query(`INSERT INTO ${indexOf(span)} (rowid, words) VALUES ($row, $words)`).run({
    row,
    words: indexText(item),
  })
}

/** Deletes the words of an item from the index. FTS5 needs the same words again. */
export function unindexItem(db: Db, row: number, item: Item): void {
  const name = indexOf(indexSpanOf(row))
  db.query(`INSERT INTO ${name} (${name}, rowid, words) VALUES ('delete', $row, $words)`).run({
    row,
    words: indexText(item),
  })
}

/** Replaces the item of a row, and its words in the index where they differ. */
export function replaceItem(db: Db, { row, item: before }: ArchivedItem, item: Item): void {
  const old = decodeItem(before)
  if (indexText(old) !== indexText(item)) {
    unindexItem(db, row, old)
    indexItem(db, row, item)
  }
  db.query('UPDATE items SET item = $item, digest = $digest WHERE row = $row').run({
    row,
    item: encodeItem(item),
    digest: digestOf(item),
  })
}

/**
 * Copies queued items into the archive, in one transaction. Repeated, it changes nothing: an item is known by its key, a
 * version by its digest.
 */
export function ingest(db: Db, queued: readonly QueuedItem[]): void {
  transact(db, () => {
    let added = 0
    for (const it of queued) added += ingestOne(db, it)
    addToCount(db, added)
  })
}

/** Copies one item; 1 if it is new. */
function ingestOne(db: Db, { item_id: key, item: text, scopes, seen_at }: QueuedItem): number {
  // Queued before it was erased, by a database that was restored since.
  if (wasErased(db, key, seen_at)) return 0
  const item = decodeItem(text)
  const known = findArchived(db, key)
  const names: string[] = JSON.parse(scopes)
  // An edit of an item that expired meanwhile.
  if (known === null && names.length === 0) return 0
  const row = known?.row ?? freeRow(db, item.created_utc)
  if (known === null) {
    const digest = digestOf(item)
    db.query(
      `INSERT INTO items (row, key, digest, first_seen_at, seen_at, item)
       VALUES ($row, $key, $digest, $seen_at, $seen_at, $item)`,
    ).run({ row, key, digest, seen_at, item: text })
    indexItem(db, row, item)
  } else if (seen_at >= known.seen_at) update(db, known, item, seen_at)
  const see = db.query('INSERT OR IGNORE INTO sightings (row, scope) VALUES ($row, $scope)')
  for (const name of names) see.run({ row, scope: scopeId(db, name) })
  return known === null ? 1 : 0
}

/** Keeps the former text of an edited item; votes and counts replace those of before. */
function update(db: Db, known: ArchivedItem, item: Item, seen_at: number): void {
  if (known.digest !== digestOf(item)) keepVersion(db, known)
  if (known.item !== encodeItem(item)) replaceItem(db, known, item)
  db.query('UPDATE items SET seen_at = $seen_at WHERE row = $row').run({ row: known.row, seen_at })
}

/** Former versions that are kept of an item; the oldest leave first. */
const VERSIONS_MAX = 20

function keepVersion(db: Db, { row, item: text, seen_at }: ArchivedItem): void {
  const item = decodeItem(text)
  const [title, words] = item.kind === 'post' ? [item.title, item.text] : [null, item.body]
  db.query(
    `INSERT INTO versions (row, n, seen_at, title, text)
     VALUES ($row, (SELECT coalesce(max(n), 0) + 1 FROM versions WHERE row = $row), $seen_at, $title, $words)`,
  ).run({ row, seen_at, title, words })
  db.query(
    `DELETE FROM versions WHERE row = $row AND n <= (SELECT max(n) FROM versions WHERE row = $row) - ${VERSIONS_MAX}`,
  ).run({ row })
}

/** The next free row of a second, or of the seconds after it. */
function freeRow(db: Db, created_utc: number): number {
  const last = db.query<{ row: number | null }, [{ from: number; until: number }]>(
    'SELECT max(row) AS row FROM items WHERE row >= $from AND row < $until',
  )
  for (let from = firstRowOf(created_utc * 1000), late_s = 0; ; from += ROWS_PER_SECOND, late_s++) {
    const until = from + ROWS_PER_SECOND
    const row = (last.get({ from, until })?.row ?? from - 1) + 1
    if (row === until) continue
    if (late_s > rowLatenessOf(db)) writeMeta(db, LATENESS, String(late_s))
    return row
  }
}

const LATENESS = 'lateness_s'

/** Most seconds by which a row is later than the creation of its item, because seconds were full. */
export const rowLatenessOf = (db: Db): number => Number(readMeta(db, LATENESS) ?? 0)

function scopeId(db: Db, name: string): number {
  db.query('INSERT OR IGNORE INTO scopes (name) VALUES ($name)').run({ name })
  return (
    db
      .query<{ id: number }, [{ name: string }]>('SELECT id FROM scopes WHERE name = $name')
      .get({ name })?.id ?? 0
  )
}

const wasErased = (db: Db, key: string, seen_at: number): boolean =>
  db
    .query<{ n: number }, [{ key: string; seen_at: number }]>(
      "SELECT count(*) AS n FROM tombstones WHERE key = $key AND at >= $seen_at AND reason <> 'author_gone'",
    )
    .get({ key, seen_at })?.n === 1

const REINDEXED_AT_ONCE = 200

/** Builds the index again, in steps, because an older version split words otherwise. Repeated after a kill. */
export function* rebuildIndex(db: Db): Chunks<void> {
  transact(db, () => {
    for (const span of listSpans(db)) dropIndexOf(db, span)
  })
  const rows = db.query<{ row: number; item: string }, [{ after: number; limit: number }]>(
    'SELECT row, item FROM items WHERE row > $after ORDER BY row LIMIT $limit + 0',
  )
  for (let after = -1; ;) {
    const part = rows.all({ after, limit: REINDEXED_AT_ONCE })
    transact(db, () => {
      for (const { row, item } of part) indexItem(db, row, decodeItem(item))
    })
    const last = part.at(-1)
    if (last === undefined) break
    after = last.row
    yield
  }
  transact(db, () => noteIndexVersion(db))
}
