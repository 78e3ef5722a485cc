import { Elysia } from 'elysia'

import { invalid } from '../../core/base/errors.ts'
import { iso } from '../../core/base/time.ts'
import { findCustomer, findCustomerByName } from '../../store/customers/customers.ts'
import type { Db } from '../../store/db/connection.ts'
import {
  LINE_STATUSES,
  type LinePosition,
  lineState,
  listInstanceDeliveries,
  listInstanceMonitors,
  MONITOR_STATES,
} from '../../store/delivery/instance-list.ts'
import { hostOf } from '../account/problems.ts'
import {
  limit,
  maybeInstant,
  maybeOneOf,
  optionalText,
  PAGE,
  patternText,
  querySchema,
} from '../http/fields.ts'

const PAGE_MAX = 100
const CURSOR_FORM = 'the next_cursor of an earlier page'

const shared = () => ({
  customer: optionalText('customer', { max: 64 }),
  since: maybeInstant('since'),
  until: maybeInstant('until'),
  limit: limit(PAGE_MAX, PAGE),
})

const monitorsQuery = querySchema(() => ({
  ...shared(),
  status: maybeOneOf('status', MONITOR_STATES),
  cursor: patternText('cursor', /^mon_[\w-]{1,64}$/, CURSOR_FORM).optional(),
}))

const deliveriesQuery = querySchema(() => ({
  ...shared(),
  status: maybeOneOf('status', LINE_STATUSES),
  cursor: patternText('cursor', /^\d{1,15}\.\d{1,15}$/, CURSOR_FORM).optional(),
}))

/** `GET /operator/monitors` and `GET /operator/deliveries`: those of all customers, without what they match or send. */
export function instanceLists(db: Db) {
  function customerIdOf(named: string | undefined): string | null {
    if (named === undefined || named === '') return null
    const customer = findCustomerByName(db, named) ?? findCustomer(db, named)
    if (customer !== null) return customer.id
    throw invalid('customer', 'customer must be the name or the id of a customer')
  }

  return new Elysia({ name: 'operator lists', prefix: '/operator', detail: { hide: true } })
    .get(
      '/monitors',
      ({
        query: { customer, status = null, since = null, until = null, cursor = null, limit: max },
      }) => {
        const rows = listInstanceMonitors(db, {
          customer_id: customerIdOf(customer),
          state: status,
          since,
          until,
          after_id: cursor,
          limit: max + 1,
        })
        const page = rows.slice(0, max)
        return {
          monitors: page.map((it) => ({
            id: it.id,
            name: it.name,
            customer: { id: it.customer_id, name: it.customer_name },
            status: it.active === 1 ? 'active' : it.pause_reason === null ? 'paused' : 'stopped',
            pause_reason: it.pause_reason,
            cadence_s: it.cadence_s,
            feeds: it.feeds,
            last_match_at: iso(it.last_match_at),
            created_at: iso(it.created_at),
          })),
          count: page.length,
          limit: max,
          next_cursor: rows.length > max ? (page.at(-1)?.id ?? null) : null,
        }
      },
      { query: monitorsQuery },
    )
    .get(
      '/deliveries',
      ({ query: { customer, status = null, since = null, until = null, cursor, limit: max } }) => {
        const { lines, next } = listInstanceDeliveries(db, {
          customer_id: customerIdOf(customer),
          status,
          since,
          until,
          after: cursor === undefined ? null : positionOf(cursor),
          limit: max,
        })
        return {
          deliveries: lines.map((it) => ({
            delivery_id: it.id,
            customer: { id: it.customer_id, name: it.customer_name },
            monitor: { id: it.monitor_id, name: it.monitor_name },
            webhook:
              it.webhook_id === null
                ? null
                : {
                    id: it.webhook_id,
                    name: it.webhook_name,
                    kind: it.webhook_kind,
                    host: hostOf(it.webhook_url ?? ''),
                  },
            status: lineState(it),
            attempts: it.attempts,
            reason: it.reason ?? it.last_error,
            next_attempt_at: iso(it.next_attempt_at),
            delivered_at: iso(it.delivered_at),
            created_at: iso(it.created_at),
          })),
          count: lines.length,
          limit: max,
          // A page may be short, or empty, before the end: it examines a bounded number of deliveries.
          searched_to: next === null ? null : iso(next.created_at),
          next_cursor: next === null ? null : `${next.row}.${next.created_at}`,
        }
      },
      { query: deliveriesQuery },
    )
}

function positionOf(cursor: string): LinePosition {
  const [row = 0, created_at = 0] = cursor.split('.').map(Number)
  return { row, created_at }
}
