import type { Db } from './db.ts'

// Which of the waiting rows are to be sent next. However many wait for one target, another's are as near: a target costs
// one step in the index, and only those to which something is due cost more, as many of them as a turn can serve.

/** What a target wants of those who send to it. */
type Wishes = { id: string; max_per_second: number | null; ordered: number }

/** How much room there is to send. */
export type Free = {
  /** Attempts that may start, all targets together. */
  slots: number
  /** Attempts that may start to this target. */
  of(webhook_id: string, max_per_second: number | null): number
  /** The instant before which a target with room wants nothing more; without it, it always does. */
  opensAt?(webhook_id: string, max_per_second: number | null): number
}

/** The instant at which the next delivery is due to a target that has room; null when none waits. */
export function nextDueAt(db: Db, free: Free): number | null {
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
  const waits = headsOf(db, webhook_id).map(({ next_attempt_at }) => next_attempt_at)
  return waits.length === 0 ? null : Math.min(...waits)
}

/** No id begins with a sign beyond the letters. */
const LAST = '~'

/**
 * The targets for which something waits, after one id and up to another, in the order of their ids: one step in the
 * index for each, however many rows it has.
 */
function* waitingTargets(db: Db, from = '', until = LAST): Generator<Wishes & { next_at: number }> {
  const next = db.query<Wishes & { next_at: number }, [{ after: string; until: string }]>(
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

/** The targets to which something is due, beginning after the one that was served last, once around. */
function* dueTargets(db: Db, now: number, served_last: string): Generator<Wishes> {
  for (const [from, until] of [
    [served_last, LAST],
    ['', served_last],
  ] as const)
    for (const target of waitingTargets(db, from, until)) if (target.next_at <= now) yield target
}

/**
 * The rows of what is due, as many as there are slots: one of each target that has room in turn, beginning after the one
 * that was served last.
 */
export function dueDeliveries(
  db: Db,
  { now, free, served_last }: { now: number; free: Free; served_last: string },
): number[] {
  // A LIMIT that is a bare parameter makes SQLite prepare the statement anew at every call; a sum does not.
  const due = db.query<{ row: number }, [{ id: string; now: number; room: number }]>(
    `SELECT row FROM deliveries
      WHERE webhook_id = $id AND status = 'pending' AND lease IS NULL AND next_attempt_at <= $now
      ORDER BY next_attempt_at LIMIT $room + 0`,
  )
  const queues: number[][] = []
  if (free.slots <= 0) return []
  for (const { id: webhook_id, max_per_second, ordered } of dueTargets(db, now, served_last)) {
    const room = Math.min(free.of(webhook_id, max_per_second), free.slots)
    if (room <= 0) continue
    const rows = ordered
      ? dueHeads(db, webhook_id, now).slice(0, room)
      : due.all({ id: webhook_id, now, room })
    if (rows.length > 0) queues.push(rows.map(({ row }) => row))
    // Each gets one before any gets two: who comes behind is served next time.
    if (queues.length === free.slots) break
  }
  return inTurns(queues).slice(0, free.slots)
}

type Head = { row: number; next_attempt_at: number }

/** Of each monitor the oldest delivery to this target that has not ended, unless it is on its way. */
function headsOf(db: Db, webhook_id: string): Head[] {
  return db
    .query<Head & { lease: string | null }, [{ webhook_id: string }]>(
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

const dueHeads = (db: Db, webhook_id: string, now: number): Head[] =>
  headsOf(db, webhook_id).filter(({ next_attempt_at }) => next_attempt_at <= now)

/** The first of each, then the second of each, and so on. */
function inTurns(queues: readonly number[][]): number[] {
  const longest = Math.max(0, ...queues.map((rows) => rows.length))
  const turns = Array.from({ length: longest }, (_, turn) =>
    queues.flatMap((rows) => rows[turn] ?? []),
  )
  return turns.flat()
}
