import type { Db } from '../db/connection.ts'
import { type DeliveryRow } from '../delivery/deliveries.ts'
import { BODY_COLUMNS, messageOf, renderBody, type StoredBody } from '../delivery/messages.ts'

// Stored traces of one item in one monitor: where it was seen, whether it matched, and its deliveries.

/** A feed that has shown an item, and its first sight (platform clock). */
export type FirstSeen = { key: string; kind: string; place: string; first_seen_at: number }

/**
 * The feeds of a monitor that have shown an item, and the feed through which it matched, even if the monitor no longer
 * watches it.
 */
export function listFirstSeen(
  db: Db,
  query: { monitor_id: string; item_id: string; feed_id: number | null },
): FirstSeen[] {
  return db
    .query<FirstSeen, [typeof query]>(
      `SELECT s.key, s.kind, s.place, i.first_seen_at
         FROM feeds s JOIN feed_items i ON i.feed_id = s.id AND i.item_id = $item_id
        WHERE s.id = $feed_id
           OR s.id IN (SELECT feed_id FROM monitor_feeds WHERE monitor_id = $monitor_id)
        ORDER BY i.first_seen_at, s.id`,
    )
    .all(query)
}

export function findMatch(
  db: Db,
  query: { monitor_id: string; item_id: string },
): { feed_id: number; matched_at: number; edition: number } | null {
  return db
    .query<{ feed_id: number; matched_at: number; edition: number }, [typeof query]>(
      'SELECT feed_id, matched_at, edition FROM matches WHERE monitor_id = $monitor_id AND item_id = $item_id',
    )
    .get(query)
}

/** End of the rechecks of an item that has yet to reach a threshold. */
export function findCandidateTimes(
  db: Db,
  query: { monitor_id: string; item_id: string },
): { until_at: number; rechecked_at: number } | null {
  return db
    .query<{ until_at: number; rechecked_at: number }, [typeof query]>(
      'SELECT until_at, rechecked_at FROM candidates WHERE monitor_id = $monitor_id AND item_id = $item_id',
    )
    .get(query)
}

/** Closing time of the bundle in which an item waits; null when it is in none. */
export function bundleClosesAt(
  db: Db,
  query: { monitor_id: string; item_id: string },
): number | null {
  return (
    db
      .query<{ close_at: number | null }, [typeof query]>(
        `SELECT min(b.close_at) AS close_at FROM bundles b JOIN bundle_items i ON i.bundle_id = b.id
          WHERE b.monitor_id = $monitor_id AND i.item_id = $item_id`,
      )
      .get(query)?.close_at ?? null
  )
}

export type DeliveryWithReason = DeliveryRow & { reason: string | null }

const DELIVERIES = `SELECT d.webhook_id, d.attempts, d.last_error, d.created_at, d.delivered_at, d.held_until, ${BODY_COLUMNS}
  FROM deliveries d JOIN messages g ON g.row = ${messageOf('d.row')}`
const render = (row: Omit<DeliveryWithReason, 'body'> & StoredBody): DeliveryWithReason => ({
  ...row,
  body: renderBody(row),
})

/** A customer's delivery; null when absent or owned by another customer. */
export function findDelivery(db: Db, customer_id: string, id: string): DeliveryWithReason | null {
  const row = db
    .query<Omit<DeliveryWithReason, 'body'> & StoredBody, [{ id: string; customer_id: string }]>(
      `${DELIVERIES} WHERE d.id = $id AND d.customer_id = $customer_id`,
    )
    .get({ id, customer_id })
  return row && render(row)
}

/** The deliveries that a monitor created in a span of time, oldest first. */
export function listDeliveriesBetween(
  db: Db,
  query: { monitor_id: string; from_at: number; until_at: number; limit: number },
): DeliveryWithReason[] {
  return db
    .query<Omit<DeliveryWithReason, 'body'> & StoredBody, [typeof query]>(
      `${DELIVERIES} WHERE d.monitor_id = $monitor_id AND d.created_at BETWEEN $from_at AND $until_at
        ORDER BY d.created_at, d.id LIMIT $limit`,
    )
    .all(query)
    .map(render)
}

/** A monitor, removed or not; null when the customer has no such monitor. */
export function findAnyMonitor(
  db: Db,
  query: { customer_id: string; id: string },
): AnyMonitor | null {
  return db
    .query<AnyMonitor, [typeof query]>(
      `SELECT id, filter_spec, active, active_since, baseline_item_id, updated_at, removed_at, attention
         FROM monitors WHERE id = $id AND customer_id = $customer_id`,
    )
    .get(query)
}

export type AnyMonitor = {
  id: string
  filter_spec: string
  active: 0 | 1
  active_since: number
  baseline_item_id: string | null
  updated_at: number
  removed_at: number | null
  attention: string | null
}

/** All targets that a customer has or had: old deliveries name them. */
export const listWebhookIds = (db: Db, customer_id: string): string[] =>
  db
    .query<{ id: string }, [{ customer_id: string }]>(
      'SELECT id FROM webhooks WHERE customer_id = $customer_id ORDER BY created_at, id',
    )
    .all({ customer_id })
    .map(({ id }) => id)
