import type { WebhookKind } from '../core/webhook-kind.ts'
import { afterCommit, type Db } from './db.ts'

/** Deliveries that were to be sent and have ended, by an attempt or without one. */
type Ended = { status: 'delivered' | 'failed' | 'dead'; kind: WebhookKind; count: number }

const listeners = new WeakMap<Db, (ended: Ended) => void>()

/** Lets one listener hear of the deliveries that this connection has ended, once that is durable. */
export function onEnded(db: Db, listener: (ended: Ended) => void): void {
  listeners.set(db, listener)
}

/** Tells the listener of deliveries that the present transaction ends. */
export function tellEnded(db: Db, ended: Ended): void {
  const listener = listeners.get(db)
  if (listener !== undefined && ended.count > 0) afterCommit(db, () => listener(ended))
}

/** The same for deliveries of which only the target is known. */
export function tellEndedTo(
  db: Db,
  webhook_id: string,
  { status, count }: Omit<Ended, 'kind'>,
): void {
  if (count === 0 || !listeners.has(db)) return
  const target = db
    .query<{ kind: WebhookKind }, [{ webhook_id: string }]>(
      'SELECT kind FROM webhooks WHERE id = $webhook_id',
    )
    .get({ webhook_id })
  if (target !== null) tellEnded(db, { status, count, kind: target.kind })
}
