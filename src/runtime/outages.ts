import type { Clock } from './runtime.ts'

/**
 * Time after a logged outage in which the next one of the same subject is counted but not logged.
 */
const QUIET_MS = 10 * 60_000
const SUBJECTS_MAX = 10_000

type Outage = {
  failing: boolean
  /** False for an outage that is only counted. */
  logged: boolean
  since: number
  logged_at: number
  count: number
}

/** Decides which failures of many subjects are logged: the first of an outage, and its end. */
export type Outages = {
  /**
   * Records a failure. Returns the number of earlier failures of this subject without a log line;
   * null if this one is not logged either.
   */
  failed(subject: string): number | null
  /**
   * Records a success. Returns the number of failures and the length of the outage that it ends;
   * null if no logged outage ends.
   */
  recovered(subject: string): { count: number; duration_ms: number } | null
}

/**
 * Creates the record of outages. A subject that fails and recovers repeatedly gets two lines in ten
 * minutes; the rest is counted.
 */
export function createOutages({ mono }: Pick<Clock, 'mono'>): Outages {
  const outages = new Map<string, Outage>()

  function makeRoom(now: number): void {
    if (outages.size < SUBJECTS_MAX) return
    for (const [subject, it] of outages)
      if (!it.failing && now - it.logged_at >= QUIET_MS) outages.delete(subject)
    const [oldest] = outages.keys()
    if (outages.size >= SUBJECTS_MAX && oldest !== undefined) outages.delete(oldest)
  }

  return {
    failed(subject) {
      const now = mono()
      let it = outages.get(subject)
      if (it === undefined) {
        makeRoom(now)
        it = { failing: false, logged: false, since: now, logged_at: -Infinity, count: 0 }
        outages.set(subject, it)
      }
      if (!it.failing) Object.assign(it, { failing: true, logged: false, since: now })
      it.count += 1
      if (it.logged || now - it.logged_at < QUIET_MS) return null
      Object.assign(it, { logged: true, logged_at: now })
      return it.count - 1
    },

    recovered(subject) {
      const it = outages.get(subject)
      if (it === undefined || !it.failing) return null
      it.failing = false
      if (!it.logged) return null
      const { count } = it
      it.count = 0
      return { count, duration_ms: Math.round(mono() - it.since) }
    },
  }
}
