import type { Db } from './db.ts'
import { pendingDeliveries } from './pending.ts'

/** Nobody reads a longer line of waiting as a number. */
const PENDING_MAX = 10_000

/** How much there is to look after at this moment; deliveries are counted up to ten thousand. */
export function countStanding(db: Db): { monitors: number; streams: number; pending: number } {
  const row = db
    .query<{ monitors: number; streams: number; pending: number }, []>(
      `SELECT (SELECT count(*) FROM monitors WHERE active = 1 AND removed_at IS NULL) AS monitors,
              (SELECT count(*) FROM streams WHERE next_check_at IS NOT NULL) AS streams,
              (SELECT count(*) FROM (SELECT 1 FROM ${pendingDeliveries('row')} LIMIT ${PENDING_MAX})) AS pending`,
    )
    .get()
  return row ?? { monitors: 0, streams: 0, pending: 0 }
}
