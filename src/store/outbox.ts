import type { DeliveryError, Verdict } from '../core/ladder.ts'
import { unpackBody } from './bodies.ts'
import { type Db, transact } from './db.ts'
import { tellEnded, tellEndedTo } from './ended.ts'
import { dueDeliveries, type Free } from './outbox-due.ts'
import { pendingDeliveries } from './pending.ts'
import type { Addressee } from './targets.ts'
import { clearFailures, isShut, recordFailure, retireWebhook } from './webhook-standing.ts'

// The pending rows are the queue. A lease is the id of the boot that holds it, not a time: no stall of the loop lets
// it lapse, and the next start frees it at once (the alternative, a time lease, does both worse).

/** How often an attempt may be cut short, by a crash or a fault of ours, before the delivery is given up. */
const INTERRUPTED_MAX = 20

/** A delivery this boot has taken, with the target to send it to. */
export type Claimed = Addressee & {
  id: string
  row: number
  /** Attempts with a recorded outcome, over all rounds. */
  attempts: number
  /** Failed attempts in this round. */
  rung: number
  round: number
  body: Uint8Array
  body_sha256: Uint8Array
  max_per_second: number | null
  /** When it was written, by true time. */
  created_at: number
}

/**
 * Takes due deliveries for this boot: one of each target in turn, beginning after `served_last`, so that a target
 * with thousands waiting delays no other by more than one turn.
 */
export function claimDue(
  db: Db,
  { boot, now, free, served_last }: { boot: string; now: number; free: Free; served_last: string },
): Claimed[] {
  // Looking costs no transaction; what was found is taken under a condition.
  const chosen = dueDeliveries(db, { now, free, served_last })
  if (chosen.length === 0) return []
  const take = db.query(
    `UPDATE deliveries SET lease = $boot WHERE row = $row AND status = 'pending' AND lease IS NULL`,
  )
  const read = db.query<Claimed, [{ row: number }]>(
    `SELECT d.id, d.row, d.webhook_id, d.attempts, d.rung, d.round, b.body, b.body_sha256, d.created_at, w.kind, w.url, w.secret,
            w.old_secret, w.old_secret_until, w.max_per_second
       FROM deliveries d JOIN delivery_bodies b ON b.delivery_row = d.row JOIN webhooks w ON w.id = d.webhook_id
      WHERE d.row = $row`,
  )
  return transact(db, () =>
    chosen.flatMap((row) => {
      const taken = take.run({ row, boot }).changes === 1 ? read.get({ row }) : null
      return taken === null ? [] : [{ ...taken, body: unpackBody(taken.body) }]
    }),
  )
}

/** An attempt that ended, whatever way. */
export type Ended = {
  delivery: Pick<Claimed, 'row' | 'kind' | 'webhook_id' | 'attempts' | 'rung' | 'round'>
  verdict: Verdict
  started_at: number
  ended_at: number
  /** The receiver's status; null when nothing answered. */
  http_status: number | null
  /** What it said beside its status, redacted; null when nothing answered. */
  told: Told | null
}

/** Some headers of an answer, and how its body began. */
export type Told = { headers: Readonly<Record<string, string>>; body_start: string }

/**
 * Writes down how an attempt ended: the delivery's next state, the attempt, and what it says about the target. Where that
 * was shut meanwhile there is no next attempt, as there is none for what waited. Within a transaction. False when the delivery is no longer this boot's to decide, such as after its target was deleted.
 */
export function recordEnded(db: Db, boot: string, ended: Ended, now: number): boolean {
  const { delivery, verdict } = ended
  const error = verdict.status === 'delivered' ? null : verdict.error
  const again = verdict.status === 'pending' && !isShut(db, delivery.webhook_id)
  const status = verdict.status === 'pending' && !again ? 'failed' : verdict.status
  const { changes } = db
    .query(
      `UPDATE deliveries SET status = $status, attempts = attempts + 1, rung = rung + 1, lease = NULL,
              next_attempt_at = $next_attempt_at, last_error = coalesce($error, last_error),
              delivered_at = $delivered_at
        WHERE row = $row AND lease = $boot`,
    )
    .run({
      row: delivery.row,
      boot,
      status,
      error: status === verdict.status ? error : 'webhook_paused',
      next_attempt_at: again ? now + verdict.delay_ms : null,
      delivered_at: verdict.status === 'delivered' ? ended.ended_at : null,
    })
  if (changes === 0) return false
  db.query(
    `INSERT INTO attempts (delivery_row, n, round, boot, started_at, ended_at, http_status, error, headers, body_start)
     VALUES ($row, $n, $round, $boot, $started_at, $ended_at, $http_status, $error, $headers, $body_start)`,
  ).run({
    row: delivery.row,
    n: delivery.attempts + 1,
    round: delivery.round,
    boot,
    started_at: ended.started_at,
    ended_at: ended.ended_at,
    http_status: ended.http_status,
    error,
    headers: ended.told && JSON.stringify(ended.told.headers),
    body_start: ended.told?.body_start ?? null,
  })
  if (status !== 'pending') tellEnded(db, { status, kind: delivery.kind, count: 1 })
  if (verdict.status === 'delivered') clearFailures(db, delivery.webhook_id)
  if (verdict.status === 'failed' || verdict.status === 'dead')
    recordFailure(db, delivery.webhook_id, now)
  if (verdict.status === 'failed' && verdict.gone) retireWebhook(db, delivery.webhook_id, now)
  return true
}

/** Gives a delivery up without an attempt, for a reason of our own. */
export function giveUp(
  db: Db,
  boot: string,
  { id, kind }: Pick<Claimed, 'id' | 'kind'>,
  error: DeliveryError,
): void {
  const { changes: count } = db
    .query(
      `UPDATE deliveries SET status = 'failed', last_error = $error, next_attempt_at = NULL, lease = NULL
        WHERE id = $id AND lease = $boot`,
    )
    .run({ id, boot, error })
  tellEnded(db, { status: 'failed', kind, count })
}

/** Puts back a delivery whose attempt came to no outcome: the same rung again, but not without end. */
export function putBack(db: Db, boot: string, id: string, next_attempt_at: number): void {
  transact(db, () => {
    db.query(
      `UPDATE deliveries SET lease = NULL, interrupted = interrupted + 1, next_attempt_at = $next_attempt_at
        WHERE id = $id AND lease = $boot`,
    ).run({ id, boot, next_attempt_at })
    // Only this one: to look at all that wait, for each of many that are put back, would hold up everything.
    bury(db, 'id = $id', { id })
  })
}

/**
 * At start, before anything is claimed: frees what an earlier boot held, to be attempted again on the same rung, and
 * brings every waiting row to within its rung of now: the clock may have been wrong while we were down. Returns how many
 * attempts were cut short.
 */
export function reclaim(db: Db, retry_delays_s: readonly number[], now: number): number {
  return transact(db, () => {
    const { changes } = db.run(
      'UPDATE deliveries SET lease = NULL, interrupted = interrupted + 1 WHERE lease IS NOT NULL',
    )
    bury(db, 'TRUE')
    const clamp = db.query(
      `UPDATE deliveries SET next_attempt_at = $latest
        WHERE status = 'pending' AND lease IS NULL AND rung = $rung AND next_attempt_at > $latest`,
    )
    for (const [rung, delay_s] of retry_delays_s.entries())
      clamp.run({ rung, latest: now + Math.round(delay_s * 1000 * CLAMP) })
    return changes
  })
}

const CLAMP = 1.1

/** Ends what has been cut short too often, of the rows that wait and are meant. */
function bury(db: Db, which: 'TRUE' | 'id = $id', params: { id: string } | null = null): void {
  const buried = db
    .query<{ webhook_id: string }, [{ id: string } | null]>(
      `UPDATE deliveries SET status = 'dead', last_error = 'interrupted_repeatedly', next_attempt_at = NULL
        WHERE ${which} AND status = 'pending' AND lease IS NULL AND interrupted > ${INTERRUPTED_MAX}
        RETURNING webhook_id`,
    )
    .all(params)
  for (const [webhook_id, rows] of Map.groupBy(buried, (row) => row.webhook_id))
    tellEndedTo(db, webhook_id, { status: 'dead', count: rows.length })
}

/**
 * Moves every wait by as much as the wall clock has jumped, so that each takes as long as was meant, and the clocks of
 * targets with it: a week of failures is a week, and an overlap of two secrets no shorter than it is, whatever the clock does. What was due at once stays so.
 */
export function followJump(db: Db, jump_ms: number, now: number): void {
  transact(db, () => {
    db.query(
      `UPDATE deliveries SET next_attempt_at =
              CASE WHEN rung = 0 THEN min($now, next_attempt_at + $jump_ms) ELSE next_attempt_at + $jump_ms END
        WHERE row IN ${pendingDeliveries('row')}`,
    ).run({ jump_ms, now })
    // An overlap is made no shorter: it may have been asked for since the clock was put back.
    db.query(
      `UPDATE webhooks SET failing_since = failing_since + $jump_ms,
              old_secret_until = old_secret_until + max(0, $jump_ms)
        WHERE failing_since IS NOT NULL OR old_secret_until IS NOT NULL`,
    ).run({ jump_ms })
  })
}
