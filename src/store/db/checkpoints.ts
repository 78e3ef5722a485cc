import { afterEachCommit, type Db } from './connection.ts'

// A checkpoint copies the log into the database file. SQLite makes it within the commit that fills the log: several
// milliseconds in which this process does nothing else, a dozen times a second at 500 deliveries a second. A busy database
// leaves it to a thread. What the thread does not reach, a commit does, as ever.

/** Commits within a second from which on the thread makes the checkpoints. */
const BUSY_COMMITS = 200
/** Commits from one checkpoint to the next. */
const EVERY_COMMITS = 40
/** Pages of the log at which a commit makes the checkpoint: SQLite's default, and with the thread. */
const LOG_PAGES = 1000
const LOG_PAGES_BESIDE = 8000
/** A thread with nothing to do is ended, and its memory is given back. */
const IDLE_MS = 30_000
const CLOSE_MS = 1000

/** To the thread: make a checkpoint of this file, or close it and end. */
export type CheckpointMessage = { path: string } | { close: true }

/** From the thread. */
export type CheckpointReply = 'done' | 'closed'

/** The checkpoints of a database that is open. */
export type Checkpoints = {
  /** True while the thread runs. */
  beside(): boolean
  /** Ends the thread once it has closed the file. To be awaited before the database is closed. */
  stop(): Promise<void>
}

type Running = { worker: Worker; closed: Promise<void>; is_busy: boolean }

type Timer = { mono(): number; sleep(ms: number, signal?: AbortSignal): Promise<void> }

/** Makes the checkpoints of a database in a thread while it has many commits. */
export function moveCheckpoints(
  db: Db,
  { clock, worker_path }: { clock: Timer; worker_path: string },
): Checkpoints {
  let running: Running | null = null
  /** The thread failed, or must not start any more. */
  let is_over = db.filename === ':memory:'
  let commits = 0
  let second_at = clock.mono()
  let idle = new AbortController()

  const limitLog = (pages: number): void => void db.run(`PRAGMA wal_autocheckpoint = ${pages}`)

  function start(): Running {
    const worker = new Worker(worker_path, { smol: true })
    worker.unref()
    const { promise: closed, resolve } = Promise.withResolvers<void>()
    const it = { worker, closed, is_busy: false }
    const fail = (): void => {
      resolve()
      if (running !== it) return
      is_over = true
      running = null
      limitLog(LOG_PAGES)
    }
    worker.addEventListener('message', ({ data }: MessageEvent<CheckpointReply>) => {
      it.is_busy = false
      if (data === 'closed') resolve()
    })
    worker.addEventListener('error', fail)
    worker.addEventListener('close', fail)
    limitLog(LOG_PAGES_BESIDE)
    return it
  }

  async function end(): Promise<void> {
    idle.abort()
    const it = running
    if (it === null) return
    running = null
    limitLog(LOG_PAGES)
    post(it.worker, { close: true })
    const late = new AbortController()
    await Promise.race([it.closed, clock.sleep(CLOSE_MS, late.signal)])
    late.abort()
    it.worker.terminate()
  }

  async function endWhenIdle(): Promise<void> {
    const nap = new AbortController()
    idle = nap
    await clock.sleep(IDLE_MS, nap.signal)
    if (!nap.signal.aborted) await end()
  }

  afterEachCommit(db, () => {
    if (is_over) return
    commits += 1
    if (running === null) {
      const now = clock.mono()
      if (now - second_at >= 1000) {
        commits = 0
        second_at = now
      }
      if (commits < BUSY_COMMITS) return
      running = start()
    }
    if (commits < EVERY_COMMITS || running.is_busy) return
    commits = 0
    running.is_busy = true
    post(running.worker, { path: db.filename })
    idle.abort()
    void endWhenIdle()
  })

  return {
    beside: () => running !== null,
    stop() {
      is_over = true
      return end()
    },
  }
}

function post(worker: Worker, message: CheckpointMessage): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has none
  worker.postMessage(message)
}
