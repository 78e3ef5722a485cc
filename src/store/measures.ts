import type { WebhookKind } from '../core/webhook-kind.ts'
import type { Db } from './db.ts'
import { pendingDeliveries } from './pending.ts'

// What /metrics asks of the rows. Each question ends after so many of them, or reads a table that stays small: a scrape
// comes every few seconds, and nobody may wait for it.

const PENDING_LOOKED_AT = 5_000

/** Deliveries that wait, by failed attempts in their round, and when the oldest of them was written (true time). */
export function measurePending(db: Db) {
  const rows = db
    .query<{ rung: number; n: number; oldest_at: number }, []>(
      `SELECT rung, count(*) AS n, min(created_at) AS oldest_at
         FROM (SELECT * FROM ${pendingDeliveries('rung, created_at')} LIMIT ${PENDING_LOOKED_AT})
        GROUP BY rung`,
    )
    .all()
  const oldest_at = rows.length === 0 ? null : Math.min(...rows.map((row) => row.oldest_at))
  return { by_rung: new Map(rows.map(({ rung, n }) => [rung, n])), oldest_at }
}

/** When the next attempt was or is to be made, of those that nobody has taken; null when none waits. */
export function nextAttemptAt(db: Db): number | null {
  const row = db
    .query<{ at: number | null }, []>(
      `SELECT min((SELECT min(next_attempt_at) FROM deliveries d
                    WHERE d.webhook_id = w.id AND d.status = 'pending' AND d.lease IS NULL)) AS at
         FROM webhooks w WHERE w.deleted_at IS NULL`,
    )
    .get()
  return row?.at ?? null
}

/** How late the streams of a kind are against what was promised. */
export type Lag = { kind: string; streams: number; late: number; worst_ms: number }

/** Every kind of stream that is looked at, with how far the latest of it is past its promise. */
export function measureLag(db: Db, now: number): Lag[] {
  return db
    .query<Lag, [{ now: number }]>(
      `SELECT kind, count(*) AS streams, sum(late_ms > 500 * asked_s) AS late, max(0, max(late_ms)) AS worst_ms
         FROM (SELECT kind, asked_s, $now - coalesce(last_check_at, created_at) - 1000 * asked_s AS late_ms
                 FROM streams WHERE next_check_at IS NOT NULL)
        GROUP BY kind`,
    )
    .all({ now })
}

type Targets = { kind: WebhookKind; state: 'active' | 'paused' | 'unconfirmed' | 'off'; n: number }

/** Targets that are there, by kind and by whether anything is sent to them. */
export function measureTargets(db: Db): Targets[] {
  return db
    .query<Targets, []>(
      `SELECT kind, CASE WHEN paused_at IS NOT NULL THEN 'paused' WHEN awaits_confirmation = 1 THEN 'unconfirmed'
                         WHEN active = 1 THEN 'active' ELSE 'off' END AS state, count(*) AS n
         FROM webhooks WHERE deleted_at IS NULL GROUP BY 1, 2`,
    )
    .all()
}

/** What is on hold now, in micro-dollars. */
export function measureHolds(db: Db): { holds: number; micros: number } {
  return (
    db
      .query<{ holds: number; micros: number }, []>(
        'SELECT count(*) AS holds, coalesce(sum(amount_micros), 0) AS micros FROM holds',
      )
      .get() ?? { holds: 0, micros: 0 }
  )
}

/** Customers who pay nothing, who have credit, and who cannot pay `price_micros`. */
export function measureCredit(db: Db, price_micros: number) {
  return (
    db
      .query<{ unlimited: number; some: number; none: number }, [{ price_micros: number }]>(
        `SELECT count(*) FILTER (WHERE unlimited = 1) AS unlimited,
                count(*) FILTER (WHERE unlimited = 0 AND balance_micros >= $price_micros) AS some,
                count(*) FILTER (WHERE unlimited = 0 AND balance_micros < $price_micros) AS none
           FROM customers WHERE removed_at IS NULL`,
      )
      .get({ price_micros }) ?? { unlimited: 0, some: 0, none: 0 }
  )
}
