import { utcDay } from '../core/gate.ts'
import { type Db, transact } from './db.ts'
import { MISSED } from './deliveries.ts'

/** How deliveries end that a new round may be asked for by a span of time. */
export const REDELIVERED_STATUSES = ['delivered', 'failed', 'dead'] as const
type Redelivered = (typeof REDELIVERED_STATUSES)[number]

/** Which deliveries: one by its id, or all that ended so in a span of time. */
export type Which =
  | { delivery_id: string }
  | {
      since: number
      until: number
      statuses: readonly Redelivered[]
      webhook_id: string | null
    }

/**
 * `queued` go out again; `skipped` cannot: on their way already, blanked because of their age, or their target is gone,
 * paused, switched off or does not want it.
 */
export type Redelivery = { queued: number; skipped: number }

/** More deliveries than one call takes. */
export type TooMany = { too_many: true }

type Found = {
  id: string
  status: string
  monitor_id: string
  created_at: number
  sendable: number
}

// A reader of mail who has not said yes, or has said no, is not written to by way of a new round either.
// And what has no content any more would be taken for a delivery that arrived.
const SENDABLE = `status <> 'pending' AND w.id IS NOT NULL AND w.deleted_at IS NULL
  AND d.row > coalesce((SELECT blanked_to FROM instance), 0)
  AND w.active = 1 AND w.paused_at IS NULL AND w.awaits_confirmation = 0
  AND NOT EXISTS (SELECT 1 FROM unsubscribed u
                   WHERE u.webhook_id = d.webhook_id AND u.monitor_id = d.monitor_id)`

/**
 * Gives deliveries that have ended a new round: same id, same body, the ladder from its first rung, attempts counting
 * on. With `dry_run` it only counts. Null when the one delivery that was named is absent or somebody else's;
 * `customer_id` null is the operator, who sees everybody's.
 */
export function redeliver(
  db: Db,
  it: {
    customer_id: string | null
    which: Which
    dry_run: boolean
    rows_max: number
    now: number
  },
): Redelivery | TooMany | null {
  return transact(db, () => {
    const found = find(db, it)
    if ('delivery_id' in it.which && found.length === 0) return null
    if (found.length > it.rows_max) return { too_many: true }
    const chosen = found.filter(({ sendable }) => sendable === 1)
    if (!it.dry_run) for (const row of chosen) queueAgain(db, row, it.now)
    return { queued: chosen.length, skipped: found.length - chosen.length }
  })
}

/** What is meant, and of too many one more than is taken. */
function find(
  db: Db,
  { customer_id, which, rows_max }: { customer_id: string | null; which: Which; rows_max: number },
): Found[] {
  const from = `SELECT d.id, d.status, d.monitor_id, d.created_at, iif(${SENDABLE}, 1, 0) AS sendable
                  FROM deliveries d LEFT JOIN webhooks w ON w.id = d.webhook_id`
  if ('delivery_id' in which)
    return db
      .query<Found, [{ id: string; customer_id: string | null }]>(
        `${from} WHERE d.id = $id AND ($customer_id IS NULL OR d.customer_id = $customer_id)`,
      )
      .all({ id: which.delivery_id, customer_id })
  const { since, until, statuses, webhook_id } = which
  // Everybody's by their customers: it is by these that they are found.
  const mine =
    customer_id === null
      ? '$customer_id IS NULL AND d.customer_id IN (SELECT id FROM customers)'
      : 'd.customer_id = $customer_id'
  const missed = statuses.includes('delivered') ? 'TRUE' : `d.${MISSED}`
  return db
    .query<
      Found,
      [
        {
          customer_id: string | null
          since: number
          until: number
          statuses: string
          webhook_id: string | null
          limit: number
        },
      ]
    >(
      `${from} WHERE ${mine} AND d.created_at >= $since AND d.created_at <= $until
          AND d.status IN (SELECT value FROM json_each($statuses)) AND ${missed}
          AND ($webhook_id IS NULL OR d.webhook_id = $webhook_id)
        LIMIT $limit`,
    )
    .all({
      customer_id,
      since,
      until,
      webhook_id,
      statuses: JSON.stringify(statuses),
      limit: rows_max + 1,
    })
}

function queueAgain(db: Db, { id, status, monitor_id, created_at }: Found, now: number): void {
  db.query(
    `UPDATE deliveries SET status = 'pending', round = round + 1, rung = 0, interrupted = 0,
            next_attempt_at = $now, delivered_at = NULL, lease = NULL,
            in_order = (SELECT ordered FROM webhooks WHERE id = webhook_id)
      WHERE id = $id AND status <> 'pending'`,
  ).run({ id, now })
  // What was withheld is one more delivery of the day it was made on.
  if (status === 'suppressed')
    db.query(
      `INSERT INTO monitor_days (monitor_id, day, deliveries) VALUES ($monitor_id, $day, 1)
       ON CONFLICT DO UPDATE SET deliveries = deliveries + 1`,
    ).run({ monitor_id, day: utcDay(created_at) })
}
