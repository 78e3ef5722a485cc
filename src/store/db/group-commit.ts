import { type Db, transact } from './connection.ts'

/** Runs `write` in a transaction and resolves once it is durable. */
export type GroupCommit = <T>(write: () => T) => Promise<T>

type Job = { run(): void; confirm(): void; fail(error: unknown): void }
/** The failure of some jobs. `begun` false: BEGIN itself failed, so no job is at fault. */
type Failed = { error: unknown; begun: boolean }

/**
 * Writes submitted within one iteration of the event loop share one commit: a thousand calls a second do not need two
 * thousand fsyncs. When one fails, each is repeated in its own transaction, so that none fails because of another.
 */
export function createGroupCommit(db: Db): GroupCommit {
  let waiting: Job[] = []

  function commit() {
    const jobs = waiting
    waiting = []
    const failed = attempt(db, jobs)
    if (failed === null) return
    if (failed.begun && jobs.length > 1) return oneByOne(db, jobs)
    for (const job of jobs) job.fail(failed.error)
  }

  return <T>(write: () => T) =>
    new Promise<T>((resolve, reject) => {
      let done: { value: T } | null = null
      waiting.push({
        run: () => {
          done = { value: write() }
        },
        confirm: () => {
          if (done) resolve(done.value)
        },
        fail: reject,
      })
      if (waiting.length === 1) setImmediate(commit)
    })
}

/** Runs jobs in one transaction; null on success. */
function attempt(db: Db, jobs: readonly Job[]): Failed | null {
  let begun = false
  try {
    transact(db, () => {
      begun = true
      for (const job of jobs) job.run()
    })
  } catch (error) {
    return { error, begun }
  }
  for (const job of jobs) job.confirm()
  return null
}

function oneByOne(db: Db, jobs: readonly Job[]) {
  let blocked: Failed | null = null
  for (const job of jobs) {
    // If BEGIN times out on another process's lock, fail the rest at once instead of waiting 5 s for each.
    const failed: Failed | null = blocked ?? attempt(db, [job])
    if (failed === null) continue
    job.fail(failed.error)
    if (!failed.begun) blocked = failed
  }
}
