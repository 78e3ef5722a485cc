import { statfsSync, statSync } from 'node:fs'

const GIB = 1024 ** 3
const DAY_MS = 86_400_000
const WEEK_MS = 7 * DAY_MS
/** SQLite, snapshots and backups want a handful of files; below this somebody else is using them up. */
const FILES_MIN = 1000
/** Whoever has watched it for less does not know yet how it grows: an hour may be an unusual one. */
const GROWTH_AFTER_MS = DAY_MS

/** What a disk has left for the database that lies on it, and what that takes. Bytes, and a number of files. */
export type DiskState = {
  free_bytes: number
  /** Null where the file system has no such bound. */
  free_files: number | null
  db_bytes: number
  wal_bytes: number
}

/** Looks at the file system of a folder, and at the database in it. */
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
 * What will be short before long, given how large the database was `elapsed_ms` ago: bytes when less is left than a
 * GiB, three times the log, or what a week will add. Null while there is enough of everything.
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
