import type { Db } from '../db/connection.ts'
import { readIds, type Watcher, type WatcherRow } from '../monitoring/monitors.ts'

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

type Key = { monitor_id: string; item_id: string }

type Row = WatcherRow &
  Pick<WaitingMatch, 'item_id' | 'body' | 'since_at' | 'failures' | 'filter_spec'> & {
    item_created_at: number
    is_orphan: 0 | 1
  }

const COLUMNS = `w.item_id, w.created_at AS item_created_at, w.body, w.at AS since_at, w.failures, m.filter_spec,
              m.removed_at IS NOT NULL OR u.removed_at IS NOT NULL AS is_orphan,
              m.id, m.customer_id, u.plan, m.webhook_ids, m.baseline_item_id, m.updated_at, m.attention, m.relevance,
              m.active_since, 0 AS active_from_seq`
const OWNERS = 'JOIN monitors m ON m.id = w.monitor_id JOIN customers u ON u.id = m.customer_id'

function toMatch(row: Row): WaitingMatch {
  const { item_id, item_created_at, body, since_at, failures, filter_spec, is_orphan, ...it } = row
  const watcher = { ...it, webhook_ids: readIds(it.webhook_ids) }
  return {
    item_id,
    created_at: item_created_at,
    body,
    since_at,
    failures,
    filter_spec,
    is_orphan: is_orphan === 1,
    watcher,
  }
}

// Each customer with waiting matches is one step in an index, however many matches wait.
const WAITING_CUSTOMERS = `WITH RECURSIVE waiting (id) AS (
    SELECT min(customer_id) FROM judgements WHERE outcome IS NULL
    UNION ALL
    SELECT (SELECT min(customer_id) FROM judgements WHERE outcome IS NULL AND customer_id > waiting.id)
      FROM waiting WHERE waiting.id IS NOT NULL)`
const FIRST_DUE =
  '(SELECT min(next_attempt_at) FROM judgements WHERE outcome IS NULL AND customer_id = waiting.id)'

export const listDueCustomers = (db: Db, now: number): string[] =>
  db
    .query<{ id: string }, [{ now: number }]>(
      `${WAITING_CUSTOMERS} SELECT id FROM waiting WHERE id IS NOT NULL AND ${FIRST_DUE} <= $now ORDER BY id`,
    )
    .all({ now })
    .map(({ id }) => id)

/** Due time of the next waiting match; Infinity when there is none. */
export const nextWaitingAt = (db: Db): number =>
  db
    .query<{ at: number | null }, []>(
      `${WAITING_CUSTOMERS} SELECT min(${FIRST_DUE}) AS at FROM waiting WHERE id IS NOT NULL`,
    )
    .get()?.at ?? Infinity

/** Due matches of a customer, the longest due first. */
export const listDueWaiting = (
  db: Db,
  query: { customer_id: string; now: number; limit: number },
): WaitingMatch[] =>
  db
    .query<Row, [typeof query]>(
      `SELECT ${COLUMNS} FROM judgements w INDEXED BY judgements_due ${OWNERS}
        WHERE w.outcome IS NULL AND w.customer_id = $customer_id AND w.next_attempt_at <= $now
        ORDER BY w.next_attempt_at LIMIT $limit + 0`,
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
         CROSS JOIN judgements w INDEXED BY judgements_since
                 ON w.outcome IS NULL AND w.monitor_id = m.id AND w.at <= $from_at
         JOIN customers u ON u.id = m.customer_id
        WHERE m.relevance IS NOT NULL AND json_extract(m.relevance, '$.when_down') = 'deliver' LIMIT $limit + 0`,
    )
    .all(query)
    .map(toMatch)

/** A match as it waits now; null if it was erased or delivered. */
export function findWaitingMatch(db: Db, key: Key): WaitingMatch | null {
  const row = db
    .query<Row, [Key]>(
      `SELECT ${COLUMNS} FROM judgements w ${OWNERS}
        WHERE w.outcome IS NULL AND w.monitor_id = $monitor_id AND w.item_id = $item_id`,
    )
    .get({ monitor_id: key.monitor_id, item_id: key.item_id })
  return row && toMatch(row)
}
