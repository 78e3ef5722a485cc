import type { WebhookKind } from '../../core/delivery/target.ts'
import { type Db, transact } from '../db/connection.ts'
import { messageOf } from './messages.ts'
import { notifyEndedTo, pendingDeliveries } from './pending.ts'

/** True while a target of kind email is unconfirmed by its reader. */
export function awaitsConfirmation(db: Db, webhook_id: string): boolean {
  return (
    db
      .query('SELECT 1 FROM webhooks WHERE id = $webhook_id AND awaits_confirmation = 1')
      .get({ webhook_id }) !== null
  )
}

/**
 * The address of a target of kind email, and whether its confirmation is still open; null when the target is deleted.
 */
export function findConfirmation(
  db: Db,
  webhook_id: string,
): { url: string; awaits_confirmation: boolean } | null {
  const row = db
    .query<{ url: string; awaits: number }, [{ webhook_id: string }]>(
      'SELECT url, awaits_confirmation AS awaits FROM webhooks WHERE id = $webhook_id AND deleted_at IS NULL',
    )
    .get({ webhook_id })
  return row && { url: row.url, awaits_confirmation: row.awaits === 1 }
}

/** Activates a target that its reader has confirmed. Returns its address; null when it is deleted. */
export function confirmTarget(db: Db, webhook_id: string): string | null {
  return transact(db, () => {
    const found = findConfirmation(db, webhook_id)
    if (found === null) return null
    if (found.awaits_confirmation) {
      db.query('UPDATE webhooks SET awaits_confirmation = 0 WHERE id = $webhook_id').run({
        webhook_id,
      })
      // No trigger records this. The audit shows since when mail may be sent, and that earlier matches were not for
      // this reader.
      db.query(
        `INSERT INTO audit (at, kind, subject, detail) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER),
           'webhook.changed', $webhook_id, json_object('confirmed', json('true')))`,
      ).run({ webhook_id })
    }
    return found.url
  })
}

export type ConfirmationLimits = {
  window_ms: number
  per_address: number
  per_customer: number
  per_process: number
}

/** The limit that is used up, and the instant (epoch ms) at which the oldest counted mail leaves the window. */
export type ConfirmationRefusal = {
  by: 'address' | 'customer' | 'process'
  free_at: number
}

/**
 * Counts a confirmation mail that is about to be sent; null when it is allowed. Count and row are one transaction, so
 * that concurrent mails cannot exceed the limits together.
 */
export function claimConfirmationMail(
  db: Db,
  mail: { customer_id: string; address: string; now: number },
  { window_ms, per_address, per_customer, per_process }: ConfirmationLimits,
): ConfirmationRefusal | null {
  return transact(db, () => {
    db.query('DELETE FROM confirmation_mails WHERE sent_at <= $since_at').run({
      since_at: mail.now - window_ms,
    })
    const { customer_id, address } = mail
    const oldest = (column: 'address' | 'customer_id' | null, value: string, max: number) => {
      const where = column === null ? '$value IS NOT NULL' : `${column} = $value`
      const row = db
        .query<{ count: number; sent_at: number | null }, [{ value: string }]>(
          `SELECT count(*) AS count, min(sent_at) AS sent_at FROM confirmation_mails WHERE ${where}`,
        )
        .get({ value })
      return row?.sent_at != null && row.count >= max ? row.sent_at + window_ms : null
    }
    const limits = [
      ['address', oldest('address', address, per_address)],
      ['customer', oldest('customer_id', customer_id, per_customer)],
      ['process', oldest(null, '', per_process)],
    ] as const
    for (const [by, free_at] of limits) if (free_at !== null) return { by, free_at }
    db.query(
      'INSERT INTO confirmation_mails (customer_id, address, sent_at) VALUES ($customer_id, $address, $now)',
    ).run(mail)
    return null
  })
}

export type Subscription = { url: string; monitor_name: string | null; stopped: boolean }

type SubscriptionKey = { webhook_id: string; monitor_id: string }

/** A subscription; null when the target or the monitor is gone. */
export function findSubscription(db: Db, subscription: SubscriptionKey): Subscription | null {
  const row = db
    .query<{ url: string; name: string | null; stopped: number }, [SubscriptionKey]>(
      `SELECT w.url, m.name, EXISTS (SELECT 1 FROM json_each(w.unsubscribed) WHERE value = m.id) AS stopped
         FROM webhooks w JOIN monitors m ON m.customer_id = w.customer_id
        WHERE w.id = $webhook_id AND m.id = $monitor_id
          AND w.deleted_at IS NULL AND m.removed_at IS NULL`,
    )
    .get(subscription)
  return row && { url: row.url, monitor_name: row.name, stopped: row.stopped === 1 }
}

/** Stops a monitor's deliveries to a target; waiting ones fail as webhook_paused. Idempotent. */
export function unsubscribeTarget(db: Db, subscription: SubscriptionKey): void {
  transact(db, () => {
    db.query(
      `UPDATE webhooks SET unsubscribed = json_insert(unsubscribed, '$[#]', $monitor_id)
        WHERE id = $webhook_id AND NOT EXISTS (SELECT 1 FROM json_each(unsubscribed) WHERE value = $monitor_id)`,
    ).run(subscription)
    const { changes: count } = db
      .query(
        // A delivery in flight may still arrive, but is not retried.
        `UPDATE deliveries SET status = 'failed', last_error = 'webhook_paused', next_attempt_at = NULL
          WHERE row IN (SELECT row FROM ${pendingDeliveries('row, webhook_id, monitor_id')}
                         WHERE webhook_id = $webhook_id AND monitor_id = $monitor_id)`,
      )
      .run(subscription)
    notifyEndedTo(db, subscription.webhook_id, { status: 'failed', count })
  })
}

export type Addressee = {
  webhook_id: string
  kind: WebhookKind
  url: string
  secret: Uint8Array
  credentials?: Uint8Array | null
  /** The secret before the last rotation, which signs too until `old_secret_until`. */
  old_secret?: Uint8Array | null
  old_secret_until?: number | null
}

/** A customer's target as an addressee; null when absent, deleted or owned by another customer. */
export function findAddressee(db: Db, customer_id: string, id: string): Addressee | null {
  return db
    .query<Addressee, [{ id: string; customer_id: string }]>(
      `SELECT id AS webhook_id, kind, url, secret, credentials, old_secret, old_secret_until FROM webhooks
        WHERE id = $id AND customer_id = $customer_id AND deleted_at IS NULL`,
    )
    .get({ id, customer_id })
}

/** Conditions under which the request of an ended attempt can be computed again. */
export type RequestBasis = {
  /** The stored body is no longer the sent one. */
  erased: boolean
  /** Time from which the current secret signs, epoch ms; null: since the creation of the target. */
  secret_since: number | null
}

/** The basis of the requests of a delivery; null without a target, or if it was deleted. */
export function findRequestBasis(db: Db, delivery_id: string): RequestBasis | null {
  const row = db
    .query<Omit<RequestBasis, 'erased'> & { erased: number }, [{ delivery_id: string }]>(
      `SELECT d.reason IS 'item_deleted' OR g.body IS NULL AS erased, w.secret_since
         FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id JOIN messages g ON g.row = ${messageOf('d.row')}
        WHERE d.id = $delivery_id AND w.deleted_at IS NULL`,
    )
    .get({ delivery_id })
  return row && { ...row, erased: row.erased === 1 }
}

/** A target of a monitor. A paused target accepts nothing: its row is written as failed, webhook_paused. */
export type DeliveryTarget = { id: string; kind: WebhookKind; paused: boolean; ordered: boolean }

/**
 * The targets of a monitor. With null: every active one that is not paused. With a list: those of it that still exist,
 * in its order, paused ones included. A target whose reader has unsubscribed from this monitor counts as paused.
 */
type TargetList = (
  customer_id: string,
  webhook_ids: readonly string[] | null,
  monitor_id?: string,
) => DeliveryTarget[]

/** Lists targets of many monitors; those of a customer are read once. */
export function createTargetLists(db: Db): TargetList {
  type Row = Pick<DeliveryTarget, 'id' | 'kind'> & {
    paused: 0 | 1
    ordered: 0 | 1
    unsubscribed: string
  }
  const by_customer = new Map<string, Row[]>()
  const rowsOf = (customer_id: string): Row[] => {
    const known = by_customer.get(customer_id)
    if (known !== undefined) return known
    const rows = db
      .query<Row, [{ customer_id: string }]>(
        `SELECT id, kind, paused_at IS NOT NULL OR NOT active OR awaits_confirmation AS paused, ordered,
                unsubscribed
           FROM webhooks WHERE customer_id = $customer_id AND deleted_at IS NULL ORDER BY created_at, id`,
      )
      .all({ customer_id })
    by_customer.set(customer_id, rows)
    return rows
  }
  return (customer_id, webhook_ids, monitor_id) => {
    const all = rowsOf(customer_id).map(({ id, kind, paused, ordered, unsubscribed }) => {
      const has_left =
        monitor_id !== undefined &&
        unsubscribed !== '[]' &&
        (JSON.parse(unsubscribed) as string[]).includes(monitor_id)
      return { id, kind, paused: paused === 1 || has_left, ordered: ordered === 1 }
    })
    if (webhook_ids === null) return all.filter(({ paused }) => !paused)
    const by_id = new Map(all.map((target) => [target.id, target]))
    return [...new Set(webhook_ids)].flatMap((id) => by_id.get(id) ?? [])
  }
}

export const listTargets = (db: Db, ...of: Parameters<TargetList>): DeliveryTarget[] =>
  createTargetLists(db)(...of)

/** A target that was deleted while a delivery waited for it. */
export function deletedTarget(db: Db, id: string): DeliveryTarget {
  const row = db
    .query<{ kind: WebhookKind }, [{ id: string }]>('SELECT kind FROM webhooks WHERE id = $id')
    .get({ id })
  return { id, kind: row?.kind ?? 'webhook', paused: true, ordered: false }
}
