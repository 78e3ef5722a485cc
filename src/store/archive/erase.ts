import { existsSync } from 'node:fs'

import {
  createdAtOf,
  decodeItem,
  firstRowOf,
  firstRowOfSpan,
  indexSpanOf,
} from '../../core/archive/rows.ts'
import { factWord } from '../../core/archive/words.ts'
import { type Item, ofItemKey } from '../../core/forum/items.ts'
import { eraseRow, type Erasure } from '../../core/forum/purge.ts'
import { type Chunks, runNow } from '../db/chunked.ts'
import { type Db, openBeside, transact } from '../db/connection.ts'
import { listTombstones, type Tombstone, tombstoneAt } from '../erasure/kept-items.ts'
import { scrubPages } from '../erasure/scrub.ts'
import {
  addToCount,
  dropIndexOf,
  indexOf,
  itemCount,
  listSpans,
  openArchive,
  readMeta,
  usedBytes,
  writeMeta,
} from './file.ts'
import { type ArchivedItem, findArchived, replaceItem, unindexItem } from './ingest.ts'

const PRUNED_AT_ONCE = 20
/** The archive's own tombstones stay as long as those of the database, ms. */
const TOMBSTONE_MS = 400 * 86_400_000

/** The last tombstone that was followed; `seq` 0: none. */
export type ErasurePosition = { seq: number; item_id: string }

const POSITION = 'tombstone'
const SCRUB = 'scrub_due'

/** The last tombstone of the database that the archive has followed. */
export function positionOf(db: Db): ErasurePosition {
  const [seq = '0', ...id] = (readMeta(db, POSITION) ?? '0 ').split(' ')
  return { seq: Number(seq), item_id: id.join(' ') }
}

/** A scrub was begun, and nothing was deleted since. A process that dies in it leaves this, and the scrub is due again. */
const BEGUN = 'begun'
/** True if something was deleted since the last complete scrub. */
export const isScrubDue = (db: Db): boolean => ['true', BEGUN].includes(readMeta(db, SCRUB) ?? '')
export const beginScrub = (db: Db): void => writeMeta(db, SCRUB, BEGUN)
/** Notes the end of a whole scrub; false if something was deleted in the meantime, so that another one is due. */
export function endScrub(db: Db): boolean {
  const is_whole = readMeta(db, SCRUB) === BEGUN
  if (is_whole) noteScrub(db, false)
  return is_whole
}
export const noteScrub = (db: Db, is_due: boolean): void => {
  const value = String(is_due)
  if (readMeta(db, SCRUB) !== value) writeMeta(db, SCRUB, value)
}

/**
 * Erases what the tombstones name: texts, former versions, words of the index. The tombstone stays, without content. One
 * transaction with the position. `known_to`: up to this one they are followed once more, and an item that came again after
 * its erasure is another one. Returns the number of changed items.
 */
export function followTombstones(
  db: Db,
  { tombstones, known_to }: { tombstones: readonly Tombstone[]; known_to: number },
): number {
  return transact(db, () => {
    let changed = 0
    for (const it of tombstones) changed += eraseOne(db, it, it.seq <= known_to)
    const last = tombstones.at(-1)
    if (last !== undefined) writeMeta(db, POSITION, `${last.seq} ${last.item_id}`)
    if (changed > 0) noteScrub(db, true)
    return changed
  })
}

function eraseOne(db: Db, { item_id: key, reason, at }: Tombstone, is_known: boolean): number {
  db.query(
    `INSERT INTO tombstones (key, reason, at) VALUES ($key, $reason, $at)
     ON CONFLICT (key) DO UPDATE SET reason = $reason, at = max(at, $at)`,
  ).run({ key, reason, at })
  const is_author = reason === 'author_gone'
  const found = findArchived(db, key)
  let changed = 0
  if (found !== null && !(is_known && found.first_seen_at > at)) {
    if (is_author) changed += rewrite(db, found, { items: NONE, authors: new Set([key]) })
    else changed += removeItem(db, found)
  }
  if (is_author) return changed
  for (const comment of listUnder(db, key))
    changed += rewrite(db, comment, { items: new Set([key]), authors: NONE })
  return changed
}

const NONE: ReadonlySet<string> = new Set()

function rewrite(db: Db, archived: ArchivedItem, erasure: Erasure): number {
  const before = decodeItem(archived.item)
  const after = eraseRow(before, erasure, 'subforum')
  if (after === (before as unknown)) return 0
  replaceItem(db, archived, after as unknown as Item)
  return 1
}

/** Archived comments under a post, which contain its title. */
function listUnder(db: Db, key: string): ArchivedItem[] {
  const { name, source } = ofItemKey(key)
  const words = `"${factWord('thread', name.slice('t3_'.length))}"`
  if (!name.startsWith('t3_')) return []
  return listSpans(db).flatMap((span) =>
    db
      .query<ArchivedItem, [{ words: string }]>(
        `SELECT i.row, i.key, i.digest, i.first_seen_at, i.seen_at, i.item
           FROM ${indexOf(span)} w CROSS JOIN items i ON i.row = w.rowid WHERE ${indexOf(span)} MATCH $words`,
      )
      .all({ words })
      .filter((it) => ofItemKey(it.key).source === source),
  )
}

function removeItem(db: Db, { row, item }: Pick<ArchivedItem, 'row' | 'item'>): number {
  if (listSpans(db).includes(indexSpanOf(row))) unindexItem(db, row, decodeItem(item))
  for (const table of ['versions', 'sightings', 'items'])
    db.query(`DELETE FROM ${table} WHERE row = $row`).run({ row })
  addToCount(db, -1)
  return 1
}

/**
 * Deletes items that were created before `before_at`, and the oldest ones while the archive is larger than `max_bytes`, in
 * steps. The result is the number of deleted items.
 */
export function* pruneArchive(
  db: Db,
  { before_at, max_bytes, now }: { before_at: number; max_bytes: number; now: number },
): Chunks<number> {
  const before = firstRowOf(before_at)
  let pruned = 0
  // The index of a span that is expired as a whole leaves at once.
  for (const span of listSpans(db).toReversed())
    if (firstRowOfSpan(span + 1) <= before)
      transact(db, () => {
        dropIndexOf(db, span)
        noteScrub(db, true)
      })
  for (let deleted = -1; deleted !== 0; pruned += deleted) {
    deleted = pruneOldest(db, before)
    yield
  }
  while (usedBytes(db) > max_bytes) {
    const deleted = pruneOldest(db, Infinity)
    if (deleted === 0) break
    pruned += deleted
    yield
  }
  transact(db, () =>
    db.query('DELETE FROM tombstones WHERE at < $before_at').run({ before_at: now - TOMBSTONE_MS }),
  )
  return pruned
}

const pruneOldest = (db: Db, before: number): number =>
  transact(db, () => {
    const old = db
      .query<{ row: number; item: string }, [{ before: number; limit: number }]>(
        'SELECT row, item FROM items WHERE row < $before ORDER BY row LIMIT $limit + 0',
      )
      .all({ before: Math.min(before, Number.MAX_SAFE_INTEGER), limit: PRUNED_AT_ONCE })
    for (const it of old) removeItem(db, it)
    if (old.length > 0) noteScrub(db, true)
    return old.length
  })

/** Size and age of the archive; instants in epoch ms. */
export type ArchiveStats = {
  items: number
  bytes: number
  oldest_at: number | null
  newest_at: number | null
}

const atOf = (row: number | null): number | null => (row === null ? null : createdAtOf(row))

export function statsOf(db: Db): ArchiveStats {
  const { oldest, newest } = db
    .query<{ oldest: number | null; newest: number | null }, []>(
      'SELECT (SELECT min(row) FROM items) AS oldest, (SELECT max(row) FROM items) AS newest',
    )
    .get() ?? { oldest: null, newest: null }
  return {
    items: itemCount(db),
    bytes: usedBytes(db),
    oldest_at: atOf(oldest),
    newest_at: atOf(newest),
  }
}

const FOLLOWED_AT_ONCE = 100

type Step = { tombstones: Tombstone[]; known_to: number }

/**
 * The tombstones after a position of the archive, in steps. `main`: the database. One that was restored counts on from an
 * earlier tombstone, so the archive follows all of them again.
 */
export function* listToFollow(
  main: Db,
  { seq: known_to, item_id }: ErasurePosition,
): Generator<Step> {
  const is_same = known_to === 0 || tombstoneAt(main, known_to)?.item_id === item_id
  for (let after = is_same ? known_to : 0; ;) {
    const tombstones = listTombstones(main, { after, limit: FOLLOWED_AT_ONCE })
    const last = tombstones.at(-1)
    if (last === undefined) return
    after = last.seq
    yield { tombstones, known_to }
  }
}

/**
 * Follows all tombstones and scrubs the archive at a path, beside a daemon or without one. False if another connection is in
 * the way: then the daemon repeats it.
 */
export function eraseArchive(main: Db, path: string): boolean {
  if (!existsSync(path)) return true
  using db = openArchive(path)
  for (const step of listToFollow(main, positionOf(db))) followTombstones(db, step)
  if (!isScrubDue(db)) return true
  transact(db, () => beginScrub(db))
  return runNow(scrubPages(db, openBeside(path))) && transact(db, () => endScrub(db))
}
