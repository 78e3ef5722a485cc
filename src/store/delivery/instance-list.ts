// Deliveries of all customers for the operator, newest first, without their content. There is no index of time over all
// customers: it would cost every delivery a write. Instead a page examines a bounded number of rows in the order of an
// index that exists, and says how far it came.

import type { Db } from '../db/connection.ts'
import { MISSED } from './deliveries.ts'
import { pendingDeliveries } from './pending.ts'

/** States of a delivery in the list: a pending one waits for its first attempt, or for another. */
export const LINE_STATUSES = [
  'waiting',
  'retrying',
  'delivered',
  'failed',
  'dead',
  'suppressed',
] as const
export type LineStatus = (typeof LINE_STATUSES)[number]

/** Position after a row; instants are epoch ms. */
export type LinePosition = { row: number; created_at: number }

/** A selection; null: any. `until` is exclusive. */
type LineQuery = {
  customer_id: string | null
  status: LineStatus | null
  since: number | null
  until: number | null
  after: LinePosition | null
  limit: number
}

/** A delivery without its content. */
export type InstanceDelivery = LinePosition & {
  id: string
  status: string
  retry_index: number
  attempts: number
  reason: string | null
  last_error: string | null
  delivered_at: number | null
  next_attempt_at: number | null
  customer_id: string
  customer_name: string
  monitor_id: string
  monitor_name: string | null
  webhook_id: string | null
  webhook_name: string | null
  webhook_kind: string | null
  webhook_url: string | null
}

type Candidate = LinePosition & { status: string; retry_index: number }

/** Rows that one page examines, which takes some ten milliseconds. */
const EXAMINED_MAX = 20_000
/** Rows may be dated out of their order by at most this, ms: as far as a wrong clock is followed. */
const DISORDER_MS = 3_600_000

/** One page. `next`: position to go on from, also where the page ended because it had examined enough; null: the end. */
export function listInstanceDeliveries(
  db: Db,
  query: LineQuery,
): { lines: InstanceDelivery[]; next: LinePosition | null } {
  const { since, until, limit } = query
  const found: number[] = []
  let last: LinePosition | null = null
  let examined = 0
  for (const it of candidatesOf(db, query)) {
    if (query.customer_id === null && since !== null && it.created_at < since - DISORDER_MS)
      return { lines: linesOf(db, found), next: null }
    if (found.length === limit || examined === EXAMINED_MAX)
      return { lines: linesOf(db, found), next: last }
    examined += 1
    last = { row: it.row, created_at: it.created_at }
    const in_time = it.created_at >= (since ?? -Infinity) && it.created_at < (until ?? Infinity)
    if (in_time && (query.status === null || lineState(it) === query.status)) found.push(it.row)
  }
  return { lines: linesOf(db, found), next: null }
}

/** The state of a delivery as the list names it. */
export const lineState = ({ status, retry_index }: Pick<Candidate, 'status' | 'retry_index'>) =>
  status === 'pending' ? (retry_index > 0 ? 'retrying' : 'waiting') : status

/** Rows in the order of the list, from the index that holds the fewest others. */
function candidatesOf(db: Db, query: LineQuery): IterableIterator<Candidate> {
  const { customer_id, status, since, after } = query
  const missed = status === 'failed' || status === 'dead' || status === 'suppressed'
  const pending = status === 'waiting' || status === 'retrying'
  const columns = 'SELECT row, created_at, status, retry_index FROM'
  const of_missed = missed ? `status = '${status}' AND ${MISSED} AND` : ''
  if (pending && pendingWithin(db, EXAMINED_MAX))
    return db
      .query<Candidate, [{ row: number; whose: string | null }]>(
        `SELECT d.row, d.created_at, d.status, d.retry_index FROM ${pendingDeliveries('row')} p
           JOIN deliveries d ON d.row = p.row
          WHERE d.row < $row AND ($whose IS NULL OR d.customer_id = $whose) ORDER BY d.row DESC`,
      )
      .iterate({ row: after?.row ?? newestRow(db) + 1, whose: customer_id })
  if (customer_id !== null)
    return db
      .query<Candidate, [{ whose: string; since: number; until: number }]>(
        `${columns} deliveries INDEXED BY ${missed ? 'deliveries_missed' : 'deliveries_customer'}
          WHERE ${of_missed} customer_id = $whose AND created_at >= $since AND created_at < $until
          ORDER BY created_at DESC`,
      )
      .iterate({
        whose: customer_id,
        since: since ?? 0,
        // created_at grows strictly within a customer.
        until: Math.min(after?.created_at ?? LATEST, query.until ?? LATEST),
      })
  return db
    .query<Candidate, [{ row: number }]>(
      `${columns} deliveries ${missed ? 'INDEXED BY deliveries_missed_newest' : 'NOT INDEXED'}
        WHERE ${of_missed} row < $row ORDER BY row DESC`,
    )
    .iterate({ row: after?.row ?? firstRow(db, query.until) })
}

const LATEST = Number.MAX_SAFE_INTEGER

/** True if at most `max` deliveries wait: sorting them is then less work than a search among all. */
const pendingWithin = (db: Db, max: number): boolean =>
  (db
    .query<{ n: number }, [{ limit: number }]>(
      `SELECT count(*) AS n FROM (SELECT 1 FROM ${pendingDeliveries('row')} LIMIT $limit)`,
    )
    .get({ limit: max + 1 })?.n ?? 0) <= max

const newestRow = (db: Db): number =>
  db.query<{ row: number | null }, []>('SELECT max(row) AS row FROM deliveries').get()?.row ?? 0

/** A row behind all that were created before `until`, found by bisection: rows are nearly in the order of time. */
function firstRow(db: Db, until: number | null): number {
  let high = newestRow(db) + 1
  if (until === null) return high
  const at = db.query<{ created_at: number }, [{ row: number }]>(
    'SELECT created_at FROM deliveries WHERE row >= $row ORDER BY row LIMIT 1',
  )
  let low = 0
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    const found = at.get({ row: middle })
    if (found === null || found.created_at >= until + DISORDER_MS) high = middle
    else low = middle
  }
  return high
}

function linesOf(db: Db, rows: readonly number[]): InstanceDelivery[] {
  const line = db.query<InstanceDelivery, [{ row: number }]>(
    `SELECT d.row, d.id, d.created_at, d.status, d.retry_index, d.attempts, d.reason, d.last_error, d.delivered_at,
            d.next_attempt_at, d.customer_id, c.name AS customer_name, d.monitor_id, m.name AS monitor_name,
            d.webhook_id, w.name AS webhook_name, w.kind AS webhook_kind, w.url AS webhook_url
       FROM deliveries d JOIN customers c ON c.id = d.customer_id JOIN monitors m ON m.id = d.monitor_id
       LEFT JOIN webhooks w ON w.id = d.webhook_id WHERE d.row = $row`,
  )
  return rows.flatMap((row) => line.get({ row }) ?? [])
}

/** States of a monitor in the list; `stopped`: the service paused it. */
export const MONITOR_STATES = ['active', 'paused', 'stopped'] as const
type MonitorState = (typeof MONITOR_STATES)[number]

export type InstanceMonitor = {
  id: string
  name: string | null
  customer_id: string
  customer_name: string
  active: number
  pause_reason: string | null
  cadence_s: number
  created_at: number
  last_match_at: number | null
  feeds: number
}

const OF_STATE: Readonly<Record<MonitorState, string>> = {
  active: 'm.active = 1',
  paused: 'm.active = 0 AND m.pause_reason IS NULL',
  stopped: 'm.active = 0 AND m.pause_reason IS NOT NULL',
}

/** Monitors of all customers, newest first by id; null: any. `until` is exclusive. */
export function listInstanceMonitors(
  db: Db,
  query: {
    customer_id: string | null
    state: MonitorState | null
    since: number | null
    until: number | null
    after_id: string | null
    limit: number
  },
): InstanceMonitor[] {
  const { customer_id, state, since, until, after_id, limit } = query
  const conditions = [
    'm.removed_at IS NULL',
    customer_id !== null && 'm.customer_id = $customer_id',
    state !== null && OF_STATE[state],
    since !== null && 'm.created_at >= $since',
    until !== null && 'm.created_at < $until',
    after_id !== null && 'm.id < $after_id',
  ].filter((it) => it !== false)
  return db
    .query<InstanceMonitor, [Record<string, string | number>]>(
      `SELECT m.id, m.name, m.customer_id, c.name AS customer_name, m.active, m.pause_reason, m.cadence_s, m.created_at, m.last_match_at,
              (SELECT count(*) FROM monitor_feeds f WHERE f.monitor_id = m.id) AS feeds
         FROM monitors m JOIN customers c ON c.id = m.customer_id
        WHERE ${conditions.join(' AND ')} ORDER BY m.id DESC LIMIT $limit`,
    )
    .all({
      ...(customer_id !== null && { customer_id }),
      ...(since !== null && { since }),
      ...(until !== null && { until }),
      ...(after_id !== null && { after_id }),
      limit,
    })
}
