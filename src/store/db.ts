import { Database, SQLiteError } from 'bun:sqlite'

import { migrations } from './migrations.ts'

/** An open database. */
export type Db = Database

// Twenty are kept unless more are asked for, and a busy daemon has some two hundred: most would be parsed anew each time.
Database.MAX_QUERY_CACHE_SIZE = 500

/** `frmd` in ASCII: what `file` and a wary operator see. */
export const APPLICATION_ID = 0x66726d64

/** The database was written by a later forumd than this one. */
export class NewerDatabase extends Error {
  override name = 'NewerDatabase'
}

/** Connects to a database (with `create`, makes the file) and sets how it is to be used; its schema stays as it is. */
export function connect(path: string, { create = false } = {}): Db {
  const db = new Database(path, { create, readwrite: true, strict: true })
  try {
    // busy_timeout comes first, the switch to WAL may wait. FULL: a settled credit survives a power cut.
    db.run('PRAGMA busy_timeout = 5000')
    db.run('PRAGMA journal_mode = WAL')
    db.run('PRAGMA synchronous = FULL')
    db.run('PRAGMA foreign_keys = ON')
    db.run('PRAGMA journal_size_limit = 67108864')
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** Opens (and with `create`, makes) a database and brings its schema up to date. */
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

type Listener = (error: SQLiteError) => void
const listeners = new WeakMap<Db, Listener>()

/** Lets one listener hear of everything that this database's disk or file refused. The errors still go on. */
export function onStorageError(db: Db, listener: Listener): void {
  listeners.set(db, listener)
}

// An error may be thrown again long after it was told, when what it told of is over.
const told = new WeakSet<SQLiteError>()

/**
 * Tells the listener of a database what was thrown, when that is for it and has not been told yet; what is written
 * outside of a transaction says it so.
 */
export function tellStorageError(db: Db, error: unknown): void {
  if (!isStorageError(error) || told.has(error)) return
  told.add(error)
  listeners.get(db)?.(error)
}

type CommitTimer = { mono: () => number; told: (ms: number) => void }
const commit_timers = new WeakMap<Db, CommitTimer>()

/** Lets one listener hear how long each commit of this database took, from its last statement to the disk. */
export function onCommit(db: Db, timer: CommitTimer): void {
  commit_timers.set(db, timer)
}

const after_commits = new WeakMap<Db, (() => void)[]>()

/**
 * Runs `work` once the present transaction is durable; never when it is not, and at once where there is none. It must not
 * throw: what is durable would be taken for failed, and be done again.
 */
export function afterCommit(db: Db, work: () => void): void {
  if (!db.inTransaction) return work()
  const waiting = after_commits.get(db)
  if (waiting === undefined) after_commits.set(db, [work])
  else waiting.push(work)
}

/** Runs `work` as one write transaction. It may not await, so nothing can interleave. */
export function transact<T>(db: Db, work: () => T extends PromiseLike<unknown> ? never : T): T {
  // Within a transaction it is a part of that one, and reaches the disk with it.
  const is_outer = !db.inTransaction
  const timer = is_outer ? commit_timers.get(db) : undefined
  let done_at = 0
  const timed = () => {
    const result = work()
    done_at = timer?.mono() ?? 0
    return result
  }
  try {
    const result = db.transaction(timer === undefined ? work : timed).immediate()
    timer?.told(timer.mono() - done_at)
    if (is_outer) for (const after of takeAfter(db)) after()
    return result
  } catch (error) {
    if (is_outer) takeAfter(db)
    tellStorageError(db, error)
    throw error
  }
}

function takeAfter(db: Db): readonly (() => void)[] {
  const waiting = after_commits.get(db)
  if (waiting === undefined) return []
  after_commits.delete(db)
  return waiting
}

/** Brings the schema up to date. Each step runs in its own transaction; the version is the number of steps that have run. */
export function migrate(db: Db, steps: readonly string[] = migrations): void {
  const version = schemaVersion(db)
  if (version > steps.length)
    throw new NewerDatabase(
      `the database is at schema ${version}, this binary knows ${steps.length}: install the newer forumd, or restore a backup made before the upgrade`,
    )
  for (const [index, sql] of steps.entries()) {
    if (index < version) continue
    transact(db, () => {
      // Asked again now that nobody else can write: another process may have been quicker.
      if (schemaVersion(db) > index) return
      db.run(sql)
      db.run(`PRAGMA user_version = ${index + 1}`)
      db.run(`PRAGMA application_id = ${APPLICATION_ID}`)
    })
  }
}

/** How many migrations a database has been through. */
export function schemaVersion(db: Db): number {
  return db.query<{ user_version: number }, []>('PRAGMA user_version').get()?.user_version ?? 0
}

/** Whether the disk or the file failed, or stayed locked: nothing that a caller could mend. */
export function isStorageError(error: unknown): error is SQLiteError {
  return (
    error instanceof SQLiteError &&
    /^SQLITE_(FULL|IOERR|BUSY|LOCKED|READONLY|CANTOPEN|CORRUPT|NOTADB)/.test(error.code ?? '')
  )
}
