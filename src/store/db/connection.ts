import { Database, SQLiteError } from 'bun:sqlite'
import { openSync, statSync } from 'node:fs'

import { migrations } from './migrations.ts'

export type Db = Database

// The default is 20. A busy daemon uses about two hundred statements, most of which would be parsed again each time.
Database.MAX_QUERY_CACHE_SIZE = 500

/** `frmd` in ASCII, as shown by `file`. */
export const APPLICATION_ID = 0x66726d64

/** The database was written by a later version of forumd. */
export class NewerDatabase extends Error {
  override name = 'NewerDatabase'
}

/** Connects to a database (with `create`, creates the file) and sets its pragmas; the schema stays unchanged. */
export const connect = (path: string, { create = false } = {}): Db =>
  withPragmas(new Database(path, { create, readwrite: true, strict: true }))

/** Closes the database if a pragma fails. */
export function withPragmas(db: Db): Db {
  try {
    // busy_timeout comes first, because the switch to WAL may wait. FULL: a settled credit survives a power cut.
    db.run('PRAGMA busy_timeout = 5000')
    db.run('PRAGMA journal_mode = WAL')
    db.run('PRAGMA synchronous = FULL')
    db.run('PRAGMA foreign_keys = ON')
    db.run('PRAGMA journal_size_limit = 67108864')
    // Replacing a row must not evade the triggers that refuse its deletion.
    db.run('PRAGMA recursive_triggers = ON')
    // Deleted content must not stay in free pages, where nothing finds it again.
    db.run('PRAGMA secure_delete = ON')
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

export function openDb(path: string, options: { create?: boolean } = {}): Db {
  const db = connect(path, options)
  try {
    migrate(db)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

const beside = new Map<string, number>()

/**
 * A descriptor of a database file that a connection of this process may have open: it stays open until the process ends.
 * Closing any descriptor of a file drops all locks that the process has on it, those of SQLite too: the next process
 * that closes the database would take itself for the last one, and delete the log that this process writes.
 * @see https://www.sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_
 */
export function openBeside(path: string): number {
  const { dev, ino } = statSync(path)
  const file = `${dev}:${ino}`
  const fd = beside.get(file) ?? openSync(path, 'r+')
  beside.set(file, fd)
  return fd
}

type Listener = (error: SQLiteError) => void
const listeners = new WeakMap<Db, Listener>()

/** Sets the listener for errors of this database's disk or file. The errors are still thrown. */
export function onStorageError(db: Db, listener: Listener): void {
  listeners.set(db, listener)
}

// An error may be thrown again long after it was reported and its cause is gone.
const reported = new WeakSet<SQLiteError>()

/**
 * Reports an error to the database's listener if it is a storage error that was not reported yet. For writes outside
 * of a transaction.
 */
export function reportStorageError(db: Db, error: unknown): void {
  if (!isStorageError(error) || reported.has(error)) return
  reported.add(error)
  listeners.get(db)?.(error)
}

type CommitTimer = { mono: () => number; observe: (ms: number) => void }
const commit_timers = new WeakMap<Db, CommitTimer>()

/** Sets the listener for the duration of each commit of this database, from its last statement to the disk. */
export function onCommit(db: Db, timer: CommitTimer): void {
  commit_timers.set(db, timer)
}

const commit_guards = new WeakMap<Db, () => void>()

/** Sets what is called before each write transaction of this database, and before its commit. */
export function guardCommits(db: Db, guard: () => void): void {
  commit_guards.set(db, guard)
}

const after_commits = new WeakMap<Db, (() => void)[]>()

/**
 * Runs `work` once the current transaction is durable, at once without a transaction, and never after a rollback.
 * `work` must not throw: a durable write would be taken for failed, and repeated.
 */
export function afterCommit(db: Db, work: () => void): void {
  if (!db.inTransaction) return work()
  const waiting = after_commits.get(db)
  if (waiting === undefined) after_commits.set(db, [work])
  else waiting.push(work)
}

/** Runs `work` as one write transaction. `work` cannot await, so nothing interleaves. */
export function transact<T>(db: Db, work: () => T extends PromiseLike<unknown> ? never : T): T {
  // A nested call joins the outer transaction and commits with it.
  const is_outer = !db.inTransaction
  const guard = is_outer ? commit_guards.get(db) : undefined
  guard?.()
  if (is_outer) versions.set(db, { version: null })
  const timer = is_outer ? commit_timers.get(db) : undefined
  let done_at = 0
  const observed = () => {
    const result = work()
    guard?.()
    done_at = timer?.mono() ?? 0
    return result
  }
  try {
    const result = db
      .transaction(timer === undefined && guard === undefined ? work : observed)
      .immediate()
    timer?.observe(timer.mono() - done_at)
    if (is_outer) versions.delete(db)
    if (is_outer) for (const after of takeAfter(db)) after()
    return result
  } catch (error) {
    if (is_outer) versions.delete(db)
    if (is_outer) takeAfter(db)
    reportStorageError(db, error)
    throw error
  }
}

function takeAfter(db: Db): readonly (() => void)[] {
  const waiting = after_commits.get(db)
  if (waiting === undefined) return []
  after_commits.delete(db)
  return waiting
}

/**
 * Migrates the schema. Each step runs in its own transaction; the version is the number of completed steps.
 * @throws {NewerDatabase} when the database has more steps than this binary
 */
export function migrate(db: Db, steps: readonly string[] = migrations): void {
  const version = schemaVersion(db)
  if (version > steps.length)
    throw new NewerDatabase(
      `the database is at schema ${version}, this binary knows ${steps.length}: install the newer forumd, or restore a backup made before the upgrade`,
    )
  for (const [index, sql] of steps.entries()) {
    if (index < version) continue
    transact(db, () => {
      // Checked again under the write lock: another process may have been quicker.
      if (schemaVersion(db) > index) return
      db.run(sql)
      db.run(`PRAGMA user_version = ${index + 1}`)
      db.run(`PRAGMA application_id = ${APPLICATION_ID}`)
    })
  }
}

export function schemaVersion(db: Db): number {
  return db.query<{ user_version: number }, []>('PRAGMA user_version').get()?.user_version ?? 0
}

/** Its value in the present transaction, during which no other connection writes; null: not read yet. */
const versions = new WeakMap<Db, { version: number | null }>()

/** Changes with each write of another connection, such as that of a command beside the daemon. */
export function foreignChanges(db: Db): number {
  const known = versions.get(db)
  const version =
    known?.version ??
    db.query<{ data_version: number }, []>('PRAGMA data_version').get()?.data_version ??
    0
  if (known !== undefined) known.version = version
  return version
}

/** True when the disk or file failed, or stayed locked: errors that no caller can fix. */
export function isStorageError(error: unknown): error is SQLiteError {
  return (
    error instanceof SQLiteError &&
    /^SQLITE_(FULL|IOERR|BUSY|LOCKED|READONLY|CANTOPEN|CORRUPT|NOTADB)/.test(error.code ?? '')
  )
}
