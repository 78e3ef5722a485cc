import { type Db, transact } from './db.ts'

/** Something the operator should hear of, as it was frozen when it happened. */
export type OperatorEvent = { id: string; kind: string; subject: string; body: Uint8Array }

/** An event that is to be sent, and how often that was tried. */
export type DueEvent = OperatorEvent & { attempts: number }

/** The same of the same subject is told once in so long. */
const QUIET_MS = 6 * 3_600_000
const KEEP_MS = 30 * 86_400_000

/** Writes an event down to be sent, unless the same was of this subject lately; whether it was written. */
export function insertOperatorEvent(db: Db, event: OperatorEvent, now: number): boolean {
  return transact(db, () => {
    db.query('DELETE FROM operator_events WHERE created_at < $before').run({
      before: now - KEEP_MS,
    })
    const { changes } = db
      .query(
        `INSERT INTO operator_events (id, kind, subject, body, created_at, next_attempt_at)
         SELECT $id, $kind, $subject, $body, $now, $now
          WHERE NOT EXISTS (SELECT 1 FROM operator_events WHERE kind = $kind AND subject = $subject
                               AND created_at > $since AND created_at <= $now)`,
      )
      .run({ ...event, now, since: now - QUIET_MS })
    return changes > 0
  })
}

/** Events that are to be sent now, the oldest first. */
export function listDueEvents(db: Db, now: number, limit: number): DueEvent[] {
  return db
    .query<DueEvent, [{ now: number; limit: number }]>(
      `SELECT id, kind, subject, body, attempts FROM operator_events
        WHERE status = 'pending' AND next_attempt_at <= $now ORDER BY next_attempt_at, id LIMIT $limit`,
    )
    .all({ now, limit })
}

/** When the next event is to be sent; null when none waits. */
export function nextEventAt(db: Db): number | null {
  const next = db
    .query<{ at: number | null }, []>(
      `SELECT min(next_attempt_at) AS at FROM operator_events WHERE status = 'pending'`,
    )
    .get()
  return next?.at ?? null
}

/** Writes down how an attempt ended; `next_attempt_at` only when there will be another. */
export function recordEventAttempt(
  db: Db,
  it: {
    id: string
    status: 'pending' | 'delivered' | 'dead'
    next_attempt_at: number | null
    last_error: string | null
  },
): void {
  db.query(
    `UPDATE operator_events SET status = $status, next_attempt_at = $next_attempt_at,
            last_error = $last_error, attempts = attempts + 1 WHERE id = $id`,
  ).run(it)
}

/** Streams that somebody watches and nobody has looked at for three of their intervals, by key. */
export function listStalled(
  db: Db,
  { now, up_since }: { now: number; up_since: number },
): string[] {
  return db
    .query<{ key: string }, [{ now: number; up_since: number }]>(
      `SELECT key FROM streams WHERE next_check_at IS NOT NULL
          AND max(coalesce(last_check_at, created_at), $up_since) + 3000 * interval_s < $now ORDER BY key`,
    )
    .all({ now, up_since })
    .map(({ key }) => key)
}
