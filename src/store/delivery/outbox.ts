import { hash } from 'node:crypto'

import { heldUntil, readAttention } from '../../core/delivery/attention.ts'
import type { DeliveryError, DeliveryVerdict } from '../../core/delivery/retry.ts'
import { type Db, transact } from '../db/connection.ts'
import { tallyAttempts } from './health.ts'
import {
  BODY_COLUMNS,
  ITEM_DELETED,
  messageOf,
  renderBody,
  type StoredBody,
  unpackBody,
} from './messages.ts'
import { IN_FLIGHT, notifyEnded, notifyEndedTo, pendingDeliveries } from './pending.ts'
import type { Addressee } from './targets.ts'
import { IS_SHUT, recordFailure, retireWebhook } from './webhooks.ts'

// Selects the waiting rows to send next. The cost does not depend on how many rows wait for one target: a target costs
// one step in the index. Only targets with due rows cost more, at most as many as one iteration can serve.

type TargetLimits = { id: string; max_per_second: number | null; ordered: number }

export type SendCapacity = {
  slots: number
  /** Attempts that may start to this target. */
  of(webhook_id: string, max_per_second: number | null): number
  /** Instant from which a target accepts another one, by its rate; Infinity: when an attempt ends. Absent: as `of` says. */
  opensAt?(webhook_id: string, max_per_second: number | null): number
  /** Rows of deliveries to a target that are in flight; absent: none. */
  inFlight?(webhook_id: string): ReadonlySet<number>
}

const NONE: ReadonlySet<number> = new Set()
const inFlightTo = (free: SendCapacity, webhook_id: string) => free.inFlight?.(webhook_id) ?? NONE

/** Due time of the next delivery to a target with capacity; null when none waits. */
export function nextDueDeliveryAt(db: Db, free: SendCapacity): number | null {
  let soonest: number | null = null
  for (const { id, max_per_second, ordered, next_at } of waitingTargets(db)) {
    const opens_at =
      free.opensAt?.(id, max_per_second) ?? (free.of(id, max_per_second) > 0 ? 0 : Infinity)
    if (opens_at === Infinity) continue
    const taken = inFlightTo(free, id)
    const due_at = ordered
      ? firstDueOf(db, id, taken)
      : taken.size === 0
        ? next_at
        : (firstOf(db, { id, now: Infinity, room: 1 }, taken)[0]?.next_attempt_at ?? null)
    if (due_at === null) continue
    const at = Math.max(due_at, opens_at)
    if (soonest === null || at < soonest) soonest = at
  }
  return soonest
}

const firstDueOf = (db: Db, webhook_id: string, taken: ReadonlySet<number>): number | null => {
  const waits = oldestByMonitor(db, webhook_id, taken).map(({ next_attempt_at }) => next_attempt_at)
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
      WHERE d.status = 'pending' AND d.webhook_id > $after AND d.webhook_id <= $until
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

/** The first waiting deliveries of a target that are due at `now`, without those in flight. */
function firstOf(
  db: Db,
  { id, now, room }: { id: string; now: number; room: number },
  taken: ReadonlySet<number>,
): OldestDelivery[] {
  // SQLite prepares a statement with a bare LIMIT parameter again at every call; with a sum it does not.
  return db
    .query<OldestDelivery, [{ id: string; now: number; room: number }]>(
      `SELECT row, next_attempt_at FROM deliveries
        WHERE webhook_id = $id AND status = 'pending' AND next_attempt_at <= $now
        ORDER BY next_attempt_at LIMIT $room + 0`,
    )
    .all({ id, now, room: room + taken.size })
    .filter(({ row }) => !taken.has(row))
    .slice(0, room)
}

/** Targets among these, without a look at what waits for them. */
const targetsAmong = (db: Db, ids: readonly string[]): TargetLimits[] =>
  db
    .query<TargetLimits, [{ ids: string }]>(
      `SELECT w.id, w.max_per_second, w.ordered FROM json_each($ids) CROSS JOIN webhooks w ON w.id = value`,
    )
    .all({ ids: JSON.stringify(ids) })

/** Deliveries to be sent that a transaction has written, and their targets. */
export type Written = { rows: ReadonlySet<number>; webhook_ids: readonly string[] }

type Choice = {
  now: number
  free: SendCapacity
  served_last: string
  /** The only targets to serve; absent: all. */
  among?: readonly string[] | undefined
  /** Called when due deliveries do not fit. */
  onLeft?: () => void
}

/**
 * Due rows, at most one per slot: one of each target with capacity in turn, beginning after the one that was served
 * last.
 */
function dueDeliveries(db: Db, { now, free, served_last, among, onLeft }: Choice): number[] {
  const queues: number[][] = []
  if (free.slots <= 0) {
    onLeft?.()
    return []
  }
  const targets = among === undefined ? dueTargets(db, now, served_last) : targetsAmong(db, among)
  for (const { id, max_per_second, ordered } of targets) {
    const capacity = Math.min(free.of(id, max_per_second), free.slots)
    const taken = inFlightTo(free, id)
    if (capacity <= 0) {
      onLeft?.()
      continue
    }
    const rows = ordered
      ? dueOldest(db, id, now, taken).slice(0, capacity)
      : firstOf(db, { id, now, room: capacity }, taken)
    if (rows.length > 0) queues.push(rows.map(({ row }) => row))
    if (rows.length === capacity || ordered) onLeft?.()
    // Each target gets one slot before any gets two; the others are served next time.
    if (queues.length === free.slots) break
  }
  return interleave(queues).slice(0, free.slots)
}

type OldestDelivery = { row: number; next_attempt_at: number }

/** The oldest unfinished delivery of each monitor to this target, without those in flight. */
function oldestByMonitor(db: Db, webhook_id: string, taken: ReadonlySet<number>): OldestDelivery[] {
  return db
    .query<OldestDelivery, [{ webhook_id: string }]>(
      `WITH RECURSIVE monitored (id) AS (
         SELECT min(monitor_id) FROM deliveries WHERE webhook_id = $webhook_id AND in_order = 1 AND status = 'pending'
         UNION ALL
         SELECT (SELECT min(monitor_id) FROM deliveries
                  WHERE webhook_id = $webhook_id AND in_order = 1 AND status = 'pending' AND monitor_id > monitored.id)
           FROM monitored WHERE monitored.id IS NOT NULL)
       SELECT d.row, d.next_attempt_at FROM monitored JOIN deliveries d ON d.row =
              (SELECT row FROM deliveries WHERE webhook_id = $webhook_id AND monitor_id = monitored.id
                  AND in_order = 1 AND status = 'pending' ORDER BY created_at, id LIMIT 1)
        ORDER BY d.next_attempt_at, d.id`,
    )
    .all({ webhook_id })
    .filter(({ row }) => !taken.has(row))
}

const dueOldest = (
  db: Db,
  webhook_id: string,
  now: number,
  taken: ReadonlySet<number>,
): OldestDelivery[] =>
  oldestByMonitor(db, webhook_id, taken).filter(({ next_attempt_at }) => next_attempt_at <= now)

/** The first entry of each queue, then the second of each, and so on. */
function interleave(queues: readonly number[][]): number[] {
  const longest = Math.max(0, ...queues.map((rows) => rows.length))
  const positions = Array.from({ length: longest }, (_, position) =>
    queues.flatMap((rows) => rows[position] ?? []),
  )
  return positions.flat()
}

// The pending rows are the queue. Memory holds which of them are in flight; `loop_state` repeats it for other processes and
// for the next start, which counts them as interrupted.

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
  /** False: what is stored is not what was written. */
  is_whole: boolean
  /** Time of the last erasure of content in it; null: none. */
  erased_at: number | null
  max_per_second: number | null
  /** Creation time, true time. */
  created_at: number
}

/**
 * Claims due deliveries for this run, beside those that are `running`: one of each target in turn, beginning after
 * `served_last`. A target with thousands waiting delays no other by more than one round.
 */
export function claimDue(
  db: Db,
  { run_id, running = [], ...choice }: Choice & { run_id: string; running?: readonly Claim[] },
): ClaimedDelivery[] {
  const { now } = choice
  // Reading costs no transaction; of the rows found those are claimed that still wait.
  const chosen = dueDeliveries(db, choice)
  if (chosen.length === 0) return []
  return transact(db, () => {
    const claimed = readDue(db, chosen, now)
    if (claimed.length > 0) storeClaims(db, run_id, [...running, ...claimed])
    return claimed
  })
}

/** Reads deliveries to send, without those that are held back. */
function readDue(db: Db, rows: readonly number[], now: number): ClaimedDelivery[] {
  type Found = Omit<ClaimedDelivery, 'body' | 'is_whole'> &
    StoredBody & { attention: string | null; digest: Uint8Array | null }
  const hold = createHold(db, now)
  return db
    .query<Found, [{ rows: string }]>(
      `SELECT d.row, d.webhook_id, d.attempts, d.interrupted, d.retry_index, d.round, d.created_at, m.attention,
              w.kind, w.url, w.secret, w.credentials, w.old_secret, w.old_secret_until, w.max_per_second, g.digest,
              ${BODY_COLUMNS}
         FROM json_each($rows) c CROSS JOIN deliveries d ON d.row = c.value
         JOIN messages g ON g.row = ${messageOf('d.row')} JOIN webhooks w ON w.id = d.webhook_id
         JOIN monitors m ON m.id = d.monitor_id
        WHERE d.status = 'pending' ORDER BY c.key`,
    )
    .all({ rows: JSON.stringify(rows) })
    .flatMap((found) => {
      if (hold(found)) return []
      const { row, reason, content, digest } = found
      if (reason === 'item_deleted' || content === null) {
        // Its items were erased while an attempt was in flight, which brought no answer.
        db.query(
          `UPDATE deliveries SET status = 'suppressed', reason = 'item_deleted', next_attempt_at = NULL,
                  suppressed = '${ITEM_DELETED}' WHERE row = $row`,
        ).run({ row })
        return []
      }
      const is_whole =
        digest !== null && hash('sha256', unpackBody(content), 'buffer').equals(digest)
      return [{ ...found, body: renderBody(found), is_whole }]
    })
}

type Claim = Pick<ClaimedDelivery, 'row' | 'attempts'>

/** Stores which deliveries are in flight. */
export function storeClaims(db: Db, run_id: string, in_flight: readonly Claim[]): void {
  db.query(
    "INSERT OR REPLACE INTO loop_state (loop, name, value) VALUES ('claims', $run_id, $rows)",
  ).run({
    run_id,
    rows: JSON.stringify(in_flight.map(({ row, attempts }) => [row, attempts])),
  })
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
    'row' | 'kind' | 'webhook_id' | 'attempts' | 'round' | 'erased_at'
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

type Stored = { row: number; status: DeliveryVerdict['status'] }

/**
 * Records attempts: the next state of each delivery, the attempt, and the effect on the target. A target that was switched
 * off or paused meanwhile gets no further attempt. Runs within a transaction. An attempt that was recorded before changes
 * nothing, nor does one whose delivery has ended, unless {@link recordLate} may. Returns the targets that were paused as gone.
 */
export function recordAttempts(db: Db, ended: readonly EndedAttempt[], now: number): string[] {
  if (ended.length === 0) return []
  const stored = storeOutcomes(db, ended, now)
  const counted = ended.filter((it) => stored.has(it.delivery.row) || recordLate(db, it))
  if (counted.length === 0) return []
  insertAttempts(db, counted)
  tallyAttempts(
    db,
    counted.map(({ delivery: { webhook_id, row, attempts }, verdict, ended_at }) => ({
      webhook_id,
      row,
      n: attempts + 1,
      ended_at,
      succeeded: verdict.status === 'delivered',
    })),
  )
  return ended.flatMap(({ delivery: { row, kind, webhook_id }, verdict }) => {
    // The end of a late one was reported when its target was deleted, and nothing is left to pause.
    const status = stored.get(row)
    if (status === undefined) return []
    if (status !== 'pending') notifyEnded(db, { status, kind, count: 1 })
    if (verdict.status === 'failed' || verdict.status === 'dead') recordFailure(db, webhook_id, now)
    return verdict.status === 'failed' && verdict.gone && retireWebhook(db, webhook_id, now)
      ? [webhook_id]
      : []
  })
}

/** Stores outcomes of deliveries that still wait for them, with their rows and new states. */
function storeOutcomes(
  db: Db,
  ended: readonly EndedAttempt[],
  now: number,
): Map<number, DeliveryVerdict['status']> {
  const outcomes = ended.map(({ delivery: { row, attempts }, verdict, ended_at }) => ({
    row,
    attempts,
    status: verdict.status,
    next: verdict.status === 'pending' ? now + verdict.delay_ms : null,
    error: verdict.status === 'delivered' ? null : verdict.error,
    delivered_at: verdict.status === 'delivered' ? ended_at : null,
  }))
  const rows = db
    .query<Stored, [{ outcomes: string }]>(
      `UPDATE deliveries SET status = o.status, attempts = deliveries.attempts + 1, retry_index = retry_index + 1,
              next_attempt_at = o.next, last_error = coalesce(o.error, last_error), delivered_at = o.delivered_at,
              held_until = NULL
         FROM (SELECT v.row, v.attempts, iif(v.shut, 'failed', v.status) AS status, iif(v.shut, NULL, v.next) AS next,
                      iif(v.shut, 'webhook_paused', v.error) AS error, v.delivered_at
                 FROM (SELECT value ->> 'row' AS row, value ->> 'attempts' AS attempts, value ->> 'status' AS status,
                              value ->> 'next' AS next, value ->> 'error' AS error,
                              value ->> 'delivered_at' AS delivered_at,
                              value ->> 'status' = 'pending' AND EXISTS (
                                SELECT 1 FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id
                                 WHERE d.row = value ->> 'row' AND ${IS_SHUT}) AS shut
                         FROM json_each($outcomes)) v) o
        WHERE deliveries.row = o.row AND deliveries.status = 'pending' AND deliveries.attempts = o.attempts
        RETURNING row, status`,
    )
    .all({ outcomes: JSON.stringify(outcomes) })
  return new Map(rows.map(({ row, status }) => [row, status]))
}

function insertAttempts(db: Db, ended: readonly EndedAttempt[]): void {
  const rows = ended.map(({ delivery, verdict, excerpt, ...it }) => ({
    row: delivery.row,
    n: delivery.attempts + 1,
    round: delivery.round,
    started_at: it.started_at,
    ended_at: it.ended_at,
    http_status: it.http_status,
    error: verdict.status === 'delivered' ? null : verdict.error,
    headers: excerpt && JSON.stringify(excerpt.headers),
    body_start: excerpt?.body_start ?? null,
    erased_at: delivery.erased_at,
  }))
  // A response may echo the request, whose content was erased during the attempt.
  db.query(
    `INSERT INTO attempts (delivery_row, n, round, started_at, ended_at, http_status, error, headers, body_start)
     SELECT row, n, round, started_at, ended_at, http_status, error, iif(is_kept, headers, NULL),
            iif(is_kept, body_start, NULL)
       FROM (SELECT value ->> 'row' AS row, value ->> 'n' AS n, value ->> 'round' AS round,
                    value ->> 'started_at' AS started_at, value ->> 'ended_at' AS ended_at,
                    value ->> 'http_status' AS http_status, value ->> 'error' AS error,
                    value ->> 'headers' AS headers, value ->> 'body_start' AS body_start,
                    g.erased_at IS value ->> 'erased_at' AND g.body IS NOT NULL AS is_kept
               FROM json_each($rows) JOIN messages g ON g.row = ${messageOf("(value ->> 'row')")})`,
  ).run({ rows: JSON.stringify(rows) })
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

const IS_CLAIMED = "row = $row AND attempts = $attempts AND status = 'pending'"

/** Fails a delivery without an attempt, for an internal reason. */
export function abandon(
  db: Db,
  { row, attempts, kind }: Claim & Pick<ClaimedDelivery, 'kind'>,
  error: DeliveryError,
): void {
  const { changes: count } = db
    .query(
      `UPDATE deliveries SET status = 'failed', last_error = $error, next_attempt_at = NULL WHERE ${IS_CLAIMED}`,
    )
    .run({ row, attempts, error })
  notifyEnded(db, { status: 'failed', kind, count })
}

/** Returns a delivery to the queue for which no attempt was made. Its retry index stays. */
export function postpone(db: Db, { row, attempts }: Claim, next_attempt_at: number): void {
  db.query(`UPDATE deliveries SET next_attempt_at = $next_attempt_at WHERE ${IS_CLAIMED}`).run({
    row,
    attempts,
    next_attempt_at,
  })
}

/**
 * Returns a delivery to the queue whose attempt had no outcome: the same delay again, for a limited number of times.
 */
export function requeue(db: Db, { row, attempts }: Claim, next_attempt_at: number): void {
  transact(db, () => {
    db.query(
      `UPDATE deliveries SET interrupted = interrupted + 1, next_attempt_at = $next_attempt_at WHERE ${IS_CLAIMED}`,
    ).run({ row, attempts, next_attempt_at })
    // Only this delivery: scanning all waiting ones for each of many would block the loop.
    deadLetter(db, 'row = $row', { row })
  })
}

/**
 * Ends the claims of earlier runs at start, before anything is claimed; the retry index stays. Due times are limited to
 * the current delay of each row, because the clock may have been wrong while the daemon was down. Returns the number of
 * interrupted attempts.
 */
export function recoverClaims(db: Db, retry_delays_s: readonly number[], now: number): number {
  return transact(db, () => {
    const { changes } = db.run(
      `UPDATE deliveries SET interrupted = interrupted + 1 WHERE row IN ${IN_FLIGHT}`,
    )
    db.run("DELETE FROM loop_state WHERE loop = 'claims'")
    deadLetter(db, 'TRUE')
    const clamp = db.query(
      `UPDATE deliveries SET next_attempt_at = $latest
        WHERE status = 'pending' AND retry_index = $retry_index AND next_attempt_at > $latest`,
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
  which: 'TRUE' | 'row = $row',
  params: { row: number } | null = null,
): void {
  const dead_rows = db
    .query<{ webhook_id: string }, [{ row: number } | null]>(
      `UPDATE deliveries SET status = 'dead', last_error = 'interrupted_repeatedly', next_attempt_at = NULL
        WHERE ${which} AND status = 'pending' AND interrupted > ${INTERRUPTIONS_MAX}
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
