import type { WebhookKind } from '../../core/delivery/target.ts'
import { afterCommit, type Db } from '../db/connection.ts'

/** SQL of these columns of waiting deliveries and those in flight, as a table: a query by status alone would scan all. */
export const pendingDeliveries = (columns: string): string =>
  `(SELECT ${columns} FROM deliveries INDEXED BY deliveries_due WHERE status = 'pending')`

/** SQL of the rows of deliveries in flight. */
export const IN_FLIGHT = `(SELECT f.row FROM loop_state s, json_each(s.value) c
   JOIN deliveries f ON f.row = c.value ->> 0 AND f.attempts = c.value ->> 1 AND f.status = 'pending'
  WHERE s.loop = 'claims')`

/** SQL condition of the index on deliveries that failed in this round and wait for another attempt. */
export const RETRYING = "status = 'pending' AND retry_index > 0"

/** Deliveries that were to be sent and have ended, with or without an attempt. */
type EndedDeliveries = { status: 'delivered' | 'failed' | 'dead'; kind: WebhookKind; count: number }

const listeners = new WeakMap<Db, (ended: EndedDeliveries) => void>()

/** Sets the listener for deliveries that this connection has ended, called once that is durable. */
export function onEnded(db: Db, listener: (ended: EndedDeliveries) => void): void {
  listeners.set(db, listener)
}

/** Reports deliveries that the current transaction ends. */
export function notifyEnded(db: Db, ended: EndedDeliveries): void {
  const listener = listeners.get(db)
  if (listener !== undefined && ended.count > 0) afterCommit(db, () => listener(ended))
}

/** The same for deliveries identified by their target. */
export function notifyEndedTo(
  db: Db,
  webhook_id: string,
  { status, count }: Omit<EndedDeliveries, 'kind'>,
): void {
  if (count === 0 || !listeners.has(db)) return
  const target = db
    .query<{ kind: WebhookKind }, [{ webhook_id: string }]>(
      'SELECT kind FROM webhooks WHERE id = $webhook_id',
    )
    .get({ webhook_id })
  if (target !== null) notifyEnded(db, { status, count, kind: target.kind })
}
