import { unpackBody } from './bodies.ts'
import type { Db } from './db.ts'
import { pendingDeliveries } from './pending.ts'

// What the dashboard shows as it happens. Each question ends after so many rows, however much there is: it is asked again
// a second later.

const CHECKS_LOOKED_AT = 5000
const MATCHES_COUNTED = 10_000
const RECENT = 20
/** More rows than are shown: what ended last need not be what began last. */
const RECENT_LOOKED_AT = 60

/** Whose: a customer's, or everybody's. */
type Whose = string | null

/** Finished looks since then, and how many new items they brought. */
export function countChecks(db: Db, whose: Whose, since: number) {
  const counted = `SELECT count(*) AS checks, coalesce(sum(new_items), 0) AS items_seen`
  type Row = { checks: number; items_seen: number }
  const row =
    whose === null
      ? db
          .query<Row, [{ since: number }]>(
            `${counted} FROM (SELECT ended_at, new_items FROM checks ORDER BY id DESC LIMIT ${CHECKS_LOOKED_AT})
              WHERE ended_at > $since`,
          )
          .get({ since })
      : db
          .query<Row, [{ since: number; whose: string }]>(
            `${counted} FROM (
               SELECT c.new_items FROM checks c WHERE c.ended_at > $since AND c.stream_id IN (
                 SELECT ms.stream_id FROM monitors m JOIN monitor_streams ms ON ms.monitor_id = m.id
                  WHERE m.customer_id = $whose AND m.removed_at IS NULL AND m.active = 1)
                LIMIT ${CHECKS_LOOKED_AT})`,
          )
          .get({ since, whose })
  return row ?? { checks: 0, items_seen: 0 }
}

/** Matches since then, those that travel together as one; at most 10,000 are counted. */
export function countMatches(db: Db, whose: Whose, since: number): number {
  const row = db
    .query<{ n: number }, [{ since: number; whose: Whose }]>(
      `SELECT count(*) AS n FROM (
         SELECT 1 FROM match_bodies b JOIN monitors m ON m.id = b.monitor_id
          WHERE b.matched_at > $since AND ($whose IS NULL OR m.customer_id = $whose) LIMIT ${MATCHES_COUNTED})`,
    )
    .get({ since, whose })
  return row?.n ?? 0
}

/** Deliveries that are on their way or wait; `max` when there are as many or more. */
export function countPending(db: Db, whose: Whose, max: number): number {
  const mine = 'WHERE webhook_id IN (SELECT id FROM webhooks WHERE customer_id = $whose)'
  const row = db
    .query<{ n: number }, [{ max: number; whose?: string }]>(
      `SELECT count(*) AS n FROM (
         SELECT 1 FROM ${pendingDeliveries('webhook_id')} ${whose === null ? '' : mine} LIMIT $max)`,
    )
    .get(whose === null ? { max } : { max, whose })
  return row?.n ?? 0
}

/** Something that happened of late. `body` is what was matched, as it is sent; null where nothing was. */
export type Happening = {
  at: number
  what: 'match' | 'delivered' | 'failed' | 'dead' | 'suppressed' | 'paused'
  /** Names it for good: the same happening has the same key. */
  key: string
  monitor_id: string | null
  monitor_name: string | null
  delivery_id: string | null
  webhook_id: string | null
  /** Why, as far as a row says so. */
  status: string | null
}

/** What happened last, the newest first. */
export function listHappenings(db: Db, whose: Whose): Happening[] {
  return [...ended(db, whose), ...matched(db, whose), ...paused(db, whose)]
    .toSorted((a, b) => b.at - a.at || (a.key < b.key ? -1 : 1))
    .slice(0, RECENT)
}

const ask = (db: Db, whose: Whose, sql: string): Happening[] =>
  db.query<Happening, [{ whose?: string }]>(sql).all(whose === null ? {} : { whose })

/** Deliveries that have ended, or were never begun. */
function ended(db: Db, whose: Whose): Happening[] {
  const newest =
    whose === null
      ? 'ORDER BY rowid DESC'
      : 'WHERE customer_id = $whose ORDER BY created_at DESC, id DESC'
  return ask(
    db,
    whose,
    `SELECT coalesce(d.delivered_at, (SELECT max(ended_at) FROM attempts a WHERE a.delivery_row = d.row),
                     d.created_at) AS at,
            d.status AS what, d.status || ' ' || d.id || ' ' || d.round AS key,
            d.monitor_id, m.name AS monitor_name, d.id AS delivery_id, d.webhook_id,
            CASE d.status WHEN 'delivered' THEN NULL ELSE coalesce(d.reason, d.last_error) END AS status
       FROM (SELECT row, id, monitor_id, webhook_id, status, reason, last_error, round, created_at, delivered_at
               FROM deliveries ${newest} LIMIT ${RECENT_LOOKED_AT}) d
       JOIN monitors m ON m.id = d.monitor_id
      WHERE d.status <> 'pending'`,
  )
}

/** Matches, as who fetches them gets them. A customer's are found by monitor: nobody else's need be passed over. */
function matched(db: Db, whose: Whose): Happening[] {
  const rows =
    whose === null
      ? `(SELECT monitor_id, seq, matched_at FROM match_bodies ORDER BY matched_at DESC LIMIT ${RECENT}) b
         JOIN monitors m ON m.id = b.monitor_id`
      : `(SELECT id, name FROM monitors WHERE customer_id = $whose AND last_match_at IS NOT NULL
           ORDER BY last_match_at DESC LIMIT ${RECENT}) m
         JOIN match_bodies b ON b.monitor_id = m.id
          AND b.seq > (SELECT max(seq) FROM match_bodies WHERE monitor_id = m.id) - ${RECENT}`
  return ask(
    db,
    whose,
    `SELECT b.matched_at AS at, 'match' AS what, 'match ' || b.monitor_id || ' ' || b.seq AS key,
            b.monitor_id, m.name AS monitor_name, NULL AS delivery_id, NULL AS webhook_id, NULL AS status
       FROM ${rows}`,
  )
}

/** Targets that nothing is sent to any more. */
function paused(db: Db, whose: Whose): Happening[] {
  const mine = whose === null ? '' : 'AND customer_id = $whose'
  return ask(
    db,
    whose,
    `SELECT paused_at AS at, 'paused' AS what, 'paused ' || id || ' ' || paused_at AS key,
            NULL AS monitor_id, NULL AS monitor_name, NULL AS delivery_id, id AS webhook_id, pause_reason AS status
       FROM webhooks WHERE paused_at IS NOT NULL AND deleted_at IS NULL ${mine}
      ORDER BY paused_at DESC LIMIT ${RECENT}`,
  )
}

/** What was matched, as it was sent; null where a happening has nothing of the kind, or it is gone. */
export function bodyOf(
  db: Db,
  { key, what, delivery_id, monitor_id }: Happening,
): Uint8Array | null {
  if (delivery_id !== null) {
    const row = db
      .query<{ body: Uint8Array }, [{ id: string }]>(
        'SELECT body FROM delivery_bodies WHERE delivery_row = (SELECT row FROM deliveries WHERE id = $id)',
      )
      .get({ id: delivery_id })
    return row && unpackBody(row.body)
  }
  if (what !== 'match' || monitor_id === null) return null
  const row = db
    .query<{ body: Uint8Array }, [{ monitor_id: string; seq: number }]>(
      'SELECT body FROM match_bodies WHERE monitor_id = $monitor_id AND seq = $seq',
    )
    .get({ monitor_id, seq: Number(key.split(' ').at(-1)) })
  return row?.body ?? null
}

/** Whose a delivery is; null when there is none of this id. */
export function customerOfDelivery(db: Db, id: string): string | null {
  return (
    db
      .query<{ customer_id: string }, [{ id: string }]>(
        'SELECT customer_id FROM deliveries WHERE id = $id',
      )
      .get({ id })?.customer_id ?? null
  )
}
