import { utcDay } from '../../core/limits/plan.ts'
import { type Db, transact } from '../db/connection.ts'
import { MISSED, REDELIVER_REFUSAL } from './deliveries.ts'

/** Final statuses that can be redelivered by a span of time. */
export const REDELIVERED_STATUSES = ['delivered', 'failed', 'dead'] as const
type Redelivered = (typeof REDELIVERED_STATUSES)[number]

/** A selection of deliveries: one by its id, or all with a status in a span of time. */
export type RedeliverySelection =
  | { delivery_id: string }
  | {
      since: number
      until: number
      statuses: readonly Redelivered[]
      webhook_id: string | null
    }

/**
 * `queued` are sent again. `skipped` cannot be: they are in flight, were blanked because of their age, or their target
 * is deleted, paused, switched off or unsubscribed.
 */
export type Redelivery = { queued: number; skipped: number }

/** More deliveries are selected than one call accepts. */
export type TooMany = { too_many: true }

type Found = {
  id: string
  status: string
  monitor_id: string
  created_at: number
  sendable: number
}

/**
 * Starts a new round for ended deliveries: same id, same body, retry index 0; attempts count on. With `dry_run` it
 * only counts. Null when the one named delivery is absent or owned by another customer; `customer_id` null: the
 * operator, any customer.
 */
export function redeliver(
  db: Db,
  it: {
    customer_id: string | null
    which: RedeliverySelection
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

/** The selected deliveries; if there are too many, one more than is accepted. */
function find(
  db: Db,
  {
    customer_id,
    which,
    rows_max,
  }: { customer_id: string | null; which: RedeliverySelection; rows_max: number },
): Found[] {
  const from = `SELECT d.id, d.status, d.monitor_id, d.created_at, (${REDELIVER_REFUSAL}) IS NULL AS sendable
                  FROM deliveries d LEFT JOIN webhooks w ON w.id = d.webhook_id`
  if ('delivery_id' in which)
    return db
      .query<Found, [{ id: string; customer_id: string | null }]>(
        `${from} WHERE d.id = $id AND ($customer_id IS NULL OR d.customer_id = $customer_id)`,
      )
      .all({ id: which.delivery_id, customer_id })
  const { since, until, statuses, webhook_id } = which
  // All customers' deliveries are found customer by customer, because the index begins with the customer.
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
    `UPDATE deliveries SET status = 'pending', round = round + 1, retry_index = 0, interrupted = 0,
            next_attempt_at = $now, delivered_at = NULL,
            in_order = (SELECT ordered FROM webhooks WHERE id = webhook_id)
      WHERE id = $id AND status <> 'pending'`,
  ).run({ id, now })
  // A suppressed delivery that is sent counts for the day on which it was created.
  if (status === 'suppressed')
    db.query(
      `INSERT INTO monitor_days (monitor_id, day, deliveries) VALUES ($monitor_id, $day, 1)
       ON CONFLICT DO UPDATE SET deliveries = deliveries + 1`,
    ).run({ monitor_id, day: utcDay(created_at) })
}
