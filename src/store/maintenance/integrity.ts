import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'

import { APPLICATION_ID, connect, type Db, isStorageError } from '../db/connection.ts'
import { requireNewFile } from '../startup/disk-trouble.ts'
import { requireOwnFile, requireOwnSchema } from '../startup/schema.ts'
import { failedRecently } from './disk.ts'
import {
  databaseDamaged,
  type InstanceFiles,
  InstanceLocked,
  isLocked,
  type Lock,
  takeLock,
} from './paths.ts'

// SQLite reads its log up to the first frame with a wrong checksum and drops the rest. That is right at the end of the
// log: a write torn by a power cut was never acknowledged. In the middle it means that the disk has changed the data,
// and continuing would silently undo commits.

const WAL_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
/** Its last bit gives the byte order of the checksums; all supported machines use this one. */
const WAL_MAGIC = 0x377f0682
/** Page size of every database that forumd creates, for a log whose header does not give one. */
const PAGE_BYTES = 4096

/**
 * Running checksums over 32-bit words.
 * @see https://www.sqlite.org/fileformat2.html#checksum_algorithm
 */
type Sums = readonly [number, number]

/** The first broken frame of a log, counted from 0, and the number of commits from there on. */
type Break = { frame: number; commits: number }

/**
 * True if commits follow a damaged place in a write-ahead log, and would be lost if it were opened. Each commit is on
 * the disk before the next is written, so a torn end holds one at most: two or more mean damage. A log that is being
 * written may look broken, so it counts only if it looks so twice.
 */
export function isWalBroken(path: string): boolean {
  const first = findBreak(path)
  if (first === null) return false
  const again = findBreak(path)
  return again?.frame === first.frame && again.commits === first.commits
}

function findBreak(path: string): Break | null {
  const log = readLog(path)
  if (log === null) return null
  const { frame: broken, sums } = endOfWhole(log)
  if (broken >= log.frames) return null
  let commits = log.isCommit(broken) ? 1 : 0
  // From the damaged frame on, each frame whose checksum follows from its predecessor was written after it. In the
  // damaged frame the checksum itself may have changed.
  let before = [log.storedIn(broken), ...(sums === null ? [] : [log.sumsAfter(broken, sums)])]
  for (let frame = broken + 1; frame < log.frames; frame++) {
    const stored = log.storedIn(frame)
    if (!log.isOurs(frame) || !before.some((it) => isSame(log.sumsAfter(frame, it), stored))) break
    if (log.isCommit(frame)) commits += 1
    before = [stored]
  }
  return commits >= 2 ? { frame: broken, commits } : null
}

/** The first frame that SQLite would not read, and the checksums before it. */
function endOfWhole(log: Log): { frame: number; sums: Sums | null } {
  let sums = log.header
  let frame = 0
  while (sums !== null && frame < log.frames && log.isOurs(frame)) {
    const after = log.sumsAfter(frame, sums)
    if (!isSame(after, log.storedIn(frame))) break
    sums = after
    frame += 1
  }
  return { frame, sums }
}

type Log = {
  frames: number
  /** Checksums of the header; null when they are wrong. */
  header: Sums | null
  /** True for a frame of the current log; frames left by an earlier one have other salts. */
  isOurs(frame: number): boolean
  isCommit(frame: number): boolean
  storedIn(frame: number): Sums
  /** The checksums that a frame must have after these. */
  sumsAfter(frame: number, sums: Sums): Sums
}

function readLog(path: string): Log | null {
  if (!existsSync(path)) return null
  const { buffer, byteOffset, length } = readFileSync(path)
  if (length < WAL_HEADER_BYTES + FRAME_HEADER_BYTES) return null
  const log = new DataView(buffer, byteOffset, length)
  const words = new Int32Array(buffer.slice(byteOffset, byteOffset + (length & ~3)))
  const storedAt = (at: number): Sums => [log.getInt32(at), log.getInt32(at + 4)]
  const header = sumOf(words, [0, 0], 0, 24)
  const header_ok = log.getUint32(0) === WAL_MAGIC && isSame(header, storedAt(24))
  const page_bytes = header_ok ? log.getUint32(8) : PAGE_BYTES
  const at = (frame: number) => WAL_HEADER_BYTES + frame * (FRAME_HEADER_BYTES + page_bytes)
  const salts = header_ok ? storedAt(16) : storedAt(WAL_HEADER_BYTES + 8)
  return {
    frames: Math.floor((length - WAL_HEADER_BYTES) / (FRAME_HEADER_BYTES + page_bytes)),
    header: header_ok ? header : null,
    isOurs: (frame) => isSame(storedAt(at(frame) + 8), salts),
    isCommit: (frame) => log.getUint32(at(frame) + 4) > 0,
    storedIn: (frame) => storedAt(at(frame) + 16),
    sumsAfter(frame, sums) {
      const of_header = sumOf(words, sums, at(frame), 8)
      return sumOf(words, of_header, at(frame) + FRAME_HEADER_BYTES, page_bytes)
    },
  }
}

/** Adds words, `bytes` long, to the checksums. */
function sumOf(words: Int32Array, [one, other]: Sums, from: number, length: number): Sums {
  let a = one
  let b = other
  for (let i = from >> 2; i < (from + length) >> 2; i += 2) {
    a = (a + (words[i] ?? 0) + b) | 0
    b = (b + (words[i + 1] ?? 0) + a) | 0
  }
  return [a, b]
}

const isSame = ([one, other]: Sums, [a, b]: Sums): boolean => one === a && other === b

/**
 * Larger databases are not checked before use: that takes 2 to 3 s for 800 MB, and a quarter of a minute when none of
 * it is in memory. They are checked after a storage failure, by every snapshot, and by doctor.
 */
const QUICK_CHECK_MAX_BYTES = 64 * 1024 * 1024
const FILE_HEADER_BYTES = 72
const FILE_MAGIC = 'SQLite format 3\u0000'
const APPLICATION_ID_AT = 68

/** The application id of an open database file; null for any other file. */
export function readApplicationId(handle: number): number | null {
  const header = Buffer.alloc(FILE_HEADER_BYTES)
  if (fstatSync(handle).isFile()) readSync(handle, header, 0, FILE_HEADER_BYTES, 0)
  const is_database = header.toString('latin1', 0, FILE_MAGIC.length) === FILE_MAGIC
  return is_database ? header.readUInt32BE(APPLICATION_ID_AT) : null
}

function openExisting(paths: InstanceFiles, { check }: { check: boolean }): Db {
  const handle = openSync(paths.db, 'r')
  let application_id: number | null
  try {
    application_id = readApplicationId(handle)
  } finally {
    closeSync(handle)
  }
  if (application_id === null) throw databaseDamaged(paths, 'it is empty or not a database')
  if (application_id !== APPLICATION_ID)
    throw databaseDamaged(paths, 'it is the database of another program')
  try {
    using stack = new DisposableStack()
    const db = stack.adopt(connect(paths.db), (it) => it.close())
    const found = check
      ? db.query<{ quick_check: string }, []>('PRAGMA quick_check(1)').get()?.quick_check
      : 'ok'
    if (found !== 'ok') throw databaseDamaged(paths, found ?? 'it cannot be checked')
    requireOwnSchema(db, paths.db)
    stack.move()
    return db
  } catch (error) {
    // A failed read may succeed next time; a file that is too short will not grow.
    const code = isStorageError(error) ? (error.code ?? '') : ''
    if (/^SQLITE_(CANTOPEN|READONLY)/.test(code)) requireWritable(paths)
    if (/^SQLITE_(CORRUPT|NOTADB|CANTOPEN|READONLY|IOERR_SHORT_READ)/.test(code))
      throw databaseDamaged(paths, 'it cannot be read')
    throw error
  }
}

/** @throws {Error} of the file system */
function requireWritable({ dir, db }: InstanceFiles) {
  accessSync(dir, constants.W_OK | constants.X_OK)
  for (const path of [db, `${db}-wal`, `${db}-shm`])
    if (existsSync(path)) accessSync(path, constants.R_OK | constants.W_OK)
  requireNewFile(dir)
}

/**
 * Checks a database before anything is written: completely if it is small or the storage has failed recently. Beside a
 * running daemon it is not checked: the daemon has done so, and is writing to it.
 */
export function openChecked(
  paths: InstanceFiles,
  { mode, lock_path, now }: { mode: 'serve' | 'beside'; lock_path: string; now: number },
): Db {
  const lock = mode === 'serve' ? null : takeIfFree(lock_path)
  const exclusive = mode === 'serve' || lock !== null
  try {
    if (exclusive) checkLog(paths)
    return openExisting(paths, {
      check: exclusive && (isSmall(paths) || failedRecently(paths.dir, now)),
    })
  } finally {
    lock?.release()
  }
}

const isSmall = ({ db }: InstanceFiles): boolean => statSync(db).size <= QUICK_CHECK_MAX_BYTES

/** Opening would truncate a damaged log at the damage. */
function checkLog(paths: InstanceFiles) {
  const log = `${paths.db}-wal`
  if (existsSync(log) && isWalBroken(log))
    throw databaseDamaged(paths, `the write-ahead log ${log} is damaged in the middle`)
}

/** Refuses a database of another schema before anything in its folder is touched. */
export const requireKnown = ({ dir, db }: InstanceFiles): void =>
  requireOwnFile(db, () => isLocked(join(dir, 'lock.db')))

function takeIfFree(lock_path: string): Lock | null {
  try {
    return takeLock(lock_path)
  } catch (error) {
    if (error instanceof InstanceLocked) return null
    throw error
  }
}
