import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

import * as z from 'zod'

import { replaceFile } from './folder.ts'

const GIB = 1024 ** 3
const DAY_MS = 86_400_000
const WEEK_MS = 7 * DAY_MS
/**
 * SQLite, snapshots and backups need only a handful of files; fewer free ones than this means that another program
 * uses them up.
 */
const FILES_MIN = 1000
/** Growth is extrapolated only after this long: a single hour may be unusual. */
const GROWTH_AFTER_MS = DAY_MS

/** Free space of the database's disk, and the database's size. Bytes, and a number of files. */
export type DiskState = {
  free_bytes: number
  /** Null where the file system has no such limit. */
  free_files: number | null
  db_bytes: number
  wal_bytes: number
}

export function readDisk(dir: string, db_path: string): DiskState {
  const { bavail, bsize, files, ffree } = statfsSync(dir)
  return {
    free_bytes: bavail * bsize,
    free_files: files === 0 ? null : ffree,
    db_bytes: sizeOf(db_path),
    wal_bytes: sizeOf(`${db_path}-wal`),
  }
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0

/**
 * The resource that will soon be short, given the size of the database `elapsed_ms` ago. Bytes are short when less is
 * left than a GiB, three times the log, or the growth of a week. Null while there is enough.
 */
export function judgeDisk(
  { free_bytes, free_files, db_bytes, wal_bytes }: DiskState,
  { db_bytes: before, elapsed_ms }: { db_bytes: number; elapsed_ms: number },
): 'bytes' | 'files' | null {
  const grown = Math.max(0, db_bytes - before)
  const a_week = elapsed_ms < GROWTH_AFTER_MS ? 0 : (grown * WEEK_MS) / elapsed_ms
  if (free_bytes < Math.max(GIB, 3 * wal_bytes, a_week)) return 'bytes'
  return free_files !== null && free_files < FILES_MIN ? 'files' : null
}

const MIB = 1024 * 1024
const RESERVE_FILE_MIB = 32

/** Reserved disk space, released when the disk is full. */
export type ReserveFile = {
  /** Releases the space, including a part being reserved at the moment; false when it was released already. */
  drop(): boolean
  /** Reserves the space again when there is plenty, without blocking; returns true when it is reserved then. */
  refill(): Promise<boolean>
}

/** Free bytes of a file system; 0 where it does not report them. */
function freeBytes(path: string): number {
  try {
    const { bavail, bsize } = statfsSync(path)
    return bavail * bsize
  } catch {
    return 0
  }
}

export const hasReserveFile = (dir: string): boolean => existsSync(join(dir, RESERVE_FILE_NAME))

export const RESERVE_FILE_NAME = 'ballast'

/** A file of 32 MiB of allocated blocks. When half of that is free in addition, the disk no longer counts as full. */
export function createReserveFile(path: string): ReserveFile {
  // Renamed only when complete: a partial reserve file is not valid.
  const part = `${path}.part`
  let filling: Promise<boolean> | null = null
  let released = false

  async function fill(): Promise<boolean> {
    released = false
    try {
      rmSync(part, { force: true })
      await using handle = await open(part, 'wx', 0o600)
      // A sparse file would reserve nothing.
      const block = new Uint8Array(MIB).fill(0x66)
      // Stops if the space was released meanwhile: the blocks of an open file are held until it is closed.
      for (let n = 0; n < RESERVE_FILE_MIB; n++) {
        if (released) return false
        await handle.write(block)
      }
      await handle.sync()
      if (released) return false
      renameSync(part, path)
      return true
    } catch {
      // Another program has used the space.
      return false
    } finally {
      rmSync(part, { force: true })
      filling = null
    }
  }

  return {
    drop() {
      const freed = (filling !== null && !released) || existsSync(path)
      released = true
      for (const it of [path, part]) rmSync(it, { force: true })
      return freed
    },
    async refill() {
      if (filling !== null) return filling
      if (existsSync(path)) return true
      if (freeBytes(dirname(path)) < RESERVE_FILE_MIB * MIB * 1.5) return false
      return (filling = fill())
    },
  }
}

const RESTARTS_MAX = 5
const WITHIN_MS = 600_000

const instants = z.array(z.number())
const fileOf = (dir: string) => join(dir, 'storage-errors.json')

/** Times of this folder's recent storage failures, as far as they could be recorded. */
function readFailures(dir: string, now: number): number[] {
  try {
    return instants
      .parse(JSON.parse(readFileSync(fileOf(dir), 'utf8')))
      .filter((at) => Math.abs(now - at) < WITHIN_MS)
  } catch {
    return []
  }
}

/** Records a storage failure that leads to a restart. On such a disk the record itself may fail. */
export function recordStorageError(dir: string, now: number): void {
  try {
    replaceFile(fileOf(dir), Buffer.from(JSON.stringify([...readFailures(dir, now), now])))
  } catch {
    // The supervisor's own restart limit applies then.
  }
}

/** True when the storage has failed recently, so that its content has to be checked. */
export const failedRecently = (dir: string, now: number): boolean =>
  readFailures(dir, now).length > 0

/** True when restarts have not helped: five in ten minutes. */
export const restartsUseless = (dir: string, now: number): boolean =>
  readFailures(dir, now).length >= RESTARTS_MAX

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** Suffixes of SQLite's files beside a database. */
const BESIDE = /-(wal|shm|journal)$/
const SNAPSHOT_PART = /^forumd-\d{8}T\d{6}Z\.sqlite\.(part|erasing|erasing\.part)$/

/**
 * Removes temporary copies of these files that a dead process left: the same name with a random id, which only forumd
 * writes. A copy is removed only if the file itself exists, so that it is never the only one.
 */
export function removeTempFiles(final_paths: readonly string[]): void {
  for (const path of final_paths) {
    const before = `${basename(path)}.`
    if (existsSync(path))
      removeFrom(
        dirname(path),
        (name) => name.startsWith(before) && UUID.test(name.slice(before.length)),
      )
  }
}

export const removePartialSnapshots = (folder: string): void =>
  removeFrom(folder, (name) => SNAPSHOT_PART.test(name))

function removeFrom(folder: string, isOurs: (name: string) => boolean): void {
  try {
    for (const name of readdirSync(folder))
      if (isOurs(name.replace(BESIDE, ''))) rmSync(join(folder, name), { force: true })
  } catch {
    // The folder is missing or unreadable: leftovers take space but do not stop the start.
  }
}
