import type { Db } from './db.ts'

export const WEBHOOK_KINDS = ['webhook', 'slack', 'discord', 'email'] as const
export type WebhookKind = (typeof WEBHOOK_KINDS)[number]

export const PAUSE_REASONS = ['failing', 'gone'] as const
/** failing: a week of failed deliveries. gone: the receiver answered 410. */
export type PauseReason = (typeof PAUSE_REASONS)[number]

/** A target as it is shown; the secret is apart. */
export type Webhook = {
  id: string
  kind: WebhookKind
  url: string
  created_at: number
  active: boolean
  paused_at: number | null
  pause_reason: PauseReason | null
}

type Row = Omit<Webhook, 'active'> & { active: number }

const COLUMNS = 'id, kind, url, created_at, active, paused_at, pause_reason'
const fromRow = (row: Row): Webhook => ({ ...row, active: row.active === 1 })

/** Writes a new target. `secret` is sealed. */
export function insertWebhook(
  db: Db,
  webhook: {
    id: string
    customer_id: string
    kind: WebhookKind
    url: string
    secret: Uint8Array
    created_at: number
  },
): void {
  db.query(
    `INSERT INTO webhooks (id, customer_id, kind, url, secret, created_at)
     VALUES ($id, $customer_id, $kind, $url, $secret, $created_at)`,
  ).run(webhook)
}

/** A customer's target by id; null when it is absent, deleted or somebody else's. */
export function findWebhook(db: Db, customer_id: string, id: string): Webhook | null {
  const row = db
    .query<Row, [{ id: string; customer_id: string }]>(
      `SELECT ${COLUMNS} FROM webhooks
        WHERE id = $id AND customer_id = $customer_id AND deleted_at IS NULL`,
    )
    .get({ id, customer_id })
  return row && fromRow(row)
}

/** A customer's targets, oldest first. */
export function listWebhooks(db: Db, customer_id: string): Webhook[] {
  return db
    .query<Row, [{ customer_id: string }]>(
      `SELECT ${COLUMNS} FROM webhooks
        WHERE customer_id = $customer_id AND deleted_at IS NULL ORDER BY created_at, id`,
    )
    .all({ customer_id })
    .map(fromRow)
}

/** Where a monitor delivers to. A paused target takes nothing: its row is written as failed, webhook_paused. */
export type Target = { id: string; kind: WebhookKind; paused: boolean }

/**
 * The targets of a monitor: with null every active one that is not paused; with a list those of it that
 * still exist, in its order and paused ones among them.
 */
export function listTargets(
  db: Db,
  customer_id: string,
  webhook_ids: readonly string[] | null,
): Target[] {
  const all = listWebhooks(db, customer_id).map(({ id, kind, active, paused_at }) => ({
    id,
    kind,
    paused: paused_at !== null || !active,
  }))
  if (webhook_ids === null) return all.filter(({ paused }) => !paused)
  const by_id = new Map(all.map((target) => [target.id, target]))
  return [...new Set(webhook_ids)].flatMap((id) => by_id.get(id) ?? [])
}
