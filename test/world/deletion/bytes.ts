import { Database } from 'bun:sqlite'
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
} from 'node:fs'
import { join } from 'node:path'
import { constants, gunzipSync, inflateRawSync, inflateSync, zstdDecompressSync } from 'node:zlib'

import { MARK, WORD_LENGTH } from './words.ts'

/** Where a word was found: the file relative to its folder, and how it was read. */
interface Sighting {
  file: string
  how: 'raw' | 'packed' | 'value'
}

export type Sightings = Map<string, Sighting[]>

const LIMIT = 256 * 1024 * 1024
const PARTIAL = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: LIMIT }

/** Every marked word of `bytes`, in lower case, with upper and lower case taken as equal. */
function wordsOf(bytes: Uint8Array): Set<string> {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    .toString('latin1')
    .toLowerCase()
  const words = new Set<string>()
  for (let at = text.indexOf(MARK); at >= 0; at = text.indexOf(MARK, at + 1))
    words.add(text.slice(at, at + WORD_LENGTH))
  return words
}

const WIDE_MARKS = [MARK, MARK.toUpperCase()].map((mark) =>
  Buffer.from(mark, 'utf16le').subarray(0, -1),
)

/** The marked words in UTF-16 of either byte order: their letters have zeros between them. */
function wideWordsOf(bytes: Buffer): Set<string> {
  const words = new Set<string>()
  for (const mark of WIDE_MARKS)
    for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at + 1)) {
      const letters = bytes.subarray(at, at + 2 * WORD_LENGTH).filter((byte) => byte !== 0)
      for (const word of wordsOf(letters)) words.add(word)
    }
  return words
}

/** Bytes of a file that are read at once, and those that are read again with the next. */
const PART_BYTES = 4 * 1024 * 1024
const OVERLAP_BYTES = 65_536

/** A file in parts, which overlap by more than any word or compressed text. */
function* partsOf(path: string): Generator<Buffer> {
  const part = Buffer.alloc(PART_BYTES + OVERLAP_BYTES)
  const fd = openSync(path, 'r')
  try {
    for (let at = 0; ; at += PART_BYTES) {
      const got = readSync(fd, part, 0, part.length, at)
      yield part.subarray(0, got)
      if (got < part.length) return
    }
  } finally {
    closeSync(fd)
  }
}

function attempt(unpack: () => Uint8Array): Uint8Array | null {
  try {
    return unpack()
  } catch {
    return null
  }
}

/** What `bytes` hold if they begin with a compressed stream, also one that was cut. */
function unpacked(bytes: Uint8Array): Uint8Array[] {
  const [first = 0, second = 0, third = 0, fourth = 0] = bytes
  const found: (Uint8Array | null)[] = []
  if (first === 0x28 && second === 0xb5 && third === 0x2f && fourth === 0xfd)
    found.push(attempt(() => zstdDecompressSync(bytes)))
  if (first === 0x1f && second === 0x8b && third === 8)
    found.push(attempt(() => gunzipSync(bytes, PARTIAL)))
  if ((first & 0x0f) === 8 && first >> 4 <= 7 && ((first << 8) | second) % 31 === 0)
    found.push(attempt(() => inflateSync(bytes, PARTIAL)))
  return found.filter((each) => each !== null)
}

/** The words of every compressed stream that begins anywhere in `bytes`. */
function packedWordsOf(bytes: Uint8Array): Set<string> {
  const words = new Set<string>()
  const add = (from: number): void => {
    for (const plain of unpacked(bytes.subarray(from, from + 65_536)))
      for (const word of wordsOf(plain)) words.add(word)
  }
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (const magic of [
    [0x28, 0xb5, 0x2f, 0xfd],
    [0x1f, 0x8b, 8],
    [0x78, 0x01],
    [0x78, 0x5e],
    [0x78, 0x9c],
    [0x78, 0xda],
  ]) {
    const wanted = Buffer.from(magic)
    for (let at = buffer.indexOf(wanted); at >= 0; at = buffer.indexOf(wanted, at + 1)) add(at)
  }
  return words
}

/** The words of a full-text index, which stores them without the beginning that they share. */
function indexWordsOf(database: Database, table: string): Set<string> {
  database.run('DROP TABLE IF EXISTS temp.terms')
  const quoted = table.replaceAll("'", "''")
  database.run(`CREATE VIRTUAL TABLE temp.terms USING fts5vocab('main', '${quoted}', 'row')`)
  const terms = database
    .query<{ term: string }, []>(`SELECT term FROM temp.terms WHERE term LIKE '${MARK}%'`)
    .all()
  return new Set(terms.flatMap(({ term }) => [...wordsOf(Buffer.from(term))]))
}

/** The words of every value of a database file, decompressed where it is compressed. */
function valueWordsOf(path: string): Set<string> {
  const words = new Set<string>()
  const database = new Database(path)
  try {
    const tables = database
      .query<{ name: string; sql: string }, []>(
        `SELECT name, sql FROM sqlite_schema WHERE type = 'table'`,
      )
      .all()
    for (const { name, sql } of tables) {
      if (/^CREATE VIRTUAL/i.test(sql)) {
        for (const word of indexWordsOf(database, name)) words.add(word)
        continue
      }
      const rows = attemptRows(database, name)
      for (const row of rows)
        for (const value of Object.values(row)) {
          const bytes =
            typeof value === 'string'
              ? Buffer.from(value)
              : value instanceof Uint8Array
                ? value
                : null
          if (bytes === null) continue
          for (const word of wordsOf(bytes)) words.add(word)
          if (value instanceof Uint8Array)
            for (const plain of [
              ...unpacked(value),
              ...[attempt(() => inflateRawSync(value, { maxOutputLength: LIMIT }))].filter(
                (each) => each !== null,
              ),
            ])
              for (const word of wordsOf(plain)) words.add(word)
        }
    }
  } finally {
    database.close()
  }
  return words
}

function attemptRows(database: Database, table: string): Iterable<Record<string, unknown>> {
  return database
    .query<Record<string, unknown>, []>(`SELECT * FROM "${table.replaceAll('"', '""')}"`)
    .iterate()
}

/** Files of `folder` and its folders, relative to it. */
function filesOf(folder: string, under = ''): string[] {
  return readdirSync(join(folder, under), { withFileTypes: true }).flatMap((entry) => {
    const path = join(under, entry.name)
    return entry.isDirectory() ? filesOf(folder, path) : entry.isFile() ? [path] : []
  })
}

const MAGIC = 'SQLite format 3\0'

/** True for a database, of any name. */
function isDatabase(path: string): boolean {
  const fd = openSync(path, 'r')
  try {
    const start = Buffer.alloc(MAGIC.length)
    readSync(fd, start, 0, start.length, 0)
    return start.toString('latin1') === MAGIC
  } finally {
    closeSync(fd)
  }
}

/**
 * Every marked word in the files of `folder`, read as bytes, as compressed streams and as values of databases. Databases are
 * copied to `scratch`, one at a time: to open one with its log changes its files.
 */
export function sightings(folder: string, scratch: string): Sightings {
  const found: Sightings = new Map()
  const add = (words: Iterable<string>, file: string, how: Sighting['how']): void => {
    for (const word of words) {
      const list = found.get(word) ?? []
      if (list.some((it) => it.file === file && it.how === how)) continue
      list.push({ file, how })
      found.set(word, list)
    }
  }
  for (const file of filesOf(folder)) {
    const path = join(folder, file)
    if (!existsSync(path)) continue
    for (const part of partsOf(path)) {
      add(wordsOf(part), file, 'raw')
      add(wideWordsOf(part), file, 'raw')
      add(packedWordsOf(part), file, 'packed')
    }
    if (!isDatabase(path)) continue
    mkdirSync(scratch, { recursive: true })
    const copy = join(scratch, 'copy.sqlite')
    for (const end of ['', '-wal']) if (existsSync(path + end)) cpSync(path + end, copy + end)
    add(valueWordsOf(copy), file, 'value')
    rmSync(scratch, { recursive: true })
  }
  return found
}
