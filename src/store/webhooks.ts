import type { WebhookKind } from '../core/webhook-kind.ts'
import { type Db, transact } from './db.ts'
import { tellEndedTo } from './ended.ts'
import { failWaiting, orderWaiting } from './webhook-standing.ts'

/** Why a target may be out of service. */
export const PAUSE_REASONS = ['failing', 'gone'] as const
/** failing: a week of failed deliveries. gone: the receiver answered 410. */
type PauseReason = (typeof PAUSE_REASONS)[number]

/** A target as it is shown; the secret is apart. */
export type Webhook = {
  id: string
  kind: WebhookKind
  url: string
  created_at: number
  active: boolean
  paused_at: number | null
  pause_reason: PauseReason | null
  /** What its customer calls it. */
  name: string | null
  /** Deliveries that may start in a second; null: as many as there are. */
  max_per_second: number | null
  /** Whether each monitor's deliveries come one after another. */
  ordered: boolean
}

type Row = Omit<Webhook, 'active' | 'ordered'> & { active: number; ordered: number }

// A target whose reader has not said yes is switched off, whatever its customer would like.
const COLUMNS =
  'id, kind, url, created_at, active AND NOT awaits_confirmation AS active, paused_at, pause_reason, name, max_per_second, ordered'
const fromRow = (row: Row): Webhook => ({
  ...row,
  active: row.active === 1,
  ordered: row.ordered === 1,
})

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
    /** Nothing is sent there until its reader says yes. */
    awaits_confirmation?: boolean
  },
): void {
  db.query(
    `INSERT INTO webhooks (id, customer_id, kind, url, secret, created_at, awaits_confirmation)
     VALUES ($id, $customer_id, $kind, $url, $secret, $created_at, $awaits_confirmation)`,
  ).run({ ...webhook, awaits_confirmation: webhook.awaits_confirmation ? 1 : 0 })
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

/** What a customer may change of a target; what is left out stays as it is. */
export type WebhookEdit = {
  name?: string | null | undefined
  active?: boolean | undefined
  max_per_second?: number | null | undefined
  ordered?: boolean | undefined
}

/**
 * Changes a target and returns it as it is now; null when it is absent or somebody else's. What waits for one that is
 * switched off fails as webhook_paused, where it can be seen and redelivered.
 */
export function updateWebhook(
  db: Db,
  customer_id: string,
  id: string,
  edit: WebhookEdit,
): Webhook | null {
  return transact(db, () => {
    const before = findWebhook(db, customer_id, id)
    if (before === null) return null
    const { name = before.name, max_per_second = before.max_per_second } = edit
    const { active = before.active, ordered = before.ordered } = edit
    db.query(
      `UPDATE webhooks SET name = $name, active = coalesce($active, active), max_per_second = $max_per_second, ordered = $ordered
        WHERE id = $id`,
    ).run({ id, name, active: edit.active ?? null, max_per_second, ordered: ordered ? 1 : 0 })
    if (before.ordered !== ordered) orderWaiting(db, id, ordered)
    if (before.active && !active) failWaiting(db, id, 'webhook_paused')
    return findWebhook(db, customer_id, id)
  })
}

/**
 * Gives a target a new secret, sealed; with `until` the one before it goes on signing as long. False when the target
 * is absent or somebody else's.
 */
export function rotateSecret(
  db: Db,
  customer_id: string,
  { id, secret, until }: { id: string; secret: Uint8Array; until: number | null },
): boolean {
  return transact(
    db,
    () =>
      db
        .query(
          `UPDATE webhooks SET old_secret = iif($until IS NULL, NULL, secret), old_secret_until = $until, secret = $secret
            WHERE id = $id AND customer_id = $customer_id AND deleted_at IS NULL`,
        )
        .run({ id, customer_id, secret, until }).changes > 0,
  )
}

/** Forgets secrets whose overlap is over. */
export function forgetOldSecrets(db: Db, now: number): void {
  db.query(
    'UPDATE webhooks SET old_secret = NULL, old_secret_until = NULL WHERE old_secret_until <= $now',
  ).run({ now })
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

/**
 * Removes a target; false when it is absent or somebody else's. What waits for it fails as webhook_deleted, and its
 * id leaves every monitor's list: a list that becomes empty stays empty, it never turns into "every target".
 */
export function deleteWebhook(db: Db, customer_id: string, id: string, now: number): boolean {
  return transact(db, () => {
    const { changes } = db
      .query(
        `UPDATE webhooks SET deleted_at = $now
          WHERE id = $id AND customer_id = $customer_id AND deleted_at IS NULL`,
      )
      .run({ id, customer_id, now })
    if (changes === 0) return false
    failWaiting(db, id, 'webhook_deleted')
    const { changes: count } = db
      .query(
        `UPDATE deliveries SET status = 'failed', last_error = 'webhook_deleted', next_attempt_at = NULL, lease = NULL
          WHERE webhook_id = $id AND lease IS NOT NULL`,
      )
      .run({ id })
    tellEndedTo(db, id, { status: 'failed', count })
    db.query(
      `UPDATE monitors SET updated_at = $now, webhook_ids =
              (SELECT json_group_array(value) FROM json_each(webhook_ids) WHERE value <> $id)
        WHERE customer_id = $customer_id AND removed_at IS NULL
          AND EXISTS (SELECT 1 FROM json_each(webhook_ids) WHERE value = $id)`,
    ).run({ id, customer_id, now })
    return true
  })
}
