import { statSync } from 'node:fs'
import { join } from 'node:path'

import type { Naming } from '../core/forum/naming.ts'
import { utcDay } from '../core/limits/plan.ts'
import type { Clock, Log } from '../runtime/runtime.ts'
import { runCooperatively } from '../store/db/chunked.ts'
import { type Db, onStorageError } from '../store/db/connection.ts'
import { needsScrub, scrub } from '../store/erasure/scrub.ts'
import { eraseInSnapshots } from '../store/erasure/snapshots.ts'
import {
  createReserveFile,
  type DiskState,
  judgeDisk,
  readDisk,
  recordStorageError,
  RESERVE_FILE_NAME,
} from '../store/maintenance/disk.ts'
import {
  type Keep,
  removeExpired,
  removeMovedAside,
  SourceDamaged,
  takeSnapshot,
} from '../store/maintenance/snapshots.ts'
import { passesWithDisk } from '../store/startup/disk-trouble.ts'
import type { Schedule } from './poll.ts'

const CHECK_MS = 60_000
const SOON_MS = 5_000
/** Space that has to become free before a disk that was full is used again where the reserve file does not fit. */
const ROOM_BYTES = 4 * 1024 * 1024
const NOTE_CONFIG_MS = 300_000
/** Least time between two scrubs of the file, which read all of it. */
const SCRUB_EVERY_MS = 3_600_000
const DAY_MS = 86_400_000

export type StorageDeps = {
  db: Db
  path: string
  dir: string
  instance_id: string
  /** The API's word for a subforum. */
  words: Pick<Naming, 'community' | 'home'>
  clock: Clock
  log: Log
  snapshots: { schedule: Schedule } & Keep
  noteConfig: () => void
  /** Reads the free space of the disk; absent: from the system. */
  readDisk?: () => DiskState
  /** Runs the next turn at once. */
  nudge: () => void
  /** Called when the process cannot go on and must be restarted. */
  lost: (reason: 'storage' | 'database_replaced') => void
  signal: AbortSignal
}

export type Storage = {
  /** Checks the database file and its disk. Returns the next instant to run, epoch ms. */
  turn(): Promise<number>
  /** True while the disk is full: no work starts that would have to be written. */
  full(): boolean
  /** True when another process, such as the command line, has written since the last call. */
  changedBeside(): boolean
  /** The present problem of the storage; null when there is none. */
  trouble(): 'storage_full' | null
  /** True if erased content could not be overwritten for a day. */
  erasureLate(): boolean
  /** Resolves when no snapshot is in progress and the reserve file is not being refilled. */
  idle(): Promise<void>
}

/**
 * Watches the database: that the file is still the one that was opened, that the disk has space, that the WAL stays
 * short, that erased content leaves the file, and that snapshots exist.
 */
export function createStorage(deps: StorageDeps): Storage {
  const { db, path, dir, instance_id, clock, log, snapshots } = deps
  const reserve_file = createReserveFile(join(dir, RESERVE_FILE_NAME))
  const inode = inodeOf(path)
  const changes = db.query<{ n: number }, []>('SELECT total_changes() AS n')
  const version = db.query<{ data_version: number }, []>('PRAGMA data_version')
  let seen_version = version.get()?.data_version
  let is_full = false
  /** Least free space seen since the disk is full. */
  let least_free = Infinity
  let is_low = false
  let lost = false
  /** Day on which content was last erased from snapshots. */
  let snapshots_erased_on = -1
  let config_noted_at = -Infinity
  let scrub_from = -Infinity
  /** Monotonic time from which on a scrub is due; null: none is. */
  let scrub_due_from: number | null = null
  let seen_changes = -1
  let taking: Promise<void> | null = null
  let recovering: Promise<void> | null = null
  const started_at = clock.mono()
  const statDisk = deps.readDisk ?? (() => readDisk(dir, path))
  let grown_from: number | null = null
  let snapshot_at = snapshots.schedule(clock.now())

  function lose(reason: 'storage' | 'database_replaced') {
    if (lost) return
    lost = true
    log('error', 'storage.unusable', { reason })
    if (reason === 'storage') recordStorageError(dir, clock.now())
    deps.lost(reason)
  }

  onStorageError(db, (error) => {
    const { code = '' } = error
    if (passesWithDisk(error, path)) {
      const freed = reserve_file.drop()
      if (is_full) return
      log('error', 'storage.full', { freed, code })
      is_full = true
      least_free = freeBytes()
      deps.nudge()
    }
    // Only the next start can tell whether a write that failed on the disk is there.
    else if (/^SQLITE_(IOERR|CORRUPT|NOTADB)/.test(code)) lose('storage')
  })

  function freeBytes(): number {
    try {
      return statDisk().free_bytes
    } catch {
      return 0
    }
  }

  /** Announces free space once some is in reserve again, or as much has become free as writes need for a while. */
  async function recover(): Promise<void> {
    const has_reserve = await reserve_file.refill()
    if (!is_full) return
    const free = freeBytes()
    least_free = Math.min(least_free, free)
    if (!has_reserve && free < least_free + ROOM_BYTES) return
    is_full = false
    log('info', 'storage.recovered')
  }

  async function checkDisk(): Promise<void> {
    // Keeps the 32 MiB write out of the start.
    const is_early = clock.mono() - started_at < CHECK_MS
    if (is_full || !is_early) await recover()
    if (is_early) return
    const disk = statDisk()
    grown_from ??= disk.db_bytes
    const elapsed_ms = clock.mono() - started_at
    const short = judgeDisk(disk, { db_bytes: grown_from, elapsed_ms })
    if (short !== null && !is_low)
      log('warn', 'storage.low', { kind: short, bytes: disk.free_bytes })
    is_low = short !== null
  }

  async function scrubIfDue(): Promise<void> {
    if (!needsScrub(db)) {
      scrub_due_from = null
      return
    }
    const mono = clock.mono()
    scrub_due_from ??= mono
    if (mono < scrub_from || (await runCooperatively(scrub(db), deps.signal)) !== true) return
    scrub_from = mono + SCRUB_EVERY_MS
    scrub_due_from = null
  }

  /** A short log is read quickly after a crash, and a damaged byte in it loses little. */
  function shorten() {
    const n = changes.get()?.n ?? 0
    const idle = n === seen_changes
    seen_changes = n
    if (!idle) return
    // A reader keeps the log from being reset; waiting for it is not worthwhile.
    db.run('PRAGMA busy_timeout = 0')
    try {
      db.run('PRAGMA wal_checkpoint(TRUNCATE)')
    } finally {
      db.run('PRAGMA busy_timeout = 5000')
    }
  }

  function snapshot(now: number) {
    if (now < snapshot_at || taking !== null) return
    snapshot_at = snapshots.schedule(now)
    const folder = join(dir, 'snapshots')
    removeMovedAside(path, now, snapshots)
    taking = takeNext(folder, now)
      .then(() => eraseOnceADay(folder, now))
      .finally(() => {
        taking = null
      })
  }

  async function takeNext(folder: string, now: number): Promise<void> {
    if (snapshots.keep_hourly + snapshots.keep_daily === 0)
      return removeExpired(folder, now, snapshots)
    try {
      const file = await takeSnapshot(path, folder, { ...snapshots, instance_id, now })
      log('info', 'storage.snapshot', { file })
    } catch (error) {
      log('error', 'storage.snapshot_failed', { reason: reasonOf(error) })
      // The next start checks the whole database and reports the damage.
      if (error instanceof SourceDamaged) lose('storage')
    }
  }

  /** In the first run of a UTC day and after a start; after a failure in the next one. */
  async function eraseOnceADay(folder: string, now: number): Promise<void> {
    if (snapshots_erased_on === utcDay(now)) return
    const { words, signal } = deps
    const erasing = { db, instance_id, words, clock_offset_ms: () => 0 }
    try {
      const count = await eraseInSnapshots(erasing, folder, { now, signal })
      if (count > 0) log('info', 'erasure.snapshots', { count })
      snapshots_erased_on = utcDay(now)
    } catch (error) {
      log('error', 'erasure.snapshots_failed', { reason: reasonOf(error) })
    }
  }

  return {
    full() {
      // The caller has work that waits for space, and the next run may be a minute away.
      if (is_full) recovering = recover()
      return is_full
    },
    changedBeside() {
      const before = seen_version
      seen_version = version.get()?.data_version
      return seen_version !== before
    },
    trouble: () => (is_full ? 'storage_full' : null),
    erasureLate: () => scrub_due_from !== null && clock.mono() - scrub_due_from > DAY_MS,
    idle: async () => void (await Promise.all([taking, recovering])),
    async turn() {
      const now = clock.now()
      if (inodeOf(path) !== inode) {
        lose('database_replaced')
        return now + CHECK_MS
      }
      await checkDisk()
      if (Math.abs(now - config_noted_at) >= NOTE_CONFIG_MS) {
        deps.noteConfig()
        config_noted_at = now
      }
      snapshot(now)
      await scrubIfDue()
      shorten()
      const next_at = now + (is_full ? SOON_MS : CHECK_MS)
      return Math.min(next_at, Math.max(snapshot_at, now + 1000))
    },
  }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : 'unknown')

/** Identifies a file, so that another file under the same name is noticed; empty when there is none. */
function inodeOf(path: string): string {
  try {
    const { dev, ino } = statSync(path)
    return `${dev}:${ino}`
  } catch {
    return ''
  }
}
