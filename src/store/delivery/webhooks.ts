import type { Signature } from '../../core/delivery/signature.ts'
import type { WebhookEvent, WebhookKind } from '../../core/delivery/target.ts'
import { type Db, transact } from '../db/connection.ts'
import { IN_FLIGHT, notifyEndedTo, pendingDeliveries } from './pending.ts'

/** Days with failures after which a target may be paused. */
const FAILING_DAYS_MIN = 3
const DAY_MS = 86_400_000

/** Fails a target's waiting deliveries. Those in flight get the outcome of their attempt. */
function failWaiting(db: Db, id: string): void {
  const { changes: count } = db
    .query(
      `UPDATE deliveries SET status = 'failed', last_error = 'webhook_paused', next_attempt_at = NULL
        WHERE webhook_id = $id AND status = 'pending' AND row NOT IN ${IN_FLIGHT}`,
    )
    .run({ id })
  notifyEndedTo(db, id, { status: 'failed', count })
}

/** SQL: true for a target `w` to which nothing more may be sent, because it is switched off or its receiver is gone. */
export const IS_SHUT = "(w.active = 0 OR w.pause_reason = 'gone')"

/** Turns ordered delivery on or off for a target's waiting deliveries. */
function orderWaiting(db: Db, id: string, ordered: boolean): void {
  db.query(
    `UPDATE deliveries SET in_order = $in_order
      WHERE row IN (SELECT row FROM ${pendingDeliveries('row, webhook_id')} WHERE webhook_id = $id)`,
  ).run({ id, in_order: ordered ? 1 : 0 })
}

export function resumeWebhook(db: Db, id: string): void {
  db.query(
    `UPDATE webhooks SET paused_at = NULL, pause_reason = NULL,
            failing_since = NULL, failing_days = 0, failing_day = NULL, refused_since = NULL WHERE id = $id`,
  ).run({ id })
}

/** Forgets the attempts at a target's former address; a paused target stays paused. */
function forgetAttempts(db: Db, id: string): void {
  db.query('DELETE FROM webhook_hours WHERE webhook_id = $id').run({ id })
  db.query(
    `UPDATE webhooks SET failing_since = NULL, failing_days = 0, failing_day = NULL, refused_since = NULL,
            last_failure_at = NULL, last_failure_row = NULL, last_failure_n = NULL
      WHERE id = $id`,
  ).run({ id })
}

export function recordFailure(db: Db, id: string, now: number): void {
  db.query(
    `UPDATE webhooks SET failing_since = coalesce(failing_since, $now),
            failing_days = failing_days + (coalesce(failing_day, -1) < $day),
            failing_day = max(coalesce(failing_day, -1), $day)
      WHERE id = $id`,
  ).run({ id, now, day: Math.floor(now / DAY_MS) })
}

/**
 * Pauses a target whose receiver answered 410, and fails its waiting deliveries. False when it was paused before:
 * several attempts may be in flight when the first gets the 410.
 */
export function retireWebhook(db: Db, id: string, now: number): boolean {
  const { changes } = db
    .query(
      `UPDATE webhooks SET paused_at = $now, pause_reason = 'gone' WHERE id = $id AND paused_at IS NULL`,
    )
    .run({ id, now })
  failWaiting(db, id)
  return changes === 1
}

/**
 * Pauses the targets without a success for `after_ms`, with failed deliveries on three different days (UTC), so that a
 * clock jump alone pauses nothing. Returns their ids.
 */
export function pauseFailing(db: Db, after_ms: number, now: number): string[] {
  return db
    .query<{ id: string }, [{ now: number; since: number }]>(
      `UPDATE webhooks SET paused_at = $now, pause_reason = 'failing'
        WHERE paused_at IS NULL AND deleted_at IS NULL AND failing_since <= $since
          AND failing_days >= ${FAILING_DAYS_MIN}
        RETURNING id`,
    )
    .all({ now, since: now - after_ms })
    .map(({ id }) => id)
}

export const PAUSE_REASONS = ['failing', 'gone'] as const
/** failing: a week of failed deliveries. gone: the receiver answered 410. */
type PauseReason = (typeof PAUSE_REASONS)[number]

const readEvents = (text: string): WebhookEvent[] => JSON.parse(text) as WebhookEvent[]

/** A target as the API shows it; the secret is separate. */
export type Webhook = {
  id: string
  kind: WebhookKind
  url: string
  created_at: number
  active: boolean
  paused_at: number | null
  pause_reason: PauseReason | null
  name: string | null
  /** Most attempts started in a second; null: no limit. */
  max_per_second: number | null
  /** True when each monitor's deliveries are sent one after another. */
  ordered: boolean
  /** Events that it receives; always with `match`. */
  events: WebhookEvent[]
  /** True if credentials at a push service or broker are stored. */
  has_credentials: boolean
  /** 32 bytes of the Ed25519 key of its deliveries; null: they are signed with HMAC only. */
  public_key: Uint8Array | null
}

type Flag = 'active' | 'ordered' | 'has_credentials'
type Row = Omit<Webhook, Flag | 'events'> & Record<Flag, number> & { events: string }

// An unconfirmed target counts as switched off, regardless of its setting.
const COLUMNS =
  'id, kind, url, created_at, active AND NOT awaits_confirmation AS active, paused_at, pause_reason, name, max_per_second, ordered, events, credentials IS NOT NULL AS has_credentials, public_key'
const fromRow = (row: Row): Webhook => ({
  ...row,
  active: row.active === 1,
  ordered: row.ordered === 1,
  events: readEvents(row.events),
  has_credentials: row.has_credentials === 1,
})

/** Inserts a target. `secret` and `credentials` are sealed. */
export function insertWebhook(
  db: Db,
  webhook: {
    id: string
    customer_id: string
    kind: WebhookKind
    url: string
    secret: Uint8Array
    credentials?: Uint8Array | null
    public_key?: Uint8Array | null
    created_at: number
    name?: string | null
    /** Absent: matches alone. */
    events?: readonly string[] | undefined
    /** True: nothing is sent until the reader confirms. */
    awaits_confirmation?: boolean
  },
): void {
  db.query(
    `INSERT INTO webhooks (id, customer_id, kind, url, secret, credentials, public_key, created_at, name, awaits_confirmation, events)
     VALUES ($id, $customer_id, $kind, $url, $secret, $credentials, $public_key, $created_at, $name, $awaits_confirmation, $events)`,
  ).run({
    ...webhook,
    credentials: webhook.credentials ?? null,
    public_key: webhook.public_key ?? null,
    name: webhook.name ?? null,
    awaits_confirmation: webhook.awaits_confirmation ? 1 : 0,
    events: JSON.stringify(webhook.events ?? ['match']),
  })
}

/** A customer's target by id; null when absent, deleted or owned by another customer. */
export function findWebhook(db: Db, customer_id: string, id: string): Webhook | null {
  const row = db
    .query<Row, [{ id: string; customer_id: string }]>(
      `SELECT ${COLUMNS} FROM webhooks
        WHERE id = $id AND customer_id = $customer_id AND deleted_at IS NULL`,
    )
    .get({ id, customer_id })
  return row && fromRow(row)
}

/** Editable fields of a target; absent ones stay unchanged. */
export type WebhookChange = {
  url?: string | undefined
  name?: string | null | undefined
  active?: boolean | undefined
  max_per_second?: number | null | undefined
  ordered?: boolean | undefined
  events?: readonly WebhookEvent[] | undefined
  /** Sealed; null removes them. */
  credentials?: Uint8Array | null | undefined
  /** Adds an asymmetric signature with the key that `resealed` makes of the stored secret, or removes it. */
  signing?: { reseal: (sealed: Uint8Array) => Resealed } | undefined
}

export type Resealed = { secret: Uint8Array; public_key: Uint8Array | null }

/**
 * Changes a target and returns the new state; null when absent or owned by another customer. Deliveries that wait for
 * a target being switched off fail as webhook_paused, so that they are visible and can be redelivered.
 */
export function updateWebhook(
  db: Db,
  customer_id: string,
  id: string,
  edit: WebhookChange,
): Webhook | null {
  return transact(db, () => {
    const before = findWebhook(db, customer_id, id)
    if (before === null) return null
    const { name = before.name, max_per_second = before.max_per_second, url = before.url } = edit
    const { active = before.active, ordered = before.ordered, events = before.events } = edit
    db.query(
      `UPDATE webhooks SET url = $url, name = $name, active = coalesce($active, active), max_per_second = $max_per_second, ordered = $ordered,
              events = $events
        WHERE id = $id`,
    ).run({
      id,
      url,
      name,
      active: edit.active ?? null,
      max_per_second,
      ordered: ordered ? 1 : 0,
      events: JSON.stringify(events),
    })
    if (url !== before.url) forgetAttempts(db, id)
    if (edit.credentials !== undefined)
      db.query('UPDATE webhooks SET credentials = $credentials WHERE id = $id').run({
        id,
        credentials: edit.credentials,
      })
    if (edit.signing !== undefined) resealSecret(db, id, edit.signing.reseal)
    if (before.ordered !== ordered) orderWaiting(db, id, ordered)
    if (before.active && !active) failWaiting(db, id)
    return findWebhook(db, customer_id, id)
  })
}

function resealSecret(db: Db, id: string, reseal: (sealed: Uint8Array) => Resealed): void {
  const row = db
    .query<{ secret: Uint8Array }, [{ id: string }]>('SELECT secret FROM webhooks WHERE id = $id')
    .get({ id })
  if (row === null) return
  db.query('UPDATE webhooks SET secret = $secret, public_key = $public_key WHERE id = $id').run({
    id,
    ...reseal(row.secret),
  })
}

/**
 * Sets a new sealed secret for a target; the previous one signs too until `until`, if given. False when the target is
 * absent or owned by another customer.
 */
export function rotateSecret(
  db: Db,
  customer_id: string,
  {
    id,
    secret,
    public_key = null,
    until,
    now,
  }: Partial<Resealed> & { id: string; secret: Uint8Array; until: number | null; now: number },
): boolean {
  return transact(
    db,
    () =>
      db
        .query(
          `UPDATE webhooks SET old_secret = iif($until IS NULL, NULL, secret), old_secret_until = $until, secret = $secret,
                  secret_since = $now, public_key = $public_key
            WHERE id = $id AND customer_id = $customer_id AND deleted_at IS NULL`,
        )
        .run({ id, customer_id, secret, public_key, until, now }).changes > 0,
  )
}

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
 * Deletes a target; false when absent or owned by another customer. Its waiting deliveries fail as webhook_deleted,
 * and its id is removed from every monitor's list: a list that becomes empty stays empty and never means "every
 * target".
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
    const { changes: count } = db
      .query(
        `UPDATE deliveries SET status = 'failed', last_error = 'webhook_deleted', next_attempt_at = NULL
          WHERE webhook_id = $id AND status = 'pending'`,
      )
      .run({ id })
    notifyEndedTo(db, id, { status: 'failed', count })
    db.query(
      `UPDATE monitors SET updated_at = $now, webhook_ids =
              (SELECT json_group_array(value) FROM json_each(webhook_ids) WHERE value <> $id)
        WHERE customer_id = $customer_id AND removed_at IS NULL
          AND EXISTS (SELECT 1 FROM json_each(webhook_ids) WHERE value = $id)`,
    ).run({ id, customer_id, now })
    return true
  })
}

/** A target as configured by its customer, which may differ from its effective state: one may be unconfirmed. */
export type SetWebhook = {
  id: string
  name: string | null
  kind: WebhookKind
  url: string
  active: boolean
  ordered: boolean
  max_per_second: number | null
  events: WebhookEvent[]
  has_credentials: boolean
  signatures: Signature[]
}

type SetWebhookRow = Omit<SetWebhook, Flag | 'signatures' | 'events'> &
  Record<Flag, number> & { is_asymmetric: number; events: string }

/** A customer's targets as configured, oldest first. */
export function listSetWebhooks(db: Db, customer_id: string): SetWebhook[] {
  return db
    .query<SetWebhookRow, [{ customer_id: string }]>(
      `SELECT id, name, kind, url, active, ordered, max_per_second, events,
              credentials IS NOT NULL AS has_credentials, public_key IS NOT NULL AS is_asymmetric FROM webhooks
        WHERE customer_id = $customer_id AND deleted_at IS NULL ORDER BY created_at, id`,
    )
    .all({ customer_id })
    .map(({ is_asymmetric, ...row }) => ({
      ...row,
      signatures: is_asymmetric === 1 ? ['v1', 'v1a'] : ['v1'],
      active: row.active === 1,
      ordered: row.ordered === 1,
      events: readEvents(row.events),
      has_credentials: row.has_credentials === 1,
    }))
}

/** True when an id is in use by any customer; removed rows keep their id too. */
export function isTaken(db: Db, what: 'webhooks' | 'monitors', id: string): boolean {
  return (
    db.query<unknown, [{ id: string }]>(`SELECT 1 FROM ${what} WHERE id = $id`).get({ id }) !== null
  )
}
