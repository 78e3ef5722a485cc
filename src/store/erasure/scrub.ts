import { fstatSync, readSync, statSync, writeSync } from 'node:fs'

import type { Chunks } from '../db/chunked.ts'
import { type Db, openBeside, reportStorageError, transact } from '../db/connection.ts'

// `secure_delete` overwrites what is deleted, but SQLite also moves rows when it balances pages, and leaves a copy in the
// unused part of the old page. Those parts are overwritten here, in the file: no statement reaches them. VACUUM would, but
// nothing else is written meanwhile. On two cores and an SSD, for 0.1, 0.5, 1 and 2 GB a write waited 0.9, 5.7, 6.4 and 16 s
// for it, longer than `busy_timeout`, and for 95 ms at most here. Its result cannot be swapped in either: what is written while
// VACUUM INTO runs is missing there.

const STEP_BYTES = 4 * 1024 * 1024
/** From this page on, the first byte of a page that is no tree can look like the type of one. */
const PAGES_MAX = 0x02_00_00_00
/** Types of pages of trees, with the size of their headers (https://www.sqlite.org/fileformat2.html#b_tree_pages). */
const HEADER_BYTES: Readonly<Record<number, number>> = { 2: 12, 5: 12, 10: 8, 13: 8 }
/** The file begins with a header of its own. */
const FILE_HEADER_BYTES = 100

/** True if content was erased since the last complete scrub. */
export function needsScrub(db: Db): boolean {
  const row = db
    .query<{ due: number }, []>(
      'SELECT coalesce((SELECT max(seq) FROM item_tombstones), 0) > scrubbed_to AS due FROM instance',
    )
    .get()
  return row?.due === 1
}

/** Notes that content was erased without a tombstone. Each time by another number, which a scrub that is under way notices. */
export const requestScrub = (db: Db): void =>
  void db.run('UPDATE instance SET scrubbed_to = min(scrubbed_to, 0) - 1')

/** Truncates the write-ahead log, which holds former pages. False if another connection is in the way. */
function truncateLog(db: Db): boolean {
  // It would wait for readers with the write lock.
  db.run('PRAGMA busy_timeout = 0')
  try {
    return db.query<{ busy: number }, []>('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy === 0
  } catch (error) {
    reportStorageError(db, error)
    return false
  } finally {
    db.run('PRAGMA busy_timeout = 5000')
  }
}

/**
 * Overwrites the unused parts of all pages of the database file, and truncates its log. In steps. The result is false if
 * it could not be completed because another connection is reading or writing.
 */
export function* scrub(db: Db): Chunks<boolean> {
  const due = db
    .query<{ seq: number; before: number }, []>(
      'SELECT coalesce((SELECT max(seq) FROM item_tombstones), 0) AS seq, scrubbed_to AS before FROM instance',
    )
    .get()
  // A database in memory has no file.
  if (db.filename !== ':memory:' && !(yield* scrubPages(db, openBeside(db.filename)))) return false
  transact(db, () =>
    db.query('UPDATE instance SET scrubbed_to = $seq WHERE scrubbed_to = $before').run(due ?? {}),
  )
  return true
}

/**
 * The same for any database. `fd`: a descriptor of its file that stays open, see {@link openBeside}.
 */
export function* scrubPages(db: Db, fd: number): Chunks<boolean> {
  const { page_size } = db.query<{ page_size: number }, []>('PRAGMA page_size').get() ?? {
    page_size: 0,
  }
  const has_maps = db.query<{ auto_vacuum: number }, []>('PRAGMA auto_vacuum').get()?.auto_vacuum
  if (page_size < 512 || has_maps !== 0) return false
  const pages = Math.floor(STEP_BYTES / page_size)
  for (let page = 0; ; page += pages) {
    const step = scrubStep(db, fd, { page_size, page, pages })
    // Pages in memory still have their former unused parts, and would be written with them.
    db.run('PRAGMA shrink_memory')
    if (step === 'blocked') return false
    yield
    if (step === 'end') return true
  }
}

type Step = { page_size: number; page: number; pages: number }

function scrubStep(
  db: Db,
  fd: number,
  { page_size, page, pages }: Step,
): 'more' | 'end' | 'blocked' {
  if (page + pages > PAGES_MAX || !truncateLog(db)) return 'blocked'
  // With the write lock and an empty log, every page in the file is the present one, and no checkpoint writes any.
  return transact(db, () => {
    if (statSync(`${db.filename}-wal`, { throwIfNoEntry: false })?.size) return 'blocked'
    const from = page * page_size
    const bytes = Buffer.alloc(Math.min(pages * page_size, Math.max(0, fstatSync(fd).size - from)))
    const got = readSync(fd, bytes, 0, bytes.length, from)
    for (let at = 0; at + page_size <= got; at += page_size) {
      const one = bytes.subarray(at, at + page_size)
      for (const [start, end] of unusedParts(one, page === 0 && at === 0 ? FILE_HEADER_BYTES : 0)) {
        const part = one.subarray(start, end)
        if (part.every((byte) => byte === 0)) continue
        part.fill(0)
        writeSync(fd, part, 0, part.length, from + at + start)
      }
    }
    return got < pages * page_size ? 'end' : 'more'
  })
}

/**
 * The unused parts of a page of a tree, as ranges of offsets: between its pointers and its rows, and the free blocks
 * without their own headers. None for any other page, or for one whose fields contradict each other.
 */
function unusedParts(page: Buffer, header_at: number): [number, number][] {
  const header = HEADER_BYTES[page[header_at] ?? 0]
  if (header === undefined) return []
  const cells = page.readUInt16BE(header_at + 3)
  const content_at = page.readUInt16BE(header_at + 5) || 65_536
  const pointers_end = header_at + header + 2 * cells
  if (pointers_end > content_at || content_at > page.length) return []
  for (let n = 0; n < cells; n += 1) {
    const cell_at = page.readUInt16BE(header_at + header + 2 * n)
    if (cell_at < content_at || cell_at >= page.length) return []
  }
  const parts: [number, number][] = [[pointers_end, content_at]]
  let last_end = content_at
  for (let at = page.readUInt16BE(header_at + 1); at !== 0;) {
    if (at < last_end || at + 4 > page.length) return []
    const size = page.readUInt16BE(at + 2)
    if (size < 4 || at + size > page.length) return []
    parts.push([at + 4, at + size])
    last_end = at + size
    at = page.readUInt16BE(at)
  }
  return parts
}
