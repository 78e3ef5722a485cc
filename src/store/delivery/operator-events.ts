import { type Db, transact } from '../db/connection.ts'

export type OperatorEvent = { id: string; kind: string; subject: string; body: Uint8Array }

export type DueEvent = OperatorEvent & { attempts: number }

/** Time in which the same event for the same subject is sent once, ms. */
export const QUIET_MS = 6 * 3_600_000
export const KEEP_MS = 30 * 86_400_000

/** Inserts an event to be sent, unless the same kind and subject occurred within `quiet_ms`; true when inserted. */
export function insertOperatorEvent(
  db: Db,
  event: OperatorEvent,
  now: number,
  quiet_ms = QUIET_MS,
): boolean {
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
      .run({ ...event, now, since: now - quiet_ms })
    return changes > 0
  })
}

/** Due events, oldest first. */
export function listDueEvents(db: Db, now: number, limit: number): DueEvent[] {
  return db
    .query<DueEvent, [{ now: number; limit: number }]>(
      `SELECT id, kind, subject, body, attempts FROM operator_events
        WHERE status = 'pending' AND next_attempt_at <= $now ORDER BY next_attempt_at, id LIMIT $limit`,
    )
    .all({ now, limit })
}

/** Due time of the next event; null when none waits. */
export function nextEventAt(db: Db): number | null {
  const next = db
    .query<{ at: number | null }, []>(
      `SELECT min(next_attempt_at) AS at FROM operator_events WHERE status = 'pending'`,
    )
    .get()
  return next?.at ?? null
}

/** Records the outcome of an attempt; `next_attempt_at` only when there will be another. */
export function recordEventAttempt(
  db: Db,
  it: {
    id: string
    status: 'pending' | 'delivered' | 'dead'
    next_attempt_at: number | null
  },
): void {
  db.query(
    `UPDATE operator_events SET status = $status, next_attempt_at = $next_attempt_at,
            attempts = attempts + 1 WHERE id = $id`,
  ).run(it)
}

/** Keys of watched feeds that were not polled for three of their intervals. */
export function listStalled(
  db: Db,
  { now, up_since }: { now: number; up_since: number },
): string[] {
  return db
    .query<{ key: string }, [{ now: number; up_since: number }]>(
      `SELECT key FROM feeds WHERE next_check_at IS NOT NULL
          AND max(coalesce(last_check_at, created_at), $up_since) + 3000 * interval_s < $now ORDER BY key`,
    )
    .all({ now, up_since })
    .map(({ key }) => key)
}
