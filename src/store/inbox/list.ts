import {
  type InboxFilter,
  type InboxPosition,
  type InboxSpan,
  type InboxState,
  laterOf,
} from '../../core/inbox/filter.ts'
import type { Db } from '../db/connection.ts'
import { and, floorOf, inboxSql, spanParams, type SqlParams, withinSpan } from './query.ts'

/** An item of a page, without its texts. Epoch ms. */
export type InboxEntry = {
  row: number
  item_id: string
  matched_at: number
  source: string
  state: InboxState
  starred: 0 | 1
  label: string | null
  changed_at: number | null
  changed_by: string | null
  /** Name of that key. */
  changed_name: string | null
}

const COLUMNS = `i.row, i.item_id, i.matched_at, i.source, i.state, i.starred, i.label, i.changed_at, i.changed_by,
  (SELECT name FROM api_keys WHERE id = i.changed_by) AS changed_name`

/** A part of a list. `examined_to`: the position at which the scan stopped before the end; null: it did not. */
export type InboxPage<T> = { rows: T[]; examined_to: InboxPosition | null }

/**
 * Reads rows of a filter in the order of the list: at most `limit`, and at most `examined` rows of the index. `more`: a
 * further condition.
 */
function selectRows<T>(
  db: Db,
  columns: string,
  {
    customer_id,
    filter,
    span,
    limit,
    examined,
    more = '',
    more_params = {},
  }: InboxQuery & { more?: string; more_params?: SqlParams },
): InboxPage<T> {
  const query = inboxSql(customer_id, filter, more)
  const floor = query.rest === '' ? null : floorOf(db, query, span, examined)
  const read = floor === null ? span : { ...span, least: laterOf(floor, span.least) }
  const { from, driven, rest, at, row, params } = query
  const rows = db
    .query<T, [SqlParams]>(
      `SELECT ${columns} FROM ${from} WHERE ${and(driven, rest, withinSpan(query))}
        ORDER BY ${at} DESC, ${row} DESC LIMIT $limit + 0`,
    )
    .all({ ...params, ...more_params, ...spanParams(read), limit })
  return { rows, examined_to: rows.length === limit ? null : floor }
}

export type InboxQuery = {
  customer_id: string
  filter: InboxFilter
  span: InboxSpan
  limit: number
  examined: number
}

/** Items of a filter, newest first; its `text` is left to the caller, who reads the bodies. */
export const listInbox = (db: Db, query: InboxQuery): InboxPage<InboxEntry> =>
  selectRows(db, COLUMNS, query)

/** Ids of items of a filter, newest first. */
export const listInboxIds = (
  db: Db,
  query: InboxQuery,
): InboxPage<Pick<InboxEntry, 'item_id' | 'matched_at' | 'row'>> =>
  selectRows(db, 'i.item_id, i.matched_at, i.row', query)

export type MonitorMatch = InboxPosition & { item_id: string; message: number }

/** Matches of a monitor, which the filter names, newest first. */
export const listMonitorMatches = (
  db: Db,
  query: InboxQuery & { filter: { monitor: string } },
): InboxPage<MonitorMatch> =>
  selectRows(db, 'i.item_id, m.matched_at, m.item AS row, m.message', query)

export type InboxStateRow = Pick<InboxEntry, 'row' | 'item_id' | 'state' | 'starred' | 'label'> &
  Pick<InboxPosition, 'matched_at'>

const STATE_COLUMNS = 'i.row, i.item_id, i.matched_at, i.state, i.starred, i.label'

export const listChangeable = (
  db: Db,
  query: InboxQuery,
  { state, starred, label }: { state: string | null; starred: 0 | 1 | null; label?: string | null },
): InboxPage<InboxStateRow> =>
  selectRows(db, STATE_COLUMNS, {
    ...query,
    more: `(($new_state IS NOT NULL AND i.state IS NOT $new_state)
       OR ($new_starred IS NOT NULL AND i.starred IS NOT $new_starred)
       OR ($sets_label = 1 AND i.label IS NOT $new_label))`,
    more_params: {
      new_state: state,
      new_starred: starred,
      sets_label: label === undefined ? 0 : 1,
      new_label: label ?? null,
    },
  })

type OfCustomer = { customer_id: string; ids: string }

/** Items of a customer by their ids, newest first, from before a position. Unknown ids are left out. */
export const findInbox = (
  db: Db,
  customer_id: string,
  ids: readonly string[],
  { matched_at, row }: InboxPosition,
): InboxEntry[] =>
  db
    .query<InboxEntry, [OfCustomer & InboxPosition]>(
      `SELECT ${COLUMNS} FROM json_each($ids) k CROSS JOIN inbox_items i ON i.item_id = k.value
        WHERE i.customer_id = $customer_id AND (i.matched_at, i.row) < ($matched_at, $row)
        ORDER BY i.matched_at DESC, i.row DESC`,
    )
    .all({ customer_id, ids: JSON.stringify([...new Set(ids)]), matched_at, row })

/** The same as an update sees them. */
export const findInboxStates = (
  db: Db,
  customer_id: string,
  ids: readonly string[],
): InboxStateRow[] =>
  db
    .query<InboxStateRow, [OfCustomer]>(
      `SELECT ${STATE_COLUMNS} FROM json_each($ids) k CROSS JOIN inbox_items i ON i.item_id = k.value
        WHERE i.customer_id = $customer_id`,
    )
    .all({ customer_id, ids: JSON.stringify([...new Set(ids)]) })

/** A monitor that matched an item. `body`: the stored match; null once it is deleted. Epoch ms. */
export type InboxMatch = {
  item: number
  monitor_id: string
  name: string | null
  removed: 0 | 1
  found_at: number
  message: number
}

const MONITORS_MAX = 20

/** Monitors that matched these items, the first of each item first. */
export const listInboxMatches = (db: Db, items: readonly number[]): InboxMatch[] =>
  db
    .query<InboxMatch, [{ items: string }]>(
      `SELECT m.item, m.monitor_id, o.name, o.removed_at IS NOT NULL AS removed, m.found_at, m.message
         FROM json_each($items) k CROSS JOIN inbox_matches m ON m.item = k.value
           AND m.row IN (SELECT row FROM inbox_matches WHERE item = k.value ORDER BY row LIMIT ${MONITORS_MAX})
         JOIN monitors o ON o.id = m.monitor_id ORDER BY m.row`,
    )
    .all({ items: JSON.stringify(items) })
