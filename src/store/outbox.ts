import type { DeliveryError, Verdict } from '../core/ladder.ts'
import { unpackBody } from './bodies.ts'
import { type Db, transact } from './db.ts'
import { type Addressee, clearFailures, recordFailure, retireWebhook } from './webhooks.ts'

// The pending rows are the queue. A lease is the id of the boot that holds it, not a time: no stall of the loop lets
// it lapse, and the next start frees it at once (the alternative, a time lease, does both worse).

/** How often an attempt may be cut short, by a crash or a fault of ours, before the delivery is given up. */
const INTERRUPTED_MAX = 20

/** A delivery this boot has taken, with the target to send it to. */
export type Claimed = Addressee & {
  id: string
  /** Attempts with a recorded outcome, over all rounds. */
  attempts: number
  /** Failed attempts in this round. */
  rung: number
  round: number
  body: Uint8Array
  body_sha256: Uint8Array
  max_per_second: number | null
}

/** What a target wants of those who send to it. */
type Wishes = { id: string; max_per_second: number | null; ordered: number }

export type Free = {
  /** Attempts that may start, all targets together. */
  slots: number
  /** Attempts that may start to this target. */
  of(webhook_id: string, max_per_second: number | null): number
  /** The instant before which a target with room wants nothing more; without it, it always does. */
  opensAt?(webhook_id: string, max_per_second: number | null): number
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
  const chosen = choose(dueIds(db, now, free, served_last), free.slots)
  if (chosen.length === 0) return []
  const take = db.query(
    `UPDATE deliveries SET lease = $boot WHERE id = $id AND status = 'pending' AND lease IS NULL`,
  )
  const read = db.query<Claimed, [{ id: string }]>(
    `SELECT d.id, d.webhook_id, d.attempts, d.rung, d.round, d.body, d.body_sha256, w.kind, w.url, w.secret,
            w.old_secret, w.old_secret_until, w.max_per_second
       FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id WHERE d.id = $id`,
  )
  return transact(db, () =>
    chosen.flatMap((id) => {
      const row = take.run({ id, boot }).changes === 1 ? read.get({ id }) : null
      return row === null ? [] : [{ ...row, body: unpackBody(row.body) }]
    }),
  )
}

/** The instant at which the next delivery is due to a target that has room; null when none waits. */
export function nextDueAt(db: Db, free: Free): number | null {
  let soonest: number | null = null
  for (const { id, max_per_second, ordered, next_at } of waitingTargets(db, WHOEVER)) {
    if (free.of(id, null) <= 0) continue
    const due_at = ordered ? firstDueOf(db, id) : next_at
    if (due_at === null) continue
    const at = Math.max(due_at, free.opensAt?.(id, max_per_second) ?? due_at)
    if (soonest === null || at < soonest) soonest = at
  }
  return soonest
}

const firstDueOf = (db: Db, webhook_id: string): number | null => {
  const waits = headsOf(db, webhook_id).map(({ next_attempt_at }) => next_attempt_at)
  return waits.length === 0 ? null : Math.min(...waits)
}

type Range = { after: string; until: string; due_by: number; limit: number }
/** No id begins with a sign beyond the letters. */
const LAST = '~'
const WHOEVER: Range = { after: '', until: LAST, due_by: Number.MAX_SAFE_INTEGER, limit: -1 }

/**
 * The targets for which something waits that is due by then, in the order of their ids: two steps in the index for each,
 * however many rows it has. The walk ends with the limit.
 */
function waitingTargets(db: Db, range: Range): (Wishes & { next_at: number })[] {
  return db
    .query<Wishes & { next_at: number }, [Range]>(
      `WITH RECURSIVE targets (id) AS (
         SELECT min(webhook_id) FROM deliveries
          WHERE status = 'pending' AND lease IS NULL AND webhook_id > $after
         UNION ALL
         SELECT (SELECT min(webhook_id) FROM deliveries
                  WHERE status = 'pending' AND lease IS NULL AND webhook_id > targets.id)
           FROM targets WHERE targets.id <= $until)
       SELECT w.id, w.max_per_second, w.ordered,
              (SELECT min(next_attempt_at) FROM deliveries
                WHERE webhook_id = targets.id AND status = 'pending' AND lease IS NULL) AS next_at
         FROM targets CROSS JOIN webhooks w ON w.id = targets.id
        WHERE targets.id <= $until AND next_at <= $due_by LIMIT $limit`,
    )
    .all(range)
}

/** So many targets are looked up together. */
const PAGE = 64

/** The targets to which something is due, beginning after the one that was served last, once around. */
function* dueTargets(db: Db, now: number, served_last: string): Generator<Wishes> {
  for (const [from, until] of [
    [served_last, LAST],
    ['', served_last],
  ] as const)
    for (let after: string | undefined = from; after !== undefined;) {
      const page = waitingTargets(db, { after, until, due_by: now, limit: PAGE })
      yield* page
      after = page.length < PAGE ? undefined : page.at(-1)?.id
    }
}

/** What is due to each target that has room, for as many targets as there are slots. */
function dueIds(db: Db, now: number, free: Free, served_last: string): string[][] {
  const due = db.query<{ id: string }, [{ id: string; now: number; room: number }]>(
    `SELECT id FROM deliveries
      WHERE webhook_id = $id AND status = 'pending' AND lease IS NULL AND next_attempt_at <= $now
      ORDER BY next_attempt_at LIMIT $room`,
  )
  const queues: string[][] = []
  if (free.slots <= 0) return queues
  for (const { id: webhook_id, max_per_second, ordered } of dueTargets(db, now, served_last)) {
    const room = Math.min(free.of(webhook_id, max_per_second), free.slots)
    if (room <= 0) continue
    const rows = ordered
      ? dueHeads(db, webhook_id, now).slice(0, room)
      : due.all({ id: webhook_id, now, room })
    if (rows.length > 0) queues.push(rows.map(({ id }) => id))
    // Each gets one before any gets two: who comes behind is served next time.
    if (queues.length === free.slots) break
  }
  return queues
}

type Head = { id: string; next_attempt_at: number }

/** Of each monitor the oldest delivery to this target that has not ended, unless it is on its way. */
function headsOf(db: Db, webhook_id: string): Head[] {
  return db
    .query<Head & { lease: string | null }, [{ webhook_id: string }]>(
      `WITH RECURSIVE monitored (id) AS (
         SELECT min(monitor_id) FROM deliveries WHERE webhook_id = $webhook_id AND status = 'pending'
         UNION ALL
         SELECT (SELECT min(monitor_id) FROM deliveries
                  WHERE webhook_id = $webhook_id AND status = 'pending' AND monitor_id > monitored.id)
           FROM monitored WHERE monitored.id IS NOT NULL)
       SELECT d.id, d.next_attempt_at, d.lease FROM monitored JOIN deliveries d ON d.id =
              (SELECT id FROM deliveries WHERE webhook_id = $webhook_id AND monitor_id = monitored.id
                  AND status = 'pending' ORDER BY created_at, id LIMIT 1)
        ORDER BY d.next_attempt_at, d.id`,
    )
    .all({ webhook_id })
    .filter(({ lease }) => lease === null)
}

const dueHeads = (db: Db, webhook_id: string, now: number): Head[] =>
  headsOf(db, webhook_id).filter(({ next_attempt_at }) => next_attempt_at <= now)

/** One of each in turn. */
function choose(queues: readonly string[][], slots: number): string[] {
  const longest = Math.max(0, ...queues.map((ids) => ids.length))
  const turns = Array.from({ length: longest }, (_, turn) =>
    queues.flatMap((ids) => ids[turn] ?? []),
  )
  return turns.flat().slice(0, slots)
}

/** An attempt that ended, whatever way. */
export type Ended = {
  delivery: Pick<Claimed, 'id' | 'webhook_id' | 'attempts' | 'rung' | 'round'>
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
 * Writes down how an attempt ended: the delivery's next state, the attempt, and what it says about the target.
 * False when the delivery is no longer this boot's to decide, such as after its target was deleted.
 */
export function recordEnded(db: Db, boot: string, ended: Ended, now: number): boolean {
  const { delivery, verdict } = ended
  const error = verdict.status === 'delivered' ? null : verdict.error
  return transact(db, () => {
    const { changes } = db
      .query(
        `UPDATE deliveries SET status = $status, attempts = attempts + 1, rung = rung + 1, lease = NULL,
                next_attempt_at = $next_attempt_at, last_error = coalesce($error, last_error),
                delivered_at = $delivered_at
          WHERE id = $id AND status = 'pending' AND lease = $boot`,
      )
      .run({
        id: delivery.id,
        boot,
        status: verdict.status,
        error,
        next_attempt_at: verdict.status === 'pending' ? now + verdict.delay_ms : null,
        delivered_at: verdict.status === 'delivered' ? ended.ended_at : null,
      })
    if (changes === 0) return false
    db.query(
      `INSERT INTO attempts (delivery_id, n, round, boot, started_at, ended_at, http_status, error, headers, body_start)
       VALUES ($id, $n, $round, $boot, $started_at, $ended_at, $http_status, $error, $headers, $body_start)`,
    ).run({
      id: delivery.id,
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
    if (verdict.status === 'delivered') clearFailures(db, delivery.webhook_id)
    if (verdict.status === 'failed' || verdict.status === 'dead')
      recordFailure(db, delivery.webhook_id, now)
    if (verdict.status === 'failed' && verdict.gone) retireWebhook(db, delivery.webhook_id, now)
    return true
  })
}

/** Gives a delivery up without an attempt, for a reason of our own. */
export function giveUp(db: Db, boot: string, id: string, error: DeliveryError): void {
  db.query(
    `UPDATE deliveries SET status = 'failed', last_error = $error, next_attempt_at = NULL, lease = NULL
      WHERE id = $id AND status = 'pending' AND lease = $boot`,
  ).run({ id, boot, error })
}

/** Puts back a delivery whose attempt came to no outcome: the same rung again, but not without end. */
export function putBack(db: Db, boot: string, id: string, next_attempt_at: number): void {
  transact(db, () => {
    db.query(
      `UPDATE deliveries SET lease = NULL, interrupted = interrupted + 1, next_attempt_at = $next_attempt_at
        WHERE id = $id AND status = 'pending' AND lease = $boot`,
    ).run({ id, boot, next_attempt_at })
    buryInterrupted(db)
  })
}

/**
 * Frees what an earlier boot held, to be attempted again on the same rung, and brings every waiting row to within
 * its rung of now: the clock may have been wrong while we were down. Returns how many attempts were cut short.
 */
export function reclaim(
  db: Db,
  boot: string,
  retry_delays_s: readonly number[],
  now: number,
): number {
  return transact(db, () => {
    const { changes } = db
      .query(
        `UPDATE deliveries SET lease = NULL, interrupted = interrupted + 1
          WHERE lease IS NOT NULL AND lease <> $boot`,
      )
      .run({ boot })
    buryInterrupted(db)
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

// Only rows that were just freed can have passed the limit, so the due ones are all there is to look at.
function buryInterrupted(db: Db): void {
  db.query(
    `UPDATE deliveries SET status = 'dead', last_error = 'interrupted_repeatedly', next_attempt_at = NULL
      WHERE status = 'pending' AND lease IS NULL AND interrupted > ${INTERRUPTED_MAX}`,
  ).run()
}

/**
 * Moves every wait by as much as the wall clock has jumped, so that each takes as long as was meant. What was due at
 * once stays so. Clocks of failing targets follow a jump of more than an hour.
 */
export function followJump(db: Db, jump_ms: number, now: number): void {
  transact(db, () => {
    db.query(
      `UPDATE deliveries SET next_attempt_at =
              CASE WHEN rung = 0 THEN min($now, next_attempt_at + $jump_ms) ELSE next_attempt_at + $jump_ms END
        WHERE status = 'pending'`,
    ).run({ jump_ms, now })
    if (Math.abs(jump_ms) > LONG_JUMP_MS)
      db.query(
        'UPDATE webhooks SET failing_since = failing_since + $jump_ms WHERE failing_since IS NOT NULL',
      ).run({ jump_ms })
  })
}

const LONG_JUMP_MS = 3_600_000
