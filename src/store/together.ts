import { type Db, transact } from './db.ts'

/** Runs `write` in a transaction and answers once it is durable. */
export type Together = <T>(write: () => T) => Promise<T>

type Job = { run(): void; keep(): void; refuse(error: unknown): void }
/** Why jobs were not done. Where their transaction has not `begun`, it is not for anything of theirs. */
type Failed = { error: unknown; begun: boolean }

/**
 * Writes asked for within one turn of the event loop share one commit: a thousand calls a second do not need two
 * thousand fsyncs. When one of them fails, each is done again by itself, so that none suffers for another.
 */
export function createTogether(db: Db): Together {
  let waiting: Job[] = []

  function commit() {
    const jobs = waiting
    waiting = []
    const failed = attempt(db, jobs)
    if (failed === null) return
    if (failed.begun && jobs.length > 1) return oneByOne(db, jobs)
    for (const job of jobs) job.refuse(failed.error)
  }

  return <T>(write: () => T) =>
    new Promise<T>((resolve, reject) => {
      let done: { value: T } | null = null
      waiting.push({
        run: () => {
          done = { value: write() }
        },
        keep: () => {
          if (done) resolve(done.value)
        },
        refuse: reject,
      })
      if (waiting.length === 1) setImmediate(commit)
    })
}

/** Does jobs in one transaction; null when that has gone well. */
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
  for (const job of jobs) job.keep()
  return null
}

function oneByOne(db: Db, jobs: readonly Job[]) {
  let shut: Failed | null = null
  for (const job of jobs) {
    // Who cannot begin has waited for another process: each of the others would wait as long, and nothing else go on.
    const failed: Failed | null = shut ?? attempt(db, [job])
    if (failed === null) continue
    job.refuse(failed.error)
    if (!failed.begun) shut = failed
  }
}
