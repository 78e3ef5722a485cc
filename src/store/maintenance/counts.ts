import { type Db, schemaVersion } from '../db/connection.ts'
import {
  BODY_COLUMNS,
  messageOf,
  renderBody,
  type StoredBody,
  unpackBody,
} from '../delivery/messages.ts'
import { pendingDeliveries, RETRYING } from '../delivery/pending.ts'

/** Longest backlog that is counted exactly. */
const PENDING_MAX = 10_000

/** The current work of the daemon; deliveries are counted up to ten thousand. */
export function countActive(db: Db): { monitors: number; feeds: number; pending: number } {
  const row = db
    .query<{ monitors: number; feeds: number; pending: number }, []>(
      `SELECT (SELECT count(*) FROM monitors WHERE active = 1 AND removed_at IS NULL) AS monitors,
              (SELECT count(*) FROM feeds WHERE next_check_at IS NOT NULL) AS feeds,
              (SELECT count(*) FROM (SELECT 1 FROM ${pendingDeliveries('row')} LIMIT ${PENDING_MAX})) AS pending`,
    )
    .get()
  return row ?? { monitors: 0, feeds: 0, pending: 0 }
}

// Queries of the live dashboard. Each one has a row limit, because it runs again every second.

const CHECKS_SCAN_MAX = 5000
const MATCHES_COUNT_MAX = 10_000
const RECENT_MAX = 20
/** Rows scanned: more than are shown, because the last to end need not be the last to begin. */
const RECENT_SCAN_MAX = 60

/** Customer to restrict a query to; null: all customers. */
type CustomerScope = string | null

export function countChecks(db: Db, customer_id: CustomerScope, since: number) {
  const counted = `SELECT count(*) AS checks, coalesce(sum(new_items), 0) AS items_seen`
  type Row = { checks: number; items_seen: number }
  const row =
    customer_id === null
      ? db
          .query<Row, [{ since: number }]>(
            `${counted} FROM (SELECT ended_at, new_items FROM checks ORDER BY id DESC LIMIT ${CHECKS_SCAN_MAX})
              WHERE ended_at > $since`,
          )
          .get({ since })
      : db
          .query<Row, [{ since: number; whose: string }]>(
            `${counted} FROM (
               SELECT c.new_items FROM checks c WHERE c.ended_at > $since AND c.feed_id IN (
                 SELECT ms.feed_id FROM monitors m JOIN monitor_feeds ms ON ms.monitor_id = m.id
                  WHERE m.customer_id = $whose AND m.removed_at IS NULL AND m.active = 1)
                LIMIT ${CHECKS_SCAN_MAX})`,
          )
          .get({ since, whose: customer_id })
  return row ?? { checks: 0, items_seen: 0 }
}

/** Matches since an instant, a bundle counting as one; at most 10,000 are counted. */
export function countMatches(db: Db, customer_id: CustomerScope, since: number): number {
  const row = db
    .query<{ n: number }, [{ since: number; whose: CustomerScope }]>(
      `SELECT count(*) AS n FROM (
         SELECT 1 FROM messages b JOIN monitors m ON m.id = b.monitor_id
          WHERE b.seq IS NOT NULL AND b.matched_at > $since AND ($whose IS NULL OR m.customer_id = $whose) LIMIT ${MATCHES_COUNT_MAX})`,
    )
    .get({ since, whose: customer_id })
  return row?.n ?? 0
}

/** Deliveries before their first attempt, and those that failed and are tried again. */
export type PendingCounts = { waiting: number; retrying: number }

/** Waiting and retrying deliveries, each counted up to `max`. */
export function countPending(db: Db, customer_id: CustomerScope, max: number): PendingCounts {
  const mine =
    customer_id === null
      ? ''
      : 'webhook_id IN (SELECT id FROM webhooks WHERE customer_id = $whose) AND'
  const count = (from: string, limit: number) =>
    db
      .query<{ n: number }, [{ limit: number; whose?: string }]>(
        `SELECT count(*) AS n FROM (SELECT 1 FROM ${from} LIMIT $limit)`,
      )
      .get(customer_id === null ? { limit } : { limit, whose: customer_id })?.n ?? 0
  const retrying = count(`deliveries INDEXED BY deliveries_retrying WHERE ${mine} ${RETRYING}`, max)
  // The index of pending deliveries does not tell one from the other.
  const pending = count(`${pendingDeliveries('webhook_id')} WHERE ${mine} 1`, max + retrying)
  return { waiting: pending - retrying, retrying }
}

/** A recent event. `body`: the matched item as it is sent; null where there is none. */
export type ActivityEvent = {
  at: number
  what: 'match' | 'delivered' | 'failed' | 'dead' | 'suppressed' | 'paused'
  /** Stable key: the same event always has the same key. */
  key: string
  monitor_id: string | null
  monitor_name: string | null
  delivery_id: string | null
  webhook_id: string | null
  /** Status or reason, if the row has one. */
  status: string | null
}

/** The latest events, newest first. */
export function listActivity(db: Db, customer_id: CustomerScope): ActivityEvent[] {
  return [
    ...endedDeliveries(db, customer_id),
    ...recentMatches(db, customer_id),
    ...pausedWebhooks(db, customer_id),
  ]
    .toSorted((a, b) => b.at - a.at || (a.key < b.key ? -1 : 1))
    .slice(0, RECENT_MAX)
}

const queryActivity = (db: Db, customer_id: CustomerScope, sql: string): ActivityEvent[] =>
  db
    .query<ActivityEvent, [{ whose?: string }]>(sql)
    .all(customer_id === null ? {} : { whose: customer_id })

/** Deliveries that have ended, or were never started. */
function endedDeliveries(db: Db, customer_id: CustomerScope): ActivityEvent[] {
  const newest =
    customer_id === null
      ? 'ORDER BY rowid DESC'
      : 'WHERE customer_id = $whose ORDER BY created_at DESC, id DESC'
  return queryActivity(
    db,
    customer_id,
    `SELECT coalesce(d.delivered_at, (SELECT max(ended_at) FROM attempts a WHERE a.delivery_row = d.row),
                     d.created_at) AS at,
            d.status AS what, d.status || ' ' || d.id || ' ' || d.round AS key,
            d.monitor_id, m.name AS monitor_name, d.id AS delivery_id, d.webhook_id,
            CASE d.status WHEN 'delivered' THEN NULL ELSE coalesce(d.reason, d.last_error) END AS status
       FROM (SELECT row, id, monitor_id, webhook_id, status, reason, last_error, round, created_at, delivered_at
               FROM deliveries ${newest} LIMIT ${RECENT_SCAN_MAX}) d
       JOIN monitors m ON m.id = d.monitor_id
      WHERE d.status <> 'pending'`,
  )
}

/**
 * Matches as the pull API returns them. A customer's are found by monitor, so that no rows of other customers are
 * read.
 */
function recentMatches(db: Db, customer_id: CustomerScope): ActivityEvent[] {
  const rows =
    customer_id === null
      ? `(SELECT monitor_id, seq, matched_at FROM messages WHERE seq IS NOT NULL ORDER BY matched_at DESC LIMIT ${RECENT_MAX}) b
         JOIN monitors m ON m.id = b.monitor_id`
      : `(SELECT id, name FROM monitors WHERE customer_id = $whose AND last_match_at IS NOT NULL
           ORDER BY last_match_at DESC LIMIT ${RECENT_MAX}) m
         JOIN messages b ON b.monitor_id = m.id
          AND b.seq > (SELECT max(seq) FROM messages WHERE monitor_id = m.id) - ${RECENT_MAX}`
  return queryActivity(
    db,
    customer_id,
    `SELECT b.matched_at AS at, 'match' AS what, 'match ' || b.monitor_id || ' ' || b.seq AS key,
            b.monitor_id, m.name AS monitor_name, NULL AS delivery_id, NULL AS webhook_id, NULL AS status
       FROM ${rows}`,
  )
}

function pausedWebhooks(db: Db, customer_id: CustomerScope): ActivityEvent[] {
  const mine = customer_id === null ? '' : 'AND customer_id = $whose'
  return queryActivity(
    db,
    customer_id,
    `SELECT paused_at AS at, 'paused' AS what, 'paused ' || id || ' ' || paused_at AS key,
            NULL AS monitor_id, NULL AS monitor_name, NULL AS delivery_id, id AS webhook_id, pause_reason AS status
       FROM webhooks WHERE paused_at IS NOT NULL AND deleted_at IS NULL ${mine}
      ORDER BY paused_at DESC LIMIT ${RECENT_MAX}`,
  )
}

/** The body of an event's match as it was sent; null where the event has none, or it was deleted. */
export function bodyOf(
  db: Db,
  { key, what, delivery_id, monitor_id }: ActivityEvent,
): Uint8Array | null {
  if (delivery_id !== null) {
    const row = db
      .query<StoredBody, [{ id: string }]>(
        `SELECT ${BODY_COLUMNS} FROM deliveries d JOIN messages g ON g.row = ${messageOf('d.row')} WHERE d.id = $id`,
      )
      .get({ id: delivery_id })
    return row && renderBody(row)
  }
  if (what !== 'match' || monitor_id === null) return null
  const row = db
    .query<{ body: Uint8Array | null }, [{ monitor_id: string; seq: number }]>(
      'SELECT body FROM messages WHERE monitor_id = $monitor_id AND seq = $seq',
    )
    .get({ monitor_id, seq: Number(key.split(' ').at(-1)) })
  return row?.body == null ? null : unpackBody(row.body)
}

const HOUR_MS = 3_600_000

/** Matches, successful and failed deliveries of one hour; `at`: its start, epoch ms. */
export type ActivityHour = { at: number; matches: number; delivered: number; failed: number }

/**
 * Counts the hour that starts at `at`: items matched, each once per monitor; deliveries that arrived in it; deliveries
 * created in it that failed for good.
 */
export function countHour(db: Db, customer_id: CustomerScope, at: number): ActivityHour {
  const mine =
    customer_id === null
      ? ''
      : 'AND monitor_id IN (SELECT id FROM monitors WHERE customer_id = $whose)'
  const by_monitor =
    customer_id === null
      ? 'monitor_id IN (SELECT id FROM monitors)'
      : 'monitor_id IN (SELECT id FROM monitors WHERE customer_id = $whose)'
  const row = db
    .query<ActivityHour, [{ at: number; until: number; whose?: string }]>(
      `SELECT $at AS at,
              (SELECT count(*) FROM matches WHERE matched_at >= $at AND matched_at < $until ${mine}) AS matches,
              (SELECT count(*) FROM deliveries INDEXED BY deliveries_delivered
                WHERE ${by_monitor} AND delivered_at >= $at AND delivered_at < $until) AS delivered,
              (SELECT count(*) FROM deliveries INDEXED BY deliveries_undelivered
                WHERE ${by_monitor} AND created_at >= $at AND created_at < $until
                      AND status IN ('dead', 'failed')) AS failed`,
    )
    .get({ at, until: at + HOUR_MS, ...(customer_id !== null && { whose: customer_id }) })
  return row ?? { at, matches: 0, delivered: 0, failed: 0 }
}

/** A recent match as the pull API returns it, with its monitor. `matched_at`: epoch ms. */
export type RecentMatch = {
  monitor_id: string
  monitor_name: string | null
  matched_at: number
  body: Uint8Array
}

/** The newest matches, at most `limit`; several items that matched together are one. */
export function listRecentMatches(
  db: Db,
  customer_id: CustomerScope,
  limit: number,
): RecentMatch[] {
  const rows =
    customer_id === null
      ? '(SELECT row, monitor_id, matched_at FROM messages WHERE seq IS NOT NULL)'
      : `(SELECT b.row, b.monitor_id, b.matched_at
            FROM (SELECT id FROM monitors WHERE customer_id = $whose AND last_match_at IS NOT NULL
                   ORDER BY last_match_at DESC LIMIT $limit) m
            JOIN messages b ON b.monitor_id = m.id
             AND b.seq > (SELECT max(seq) FROM messages WHERE monitor_id = m.id) - $limit)`
  return db
    .query<RecentMatch, [{ limit: number; whose?: string }]>(
      `SELECT r.monitor_id, m.name AS monitor_name, r.matched_at, b.body
         FROM (SELECT * FROM ${rows} ORDER BY matched_at DESC, row DESC LIMIT $limit) r
         JOIN messages b ON b.row = r.row AND b.body IS NOT NULL JOIN monitors m ON m.id = r.monitor_id
        ORDER BY r.matched_at DESC, r.row DESC`,
    )
    .all(customer_id === null ? { limit } : { limit, whose: customer_id })
    .map((it) => ({ ...it, body: unpackBody(it.body) }))
}

/** The customer of a delivery; null when there is none of this id. */
export function customerOfDelivery(db: Db, id: string): string | null {
  return (
    db
      .query<{ customer_id: string }, [{ id: string }]>(
        'SELECT customer_id FROM deliveries WHERE id = $id',
      )
      .get({ id })?.customer_id ?? null
  )
}

const PENDING_TOTAL_MAX = 100_000

export type SystemCounts = {
  customers: number
  keys: number
  monitors: number
  monitors_paused: number
  webhooks: number
  webhooks_paused: number
  feeds: number
  /** Each capped at 100,000. */
  waiting: number
  retrying: number
}

/** Counts the current rows. Each count is one index step or reads a table that stays small. */
export function countSystem(db: Db): SystemCounts & { schema: number } {
  const counts = db
    .query<Omit<SystemCounts, keyof PendingCounts>, []>(
      `SELECT (SELECT count(*) FROM customers WHERE removed_at IS NULL) AS customers,
              (SELECT count(*) FROM api_keys WHERE revoked_at IS NULL AND id != 'key_command_line') AS keys,
              (SELECT count(*) FROM monitors WHERE removed_at IS NULL) AS monitors,
              (SELECT count(*) FROM monitors WHERE removed_at IS NULL AND active = 0) AS monitors_paused,
              (SELECT count(*) FROM webhooks WHERE deleted_at IS NULL) AS webhooks,
              (SELECT count(*) FROM webhooks WHERE deleted_at IS NULL AND paused_at IS NOT NULL) AS webhooks_paused,
              (SELECT count(*) FROM feeds WHERE next_check_at IS NOT NULL) AS feeds`,
    )
    .get()
  if (counts === null) throw new Error('a count returned no row')
  const pending = countPending(db, null, PENDING_TOTAL_MAX)
  return { ...counts, ...pending, schema: schemaVersion(db) }
}

/** A customer as its operator sees it. Money is micro-dollars, instants are epoch ms. */
export type CustomerSummary = {
  id: string
  name: string
  plan: string
  balance_micros: number
  unlimited: number
  created_at: number
  keys: number
  monitors: number
  monitors_paused: number
  webhooks: number
  webhooks_paused: number
  /** Deliveries, each up to 1,000. */
  waiting: number
  retrying: number
  /** Metered calls in the hours that begin since the given instant. */
  requests: number
}

const PENDING_OF_CUSTOMER_MAX = 1000

/** Customers, oldest first, with their resources and their calls since an instant; at most `limit`. */
export function listCustomerSummaries(db: Db, since: number, limit: number): CustomerSummary[] {
  return db
    .query<Omit<CustomerSummary, keyof PendingCounts>, [{ since: number; limit: number }]>(
      `SELECT c.id, c.name, c.plan, c.balance_micros, c.unlimited, c.created_at,
              (SELECT count(*) FROM api_keys k WHERE k.customer_id = c.id AND k.revoked_at IS NULL) AS keys,
              (SELECT count(*) FROM monitors m WHERE m.customer_id = c.id AND m.removed_at IS NULL) AS monitors,
              (SELECT count(*) FROM monitors m
                WHERE m.customer_id = c.id AND m.removed_at IS NULL AND m.active = 0) AS monitors_paused,
              (SELECT count(*) FROM webhooks w WHERE w.customer_id = c.id AND w.deleted_at IS NULL) AS webhooks,
              (SELECT count(*) FROM webhooks w
                WHERE w.customer_id = c.id AND w.deleted_at IS NULL AND w.paused_at IS NOT NULL) AS webhooks_paused,
              (SELECT coalesce(sum(calls), 0) FROM usage_hours u
                WHERE u.customer_id = c.id AND u.hour_at > $since) AS requests
         FROM customers c WHERE c.removed_at IS NULL ORDER BY c.created_at, c.id LIMIT $limit`,
    )
    .all({ since, limit })
    .map((row) => ({ ...row, ...countPending(db, row.id, PENDING_OF_CUSTOMER_MAX) }))
}
