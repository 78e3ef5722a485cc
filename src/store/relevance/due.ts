import type { Db } from '../db/connection.ts'
import { readIds, type Watcher, type WatcherRow } from '../monitoring/monitors.ts'

/** A match that waits for a verdict. */
export type WaitingMatch = {
  item_id: string
  /** Creation of the item, epoch ms. */
  created_at: number
  /** JSON of the item as it is delivered. */
  body: string
  since_at: number
  /** Failed calls for this match. */
  failures: number
  filter_spec: string
  /** True when the monitor or its customer was removed meanwhile. */
  is_orphan: boolean
  watcher: Watcher
}

type Row = WatcherRow &
  Pick<WaitingMatch, 'item_id' | 'body' | 'since_at' | 'failures' | 'filter_spec'> & {
    item_created_at: number
    is_orphan: 0 | 1
  }

const COLUMNS = `w.item_id, w.created_at AS item_created_at, w.body, w.since_at, w.failures, m.filter_spec,
              m.removed_at IS NOT NULL OR u.removed_at IS NOT NULL AS is_orphan,
              m.id, m.customer_id, u.plan, m.webhook_ids, m.baseline_item_id, m.updated_at, m.attention, m.relevance,
              m.active_since, 0 AS active_from_seq`
const FROM =
  'relevance_waiting w JOIN monitors m ON m.id = w.monitor_id JOIN customers u ON u.id = m.customer_id'

const toMatch = ({
  item_id,
  item_created_at,
  body,
  since_at,
  failures,
  filter_spec,
  is_orphan,
  ...it
}: Row): WaitingMatch => ({
  item_id,
  created_at: item_created_at,
  body,
  since_at,
  failures,
  filter_spec,
  is_orphan: is_orphan === 1,
  watcher: { ...it, webhook_ids: readIds(it.webhook_ids) },
})

/** Due matches, the longest due first. */
export const listDueWaiting = (db: Db, query: { now: number; limit: number }): WaitingMatch[] =>
  db
    .query<Row, [typeof query]>(
      `SELECT ${COLUMNS} FROM ${FROM} WHERE w.next_attempt_at <= $now
        ORDER BY w.next_attempt_at, w.monitor_id, w.item_id LIMIT $limit + 0`,
    )
    .all(query)
    .map(toMatch)

/**
 * Matches that have waited since `from_at` or longer, of monitors that deliver without a verdict: by monitor, because
 * many thousands of held ones may wait before them.
 */
export const listOverdueWaiting = (
  db: Db,
  query: { from_at: number; limit: number },
): WaitingMatch[] =>
  db
    .query<Row, [typeof query]>(
      `SELECT ${COLUMNS} FROM monitors m INDEXED BY monitors_relevance
         CROSS JOIN relevance_waiting w INDEXED BY relevance_waiting_since
                 ON w.monitor_id = m.id AND w.since_at <= $from_at
         JOIN customers u ON u.id = m.customer_id
        WHERE m.relevance IS NOT NULL AND json_extract(m.relevance, '$.when_down') = 'deliver' LIMIT $limit + 0`,
    )
    .all(query)
    .map(toMatch)

/** A match as it waits now; null if it was erased or delivered. */
export function findWaitingMatch(
  db: Db,
  key: { monitor_id: string; item_id: string },
): WaitingMatch | null {
  const row = db
    .query<Row, [typeof key]>(
      `SELECT ${COLUMNS} FROM ${FROM} WHERE w.monitor_id = $monitor_id AND w.item_id = $item_id`,
    )
    .get(key)
  return row && toMatch(row)
}
