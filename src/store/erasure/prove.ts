import { Database } from 'bun:sqlite'
import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'

import { textQueries } from '../../core/archive/words.ts'
import type { Ring } from '../../core/base/secrets.ts'
import { openBeside } from '../db/connection.ts'
import { unpackBody } from '../delivery/bodies.ts'

/** Bytes of a file that are read at once; the end of one part is searched again with the next. */
const PART_BYTES = 4 * 1024 * 1024
/** Longest text to search for, in characters. */
export const SEARCHED_MAX = 1000
/** Shortest one: shorter texts are everywhere. */
export const SEARCHED_MIN = 4

/** A file that was searched, and where a text was found in it: `bytes`, or a table and its column. */
export type SearchedFile = { file: string; bytes: number; found: string[] }

/** A text as its author may have typed it: letters with marks as one character or two, and in either case. */
const spellingsOf = (text: string): string[] =>
  [text, text.toLowerCase(), text.toUpperCase()].flatMap((it) => [
    it,
    it.normalize('NFC'),
    it.normalize('NFD'),
  ])

/**
 * A text as it may be stored: plain, in JSON with and without escapes beyond ASCII, and in UTF-16. Bytes as characters,
 * in lower case.
 */
function encodingsOf(text: string): string[] {
  const json = JSON.stringify(text).slice(1, -1)
  const ascii = json.replaceAll(
    /[\u0080-\uFFFF]/g,
    (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  const wide = Buffer.from(text, 'utf16le')
  const forms = [
    Buffer.from(text),
    Buffer.from(json),
    Buffer.from(ascii),
    wide,
    Buffer.from(wide).swap16(),
  ]
  return forms.map(comparable)
}

/**
 * Searches every file below the data folder for texts: the raw bytes, and of each database all values, decompressed
 * and decrypted, because a value may lie in several pages. Changes nothing.
 */
export function searchFolder(dir: string, ring: Ring, texts: readonly string[]): SearchedFile[] {
  const forms = [...new Set(texts.flatMap(spellingsOf).flatMap(encodingsOf))]
  return filesBelow(dir).map((file) => {
    const path = join(dir, file)
    const found = isInBytes(path, forms) ? ['bytes'] : []
    // Also those that a restore has moved aside, under other names.
    if (isDatabase(path))
      found.push(...searchValues(path, ring, forms), ...searchIndexes(path, texts))
    return { file, bytes: statSync(path).size, found }
  })
}

const filesBelow = (dir: string): string[] =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((it) => it.isFile())
    .map((it) => relative(dir, join(it.parentPath, it.name)))
    .toSorted()

/** Bytes as characters in lower case: names are written in either. */
const comparable = (bytes: Buffer): string => bytes.toString('latin1').toLowerCase()

/** First bytes of a database (https://www.sqlite.org/fileformat2.html#magic_header_string). */
const MAGIC = Buffer.from('SQLite format 3\0')

function isDatabase(path: string): boolean {
  const fd = path.endsWith('.sqlite') ? null : openSync(path, 'r')
  if (fd === null) return true
  try {
    const start = Buffer.alloc(MAGIC.length)
    return readSync(fd, start, 0, start.length, 0) === MAGIC.length && start.equals(MAGIC)
  } finally {
    closeSync(fd)
  }
}

function isInBytes(path: string, forms: readonly string[]): boolean {
  const overlap = Math.max(0, ...forms.map(({ length }) => length))
  const part = Buffer.alloc(PART_BYTES + overlap)
  // Locks are on the database and on its shared memory.
  const is_locked = isDatabase(path) || path.endsWith('-shm')
  const fd = is_locked ? openBeside(path) : openSync(path, 'r')
  try {
    for (let at = 0; ; at += PART_BYTES) {
      const got = readSync(fd, part, 0, part.length, at)
      if (isIn(part.subarray(0, got), forms)) return true
      if (got < part.length) return false
    }
  } finally {
    if (!is_locked) closeSync(fd)
  }
}

type Value = { value: unknown; place: string }

/** Places that sealed values are bound to, as SQL over their row. */
const SEAL_PLACES: Readonly<Record<string, string>> = {
  'webhooks.secret': "'webhooks.secret:' || id",
  'webhooks.old_secret': "'webhooks.secret:' || id",
  'webhooks.credentials': "'webhooks.credentials:' || id",
  'accounts.secrets': "'accounts.secrets:' || id",
  'accounts.jar': "'accounts.jar:' || id",
  'proxies.url': "'proxies.url:' || id",
  'source_accounts.credential': "'source_accounts.credential:' || source",
  'idempotent_writes.answer':
    "'idempotent_writes.answer:' || key_id || ':' || route || ':' || name",
}

/** The full-text indexes of a database that have one of the texts as a word, which its pages may store in parts. */
function searchIndexes(path: string, texts: readonly string[]): string[] {
  const db = new Database(path, { readonly: true })
  try {
    const queries = texts.flatMap(textQueries)
    return db
      .query<{ name: string }, []>(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE words_% USING fts5%' ORDER BY 1",
      )
      .all()
      .flatMap(({ name }) => {
        const find = db.query(`SELECT 1 FROM ${name} WHERE ${name} MATCH $query LIMIT 1`)
        return queries.some((query) => find.get({ $query: query }) !== null) ? [name] : []
      })
  } finally {
    db.close()
  }
}

/** The columns of a database that hold one of the texts. */
function searchValues(path: string, ring: Ring, forms: readonly string[]): string[] {
  const db = new Database(path, { readonly: true })
  try {
    const columns = db
      .query<{ table: string; column: string }, []>(
        `SELECT t.name AS "table", c.name AS "column" FROM sqlite_schema t JOIN pragma_table_info(t.name) c
          WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND t.sql NOT LIKE 'CREATE VIRTUAL %' ORDER BY 1, c.cid`,
      )
      .all()
    return columns
      .filter(({ table, column }) => {
        const name = `${table}.${column}`
        const place = SEAL_PLACES[name]
        const rows = db.query<Value, []>(
          `SELECT "${column}" AS value, ${place ?? "''"} AS place FROM "${table}"`,
        )
        for (const { value, place: at } of rows.iterate())
          if (isInValue(value, place === undefined ? null : { ring, at }, forms)) return true
        return false
      })
      .map(({ table, column }) => `${table}.${column}`)
  } finally {
    db.close()
  }
}

function isInValue(
  value: unknown,
  seal: { ring: Ring; at: string } | null,
  forms: readonly string[],
): boolean {
  if (typeof value === 'string') return isIn(Buffer.from(value), forms)
  if (!(value instanceof Uint8Array)) return false
  try {
    if (seal === null) return isIn(Buffer.from(unpackBody(value)), forms)
    return isIn(Buffer.from(seal.ring.unseal(seal.at, value)), forms)
  } catch {
    // Sealed by a key that is not here, or no compressed body though it begins like one.
    return isIn(Buffer.from(value), forms)
  }
}

function isIn(bytes: Buffer, forms: readonly string[]): boolean {
  const text = comparable(bytes)
  return forms.some((it) => text.includes(it))
}
