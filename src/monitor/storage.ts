import { statSync } from 'node:fs'
import { join } from 'node:path'

import type { Clock, Log } from '../outside.ts'
import { auditHead, chainAudit, findEdited } from '../store/audit.ts'
import { type Breach, lookForBreaches } from '../store/auditor.ts'
import { BALLAST, createBallast } from '../store/ballast.ts'
import { type Db, onStorageError } from '../store/db.ts'
import { type DiskState, judgeDisk, readDisk } from '../store/disk.ts'
import { byTurns } from '../store/parts.ts'
import { SourceDamaged, takeSnapshot } from '../store/snapshots.ts'
import { noteStorageError } from '../store/storage-errors.ts'
import type { Schedule } from './schedule.ts'

const LOOK_MS = 60_000
/** While the disk is full. */
const SOON_MS = 5_000
const AUDIT_MS = 300_000
const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const WAIT_MIN_MS = 20 * 60_000

export type StorageDeps = {
  db: Db
  /** The database, and the folder it lies in. */
  path: string
  dir: string
  boot: string
  instance_id: string
  clock: Clock
  log: Log
  attempts_max: number
  /** The longest wait of the ladder. */
  longest_wait_ms: number
  /** Whether an attempt of this delivery is on its way. */
  in_flight: (delivery_id: string) => boolean
  snapshots: { schedule: Schedule; keep_hourly: number; keep_daily: number }
  /** Notes with which configuration the daemon runs. */
  noteConfig: () => void
  /** What the disk has left; asked of the system, unless told. */
  readDisk?: () => DiskState
  /** Told when the process cannot go on and must be started again. */
  lost: (reason: 'storage' | 'database_replaced') => void
  /** Aborts when the daemon stops. */
  signal: AbortSignal
}

/** Looks after the disk, as a loop drives it. */
export type Storage = {
  /** Looks after the database's file; for a loop. Returns when to come again. */
  turn(): Promise<number>
  /** The disk is full: nothing is begun that would want to be written. */
  full(): boolean
  /** Whether somebody beside us, such as the command line, has written since this was last asked. */
  changedBeside(): boolean
  /** What the auditor found when it last looked; `at` is null before it has. */
  findings(): { at: number | null; breaches: readonly Breach[]; audit_edited: boolean }
  /** What is wrong with what is stored; null when nothing is. */
  trouble(): 'storage_full' | 'invariant_broken' | null
  /** Resolves when no snapshot is being taken, and no space. */
  idle(): Promise<void>
}

/**
 * Watches over the file that everything is in: that it is the one we opened, that there is room, that what it says is
 * what every commit keeps true, that its log stays short and that there are copies.
 */
export function createStorage(deps: StorageDeps): Storage {
  const { db, path, dir, clock, log, snapshots } = deps
  const ballast = createBallast(join(dir, BALLAST))
  const inode = inodeOf(path)
  const changes = db.query<{ n: number }, []>('SELECT total_changes() AS n')
  const version = db.query<{ data_version: number }, []>('PRAGMA data_version')
  let seen_version = version.get()?.data_version
  let is_full = false
  let is_low = false
  let found: readonly Breach[] = []
  let is_edited = false
  let lost = false
  let audited_at: number | null = null
  let seen_changes = -1
  let taking: Promise<void> | null = null
  let recovering: Promise<void> | null = null
  const started_at = clock.mono()
  const lookAround = deps.readDisk ?? (() => readDisk(dir, path))
  let grown_from: number | null = null
  let snapshot_at = snapshots.schedule(clock.now())

  function lose(reason: 'storage' | 'database_replaced') {
    if (lost) return
    lost = true
    log('error', 'storage.lost', { reason })
    if (reason === 'storage') noteStorageError(dir, clock.now())
    deps.lost(reason)
  }

  onStorageError(db, ({ code = '' }) => {
    if (code.startsWith('SQLITE_FULL')) {
      const freed = ballast.drop()
      if (!is_full) log('error', 'storage.full', { freed })
      is_full = true
    }
    // Whether a write that failed on the disk is there, only the next start can tell.
    if (/^SQLITE_(IOERR|CORRUPT|NOTADB)/.test(code)) lose('storage')
  })

  /** Whoever waits for room is told of it once there is so much that some can be held back again. */
  async function recover(): Promise<void> {
    if (!(await ballast.refill()) || !is_full) return
    is_full = false
    log('info', 'storage.recovered')
  }

  async function lookAtDisk(): Promise<void> {
    // A start has better things to do than to write 32 MiB.
    const is_early = clock.mono() - started_at < LOOK_MS
    if (is_full || !is_early) await recover()
    if (is_early) return
    const disk = lookAround()
    grown_from ??= disk.db_bytes
    const elapsed_ms = clock.mono() - started_at
    const short = judgeDisk(disk, { db_bytes: grown_from, elapsed_ms })
    if (short !== null && !is_low)
      log('warn', 'storage.low', { kind: short, bytes: disk.free_bytes })
    is_low = short !== null
  }

  async function audit(now: number): Promise<void> {
    const first = audited_at === null
    const look = lookForBreaches(db, {
      ...deps,
      now,
      since_at: now - (first ? DAY_MS : HOUR_MS),
      wait_max_ms: Math.max(WAIT_MIN_MS, deps.longest_wait_ms * 2),
    })
    const breaches = await byTurns(look, deps.signal)
    if (breaches === null) return
    for (const { invariant, subject } of breaches)
      log('error', 'storage.invariant_broken', { kind: invariant, target: subject })
    found = breaches
    deps.noteConfig()
    chainAudit(db)
    if (first) {
      const edited = findEdited(db)
      is_edited = edited !== null
      if (edited)
        log('error', 'storage.invariant_broken', {
          kind: `audit_${edited.what}`,
          target: `audit ${edited.seq}`,
        })
    }
    audited_at = now
  }

  /** A short log is soon read after a crash, and a damaged byte in it takes little along. */
  function shorten() {
    const n = changes.get()?.n ?? 0
    const idle = n === seen_changes
    seen_changes = n
    if (!idle) return
    // Whoever reads just now keeps the log; it is not worth waiting for.
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
    if (snapshots.keep_hourly + snapshots.keep_daily === 0) return
    const { instance_id } = deps
    taking = takeSnapshot(path, join(dir, 'snapshots'), { ...snapshots, instance_id, now })
      .then((file) => {
        const head = auditHead(db)
        // Whoever cuts off the end of the chain cannot cut it out of the log as well.
        log('info', 'storage.snapshot', {
          file,
          item: head && `audit ${head.seq}`,
          value: head?.hash,
        })
      })
      .catch((error: unknown) => {
        log('error', 'storage.snapshot_failed', {
          reason: error instanceof Error ? error.message : 'unknown',
        })
        // The next start looks at all of it, and says what is wrong.
        if (error instanceof SourceDamaged) lose('storage')
      })
      .finally(() => {
        taking = null
      })
  }

  return {
    full() {
      // Who asks has work that waits for room, and the next turn may be a minute away.
      if (is_full) recovering = recover()
      return is_full
    },
    changedBeside() {
      const before = seen_version
      seen_version = version.get()?.data_version
      return seen_version !== before
    },
    findings: () => ({ at: audited_at, breaches: found, audit_edited: is_edited }),
    trouble() {
      if (is_full) return 'storage_full'
      return found.length > 0 || is_edited ? 'invariant_broken' : null
    },
    idle: async () => void (await Promise.all([taking, recovering])),
    async turn() {
      const now = clock.now()
      if (inodeOf(path) !== inode) {
        lose('database_replaced')
        return now + LOOK_MS
      }
      await lookAtDisk()
      if (audited_at === null || Math.abs(now - audited_at) >= AUDIT_MS) await audit(now)
      snapshot(now)
      shorten()
      const next_at = now + (is_full ? SOON_MS : LOOK_MS)
      return Math.min(next_at, Math.max(snapshot_at, now + 1000))
    },
  }
}

/** Tells one file from another that has taken its name; empty when none has it. */
function inodeOf(path: string): string {
  try {
    const { dev, ino } = statSync(path)
    return `${dev}:${ino}`
  } catch {
    return ''
  }
}
