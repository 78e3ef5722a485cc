import { hash } from 'node:crypto'

import { type Db, transact } from '../db/connection.ts'
import { pendingDeliveries } from './pending.ts'

// Bodies stay in the database, compressed. Rejected: a separate archive, which would be a second file to back up,
// restore and keep consistent.

const ZSTD = [0x28, 0xb5, 0x2f, 0xfd]
const LEVEL = 9

/** The bytes of a body as frozen, compressed or not. JSON never begins like zstd. */
export function unpackBody(stored: Uint8Array): Uint8Array {
  return ZSTD.every((byte, at) => stored[at] === byte) ? Bun.zstdDecompressSync(stored) : stored
}

type Row = {
  row: number
  id: string
  monitor_id: string
  status: string
  created_at: number
  body: Uint8Array
}

/** Progress of one kind of work on old bodies, stored in the row of the instance. */
type Cursor = 'packed_to' | 'blanked_to'

/**
 * Bounds of the work: rows created before `before_at`. A row dated more than an hour after `now` was written by a
 * wrong clock.
 */
type Old = { before_at: number; now: number }
const AHEAD_MS = 3_600_000

/**
 * Compresses the bodies of up to `limit` deliveries older than `before_at`; their rows stay unchanged. Returns the
 * number of deliveries.
 */
export function packBodies(db: Db, old: Old, limit: number): number {
  const pack = db.query('UPDATE delivery_bodies SET body = $body WHERE delivery_row = $row')
  return walk(db, 'packed_to', old, limit, ({ row, body }) => {
    const whole = unpackBody(body)
    const packed = Bun.zstdCompressSync(whole, { level: LEVEL })
    if (packed.length < whole.length) pack.run({ row, body: packed })
  })
}

/**
 * Blanks up to `limit` deliveries older than `before_at` and the excerpts of their receivers' responses; rows and ids
 * stay. Returns the number of deliveries.
 */
export function blankBodies(db: Db, old: Old, limit: number): number {
  const blank = db.query(
    'UPDATE delivery_bodies SET body = $body, body_sha256 = $digest WHERE delivery_row = $row',
  )
  const forget = db.query(
    'UPDATE attempts SET headers = NULL, body_start = NULL WHERE delivery_row = $row',
  )
  return walk(db, 'blanked_to', old, limit, ({ row, id, monitor_id }) => {
    const body = Buffer.from(
      JSON.stringify({ delivery_id: id, monitor_id, count: 0, grouped: false, items: [] }),
    )
    blank.run({ row, body, digest: hash('sha256', body, 'buffer') })
    forget.run({ row })
  })
}

/** Walks the deliveries in write order, up to the first that is not old enough or still waits. */
function walk(
  db: Db,
  cursor: Cursor,
  { before_at, now }: Old,
  limit: number,
  work: (row: Row) => void,
): number {
  return transact(db, () => {
    const from = db.query<{ at: number }, []>(`SELECT ${cursor} AS at FROM instance`).get()?.at ?? 0
    // A delivery that still waits keeps its bytes, and is revisited.
    const stays = ({ row, created_at, status }: Pick<Row, 'row' | 'created_at' | 'status'>) =>
      status === 'pending' || (datedAt(row, created_at) ?? Infinity) >= before_at
    // A row dated ahead by a wrong clock is known only to be written before the next row.
    const datedAt = (row: number, created_at: number): number | undefined =>
      created_at <= now + AHEAD_MS
        ? created_at
        : db
            .query<{ at: number }, [{ row: number; latest: number }]>(
              'SELECT created_at AS at FROM deliveries WHERE row > $row AND created_at <= $latest ORDER BY row LIMIT 1',
            )
            .get({ row, latest: now + AHEAD_MS })?.at
    // Usually there is nothing to do, which one row shows.
    const next = db
      .query<Pick<Row, 'row' | 'created_at' | 'status'>, [{ from: number }]>(
        'SELECT row, created_at, status FROM deliveries WHERE row > $from ORDER BY row LIMIT 1',
      )
      .get({ from })
    if (next === null || stays(next)) return 0
    const rows = db
      .query<Row, [{ from: number; limit: number }]>(
        `SELECT row, id, monitor_id, status, created_at, body
           FROM deliveries JOIN delivery_bodies ON delivery_row = row
          WHERE row > $from ORDER BY row LIMIT $limit`,
      )
      .all({ from, limit })
    const end = rows.findIndex(stays)
    const old = end === -1 ? rows : rows.slice(0, end)
    for (const row of old) work(row)
    const last = old.at(-1)
    if (last) db.query(`UPDATE instance SET ${cursor} = $at`).run({ at: last.row })
    return old.length
  })
}

/** Statuses of a delivery. */
export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed', 'dead', 'suppressed'] as const
type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

/** Events that deliveries carry beside matches. */
export const ALARM_EVENTS = ['monitor.alarm', 'monitor.alarm_ended'] as const
export type AlarmEvent = (typeof ALARM_EVENTS)[number]

/** The initial state of a delivery: to be sent, suppressed for a reason, or failed from the start. */
export type NewDelivery = {
  id: string
  customer_id: string
  monitor_id: string
  body: Uint8Array
  /** Creation time, true time. */
  now: number
  /** Due time by the local clock; absent: `now`. */
  due_at?: number
  /** Event of an alarm; absent: matches. */
  event?: AlarmEvent
} & (
  | { status: 'pending'; webhook_id: string }
  | { status: 'suppressed'; webhook_id: string | null; reason: string }
  | { status: 'failed'; webhook_id: string; last_error: 'webhook_paused' | 'webhook_deleted' }
)

/**
 * A row dated further ahead than this was written by a wrong clock and does not move later rows: their deliveries
 * would count for its day.
 */
const FOLLOWED_MS = 3_600_000

/**
 * Inserts a delivery within a transaction; false when its id exists, so that a repeated check changes nothing.
 * created_at grows strictly within a customer, because it is the cursor of the list.
 */
export function insertDelivery(db: Db, row: NewDelivery): boolean {
  const { changes, lastInsertRowid } = db
    .query(
      `INSERT OR IGNORE INTO deliveries
         (id, customer_id, monitor_id, webhook_id, status, reason, last_error, next_attempt_at, in_order,
          event, created_at)
       VALUES ($id, $customer_id, $monitor_id, $webhook_id, $status, $reason, $last_error, $next_attempt_at,
          coalesce((SELECT ordered FROM webhooks WHERE id = $webhook_id), 0), $event,
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
      event: row.event ?? null,
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

/** The created_at of a delivery inserted now: it grows strictly within a customer. */
export function nextDeliveryAt(db: Db, customer_id: string, now: number): number {
  const row = db
    .query<{ at: number | null }, [{ customer_id: string; now: number }]>(
      `SELECT max(created_at) AS at FROM deliveries
        WHERE customer_id = $customer_id AND created_at <= $now + ${FOLLOWED_MS}`,
    )
    .get({ customer_id, now })
  return Math.max(now, (row?.at ?? 0) + 1)
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

/** A selection of deliveries, newest first. */
export type DeliveryQuery = {
  customer_id: string
  monitor_id: string | null
  status: DeliveryStatus | null
  /** created_at of the oldest row of the previous page; null for the newest. */
  before: number | null
  limit: number
}

/** SQL condition of the index on missed deliveries; a query that contains it uses that index. */
export const MISSED = "status IN ('failed', 'dead', 'suppressed')"

/** A customer's deliveries, newest first. A query by status does not read all other deliveries. */
export function listDeliveries(db: Db, query: DeliveryQuery): DeliveryRow[] {
  const { status } = query
  const is_missed = status !== null && status !== 'pending' && status !== 'delivered'
  const stored = is_missed ? 'deliveries INDEXED BY deliveries_missed' : 'deliveries'
  const from = status === 'pending' ? `${pendingDeliveries('*')} AS deliveries` : stored
  const conditions = ['customer_id = $customer_id']
  if (query.monitor_id !== null) conditions.push('monitor_id = $monitor_id')
  if (status !== null) conditions.push('status = $status')
  if (is_missed) conditions.push(MISSED)
  if (query.before !== null) conditions.push('created_at < $before')
  return db
    .query<DeliveryRow, [DeliveryQuery]>(
      `SELECT id, monitor_id, webhook_id, status, attempts, last_error, created_at, delivered_at, held_until, body
         FROM ${from} JOIN delivery_bodies ON delivery_row = row WHERE ${conditions.join(' AND ')}
        ORDER BY created_at DESC, id DESC LIMIT $limit`,
    )
    .all(query)
    .map((row) => ({ ...row, body: unpackBody(row.body) }))
}

/** A delivery as the operator sees it: with its customer, without its content. */
export type DeliveryLine = Omit<DeliveryRow, 'body' | 'held_until'> & { customer: string }

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

/** True when the customer has or had this monitor: deliveries outlive their monitor. */
export function ownedMonitor(db: Db, customer_id: string, monitor_id: string): boolean {
  return (
    db
      .query('SELECT 1 FROM monitors WHERE id = $monitor_id AND customer_id = $customer_id')
      .get({ monitor_id, customer_id }) !== null
  )
}

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
