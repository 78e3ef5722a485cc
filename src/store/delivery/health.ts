import type { Db } from '../db/connection.ts'
import type { PAUSE_REASONS } from './webhooks.ts'

const HOUR_MS = 3_600_000
/** Hours of which attempts are counted, with the present one. */
export const HEALTH_HOURS = 24
/** Waiting deliveries of a target are counted up to this number. */
export const WAITING_MAX = 1000

const hourOf = (at: number): number => Math.floor(at / HOUR_MS)

/** An ended attempt of a delivery. */
export type Tallied = {
  webhook_id: string
  row: number
  n: number
  ended_at: number
  succeeded: boolean
}

/** Counts ended attempts for the health of their targets. Runs within the transaction of the attempts. */
export function tallyAttempts(db: Db, attempts: readonly Tallied[]): void {
  const rows = attempts.map(({ webhook_id, ended_at, succeeded }) => ({
    id: webhook_id,
    hour: hourOf(ended_at),
    ok: succeeded ? 1 : 0,
    at: succeeded ? ended_at : null,
  }))
  const counted = db
    .query<{ webhook_id: string; fails: 0 | 1 }, [{ rows: string }]>(
      `INSERT INTO webhook_hours (webhook_id, hour, succeeded, failed, last_success_at)
       SELECT value ->> 'id', value ->> 'hour', sum(value ->> 'ok'), sum(1 - (value ->> 'ok')), max(value ->> 'at')
         FROM json_each($rows) WHERE true GROUP BY 1, 2
       ON CONFLICT DO UPDATE SET succeeded = succeeded + excluded.succeeded, failed = failed + excluded.failed,
          last_success_at = coalesce(excluded.last_success_at, last_success_at)
       RETURNING webhook_id,
          (SELECT coalesce(refused_since, failing_since) IS NOT NULL FROM webhooks WHERE id = webhook_id) AS fails`,
    )
    .all({ rows: JSON.stringify(rows) })
  const failing = new Set(counted.flatMap((it) => (it.fails === 1 ? [it.webhook_id] : [])))
  // In their order: a target that fails and recovers in one turn is well. A success of one that is well changes nothing.
  for (const { webhook_id, row, n, ended_at, succeeded } of attempts)
    if (!succeeded) {
      failing.add(webhook_id)
      db.query(
        `UPDATE webhooks SET refused_since = coalesce(refused_since, $ended_at), last_failure_at = $ended_at,
                last_failure_row = $row, last_failure_n = $n WHERE id = $webhook_id`,
      ).run({ webhook_id, ended_at, row, n })
    } else if (failing.delete(webhook_id))
      db.query(
        `UPDATE webhooks SET refused_since = NULL, failing_since = NULL, failing_days = 0, failing_day = NULL
          WHERE id = $webhook_id`,
      ).run({ webhook_id })
}

/** Deletes the counts of past hours, but the newest with a success; those dated ahead by a wrong clock too. */
export const pruneWebhookHours = (db: Db, now: number): void =>
  void db
    .query(
      `DELETE FROM webhook_hours AS h
        WHERE hour NOT BETWEEN $hour - ${HEALTH_HOURS} AND $hour + 1
          AND (last_success_at IS NULL OR hour > $hour OR EXISTS (
            SELECT 1 FROM webhook_hours WHERE webhook_id = h.webhook_id AND hour > h.hour AND last_success_at IS NOT NULL))`,
    )
    .run({ hour: hourOf(now) })

/**
 * unused: no attempt yet. good: the last attempt succeeded. retrying: attempts fail and are repeated. failing: a
 * delivery was given up since the last success. paused: as its reason says. off: switched off, or not confirmed.
 */
export const HEALTH_STATES = ['unused', 'good', 'retrying', 'failing', 'paused', 'off'] as const
type HealthState = (typeof HEALTH_STATES)[number]

/** Deliveries of a target. Epoch milliseconds. */
export type WebhookHealth = {
  state: HealthState
  /** First failed attempt since the last success; null when the last attempt succeeded. */
  failing_since: number | null
  last_success_at: number | null
  last_failure: {
    at: number
    /** These are null when the attempt is no longer stored. */
    delivery_id: string | null
    reason: string | null
    status_code: number | null
    body_start: string | null
  } | null
  /** Waiting deliveries without and with a failed attempt; together at most {@link WAITING_MAX}. */
  waiting: number
  retrying: number
  /** Due time of the next one; null when none waits. */
  next_attempt_at: number | null
  /** Attempts by hour, oldest first; the last is the present hour. */
  succeeded: number[]
  failed: number[]
}

type Row = {
  id: string
  active: number
  pause_reason: (typeof PAUSE_REASONS)[number] | null
  failing_since: number | null
  refused_since: number | null
  last_success_at: number | null
  last_failure_at: number | null
  delivery_id: string | null
  error: string | null
  http_status: number | null
  body_start: string | null
}

type Queue = { total: number; retrying: number | null; next_attempt_at: number | null }

/** The health of a customer's targets by their ids. Its cost does not depend on how many deliveries are stored. */
export function webhookHealth(
  db: Db,
  customer_id: string,
  now: number,
): Map<string, WebhookHealth> {
  const hours = countHours(db, customer_id, now)
  const queue = db.query<Queue, [{ id: string }]>(
    `SELECT count(*) AS total, sum(retry_index > 0) AS retrying, min(next_attempt_at) AS next_attempt_at
         FROM (SELECT retry_index, next_attempt_at FROM deliveries INDEXED BY deliveries_due
                WHERE webhook_id = $id AND status = 'pending'
                ORDER BY next_attempt_at LIMIT ${WAITING_MAX})`,
  )
  return new Map(
    listRows(db, customer_id).map((row) => {
      const { total, retrying, next_attempt_at } = queue.get({ id: row.id }) ?? NO_QUEUE
      const { succeeded, failed } = hours.get(row.id) ?? { succeeded: none(), failed: none() }
      return [
        row.id,
        {
          state: stateOf(row),
          failing_since: row.refused_since,
          last_success_at: row.last_success_at,
          last_failure: row.last_failure_at === null ? null : failureOf(row, row.last_failure_at),
          waiting: total - (retrying ?? 0),
          retrying: retrying ?? 0,
          next_attempt_at,
          succeeded,
          failed,
        },
      ]
    }),
  )
}

const none = (): number[] => Array.from({ length: HEALTH_HOURS }, () => 0)
const NO_QUEUE: Queue = { total: 0, retrying: 0, next_attempt_at: null }

const listRows = (db: Db, customer_id: string): Row[] =>
  db
    .query<Row, [{ customer_id: string }]>(
      `SELECT w.id, w.active AND NOT w.awaits_confirmation AS active, w.pause_reason, w.failing_since, w.refused_since,
              (SELECT max(last_success_at) FROM webhook_hours WHERE webhook_id = w.id) AS last_success_at,
              w.last_failure_at, d.id AS delivery_id, a.error, a.http_status, a.body_start
         FROM webhooks w
         LEFT JOIN attempts a ON a.delivery_row = w.last_failure_row AND a.n = w.last_failure_n
         LEFT JOIN deliveries d ON d.row = a.delivery_row
        WHERE w.customer_id = $customer_id AND w.deleted_at IS NULL`,
    )
    .all({ customer_id })

function stateOf(row: Row): HealthState {
  if (row.pause_reason !== null) return 'paused'
  if (row.active === 0) return 'off'
  if (row.refused_since !== null) return row.failing_since === null ? 'retrying' : 'failing'
  return row.last_success_at === null ? 'unused' : 'good'
}

const failureOf = ({ delivery_id, error, http_status, body_start }: Row, at: number) => ({
  at,
  delivery_id,
  reason: error,
  status_code: http_status,
  body_start,
})

type Hours = { succeeded: number[]; failed: number[] }

function countHours(db: Db, customer_id: string, now: number): Map<string, Hours> {
  const from = hourOf(now) - HEALTH_HOURS + 1
  const rows = db
    .query<
      { webhook_id: string; hour: number; succeeded: number; failed: number },
      [{ customer_id: string; from: number; to: number }]
    >(
      `SELECT h.webhook_id, h.hour, h.succeeded, h.failed
         FROM webhooks w CROSS JOIN webhook_hours h ON h.webhook_id = w.id AND h.hour BETWEEN $from AND $to
        WHERE w.customer_id = $customer_id AND w.deleted_at IS NULL`,
    )
    .all({ customer_id, from, to: hourOf(now) })
  const hours = new Map<string, Hours>()
  for (const [id, counted] of Map.groupBy(rows, (row) => row.webhook_id)) {
    const by_hour = new Map(counted.map((row) => [row.hour - from, row]))
    const column = (name: keyof Hours) =>
      Array.from({ length: HEALTH_HOURS }, (_, at) => by_hour.get(at)?.[name] ?? 0)
    hours.set(id, { succeeded: column('succeeded'), failed: column('failed') })
  }
  return hours
}
