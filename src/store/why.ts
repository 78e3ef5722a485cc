import { unpackBody } from './bodies.ts'
import type { Db } from './db.ts'
import type { DeliveryRow } from './deliveries.ts'

// What was written down of one item on its way through one monitor: where it was seen, whether it matched, what was
// made of it.

/** One stream that has shown an item, and when it first did (platform clock). */
export type Sighting = { key: string; kind: string; place: string; first_seen_at: number }

/** Where a monitor's streams have seen an item, and the stream through which it matched, if it does not watch that any more. */
export function listSightings(
  db: Db,
  query: { monitor_id: string; item_id: string; stream_id: number | null },
): Sighting[] {
  return db
    .query<Sighting, [typeof query]>(
      `SELECT s.key, s.kind, s.place, i.first_seen_at
         FROM streams s JOIN stream_items i ON i.stream_id = s.id AND i.item_id = $item_id
        WHERE s.id = $stream_id
           OR s.id IN (SELECT stream_id FROM monitor_streams WHERE monitor_id = $monitor_id)
        ORDER BY i.first_seen_at, s.id`,
    )
    .all(query)
}

/** The entry of the ledger, when this monitor has matched this item. */
export function findMatch(
  db: Db,
  query: { monitor_id: string; item_id: string },
): { stream_id: number; matched_at: number } | null {
  return db
    .query<{ stream_id: number; matched_at: number }, [typeof query]>(
      'SELECT stream_id, matched_at FROM matches WHERE monitor_id = $monitor_id AND item_id = $item_id',
    )
    .get(query)
}

/** Until when an item is asked about again, because it has yet to reach a score or a number of comments. */
export function findWaiting(
  db: Db,
  query: { monitor_id: string; item_id: string },
): { until_at: number; asked_at: number } | null {
  return db
    .query<{ until_at: number; asked_at: number }, [typeof query]>(
      'SELECT until_at, asked_at FROM candidates WHERE monitor_id = $monitor_id AND item_id = $item_id',
    )
    .get(query)
}

/** When the bundle in which an item waits for company goes out; null when it is in none. */
export function bundledUntil(
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

/** A delivery with why it was withheld. */
export type ToldDelivery = DeliveryRow & { reason: string | null }

const COLUMNS =
  'id, monitor_id, webhook_id, status, reason, attempts, last_error, created_at, delivered_at, body'
const TOLD = 'deliveries JOIN delivery_bodies ON delivery_row = row'
const unpacked = (row: ToldDelivery): ToldDelivery => ({ ...row, body: unpackBody(row.body) })

/** A customer's delivery; null when it is absent or somebody else's. */
export function findDelivery(db: Db, customer_id: string, id: string): ToldDelivery | null {
  const row = db
    .query<ToldDelivery, [{ id: string; customer_id: string }]>(
      `SELECT ${COLUMNS} FROM ${TOLD} WHERE id = $id AND customer_id = $customer_id`,
    )
    .get({ id, customer_id })
  return row && unpacked(row)
}

/** The deliveries that a monitor wrote in a span of time, oldest first. */
export function listDeliveriesBetween(
  db: Db,
  query: { monitor_id: string; from_at: number; until_at: number; limit: number },
): ToldDelivery[] {
  return db
    .query<ToldDelivery, [typeof query]>(
      `SELECT ${COLUMNS} FROM ${TOLD}
        WHERE monitor_id = $monitor_id AND created_at BETWEEN $from_at AND $until_at
        ORDER BY created_at, id LIMIT $limit`,
    )
    .all(query)
    .map(unpacked)
}

/** A monitor as it is, removed or not; null when the customer has none such. */
export function findAnyMonitor(
  db: Db,
  query: { customer_id: string; id: string },
): AnyMonitor | null {
  return db
    .query<AnyMonitor, [typeof query]>(
      `SELECT id, filter_spec, active, active_since, baseline_item_id, updated_at, removed_at
         FROM monitors WHERE id = $id AND customer_id = $customer_id`,
    )
    .get(query)
}

/** A monitor, as far as what became of an item depends on it. */
export type AnyMonitor = {
  id: string
  filter_spec: string
  active: 0 | 1
  active_since: number
  baseline_item_id: string | null
  updated_at: number
  removed_at: number | null
}

/** All targets that a customer has or ever had: old deliveries name them. */
export const listWebhookIds = (db: Db, customer_id: string): string[] =>
  db
    .query<{ id: string }, [{ customer_id: string }]>(
      'SELECT id FROM webhooks WHERE customer_id = $customer_id ORDER BY created_at, id',
    )
    .all({ customer_id })
    .map(({ id }) => id)
