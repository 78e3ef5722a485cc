import { Database } from 'bun:sqlite'
import { closeSync, existsSync, openSync } from 'node:fs'

import { type Db, transact } from '../db/connection.ts'

// The archive is a file of its own, so that the database with the queue stays small. SQLite does not commit two files in
// WAL mode together: rows are copied from `archive_queue`, and a copy may be repeated.

export const ARCHIVE_FILE = 'archive.sqlite'

/**
 * Version of tables and of the words in the index. Words of an item are computed again to delete them, so an archive of
 * another version gets its index rebuilt.
 */
const VERSION = `1 ${process.versions['unicode'] ?? ''} ${process.versions['icu'] ?? ''}`

/** `frma` in ASCII. */
const APPLICATION_ID = 0x66726d61

// row: creation in seconds * 4096 + a number, so that the order of rows is the order of creation.
// digest: of author, texts and places. item: JSON of the current version. seen_at: its last reading.
// sightings: monitors that matched an item (m:ID), and feeds that showed it (f:ID).
const SCHEMA = `
CREATE TABLE items (
  row             INTEGER PRIMARY KEY,
  key             TEXT    NOT NULL UNIQUE,
  digest          TEXT    NOT NULL,
  first_seen_at   INTEGER NOT NULL,
  seen_at         INTEGER NOT NULL,
  item            TEXT    NOT NULL
) STRICT;
CREATE TABLE versions (
  row             INTEGER NOT NULL,
  n               INTEGER NOT NULL,
  seen_at         INTEGER NOT NULL,
  title           TEXT,
  text            TEXT    NOT NULL,
  PRIMARY KEY (row, n)
) STRICT, WITHOUT ROWID;
CREATE TABLE scopes (
  id              INTEGER PRIMARY KEY,
  name            TEXT    NOT NULL UNIQUE
) STRICT;
CREATE TABLE sightings (
  row             INTEGER NOT NULL,
  scope           INTEGER NOT NULL,
  PRIMARY KEY (row, scope)
) STRICT, WITHOUT ROWID;
CREATE INDEX sightings_scope ON sightings (scope, row);
CREATE TABLE tombstones (
  key             TEXT    PRIMARY KEY,
  reason          TEXT    NOT NULL,
  at              INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE spans (
  span            INTEGER PRIMARY KEY
) STRICT;
CREATE TABLE meta (
  name            TEXT    PRIMARY KEY,
  value           TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
`

/** Opens the archive, and creates it at its first use. */
export function openArchive(path: string): Db {
  // Before any connection to it: closing a descriptor drops the locks of all others.
  if (path !== ':memory:' && !existsSync(path)) closeSync(openSync(path, 'a', 0o600))
  const db = new Database(path, { create: true, readwrite: true, strict: true })
  try {
    db.run('PRAGMA busy_timeout = 5000')
    db.run('PRAGMA journal_mode = WAL')
    // A queued row is deleted once it is copied: the copy has to survive a power cut.
    db.run('PRAGMA synchronous = FULL')
    db.run('PRAGMA journal_size_limit = 67108864')
    db.run('PRAGMA secure_delete = ON')
    db.run('PRAGMA cache_size = -32768')
    transact(db, () => {
      if (tableExists(db, 'meta')) return
      db.run(SCHEMA)
      writeMeta(db, 'version', VERSION)
      db.run(`PRAGMA application_id = ${APPLICATION_ID}`)
    })
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** True when the index was written with other rules for words. */
export const hasOldIndex = (db: Db): boolean => readMeta(db, 'version') !== VERSION

export const noteIndexVersion = (db: Db): void => writeMeta(db, 'version', VERSION)

const tableExists = (db: Db, name: string): boolean =>
  db
    .query<{ n: number }, [{ name: string }]>(
      "SELECT count(*) AS n FROM sqlite_schema WHERE type = 'table' AND name = $name",
    )
    .get({ name })?.n === 1

/** A noted value; null: none. */
export const readMeta = (db: Db, name: string): string | null =>
  db
    .query<{ value: string }, [{ name: string }]>('SELECT value FROM meta WHERE name = $name')
    .get({ name })?.value ?? null

export const writeMeta = (db: Db, name: string, value: string): void =>
  void db
    .query(
      'INSERT INTO meta (name, value) VALUES ($name, $value) ON CONFLICT (name) DO UPDATE SET value = $value',
    )
    .run({ name, value })

const ITEMS = 'items'

/** Number of archived items. It is kept, because counting ten million rows takes seconds. */
export const itemCount = (db: Db): number => Number(readMeta(db, ITEMS) ?? 0)

/** Adds to the number of archived items, in the transaction that changes it. */
export function addToCount(db: Db, items: number): void {
  if (items !== 0) writeMeta(db, ITEMS, String(itemCount(db) + items))
}

// The index has a table per span of creation time. Each stays small, which bounds what one query of FTS5 does at once, and
// expired items leave with their whole table.

export const indexOf = (span: number): string => `words_${span}`

/** Spans that have an index, newest first. */
export const listSpans = (db: Db): number[] =>
  db
    .query<{ span: number }, []>('SELECT span FROM spans ORDER BY span DESC')
    .all()
    .map(({ span }) => span)

/** Creates the index of a span unless it exists. */
export function createIndexOf(db: Db, span: number): void {
  const is_new = db.query('INSERT OR IGNORE INTO spans (span) VALUES ($span)').run({ span }).changes
  if (is_new === 0) return
  // Without positions: the filter reads the text of what is found anyway. The words contain letters and digits alone.
  db.run(
    `CREATE VIRTUAL TABLE ${indexOf(span)} USING fts5(words, content = '', detail = none, columnsize = 0, tokenize = 'ascii')`,
  )
  // Deleted words leave the index at once instead of being marked.
  db.run(`INSERT INTO ${indexOf(span)} (${indexOf(span)}, rank) VALUES ('secure-delete', 1)`)
}

export function dropIndexOf(db: Db, span: number): void {
  db.run(`DROP TABLE IF EXISTS ${indexOf(span)}`)
  db.query('DELETE FROM spans WHERE span = $span').run({ span })
}

/** Size of what the archive stores, bytes; free pages of the file are used again. */
export function usedBytes(db: Db): number {
  const of = (name: 'page_count' | 'freelist_count' | 'page_size'): number =>
    Object.values(db.query<Record<string, number>, []>(`PRAGMA ${name}`).get() ?? {})[0] ?? 0
  return (of('page_count') - of('freelist_count')) * of('page_size')
}
