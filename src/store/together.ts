import { type Db, transact } from './db.ts'

/** Runs `write` in a transaction and answers once it is durable. */
export type Together = <T>(write: () => T) => Promise<T>

type Job = { run(): void; keep(): void; refuse(error: unknown): void }

/**
 * Writes asked for within one turn of the event loop share one commit: a thousand calls a second do not need two
 * thousand fsyncs. When one of them fails, each is done again by itself, so that none suffers for another.
 */
export function createTogether(db: Db): Together {
  let waiting: Job[] = []

  function commit() {
    const jobs = waiting
    waiting = []
    try {
      transact(db, () => {
        for (const job of jobs) job.run()
      })
    } catch (error) {
      const [only] = jobs
      if (jobs.length === 1 && only) return only.refuse(error)
      for (const job of jobs) alone(db, job)
      return
    }
    for (const job of jobs) job.keep()
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

function alone(db: Db, job: Job) {
  try {
    transact(db, job.run)
  } catch (error) {
    return job.refuse(error)
  }
  job.keep()
}
