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

// A row may end long after it was written, when the daemon was down or somebody sent it again.
const ENDS_WITHIN_MS = 15 * 86_400_000

/**
 * A monitor's delivery rows, counted by how they ended since `since_at`: what is withheld ends as it is written, all
 * else with its last attempt. Failed is what a receiver refused; what was never sent to one is not.
 */
export function countDeliveries(
  db: Db,
  { monitor_id, since_at }: { monitor_id: string; since_at: number },
): DeliveryCounts {
  const ended = db
    .query<
      Pick<DeliveryCounts, 'delivered' | 'dead' | 'failed'>,
      [{ monitor_id: string; since_at: number; earliest_at: number }]
    >(
      `SELECT (SELECT count(*) FROM deliveries
                WHERE monitor_id = $monitor_id AND delivered_at > $since_at) AS delivered,
              count(*) FILTER (WHERE status = 'dead') AS dead,
              count(*) FILTER (WHERE status = 'failed') AS failed
         FROM deliveries d
        WHERE monitor_id = $monitor_id AND created_at > $earliest_at AND status IN ('dead', 'failed')
          AND coalesce(last_error, '') NOT IN ('webhook_paused', 'webhook_deleted')
          AND coalesce((SELECT ended_at FROM attempts WHERE delivery_row = d.row ORDER BY n DESC LIMIT 1),
                created_at) > $since_at`,
    )
    .get({ monitor_id, since_at, earliest_at: since_at - ENDS_WITHIN_MS })
  const withheld = db
    .query<
      Pick<DeliveryCounts, 'ceiling' | 'stale' | 'low_relevance' | 'unknown'>,
      [{ monitor_id: string; since_at: number }]
    >(
      `SELECT count(*) FILTER (WHERE reason = 'delivery_ceiling') AS ceiling,
              count(*) FILTER (WHERE reason = 'stale_item') AS stale,
              count(*) FILTER (WHERE reason = 'low_relevance') AS low_relevance,
              count(*) FILTER (WHERE reason IS NULL
                OR reason NOT IN ('delivery_ceiling', 'stale_item', 'low_relevance')) AS unknown
         FROM deliveries
        WHERE monitor_id = $monitor_id AND created_at > $since_at AND status = 'suppressed'`,
    )
    .get({ monitor_id, since_at })
  if (ended === null || withheld === null) throw new Error('an aggregate always has a row')
  return { ...ended, ...withheld }
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
