import { heldUntil, readAttention } from '../../core/delivery/attention.ts'
import type { DeliveryError, DeliveryVerdict } from '../../core/delivery/retry.ts'
import { type Db, transact } from '../db/connection.ts'
import { unpackBody } from './bodies.ts'
import { tallyAttempt } from './health.ts'
import { notifyEnded, notifyEndedTo, pendingDeliveries } from './pending.ts'
import type { Addressee } from './targets.ts'
import { isShut, recordFailure, retireWebhook } from './webhooks.ts'

// Selects the waiting rows to send next. The cost does not depend on how many rows wait for one target: a target costs
// one step in the index. Only targets with due rows cost more, at most as many as one iteration can serve.

type TargetLimits = { id: string; max_per_second: number | null; ordered: number }

export type SendCapacity = {
  slots: number
  /** Attempts that may start to this target. */
  of(webhook_id: string, max_per_second: number | null): number
  /** Instant until which a target with capacity accepts nothing more; absent: no such limit. */
  opensAt?(webhook_id: string, max_per_second: number | null): number
}

/** Due time of the next delivery to a target with capacity; null when none waits. */
export function nextDueDeliveryAt(db: Db, free: SendCapacity): number | null {
  let soonest: number | null = null
  for (const { id, max_per_second, ordered, next_at } of waitingTargets(db)) {
    if (free.of(id, null) <= 0) continue
    const due_at = ordered ? firstDueOf(db, id) : next_at
    if (due_at === null) continue
    const at = Math.max(due_at, free.opensAt?.(id, max_per_second) ?? due_at)
    if (soonest === null || at < soonest) soonest = at
  }
  return soonest
}

const firstDueOf = (db: Db, webhook_id: string): number | null => {
  const waits = oldestByMonitor(db, webhook_id).map(({ next_attempt_at }) => next_attempt_at)
  return waits.length === 0 ? null : Math.min(...waits)
}

/** Sorts after all ids. */
const LAST = '~'

/**
 * Targets with waiting deliveries, after one id and up to another, in the order of their ids. One step in the index
 * for each, however many rows it has.
 */
function* waitingTargets(
  db: Db,
  from = '',
  until = LAST,
): Generator<TargetLimits & { next_at: number }> {
  const next = db.query<TargetLimits & { next_at: number }, [{ after: string; until: string }]>(
    `SELECT w.id, w.max_per_second, w.ordered, d.next_attempt_at AS next_at
       FROM deliveries d INDEXED BY deliveries_due CROSS JOIN webhooks w ON w.id = d.webhook_id
      WHERE d.status = 'pending' AND d.lease IS NULL AND d.webhook_id > $after AND d.webhook_id <= $until
      ORDER BY d.webhook_id, d.next_attempt_at LIMIT 1`,
  )
  for (let after: string | undefined = from; after !== undefined;) {
    const target = next.get({ after, until })
    if (target !== null) yield target
    after = target?.id
  }
}

/** Targets with due deliveries, beginning after the one that was served last, once around. */
function* dueTargets(db: Db, now: number, served_last: string): Generator<TargetLimits> {
  for (const [from, until] of [
    [served_last, LAST],
    ['', served_last],
  ] as const)
    for (const target of waitingTargets(db, from, until)) if (target.next_at <= now) yield target
}

/**
 * Due rows, at most one per slot: one of each target with capacity in turn, beginning after the one that was served
 * last.
 */
function dueDeliveries(
  db: Db,
  { now, free, served_last }: { now: number; free: SendCapacity; served_last: string },
): number[] {
  // SQLite prepares a statement with a bare LIMIT parameter again at every call; with a sum it does not.
  const due = db.query<{ row: number }, [{ id: string; now: number; room: number }]>(
    `SELECT row FROM deliveries
      WHERE webhook_id = $id AND status = 'pending' AND lease IS NULL AND next_attempt_at <= $now
      ORDER BY next_attempt_at LIMIT $room + 0`,
  )
  const queues: number[][] = []
  if (free.slots <= 0) return []
  for (const { id: webhook_id, max_per_second, ordered } of dueTargets(db, now, served_last)) {
    const capacity = Math.min(free.of(webhook_id, max_per_second), free.slots)
    if (capacity <= 0) continue
    const rows = ordered
      ? dueOldest(db, webhook_id, now).slice(0, capacity)
      : due.all({ id: webhook_id, now, room: capacity })
    if (rows.length > 0) queues.push(rows.map(({ row }) => row))
    // Each target gets one slot before any gets two; the others are served next time.
    if (queues.length === free.slots) break
  }
  return interleave(queues).slice(0, free.slots)
}

type OldestDelivery = { row: number; next_attempt_at: number }

/** The oldest unfinished delivery of each monitor to this target, without those in flight. */
function oldestByMonitor(db: Db, webhook_id: string): OldestDelivery[] {
  return db
    .query<OldestDelivery & { lease: string | null }, [{ webhook_id: string }]>(
      `WITH RECURSIVE monitored (id) AS (
         SELECT min(monitor_id) FROM deliveries WHERE webhook_id = $webhook_id AND in_order = 1 AND status = 'pending'
         UNION ALL
         SELECT (SELECT min(monitor_id) FROM deliveries
                  WHERE webhook_id = $webhook_id AND in_order = 1 AND status = 'pending' AND monitor_id > monitored.id)
           FROM monitored WHERE monitored.id IS NOT NULL)
       SELECT d.row, d.next_attempt_at, d.lease FROM monitored JOIN deliveries d ON d.row =
              (SELECT row FROM deliveries WHERE webhook_id = $webhook_id AND monitor_id = monitored.id
                  AND in_order = 1 AND status = 'pending' ORDER BY created_at, id LIMIT 1)
        ORDER BY d.next_attempt_at, d.id`,
    )
    .all({ webhook_id })
    .filter(({ lease }) => lease === null)
}

const dueOldest = (db: Db, webhook_id: string, now: number): OldestDelivery[] =>
  oldestByMonitor(db, webhook_id).filter(({ next_attempt_at }) => next_attempt_at <= now)

/** The first entry of each queue, then the second of each, and so on. */
function interleave(queues: readonly number[][]): number[] {
  const longest = Math.max(0, ...queues.map((rows) => rows.length))
  const positions = Array.from({ length: longest }, (_, position) =>
    queues.flatMap((rows) => rows[position] ?? []),
  )
  return positions.flat()
}

// The pending rows are the queue. A lease is the id of the run that holds it: no stall of the loop lets it lapse, and
// the next start releases it at once. Rejected: leases with a time limit, which do both worse.

/** Interrupted attempts, by a crash or an internal failure, after which a delivery is dead-lettered. */
const INTERRUPTIONS_MAX = 20

/** A delivery that this run has claimed, with its target. */
export type ClaimedDelivery = Addressee & {
  id: string
  row: number
  /** Attempts with a recorded outcome, over all rounds. */
  attempts: number
  /** Attempts without one, because a process died. */
  interrupted: number
  /** Failed attempts in this round. */
  retry_index: number
  round: number
  body: Uint8Array
  body_sha256: Uint8Array
  max_per_second: number | null
  /** Creation time, true time. */
  created_at: number
}

/**
 * Claims due deliveries for this run: one of each target in turn, beginning after `served_last`. A target with
 * thousands waiting delays no other by more than one round.
 */
export function claimDue(
  db: Db,
  {
    run_id,
    now,
    free,
    served_last,
  }: { run_id: string; now: number; free: SendCapacity; served_last: string },
): ClaimedDelivery[] {
  // Reading costs no transaction; the rows found are claimed under a condition.
  const chosen = dueDeliveries(db, { now, free, served_last })
  if (chosen.length === 0) return []
  type Found = ClaimedDelivery & {
    monitor_id: string
    attention: string | null
    reason: string | null
  }
  const read = db.query<Found, [{ row: number }]>(
    `SELECT d.id, d.row, d.webhook_id, d.monitor_id, d.attempts, d.interrupted, d.retry_index, d.round, d.reason,
            d.created_at, m.attention, b.body, b.body_sha256, w.kind, w.url, w.secret, w.credentials, w.old_secret,
            w.old_secret_until, w.max_per_second
       FROM deliveries d JOIN delivery_bodies b ON b.delivery_row = d.row JOIN webhooks w ON w.id = d.webhook_id
       JOIN monitors m ON m.id = d.monitor_id
      WHERE d.row = $row AND d.status = 'pending' AND d.lease IS NULL`,
  )
  const take = db.query('UPDATE deliveries SET lease = $run_id, held_until = NULL WHERE row = $row')
  // Its items were erased while an attempt was in flight, which brought no answer.
  const withhold = db.query(
    `UPDATE deliveries SET status = 'suppressed', next_attempt_at = NULL WHERE row = $row`,
  )
  const hold = createHold(db, now)
  return transact(db, () =>
    chosen.flatMap((row) => {
      const found = read.get({ row })
      if (found === null || hold(found)) return []
      const { reason, attention: _attention, monitor_id: _monitor, ...claimed } = found
      if (reason === 'item_deleted') {
        withhold.run({ row })
        return []
      }
      take.run({ row, run_id })
      return [{ ...claimed, body: unpackBody(claimed.body) }]
    }),
  )
}

/**
 * Creates the check of one turn that keeps a due delivery back in quiet hours, until their end; true when it did. It is
 * made here, the only way to an attempt, because retries, restarts and clock jumps move due times.
 */
function createHold(
  db: Db,
  now: number,
): (due: {
  row: number
  monitor_id: string
  webhook_id: string
  attention: string | null
}) => boolean {
  const set = db.query(
    'UPDATE deliveries SET next_attempt_at = $until, held_until = $until WHERE row = $row',
  )
  const known = new Map<string, number | null>()
  return ({ row, monitor_id, webhook_id, attention }) => {
    if (attention === null) return false
    const key = `${monitor_id} ${webhook_id}`
    const until = known.get(key) ?? heldUntil(readAttention(attention), webhook_id, now)
    known.set(key, until)
    if (until !== null) set.run({ row, until })
    return until !== null
  }
}

/** Makes the deliveries of a monitor that wait for quiet hours due; those still in force hold them again. */
export function releaseHeld(db: Db, monitor_id: string, now: number): void {
  db.query(
    `UPDATE deliveries SET next_attempt_at = min(next_attempt_at, $now)
      WHERE row IN (SELECT row FROM ${pendingDeliveries('row, monitor_id, held_until')}
                     WHERE monitor_id = $monitor_id AND held_until > $now)`,
  ).run({ monitor_id, now })
}

export type EndedAttempt = {
  delivery: Pick<
    ClaimedDelivery,
    'row' | 'kind' | 'webhook_id' | 'attempts' | 'retry_index' | 'round' | 'body_sha256'
  >
  verdict: DeliveryVerdict
  started_at: number
  ended_at: number
  /** HTTP status of the receiver; null without a response. */
  http_status: number | null
  /** The response besides its status, redacted; null without a response. */
  excerpt: ResponseExcerpt | null
}

export type ResponseExcerpt = { headers: Readonly<Record<string, string>>; body_start: string }

/**
 * Records an attempt: the delivery's next state, the attempt, and the effect on the target. A target that was paused
 * or switched off meanwhile gets no further attempt. Runs within a transaction. Does nothing when the delivery is no
 * longer leased to this run, unless {@link recordLate} may. Returns true when this attempt paused the target as gone.
 */
export function recordAttempt(db: Db, run_id: string, ended: EndedAttempt, now: number): boolean {
  const { delivery, verdict } = ended
  const error = verdict.status === 'delivered' ? null : verdict.error
  const retry = verdict.status === 'pending' && !isShut(db, delivery.webhook_id)
  const status = verdict.status === 'pending' && !retry ? 'failed' : verdict.status
  const { changes } = db
    .query(
      `UPDATE deliveries SET status = $status, attempts = attempts + 1, retry_index = retry_index + 1, lease = NULL,
              next_attempt_at = $next_attempt_at, last_error = coalesce($error, last_error),
              delivered_at = $delivered_at
        WHERE row = $row AND lease = $run_id`,
    )
    .run({
      row: delivery.row,
      run_id,
      status,
      error: status === verdict.status ? error : 'webhook_paused',
      next_attempt_at: retry ? now + verdict.delay_ms : null,
      delivered_at: verdict.status === 'delivered' ? ended.ended_at : null,
    })
  const is_late = changes === 0
  if (is_late && !recordLate(db, ended)) return false
  // A response may echo the request, whose content was erased during the attempt.
  db.query(
    `INSERT INTO attempts (delivery_row, n, round, started_at, ended_at, http_status, error, headers, body_start)
     SELECT $row, $n, $round, $started_at, $ended_at, $http_status, $error, iif(is_kept, $headers, NULL),
            iif(is_kept, $body_start, NULL)
       FROM (SELECT body_sha256 = $body_sha256 AS is_kept FROM delivery_bodies WHERE delivery_row = $row)`,
  ).run({
    row: delivery.row,
    body_sha256: delivery.body_sha256,
    n: delivery.attempts + 1,
    round: delivery.round,
    started_at: ended.started_at,
    ended_at: ended.ended_at,
    http_status: ended.http_status,
    error,
    headers: ended.excerpt && JSON.stringify(ended.excerpt.headers),
    body_start: ended.excerpt?.body_start ?? null,
  })
  tallyAttempt(db, {
    webhook_id: delivery.webhook_id,
    row: delivery.row,
    n: delivery.attempts + 1,
    ended_at: ended.ended_at,
    succeeded: verdict.status === 'delivered',
  })
  // Its end was reported when the target was deleted, and nothing is left to pause.
  if (is_late) return false
  if (status !== 'pending') notifyEnded(db, { status, kind: delivery.kind, count: 1 })
  if (verdict.status === 'failed' || verdict.status === 'dead')
    recordFailure(db, delivery.webhook_id, now)
  return verdict.status === 'failed' && verdict.gone && retireWebhook(db, delivery.webhook_id, now)
}

/**
 * Counts an attempt whose delivery failed while it was in flight, because its target was deleted or its reader
 * unsubscribed: the receiver has the request, and what it accepted is delivered. False if the delivery is another's, such
 * as in a new round.
 */
function recordLate(db: Db, { delivery, verdict, ended_at }: EndedAttempt): boolean {
  const { row, attempts, round } = delivery
  const delivered_at = verdict.status === 'delivered' ? ended_at : null
  const { changes } = db
    .query(
      `UPDATE deliveries SET attempts = attempts + 1, delivered_at = $delivered_at,
              status = iif($delivered_at IS NULL, status, 'delivered')
        WHERE row = $row AND attempts = $attempts AND round = $round AND status = 'failed'
          AND last_error IN ('webhook_deleted', 'webhook_paused')`,
    )
    .run({ row, attempts, round, delivered_at })
  return changes > 0
}

/** Fails a delivery without an attempt, for an internal reason. */
export function abandon(
  db: Db,
  run_id: string,
  { id, kind }: Pick<ClaimedDelivery, 'id' | 'kind'>,
  error: DeliveryError,
): void {
  const { changes: count } = db
    .query(
      `UPDATE deliveries SET status = 'failed', last_error = $error, next_attempt_at = NULL, lease = NULL
        WHERE id = $id AND lease = $run_id`,
    )
    .run({ id, run_id, error })
  notifyEnded(db, { status: 'failed', kind, count })
}

/** Returns a delivery to the queue for which no attempt was made. Its retry index stays. */
export function postpone(db: Db, run_id: string, id: string, next_attempt_at: number): void {
  db.query(
    'UPDATE deliveries SET lease = NULL, next_attempt_at = $next_attempt_at WHERE id = $id AND lease = $run_id',
  ).run({ id, run_id, next_attempt_at })
}

/**
 * Returns a delivery to the queue whose attempt had no outcome: the same delay again, for a limited number of times.
 */
export function requeue(db: Db, run_id: string, id: string, next_attempt_at: number): void {
  transact(db, () => {
    db.query(
      `UPDATE deliveries SET lease = NULL, interrupted = interrupted + 1, next_attempt_at = $next_attempt_at
        WHERE id = $id AND lease = $run_id`,
    ).run({ id, run_id, next_attempt_at })
    // Only this delivery: scanning all waiting ones for each of many would block the loop.
    deadLetter(db, 'id = $id', { id })
  })
}

/**
 * Releases the leases of earlier runs at start, before anything is claimed; the retry index stays. Due times are
 * limited to the current delay of each row, because the clock may have been wrong while the daemon was down. Returns
 * the number of interrupted attempts.
 */
export function recoverLeases(db: Db, retry_delays_s: readonly number[], now: number): number {
  return transact(db, () => {
    const { changes } = db.run(
      'UPDATE deliveries SET lease = NULL, interrupted = interrupted + 1 WHERE lease IS NOT NULL',
    )
    deadLetter(db, 'TRUE')
    const clamp = db.query(
      `UPDATE deliveries SET next_attempt_at = $latest
        WHERE status = 'pending' AND lease IS NULL AND retry_index = $retry_index AND next_attempt_at > $latest`,
    )
    for (const [retry_index, delay_s] of retry_delays_s.entries())
      clamp.run({ retry_index, latest: now + Math.round(delay_s * 1000 * CLAMP_FACTOR) })
    return changes
  })
}

const CLAMP_FACTOR = 1.1

/** Dead-letters those of the selected waiting rows that were interrupted too often. */
function deadLetter(
  db: Db,
  which: 'TRUE' | 'id = $id',
  params: { id: string } | null = null,
): void {
  const dead_rows = db
    .query<{ webhook_id: string }, [{ id: string } | null]>(
      `UPDATE deliveries SET status = 'dead', last_error = 'interrupted_repeatedly', next_attempt_at = NULL
        WHERE ${which} AND status = 'pending' AND lease IS NULL AND interrupted > ${INTERRUPTIONS_MAX}
        RETURNING webhook_id`,
    )
    .all(params)
  for (const [webhook_id, rows] of Map.groupBy(dead_rows, (row) => row.webhook_id))
    notifyEndedTo(db, webhook_id, { status: 'dead', count: rows.length })
}

/**
 * Shifts every wait by the jump of the wall clock, so that each takes its intended time. The same holds for the clocks
 * of targets: a week of failures stays a week, and the overlap of two secrets is not shortened. Deliveries due at once
 * stay due, and quiet hours are judged again.
 */
export function shiftForJump(db: Db, jump_ms: number, now: number): void {
  transact(db, () => {
    db.query(
      `UPDATE deliveries SET next_attempt_at =
              CASE WHEN retry_index = 0 OR held_until IS NOT NULL THEN min($now, next_attempt_at + $jump_ms) ELSE next_attempt_at + $jump_ms END
        WHERE row IN ${pendingDeliveries('row')}`,
    ).run({ jump_ms, now })
    // An overlap is never shortened: it may have been requested since the clock was set back.
    db.query(
      `UPDATE webhooks SET failing_since = failing_since + $jump_ms,
              old_secret_until = old_secret_until + max(0, $jump_ms)
        WHERE failing_since IS NOT NULL OR old_secret_until IS NOT NULL`,
    ).run({ jump_ms })
  })
}
