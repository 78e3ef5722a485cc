import type { InboxPosition, InboxSpan, InboxState } from '../../core/inbox/filter.ts'
import type { Db } from '../db/connection.ts'

/** A mention for the charts. `monitors`: ids, separated by commas. */
export type Mention = InboxPosition & {
  source: string
  place: string
  author: string | null
  sentiment: string | null
  state: InboxState
  monitors: string | null
}

type Slice = { customer_id: string; span: InboxSpan; limit: number }

/** A customer's mentions within a span, newest first. */
export const listMentions = (db: Db, { customer_id, span, limit }: Slice): Mention[] =>
  db
    .query<Mention, Record<string, string | number>>(
      `SELECT row, matched_at, source, place, author, sentiment, state,
              (SELECT group_concat(monitor_id) FROM inbox_matches WHERE item = i.row) AS monitors
         FROM inbox_items i INDEXED BY inbox_items_time
        WHERE customer_id = $customer_id AND matched_at <= $below_at AND (matched_at, row) < ($below_at, $below_row)
          AND matched_at >= $least_at
        ORDER BY matched_at DESC, row DESC LIMIT $limit + 0`,
    )
    .all({
      customer_id,
      below_at: span.below.matched_at,
      below_row: span.below.row,
      least_at: span.least.matched_at,
      limit,
    })

/** Names of a customer's monitors, of removed ones too. */
export const listMonitorNames = (
  db: Db,
  customer_id: string,
): { id: string; name: string | null; removed: 0 | 1 }[] =>
  db
    .query<{ id: string; name: string | null; removed: 0 | 1 }, [{ customer_id: string }]>(
      'SELECT id, name, removed_at IS NOT NULL AS removed FROM monitors WHERE customer_id = $customer_id',
    )
    .all({ customer_id })

/** A match of a monitor with the key of its item, the row of its body, and the decision on the item; its position is that of the item. */
export type MonitorMatch = InboxPosition & {
  item_id: string
  match_row: number
  state: InboxState
  starred: 0 | 1
}

/** Matches of a monitor within a span, newest first. */
export const listMonitorMatches = (
  db: Db,
  { customer_id, monitor_id, span, limit }: Slice & { monitor_id: string },
): MonitorMatch[] =>
  db
    .query<MonitorMatch, Record<string, string | number>>(
      `SELECT i.item_id, m.matched_at, m.item AS row, m.match_row, i.state, i.starred
         FROM inbox_matches m CROSS JOIN inbox_items i ON i.row = m.item
        WHERE m.monitor_id = $monitor_id AND i.customer_id = $customer_id
          AND m.matched_at <= $below_at AND (m.matched_at, m.item) < ($below_at, $below_row)
          AND m.matched_at >= $least_at
        ORDER BY m.matched_at DESC, m.item DESC LIMIT $limit + 0`,
    )
    .all({
      customer_id,
      monitor_id,
      below_at: span.below.matched_at,
      below_row: span.below.row,
      least_at: span.least.matched_at,
      limit,
    })
