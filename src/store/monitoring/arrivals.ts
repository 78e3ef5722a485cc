import { busyRate } from '../../core/polling/batching.ts'
import type { Arrivals } from '../../core/polling/gap.ts'
import type { Db } from '../db/connection.ts'

const HOUR_MS = 3_600_000

const RETENTION_HOURS = 168

/** Counts new items by their hour of creation, for the last week. */
export function countHours(
  db: Db,
  feed_id: number,
  created_at: readonly number[],
  now: number,
): void {
  const oldest = Math.floor(now / HOUR_MS) - RETENTION_HOURS
  const add = db.query(
    `INSERT INTO feed_hours (feed_id, hour, items) VALUES ($feed_id, $hour, $items)
     ON CONFLICT DO UPDATE SET items = items + $items`,
  )
  const hours = Map.groupBy(created_at, (at) => Math.floor(at / HOUR_MS))
  for (const [hour, { length: items }] of hours)
    if (hour >= oldest) add.run({ feed_id, hour, items })
}

/** The rate of a feed's busiest hours, in items a second; null while too few hours are known. */
export function busyRateOf(db: Db, feed_id: number, now: number): number | null {
  const hour = Math.floor(now / HOUR_MS)
  const rows = db
    .query<{ hour: number; items: number }, [{ feed_id: number; from: number }]>(
      'SELECT hour, items FROM feed_hours WHERE feed_id = $feed_id AND hour >= $from ORDER BY hour',
    )
    .all({ feed_id, from: hour - RETENTION_HOURS })
  const first = rows[0]?.hour
  if (first === undefined) return null
  return busyRate(
    rows.map(({ items }) => items),
    hour - first,
  )
}

/** A feed's rate in the same hour a week ago; null when unknown. */
export function lastWeekRate(db: Db, feed_id: number, at: number): number | null {
  const hour = Math.floor(at / HOUR_MS) - RETENTION_HOURS
  const row = db
    .query<{ items: number }, [{ feed_id: number; hour: number }]>(
      'SELECT items FROM feed_hours WHERE feed_id = $feed_id AND hour = $hour',
    )
    .get({ feed_id, hour })
  return row === null ? null : row.items / 3600
}

/** Deletes hours that no rate uses any more. */
export function pruneHours(db: Db, now: number): void {
  db.query('DELETE FROM feed_hours WHERE hour < $hour').run({
    hour: Math.floor(now / HOUR_MS) - 2 * RETENTION_HOURS,
  })
}

/** Shortest span before a gap over which rates are measured, ms. */
const WINDOW_MIN_MS = 60_000
const ROWS_MAX = 5000
/**
 * A gap begins this long before the poll that it follows; later polls saw rows in it that lie above the missing ones.
 */
const FIRST_SEEN_MS = 61_000

/** Items of a feed that had been seen before a gap, as far back as the gap is long. Instants by the item clock. */
export function listArrivals(
  db: Db,
  feed_id: number,
  gap: { from_at: number; until_at: number },
): Pick<Arrivals, 'before' | 'known_from_at'> {
  const window_from_at = gap.from_at - Math.max(WINDOW_MIN_MS, gap.until_at - gap.from_at)
  const before = db
    .query<{ created_at: number }, [Record<string, number>]>(
      `SELECT created_at FROM feed_items
        WHERE feed_id = $feed_id AND created_at >= $window_from_at AND created_at < $until_at
          AND (created_at <= $from_at OR first_seen_at <= $seen_until_at)
        ORDER BY created_at DESC LIMIT ${ROWS_MAX}`,
    )
    .all({
      feed_id,
      window_from_at,
      ...gap,
      seen_until_at: gap.from_at + FIRST_SEEN_MS,
    })
    .map(({ created_at }) => created_at)
  const oldest = db
    .query<{ at: number | null }, [{ feed_id: number }]>(
      'SELECT min(created_at) AS at FROM feed_items WHERE feed_id = $feed_id',
    )
    .get({ feed_id })
  // A feed that never showed an item is not quiet but unknown.
  const known =
    oldest === null || oldest.at === null || oldest.at >= gap.until_at ? null : oldest.at
  const limit_at = before.length === ROWS_MAX ? (before.at(-1) ?? window_from_at) : window_from_at
  return { before, known_from_at: known === null ? null : Math.max(limit_at, known) }
}
