import { hash } from 'node:crypto'

import { unpackBody } from './bodies.ts'
import type { Db } from './db.ts'
import { pendingDeliveries } from './pending.ts'

/** What may become of a delivery (interface, Delivery status). */
export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed', 'dead', 'suppressed'] as const
type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

/** How a delivery begins: to be sent, withheld for a reason, or refused from the start. */
export type NewDelivery = {
  id: string
  customer_id: string
  monitor_id: string
  body: Uint8Array
  /** When it was made, true time. */
  now: number
  /** When it is to be sent, by our own clock; left out: as `now`. */
  due_at?: number
} & (
  | { status: 'pending'; webhook_id: string }
  | { status: 'suppressed'; webhook_id: string | null; reason: string }
  | { status: 'failed'; webhook_id: string; last_error: 'webhook_paused' | 'webhook_deleted' }
)

/**
 * A row that is dated further ahead was written by a clock that was wrong, and is not followed: days of deliveries would
 * count for the one it names.
 */
const FOLLOWED_MS = 3_600_000

/**
 * Writes a delivery, within a transaction; false when its id is already there, which is how a repeated check stays harmless.
 * created_at grows strictly within a customer, because it is the cursor of the list.
 */
export function insertDelivery(db: Db, row: NewDelivery): boolean {
  const { changes, lastInsertRowid } = db
    .query(
      `INSERT OR IGNORE INTO deliveries
         (id, customer_id, monitor_id, webhook_id, status, reason, last_error, next_attempt_at, in_order,
          created_at)
       VALUES ($id, $customer_id, $monitor_id, $webhook_id, $status, $reason, $last_error, $next_attempt_at,
          coalesce((SELECT ordered FROM webhooks WHERE id = $webhook_id), 0),
          max($now, coalesce((SELECT max(created_at) FROM deliveries
                               WHERE customer_id = $customer_id AND created_at <= $now + ${FOLLOWED_MS}), 0) + 1))`,
    )
    .run({
      id: row.id,
      customer_id: row.customer_id,
      monitor_id: row.monitor_id,
      webhook_id: row.webhook_id,
      status: row.status,
      reason: row.status === 'suppressed' ? row.reason : null,
      last_error: row.status === 'failed' ? row.last_error : null,
      next_attempt_at: row.status === 'pending' ? (row.due_at ?? row.now) : null,
      now: row.now,
    })
  if (changes === 0) return false
  db.query(
    'INSERT INTO delivery_bodies (delivery_row, body, body_sha256) VALUES ($row, $body, $body_sha256)',
  ).run({
    row: lastInsertRowid,
    body: row.body,
    body_sha256: hash('sha256', row.body, 'buffer'),
  })
  return true
}

/** When a delivery written now will say that it was: instants grow strictly within a customer. */
export function nextDeliveryAt(db: Db, customer_id: string, now: number): number {
  const row = db
    .query<{ at: number | null }, [{ customer_id: string; now: number }]>(
      `SELECT max(created_at) AS at FROM deliveries
        WHERE customer_id = $customer_id AND created_at <= $now + ${FOLLOWED_MS}`,
    )
    .get({ customer_id, now })
  return Math.max(now, (row?.at ?? 0) + 1)
}

/** A delivery as it is listed. Epoch milliseconds. */
export type DeliveryRow = {
  id: string
  monitor_id: string
  webhook_id: string | null
  status: DeliveryStatus
  attempts: number
  last_error: string | null
  created_at: number
  delivered_at: number | null
  body: Uint8Array
}

/** Which deliveries are wanted, the newest first. */
export type DeliveryQuery = {
  customer_id: string
  monitor_id: string | null
  status: DeliveryStatus | null
  /** created_at of the oldest row of the previous page; null for the newest. */
  before: number | null
  limit: number
}

/** SQL for what is in the index of what did not arrive: a query that says so is answered by it. */
export const MISSED = "status IN ('failed', 'dead', 'suppressed')"

/** A customer's deliveries, newest first. Those of a status are found without a look at all that there ever were. */
export function listDeliveries(db: Db, query: DeliveryQuery): DeliveryRow[] {
  const { status } = query
  const from = status === 'pending' ? `${pendingDeliveries('*')} AS deliveries` : 'deliveries'
  const conditions = ['customer_id = $customer_id']
  if (query.monitor_id !== null) conditions.push('monitor_id = $monitor_id')
  if (status !== null) conditions.push('status = $status')
  if (status !== null && status !== 'pending' && status !== 'delivered') conditions.push(MISSED)
  if (query.before !== null) conditions.push('created_at < $before')
  return db
    .query<DeliveryRow, [DeliveryQuery]>(
      `SELECT id, monitor_id, webhook_id, status, attempts, last_error, created_at, delivered_at, body
         FROM ${from} JOIN delivery_bodies ON delivery_row = row WHERE ${conditions.join(' AND ')}
        ORDER BY created_at DESC, id DESC LIMIT $limit`,
    )
    .all(query)
    .map((row) => ({ ...row, body: unpackBody(row.body) }))
}

/** A delivery as the operator sees it: whose it is, and nothing of what it says. */
export type DeliveryLine = Omit<DeliveryRow, 'body'> & { customer: string }

/** Deliveries of one customer or of all, newest first, without their bodies. */
export function listAllDeliveries(
  db: Db,
  query: { customer_id: string | null; status: DeliveryStatus | null; limit: number },
): DeliveryLine[] {
  return db
    .query<DeliveryLine, [typeof query]>(
      `SELECT d.id, c.name AS customer, d.monitor_id, d.webhook_id, d.status, d.attempts, d.last_error,
              d.created_at, d.delivered_at
         FROM deliveries d JOIN customers c ON c.id = d.customer_id
        WHERE ($customer_id IS NULL OR d.customer_id = $customer_id)
          AND ($status IS NULL OR d.status = $status)
        ORDER BY d.rowid DESC LIMIT $limit`,
    )
    .all(query)
}

/** Whether the customer has, or once had, this monitor: deliveries outlive their monitor. */
export function ownedMonitor(db: Db, customer_id: string, monitor_id: string): boolean {
  return (
    db
      .query('SELECT 1 FROM monitors WHERE id = $monitor_id AND customer_id = $customer_id')
      .get({ monitor_id, customer_id }) !== null
  )
}

/** One attempt of a delivery, and what the receiver said; `headers` and `body_start` are redacted. */
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

/** The attempts of a customer's delivery, oldest first; null when it is absent or somebody else's. */
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
