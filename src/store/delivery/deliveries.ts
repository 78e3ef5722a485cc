import { insertRows } from '../db/bulk.ts'
import { type Db, foreignChanges } from '../db/connection.ts'
import {
  BODY_COLUMNS,
  deliveryRow,
  insertMessages,
  messageOf,
  renderBody,
  reserveMessages,
  type StoredBody,
} from './messages.ts'
import { pendingDeliveries } from './pending.ts'

export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed', 'dead', 'suppressed'] as const
type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

export const ALARM_EVENTS = ['monitor.alarm', 'monitor.alarm_ended'] as const
export type AlarmEvent = (typeof ALARM_EVENTS)[number]
/** Events about an item that a target had received. */
export const ITEM_EVENTS = ['item.deleted', 'item.edited'] as const
type ItemEvent = (typeof ITEM_EVENTS)[number]

/** The initial state of a delivery: to be sent, suppressed for a reason, or failed from the start. */
type OneDelivery = {
  id: string
  customer_id: string
  monitor_id: string
} & (
  | { status: 'pending'; webhook_id: string }
  | { status: 'suppressed'; webhook_id: string | null; reason: string; suppressed?: string }
  | { status: 'failed'; webhook_id: string; last_error: 'webhook_paused' | 'webhook_deleted' }
)

/**
 * `row`: of its message and target. `created_at`: true time, of {@link createDeliveryTimes}. `due_at`: by the local clock.
 * `in_order`: its target has ordered deliveries.
 */
export type NewDelivery = OneDelivery & {
  row: number
  created_at: number
  due_at: number
  in_order: boolean
}

/**
 * A row dated further ahead than this was written by a wrong clock and does not move later rows: their deliveries
 * would count for its day.
 */
const FOLLOWED_MS = 3_600_000

/** Newest creation by customer, as of a state of the file. */
const newest = new WeakMap<Db, { version: number; at: Map<string, number> }>()

/**
 * Creation times of deliveries that are inserted now: they grow strictly within a customer, because they are the cursor of the
 * list. Kept in memory until another process writes.
 */
export function createDeliveryTimes(db: Db, now: number): (customer_id: string) => number {
  const version = foreignChanges(db)
  let known = newest.get(db)
  if (known?.version !== version) newest.set(db, (known = { version, at: new Map() }))
  const { at } = known
  return (customer_id) => {
    const last = at.get(customer_id)
    const before =
      last !== undefined && last <= now + FOLLOWED_MS ? last : newestDelivery(db, customer_id, now)
    const next = Math.max(now, before + 1)
    at.set(customer_id, next)
    return next
  }
}

const newestDelivery = (db: Db, customer_id: string, now: number): number =>
  db
    .query<{ at: number | null }, [{ customer_id: string; now: number }]>(
      `SELECT max(created_at) AS at FROM deliveries
        WHERE customer_id = $customer_id AND created_at <= $now + ${FOLLOWED_MS}`,
    )
    .get({ customer_id, now })?.at ?? 0

/**
 * Inserts deliveries of messages within a transaction. Returns the ids of those that did not exist, so that a repeated check
 * changes nothing.
 */
export function insertDeliveries(db: Db, rows: readonly NewDelivery[]): Set<string> {
  const inserted = insertRows<NewDelivery, { id: string }>(db, rows, {
    into: `INSERT OR IGNORE INTO deliveries (row, id, customer_id, monitor_id, webhook_id, status, reason, suppressed,
                                             last_error, next_attempt_at, in_order, created_at)`,
    values: '(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    after: 'RETURNING id',
    bind: (it) => [
      it.row,
      it.id,
      it.customer_id,
      it.monitor_id,
      it.webhook_id,
      it.status,
      it.status === 'suppressed' ? it.reason : null,
      it.status === 'suppressed' ? (it.suppressed ?? null) : null,
      it.status === 'failed' ? it.last_error : null,
      it.status === 'pending' ? it.due_at : null,
      it.in_order ? 1 : 0,
      it.created_at,
    ],
  })
  return new Set(inserted.map(({ id }) => id))
}

/**
 * Inserts one delivery with a message of its own at `now`, true time; `due_at`: by the local clock. `event`: of an alarm or of
 * an item; absent: matches. False when its id exists.
 */
export function insertDelivery(
  db: Db,
  {
    now,
    due_at = now,
    body,
    event,
    item_ids,
    ...row
  }: OneDelivery & {
    now: number
    due_at?: number
    body: Uint8Array
    event?: AlarmEvent | ItemEvent
    item_ids?: readonly string[]
  },
): boolean {
  const { id, customer_id, monitor_id, webhook_id } = row
  if (db.query('SELECT 1 FROM deliveries WHERE id = $id').get({ id }) !== null) return false
  const message = reserveMessages(db, 1)
  insertMessages(db, [{ row: message, monitor_id, event, body, matched_at: due_at, item_ids }])
  const in_order =
    db
      .query('SELECT 1 FROM webhooks WHERE id = $webhook_id AND ordered = 1')
      .get({ webhook_id }) !== null
  const created_at = createDeliveryTimes(db, now)(customer_id)
  insertDeliveries(db, [{ ...row, row: deliveryRow(message), due_at, created_at, in_order }])
  return true
}

/** A delivery in a list. Epoch milliseconds. */
export type DeliveryRow = {
  id: string
  monitor_id: string
  webhook_id: string | null
  status: DeliveryStatus
  attempts: number
  last_error: string | null
  created_at: number
  delivered_at: number | null
  held_until: number | null
  body: Uint8Array
}

/** Reasons for which a delivery cannot be sent again, in the order in which they are checked. */
export const REDELIVER_REFUSALS = [
  'pending',
  'no_webhook',
  'webhook_deleted',
  'webhook_disabled',
  'webhook_paused',
  'unconfirmed',
  'unsubscribed',
  'content_erased',
] as const
type RedeliverRefusal = (typeof REDELIVER_REFUSALS)[number]

/**
 * SQL of that reason for a delivery `d` and its target `w`; NULL when it can be sent. An unconfirmed or unsubscribed
 * mail reader is not written to by a redelivery either. A blanked body would be taken for a delivery that arrived.
 */
export const REDELIVER_REFUSAL = `CASE
  WHEN d.status = 'pending' THEN 'pending'
  WHEN w.id IS NULL THEN 'no_webhook'
  WHEN w.deleted_at IS NOT NULL THEN 'webhook_deleted'
  WHEN w.active = 0 THEN 'webhook_disabled'
  WHEN w.paused_at IS NOT NULL THEN 'webhook_paused'
  WHEN w.awaits_confirmation = 1 THEN 'unconfirmed'
  WHEN EXISTS (SELECT 1 FROM json_each(w.unsubscribed) WHERE value = d.monitor_id) THEN 'unsubscribed'
  WHEN d.reason = 'item_deleted' THEN 'content_erased'
  WHEN (SELECT body IS NULL FROM messages WHERE row = ${messageOf('d.row')}) THEN 'content_erased' END`

export type ListedDelivery = DeliveryRow & {
  /** Null unless it waits. */
  next_attempt_at: number | null
  /** 1 for a waiting delivery with a failed attempt. */
  retrying: 0 | 1
  refusal: RedeliverRefusal | null
}

/** A selection of deliveries, newest first. Absent and null: any. */
export type DeliveryQuery = {
  customer_id: string
  monitor_id?: string | null | undefined
  webhook_id?: string | null | undefined
  status?: DeliveryStatus | null | undefined
  /** Only waiting ones: with a failed attempt, or without. */
  retrying?: boolean | null | undefined
  /** Beginning of the id. */
  id_prefix?: string | null | undefined
  /** Created at or after. */
  since?: number | null | undefined
  /** created_at of the oldest row of the previous page; null for the newest. */
  before?: number | null | undefined
  limit: number
}

/** SQL condition of the index on missed deliveries; a query that contains it uses that index. */
export const MISSED = "status IN ('failed', 'dead', 'suppressed')"

/** A character that sorts after those of an id. */
const AFTER_IDS = '~'

/** A customer's deliveries, newest first. A query by status does not read all other deliveries. */
export function listDeliveries(db: Db, query: DeliveryQuery): ListedDelivery[] {
  const { status = null, retrying = null, id_prefix = null } = query
  const missed = status !== null && status !== 'pending' && status !== 'delivered'
  const conditions = [
    'd.customer_id = $customer_id',
    query.monitor_id != null && 'd.monitor_id = $monitor_id',
    query.webhook_id != null && 'd.webhook_id = $webhook_id',
    status !== null && 'd.status = $status',
    missed && `d.${MISSED}`,
    retrying !== null && `d.status = 'pending' AND d.retry_index ${retrying ? '> 0' : '= 0'}`,
    id_prefix !== null && 'd.id >= $id_prefix AND d.id < $id_end',
    query.since != null && 'd.created_at >= $since',
    query.before != null && 'd.created_at < $before',
  ].filter((it) => it !== false)
  // The rows of the page first: waiting ones are sorted, which is not to include bodies.
  const rows = db.query<
    Omit<ListedDelivery, 'body'> & StoredBody,
    [Record<string, string | number | null>]
  >(
    `SELECT d.webhook_id, d.attempts, d.last_error, d.created_at, d.delivered_at, d.next_attempt_at, d.held_until,
            d.status = 'pending' AND d.retry_index > 0 AS retrying, ${REDELIVER_REFUSAL} AS refusal, ${BODY_COLUMNS}
       FROM (SELECT d.* FROM ${sourceOf(query)} WHERE ${conditions.join(' AND ')}
              ORDER BY d.created_at DESC, d.id DESC LIMIT $limit) d
       JOIN messages g ON g.row = ${messageOf('d.row')} LEFT JOIN webhooks w ON w.id = d.webhook_id
      ORDER BY d.created_at DESC, d.id DESC`,
  )
  const { customer_id, monitor_id = null, webhook_id = null, since = null, before = null } = query
  return rows
    .all({
      customer_id,
      ...(monitor_id !== null && { monitor_id }),
      ...(webhook_id !== null && { webhook_id }),
      ...(status !== null && { status }),
      ...(id_prefix !== null && { id_prefix, id_end: id_prefix + AFTER_IDS }),
      ...(since !== null && { since }),
      ...(before !== null && { before }),
      limit: query.limit,
    })
    .map((row) => ({ ...row, body: renderBody(row) }))
}

/** The index for a query, by name: without statistics SQLite takes that of the customer for most. */
function sourceOf({ id_prefix, status, retrying, webhook_id, monitor_id }: DeliveryQuery): string {
  if (id_prefix != null) return 'deliveries d INDEXED BY sqlite_autoindex_deliveries_1'
  if (status === 'pending' || retrying != null) return `${pendingDeliveries('*')} d`
  if (status != null && status !== 'delivered') return 'deliveries d INDEXED BY deliveries_missed'
  if (webhook_id != null) return 'deliveries d INDEXED BY deliveries_webhook'
  return `deliveries d INDEXED BY ${monitor_id == null ? 'deliveries_customer' : 'deliveries_monitor'}`
}

/** True when the customer has or had this monitor: deliveries outlive their monitor. */
export function ownedMonitor(db: Db, customer_id: string, monitor_id: string): boolean {
  return (
    db
      .query('SELECT 1 FROM monitors WHERE id = $monitor_id AND customer_id = $customer_id')
      .get({ monitor_id, customer_id }) !== null
  )
}

/** True when the customer has or had this target. */
export const ownedWebhook = (db: Db, customer_id: string, webhook_id: string): boolean =>
  db
    .query('SELECT 1 FROM webhooks WHERE id = $webhook_id AND customer_id = $customer_id')
    .get({ webhook_id, customer_id }) !== null

/** One attempt of a delivery, and the receiver's response; `headers` and `body_start` are redacted. */
export type AttemptRow = {
  n: number
  round: number
  started_at: number
  ended_at: number
  http_status: number | null
  error: string | null
  headers: Readonly<Record<string, string>>
  body_start: string | null
}

/** The attempts of a customer's delivery, oldest first; null when absent or owned by another customer. */
export function listAttempts(
  db: Db,
  customer_id: string,
  delivery_id: string,
): AttemptRow[] | null {
  const owned = db
    .query<{ row: number }, [{ delivery_id: string; customer_id: string }]>(
      'SELECT row FROM deliveries WHERE id = $delivery_id AND customer_id = $customer_id',
    )
    .get({ delivery_id, customer_id })
  if (owned === null) return null
  return db
    .query<Omit<AttemptRow, 'headers'> & { headers: string | null }, [{ row: number }]>(
      `SELECT n, round, started_at, ended_at, http_status, error, headers, body_start
         FROM attempts WHERE delivery_row = $row ORDER BY n`,
    )
    .all(owned)
    .map(({ headers, ...row }) => ({
      ...row,
      headers: headers === null ? {} : JSON.parse(headers),
    }))
}
