import type { InboxFilter, InboxPosition, InboxSpan } from '../../core/inbox/filter.ts'
import type { Db } from '../db/connection.ts'

type Param = string | number | null
export type SqlParams = Record<string, Param>

/**
 * The parts of a query of a filter. `from` and `driven` read one index in the order of the list, `rest` are the conditions
 * that each of its rows must meet besides; empty: none.
 */
export type InboxSql = {
  from: string
  driven: string
  rest: string
  at: string
  row: string
  params: SqlParams
}

/** Conditions that an index can read in order, the most selective first. */
const DRIVERS = [
  ['label', 'inbox_items_label'],
  ['author', 'inbox_items_author'],
  ['starred', 'inbox_items_starred'],
  ['place', 'inbox_items_place'],
  ['state', 'inbox_items_state'],
] as const

/** Writes the query of a filter; its index is named, because statistics of the tables are not kept. */
export function inboxSql(customer_id: string, filter: InboxFilter, more = ''): InboxSql {
  const { monitor, state, starred, label, source, place, author } = filter
  const [first] = state
  const params: SqlParams = { customer_id }
  const conditions = new Map<string, string>()
  const add = (name: string, condition: string, value: Param) => {
    params[name] = value
    conditions.set(name, condition)
  }
  if (label !== null) add('label', 'i.label = $label', label)
  if (author !== null) add('author', 'i.author = $author', author)
  if (place !== null) add('place', 'i.place = $place', place)
  if (source !== null) add('source', 'i.source = $source', source)
  // A constant, so that it implies the condition of the partial index.
  if (starred !== null) conditions.set('starred', `i.starred = ${starred ? 1 : 0}`)
  if (first !== undefined && state.length === 1) add('state', 'i.state = $state', first)
  else if (first !== undefined)
    add('states', 'i.state IN (SELECT value FROM json_each($states))', JSON.stringify(state))
  if (more !== '') conditions.set('more', more)
  const restOf = (driver: string | undefined) =>
    [...conditions].flatMap(([name, it]) => (name === driver ? [] : [it])).join(' AND ')
  if (monitor !== null) {
    params['monitor'] = monitor
    conditions.set('customer', 'i.customer_id = $customer_id')
    return {
      from: 'inbox_matches m CROSS JOIN inbox_items i ON i.row = m.item',
      driven: 'm.monitor_id = $monitor',
      rest: restOf(undefined),
      at: 'm.matched_at',
      row: 'm.item',
      params,
    }
  }
  const [name, index = 'inbox_items_time'] =
    DRIVERS.find(([it]) => conditions.has(it) && !(it === 'starred' && starred === false)) ?? []
  const condition = name === undefined ? undefined : conditions.get(name)
  return {
    from: `inbox_items i INDEXED BY ${index}`,
    driven: `i.customer_id = $customer_id${condition === undefined ? '' : ` AND ${condition}`}`,
    rest: restOf(name),
    at: 'i.matched_at',
    row: 'i.row',
    params,
  }
}

/** Joins conditions that are not empty. */
export const and = (...conditions: string[]): string => conditions.filter(Boolean).join(' AND ')

/** Parameters of {@link withinSpan}. */
export const spanParams = ({ below, least }: InboxSpan): SqlParams => ({
  below_at: below.matched_at,
  below_row: below.row,
  least_at: least.matched_at,
  least_row: least.row,
})

/** Condition of a span. The instant alone lets the index end the scan; the pair decides within the instant. */
export const withinSpan = ({ at, row }: InboxSql): string =>
  `${at} <= $below_at AND (${at}, ${row}) < ($below_at, $below_row)
   AND ${at} >= $least_at AND (${at}, ${row}) >= ($least_at, $least_row)`

/** The last position that a scan of at most `examined` rows reaches; null: it reaches the end. */
export function floorOf(
  db: Db,
  query: InboxSql,
  span: InboxSpan,
  examined: number,
): InboxPosition | null {
  const { from, driven, at, row, params } = query
  const index_only = from.startsWith('inbox_matches') ? 'inbox_matches m' : from
  return db
    .query<InboxPosition, [SqlParams]>(
      `SELECT ${at} AS matched_at, ${row} AS row FROM ${index_only}
        WHERE ${and(driven, withinSpan(query))} ORDER BY ${at} DESC, ${row} DESC LIMIT 1 OFFSET $skip`,
    )
    .get({ ...pick(params, driven), ...spanParams(span), skip: examined - 1 })
}

/** The parameters that a text names: others would be refused. */
const pick = (params: SqlParams, text: string): SqlParams =>
  Object.fromEntries(
    Object.entries(params).filter(([name]) => new RegExp(String.raw`\$${name}\b`).test(text)),
  )
