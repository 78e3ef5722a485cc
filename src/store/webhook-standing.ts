import type { Db } from './db.ts'
import { tellEndedTo } from './ended.ts'
import { pendingDeliveries } from './pending.ts'

/** How many days must have seen failures before a target is paused. */
const FAILING_DAYS_MIN = 3
const DAY_MS = 86_400_000

/** Gives up what waits for a target. What is on its way at this moment keeps its lease and its own outcome. */
export function failWaiting(db: Db, id: string, error: 'webhook_deleted' | 'webhook_paused'): void {
  const { changes: count } = db
    .query(
      `UPDATE deliveries SET status = 'failed', last_error = $error, next_attempt_at = NULL
        WHERE webhook_id = $id AND status = 'pending' AND lease IS NULL`,
    )
    .run({ id, error })
  tellEndedTo(db, id, { status: 'failed', count })
}

/** Whether nothing more is to be sent to a target: it is switched off, or its receiver has said that it is gone. */
export const isShut = (db: Db, id: string): boolean =>
  db
    .query("SELECT 1 FROM webhooks WHERE id = $id AND (active = 0 OR pause_reason = 'gone')")
    .get({ id }) !== null

/** Lets what waits for a target, or is on its way, come in its order, or no more so. */
export function orderWaiting(db: Db, id: string, ordered: boolean): void {
  db.query(
    `UPDATE deliveries SET in_order = $in_order
      WHERE row IN (SELECT row FROM ${pendingDeliveries('row, webhook_id')} WHERE webhook_id = $id)`,
  ).run({ id, in_order: ordered ? 1 : 0 })
}

/** Takes a target back into service and forgets its failures. */
export function resumeWebhook(db: Db, id: string): void {
  db.query(
    `UPDATE webhooks SET paused_at = NULL, pause_reason = NULL,
            failing_since = NULL, failing_days = 0, failing_day = NULL WHERE id = $id`,
  ).run({ id })
}

/** Forgets a target's failures, as any delivery that arrives does. */
export function clearFailures(db: Db, id: string): void {
  db.query(
    `UPDATE webhooks SET failing_since = NULL, failing_days = 0, failing_day = NULL
      WHERE id = $id AND failing_since IS NOT NULL`,
  ).run({ id })
}

/** Notes that a delivery to a target has failed for good. */
export function recordFailure(db: Db, id: string, now: number): void {
  db.query(
    `UPDATE webhooks SET failing_since = coalesce(failing_since, $now),
            failing_days = failing_days + (coalesce(failing_day, -1) < $day),
            failing_day = max(coalesce(failing_day, -1), $day)
      WHERE id = $id`,
  ).run({ id, now, day: Math.floor(now / DAY_MS) })
}

/** Takes a target out of service because its receiver says that it is gone. Nothing more is sent there. */
export function retireWebhook(db: Db, id: string, now: number): void {
  db.query(
    `UPDATE webhooks SET paused_at = $now, pause_reason = 'gone' WHERE id = $id AND paused_at IS NULL`,
  ).run({ id, now })
  failWaiting(db, id, 'webhook_paused')
}

/**
 * Pauses the targets to which nothing has arrived for `after_ms`, with failed deliveries on three different days
 * (UTC), so that a jump of the clock alone pauses nothing. Returns their ids.
 */
export function pauseFailing(db: Db, after_ms: number, now: number): string[] {
  return db
    .query<{ id: string }, [{ now: number; since: number }]>(
      `UPDATE webhooks SET paused_at = $now, pause_reason = 'failing'
        WHERE paused_at IS NULL AND deleted_at IS NULL AND failing_since <= $since
          AND failing_days >= ${FAILING_DAYS_MIN}
        RETURNING id`,
    )
    .all({ now, since: now - after_ms })
    .map(({ id }) => id)
}
