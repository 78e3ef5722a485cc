import { type InboxFilter, type InboxState, laterOf, spanOf } from '../../core/inbox/filter.ts'
import type { Db } from '../db/connection.ts'
import { and, floorOf, inboxSql, spanParams, type SqlParams, withinSpan } from './query.ts'

/** Numbers of items by state, and of starred ones. `complete` false: they are lower bounds. */
export type InboxCounts = Record<InboxState | 'starred', number> & { complete: boolean }

/** Rows of an index that are counted, which takes about 50 ns each. */
const COUNTED_MAX = 200_000
/** Rows of a filter that are counted, each of which may be looked up. */
const FILTERED_MAX = 30_000

export function countInbox(db: Db, customer_id: string): InboxCounts {
  const ofState = db.query<{ n: number }, [{ customer_id: string; state: InboxState }]>(
    `SELECT count(*) AS n FROM (SELECT 1 FROM inbox_items INDEXED BY inbox_items_state
        WHERE customer_id = $customer_id AND state = $state LIMIT ${COUNTED_MAX})`,
  )
  const count = (state: InboxState) => ofState.get({ customer_id, state })?.n ?? 0
  const starred = db
    .query<{ n: number }, [{ customer_id: string }]>(
      `SELECT count(*) AS n FROM (SELECT 1 FROM inbox_items INDEXED BY inbox_items_starred
          WHERE customer_id = $customer_id AND starred = 1 LIMIT ${COUNTED_MAX})`,
    )
    .get({ customer_id })
  const states = {
    unread: count('unread'),
    read: count('read'),
    answered: count('answered'),
    dismissed: count('dismissed'),
    starred: starred?.n ?? 0,
  }
  return { ...states, complete: Object.values(states).every((n) => n < COUNTED_MAX) }
}

/** Counts unread items of a customer up to `most`, from an index alone. */
export const countUnreadItems = (db: Db, customer_id: string, most: number): number =>
  db
    .query<{ n: number }, [{ customer_id: string; most: number }]>(
      `SELECT count(*) AS n FROM (SELECT 1 FROM inbox_items INDEXED BY inbox_items_state
          WHERE customer_id = $customer_id AND state = 'unread' LIMIT $most)`,
    )
    .get({ customer_id, most })?.n ?? 0

/** Counts the items of a filter among the newest that it examines. */
export function countFiltered(db: Db, customer_id: string, filter: InboxFilter): InboxCounts {
  const query = inboxSql(customer_id, filter)
  const span = spanOf(filter, null)
  const floor = floorOf(db, query, span, FILTERED_MAX)
  const read = floor === null ? span : { ...span, least: laterOf(floor, span.least) }
  const { from, driven, rest, params } = query
  const rows = db
    .query<{ state: InboxState; starred: 0 | 1; n: number }, [SqlParams]>(
      `SELECT i.state, i.starred, count(*) AS n FROM ${from} WHERE ${and(driven, rest, withinSpan(query))}
        GROUP BY i.state, i.starred`,
    )
    .all({ ...params, ...spanParams(read) })
  const counts = { unread: 0, read: 0, answered: 0, dismissed: 0, starred: 0 }
  for (const { state, starred, n } of rows) {
    counts[state] += n
    if (starred === 1) counts.starred += n
  }
  return { ...counts, complete: floor === null }
}

const LABELS_MAX = 100

export const listLabels = (db: Db, customer_id: string): { label: string; items: number }[] =>
  db
    .query<{ label: string; items: number }, [{ customer_id: string }]>(
      `SELECT label, count(*) AS items FROM inbox_items INDEXED BY inbox_items_label
        WHERE customer_id = $customer_id AND label IS NOT NULL GROUP BY label ORDER BY label LIMIT ${LABELS_MAX}`,
    )
    .all({ customer_id })
