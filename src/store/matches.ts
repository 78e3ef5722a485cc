import { CEILING_ROWS_A_DAY, utcDay } from '../core/gate.ts'
import type { DeliveryCounts } from '../core/health.ts'
import type { Db } from './db.ts'

/** Enters a match into the ledger; false when this monitor has matched this item before. */
export function insertMatch(
  db: Db,
  row: { monitor_id: string; item_id: string; stream_id: number; matched_at: number },
): boolean {
  return (
    db
      .query(
        `INSERT OR IGNORE INTO matches (monitor_id, item_id, stream_id, matched_at)
         VALUES ($monitor_id, $item_id, $stream_id, $matched_at)`,
      )
      .run(row).changes === 1
  )
}

/** When a delivery written now will say that it was: instants grow strictly within a customer. */
export function nextDeliveryAt(db: Db, customer_id: string, now: number): number {
  const row = db
    .query<{ at: number | null }, [{ customer_id: string }]>(
      'SELECT max(created_at) AS at FROM deliveries WHERE customer_id = $customer_id',
    )
    .get({ customer_id })
  return Math.max(now, (row?.at ?? 0) + 1)
}

/** Takes one of the day's deliveries; false when the ceiling is reached. */
export function reserveDelivery(
  db: Db,
  { monitor_id, ceiling, now }: { monitor_id: string; ceiling: number; now: number },
): boolean {
  if (ceiling < 1) return false
  const row = db
    .query(
      `INSERT INTO monitor_days (monitor_id, day, deliveries) VALUES ($monitor_id, $day, 1)
       ON CONFLICT DO UPDATE SET deliveries = deliveries + 1 WHERE deliveries < $ceiling
       RETURNING deliveries`,
    )
    .get({ monitor_id, day: utcDay(now), ceiling })
  return row !== null
}

/** Counts a delivery that the ceiling withheld. True when a row of it is still to be stored. */
export function countCeiling(
  db: Db,
  { monitor_id, now }: { monitor_id: string; now: number },
): boolean {
  const row = db
    .query<{ n: number }, [{ monitor_id: string; day: number }]>(
      `INSERT INTO monitor_days (monitor_id, day, ceiling_suppressed) VALUES ($monitor_id, $day, 1)
       ON CONFLICT DO UPDATE SET ceiling_suppressed = ceiling_suppressed + 1
       RETURNING ceiling_suppressed AS n`,
    )
    .get({ monitor_id, day: utcDay(now) })
  return row !== null && row.n <= CEILING_ROWS_A_DAY
}

/** Whether a day that reaches into the time since `since_at` had more ceiling suppressions than are stored. */
export function ceilingCapped(
  db: Db,
  { monitor_id, since_at }: { monitor_id: string; since_at: number },
): boolean {
  return (
    db
      .query(
        `SELECT 1 FROM monitor_days
          WHERE monitor_id = $monitor_id AND day >= $day AND ceiling_suppressed > ${CEILING_ROWS_A_DAY}`,
      )
      .get({ monitor_id, day: utcDay(since_at) }) !== null
  )
}

// What was delivered in the window may have been created before it, when the receiver or the daemon was down.
const EARLIER_MS = 86_400_000

/** A monitor's delivery rows since `since_at`, counted by how they ended; delivered ones by when that was. */
export function countDeliveries(
  db: Db,
  { monitor_id, since_at }: { monitor_id: string; since_at: number },
): DeliveryCounts {
  const row = db
    .query<DeliveryCounts, [{ monitor_id: string; since_at: number; earlier_at: number }]>(
      `SELECT count(*) FILTER (WHERE delivered_at > $since_at) AS delivered,
              count(*) FILTER (WHERE status = 'dead' AND created_at > $since_at) AS dead,
              count(*) FILTER (WHERE status = 'failed' AND created_at > $since_at) AS failed,
              count(*) FILTER (WHERE withheld AND reason = 'delivery_ceiling') AS ceiling,
              count(*) FILTER (WHERE withheld AND reason = 'stale_item') AS stale,
              count(*) FILTER (WHERE withheld AND reason = 'low_relevance') AS low_relevance,
              count(*) FILTER (WHERE withheld AND (reason IS NULL
                OR reason NOT IN ('delivery_ceiling', 'stale_item', 'low_relevance'))) AS unknown
         FROM (SELECT *, status = 'suppressed' AND created_at > $since_at AS withheld FROM deliveries
                WHERE monitor_id = $monitor_id AND created_at > $earlier_at)`,
    )
    .get({ monitor_id, since_at, earlier_at: since_at - EARLIER_MS })
  if (row === null) throw new Error('an aggregate always has a row')
  return row
}

/** When the newest delivery row of a monitor was written, whatever its status; null when it has none. */
export function lastDeliveryAt(db: Db, monitor_id: string): number | null {
  return (
    db
      .query<{ created_at: number }, [{ monitor_id: string }]>(
        'SELECT created_at FROM deliveries WHERE monitor_id = $monitor_id ORDER BY created_at DESC LIMIT 1',
      )
      .get({ monitor_id })?.created_at ?? null
  )
}
