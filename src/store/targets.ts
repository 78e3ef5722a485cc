import type { WebhookKind } from '../core/webhook-kind.ts'
import type { Db } from './db.ts'
import { listUnsubscribed } from './mail-targets.ts'
import { listWebhooks } from './webhooks.ts'

/** What it takes to send something to a target. Secrets are sealed. */
export type Addressee = {
  webhook_id: string
  kind: WebhookKind
  url: string
  secret: Uint8Array
  /** The secret before the last rotation, which signs too until `old_secret_until`. */
  old_secret?: Uint8Array | null
  old_secret_until?: number | null
}

/** A customer's target as an addressee; null when it is absent, deleted or somebody else's. */
export function findAddressee(db: Db, customer_id: string, id: string): Addressee | null {
  return db
    .query<Addressee, [{ id: string; customer_id: string }]>(
      `SELECT id AS webhook_id, kind, url, secret, old_secret, old_secret_until FROM webhooks
        WHERE id = $id AND customer_id = $customer_id AND deleted_at IS NULL`,
    )
    .get({ id, customer_id })
}

/** Where a monitor delivers to. A paused target takes nothing: its row is written as failed, webhook_paused. */
export type Target = { id: string; kind: WebhookKind; paused: boolean }

/**
 * The targets of a monitor: with null every active one that is not paused; with a list those of it that
 * still exist, in its order and paused ones among them. One whose reader wants no more from this monitor counts as
 * paused.
 */
export function listTargets(
  db: Db,
  customer_id: string,
  webhook_ids: readonly string[] | null,
  monitor_id?: string,
): Target[] {
  const stopped = monitor_id === undefined ? NOBODY : listUnsubscribed(db, monitor_id)
  const all = listWebhooks(db, customer_id).map(({ id, kind, active, paused_at }) => ({
    id,
    kind,
    paused: paused_at !== null || !active || stopped.has(id),
  }))
  if (webhook_ids === null) return all.filter(({ paused }) => !paused)
  const by_id = new Map(all.map((target) => [target.id, target]))
  return [...new Set(webhook_ids)].flatMap((id) => by_id.get(id) ?? [])
}

/** A target that was deleted while something waited for it. */
export function goneTarget(db: Db, id: string): Target {
  const row = db
    .query<{ kind: WebhookKind }, [{ id: string }]>('SELECT kind FROM webhooks WHERE id = $id')
    .get({ id })
  return { id, kind: row?.kind ?? 'webhook', paused: true }
}

const NOBODY: ReadonlySet<string> = new Set()
