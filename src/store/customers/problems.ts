import { utcDay } from '../../core/limits/plan.ts'
import type { Db } from '../db/connection.ts'
import { RETRYING } from '../delivery/pending.ts'

// Facts about what does not work. Each query walks an index or a table that stays small, and has a row limit, because
// the dashboard repeats it.

/** Customer to restrict a query to; null: all customers. */
type CustomerScope = string | null

/** Deliveries of one target that are counted. */
export const RETRYING_MAX = 1000

/** A target that delivers nothing, or not everything. Instants are epoch ms. */
export type TargetFacts = {
  id: string
  name: string | null
  url: string
  customer_id: string
  customer: string
  active: number
  awaits_confirmation: number
  paused_at: number | null
  pause_reason: string | null
  /** First permanent failure since the last success. */
  failing_since: number | null
  /** Deliveries that wait for another attempt, up to RETRYING_MAX, and the oldest of them. */
  retrying: number
  retrying_since: number | null
  last_error: string | null
}

/** SQL for a column of the oldest retrying delivery of a target `w`. */
const oldestRetrying = (column: string) =>
  `(SELECT ${column} FROM deliveries d INDEXED BY deliveries_retrying
     WHERE d.webhook_id = w.id AND ${RETRYING} ORDER BY created_at LIMIT 1)`

/** Targets that are failing, paused, switched off or not confirmed; at most `limit`, failing ones first. */
export function listTroubledTargets(
  db: Db,
  customer_id: CustomerScope,
  limit: number,
): TargetFacts[] {
  return db
    .query<TargetFacts, [{ whose?: string; limit: number }]>(
      `SELECT w.*,
              (SELECT count(*) FROM (SELECT 1 FROM deliveries d INDEXED BY deliveries_retrying
                WHERE d.webhook_id = w.id AND ${RETRYING} LIMIT ${RETRYING_MAX})) AS retrying,
              ${oldestRetrying('last_error')} AS last_error
         FROM (SELECT w.id, w.name, w.url, c.id AS customer_id, c.name AS customer, w.active, w.awaits_confirmation, w.paused_at,
                      w.pause_reason, w.failing_since, ${oldestRetrying('created_at')} AS retrying_since
                 FROM webhooks w JOIN customers c ON c.id = w.customer_id
                WHERE w.deleted_at IS NULL AND c.removed_at IS NULL ${customer_id === null ? '' : 'AND w.customer_id = $whose'}) w
        WHERE w.active = 0 OR w.awaits_confirmation = 1 OR w.paused_at IS NOT NULL OR w.failing_since IS NOT NULL
              OR w.retrying_since IS NOT NULL
        ORDER BY w.paused_at IS NULL, w.failing_since IS NULL, w.retrying_since IS NULL, w.id LIMIT $limit`,
    )
    .all(customer_id === null ? { limit } : { limit, whose: customer_id })
}

/** Polled feeds of a source in one state. Instants are epoch ms. */
export type FeedGroup = {
  source: string
  /** The last fault, such as `unavailable:503`, or the reason why the last poll was cut short; null: it succeeded. */
  fault: string | null
  feeds: number
  /** Monitors of these feeds; `monitor_id` and `monitor_name`: one of them. */
  monitors: number
  monitor_id: string
  monitor_name: string | null
  /** Last successful poll of any of the feeds; before the first, their creation. */
  ok_at: number
  /** Longest poll interval. */
  interval_s: number
  /** Feeds without a successful poll for `STALLED_INTERVALS` intervals, and the oldest last success among them. */
  stalled: number
  stalled_since: number | null
  /** Feeds of items by id that have unread items older than `BEHIND_MS`, and how far they were read. */
  behind: number
  behind_since: number | null
  /** Feeds that were not polled yet. */
  untried: number
}

/** Poll intervals without a successful poll after which a feed counts as stalled. */
const STALLED_INTERVALS = 3
/** A feed is given this long for its first poll. */
const FIRST_POLL_MS = 120_000
/** Delay after which unread items are reported. */
const BEHIND_MS = 15 * 60_000

export function listFeedStates(db: Db, customer_id: CustomerScope, now: number): FeedGroup[] {
  const ok_at = 'coalesce(f.last_check_at, f.created_at)'
  const stalled = `(${ok_at} < $now - max(f.interval_s * ${STALLED_INTERVALS} * 1000, ${FIRST_POLL_MS}))`
  const behind = `(f.state ->> '$.behind' IS NOT NULL AND f.state ->> '$.verified_until' < $now - ${BEHIND_MS})`
  // Bare columns beside a single max are those of its row (SQLite); here any monitor of the group serves.
  return db
    .query<FeedGroup, [{ whose?: string; now: number }]>(
      `SELECT f.source,
              f.last_fault AS fault,
              count(*) AS feeds, sum(w.monitors) AS monitors, w.monitor_id,
              (SELECT name FROM monitors WHERE id = w.monitor_id) AS monitor_name,
              max(${ok_at}) AS ok_at, max(f.interval_s) AS interval_s,
              sum(${stalled}) AS stalled, min(iif(${stalled}, ${ok_at}, NULL)) AS stalled_since,
              coalesce(sum(${behind}), 0) AS behind, min(iif(${behind}, f.state ->> '$.verified_until', NULL)) AS behind_since,
              sum(f.last_check_at IS NULL) AS untried
         FROM (SELECT mf.feed_id, count(*) AS monitors, min(m.id) AS monitor_id
                 FROM monitors m JOIN monitor_feeds mf ON mf.monitor_id = m.id
                WHERE m.removed_at IS NULL AND m.active = 1 ${customer_id === null ? '' : 'AND m.customer_id = $whose'}
                GROUP BY mf.feed_id) w
         JOIN feeds f ON f.id = w.feed_id
        WHERE f.next_check_at IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2`,
    )
    .all(customer_id === null ? { now } : { now, whose: customer_id })
}

/** A monitor that forumd has stopped. Instants are epoch ms. */
export type StoppedMonitor = {
  id: string
  name: string | null
  customer_id: string
  customer: string
  reason: string
  since: number
}

/** Monitors that forumd has stopped, newest first; at most `limit`. */
export const listStoppedMonitors = (
  db: Db,
  customer_id: CustomerScope,
  limit: number,
): StoppedMonitor[] =>
  db
    .query<StoppedMonitor, [{ whose?: string; limit: number }]>(
      `SELECT m.id, m.name, c.id AS customer_id, c.name AS customer, m.pause_reason AS reason, m.updated_at AS since
         FROM monitors m JOIN customers c ON c.id = m.customer_id
        WHERE m.removed_at IS NULL AND m.pause_reason IS NOT NULL
              ${customer_id === null ? '' : 'AND m.customer_id = $whose'}
        ORDER BY m.updated_at DESC, m.id LIMIT $limit`,
    )
    .all(customer_id === null ? { limit } : { limit, whose: customer_id })

/** Objects that wait for a person. */
export type Waiting = {
  /** Monitors that their customer has paused. */
  monitors_paused: number
  /** Monitors at the daily ceiling of their plan, today (UTC). */
  monitors_at_ceiling: number
  /** Undecided drafts; `drafts_since`: creation of the oldest. Epoch ms. */
  drafts: number
  drafts_since: number | null
}

export function countWaiting(db: Db, customer_id: CustomerScope, now: number): Waiting {
  const mine = customer_id === null ? '' : 'AND customer_id = $whose'
  const row = db
    .query<Waiting, [{ whose?: string; now: number; day: number }]>(
      `SELECT (SELECT count(*) FROM monitors WHERE removed_at IS NULL AND active = 0 AND pause_reason IS NULL ${mine}) AS monitors_paused,
              (SELECT count(*) FROM monitors m CROSS JOIN monitor_days d ON d.monitor_id = m.id AND d.day = $day
                WHERE m.removed_at IS NULL AND d.ceiling_suppressed > 0 ${mine}) AS monitors_at_ceiling,
              (SELECT count(*) FROM drafts WHERE state = 'waiting' AND expires_at > $now ${mine}) AS drafts,
              (SELECT min(created_at) FROM drafts WHERE state = 'waiting' AND expires_at > $now ${mine}) AS drafts_since`,
    )
    .get({ now, day: utcDay(now), ...(customer_id !== null && { whose: customer_id }) })
  if (row === null) throw new Error('a count returned no row')
  return row
}

/** Customers that cannot pay for a read of `price_micros`, by name; at most `limit`. */
export const listWithoutCredit = (
  db: Db,
  price_micros: number,
  limit: number,
): { id: string; name: string }[] =>
  db
    .query<{ id: string; name: string }, [{ price_micros: number; limit: number }]>(
      `SELECT id, name FROM customers
        WHERE removed_at IS NULL AND unlimited = 0 AND balance_micros < $price_micros ORDER BY name LIMIT $limit`,
    )
    .all({ price_micros, limit })
