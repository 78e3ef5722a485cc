import { Database } from 'bun:sqlite'
import { cpSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { constants, gunzipSync, inflateRawSync, inflateSync, zstdDecompressSync } from 'node:zlib'

import { MARK, WORD_LENGTH } from './words.ts'

/** Where a word was found: the file relative to its folder, and how it was read. */
export interface Sighting {
  file: string
  how: 'raw' | 'packed' | 'value'
}

export type Sightings = Map<string, Sighting[]>

const LIMIT = 256 * 1024 * 1024
const PARTIAL = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: LIMIT }

/** Every marked word of `bytes`, in lower case, with upper and lower case taken as equal. */
export function wordsOf(bytes: Uint8Array): Set<string> {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    .toString('latin1')
    .toLowerCase()
  const words = new Set<string>()
  for (let at = text.indexOf(MARK); at >= 0; at = text.indexOf(MARK, at + 1))
    words.add(text.slice(at, at + WORD_LENGTH))
  return words
}

/** UTF-16 of ASCII letters has zeros between them: both byte orders are read as one. */
function withoutZeros(bytes: Uint8Array): Uint8Array {
  return bytes.filter((byte) => byte !== 0)
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
export function packedWordsOf(bytes: Uint8Array): Set<string> {
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

/** The words of every value of a database file, decompressed where it is compressed. */
export function valueWordsOf(path: string): Set<string> {
  const words = new Set<string>()
  const database = new Database(path)
  try {
    const tables = database
      .query<{ name: string }, []>(`SELECT name FROM sqlite_schema WHERE type = 'table'`)
      .all()
    for (const { name } of tables) {
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
export function filesOf(folder: string, under = ''): string[] {
  return readdirSync(join(folder, under), { withFileTypes: true }).flatMap((entry) => {
    const path = join(under, entry.name)
    return entry.isDirectory() ? filesOf(folder, path) : entry.isFile() ? [path] : []
  })
}

function isDatabase(path: string): boolean {
  return (
    statSync(path).size >= 512 &&
    readFileSync(path).subarray(0, 15).toString('latin1') === 'SQLite format 3'
  )
}

/**
 * Every marked word in the files of `folder`, read as bytes, as compressed streams and as values of databases. The folder is copied to
 * `scratch` first: a database is opened with its log, which would change the files.
 */
export function sightings(folder: string, scratch: string): Sightings {
  const found: Sightings = new Map()
  const add = (words: Iterable<string>, file: string, how: Sighting['how']): void => {
    for (const word of words) {
      const list = found.get(word) ?? []
      list.push({ file, how })
      found.set(word, list)
    }
  }
  for (const file of filesOf(folder)) {
    const from = join(folder, file)
    if (!existsSync(from)) continue
    const bytes = readFileSync(from)
    add(wordsOf(bytes), file, 'raw')
    add(wordsOf(withoutZeros(bytes)), file, 'raw')
    add(packedWordsOf(bytes), file, 'packed')
  }
  cpSync(folder, scratch, { recursive: true, filter: (path) => !path.endsWith('.sock') })
  for (const file of filesOf(scratch))
    if (isDatabase(join(scratch, file))) add(valueWordsOf(join(scratch, file)), file, 'value')
  return found
}
