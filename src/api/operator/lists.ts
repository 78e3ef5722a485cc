import { Elysia } from 'elysia'

import { iso } from '../../core/base/time.ts'
import type { Db } from '../../store/db/connection.ts'
import { listInstanceMonitors, MONITOR_STATES } from '../../store/delivery/instance-list.ts'
import { maybeOneOf, patternText, querySchema } from '../http/fields.ts'
import { CURSOR_FORM, customerIdOf, listQuery } from './actions/deliveries.ts'

const monitorsQuery = querySchema(() => ({
  ...listQuery(),
  status: maybeOneOf('status', MONITOR_STATES),
  cursor: patternText('cursor', /^mon_[\w-]{1,64}$/, CURSOR_FORM).optional(),
}))

/** `GET /operator/monitors`: the monitors of all customers, without their matches. */
export function instanceLists(db: Db) {
  return new Elysia({ name: 'operator lists', prefix: '/operator', detail: { hide: true } }).get(
    '/monitors',
    ({
      query: { customer, status = null, since = null, until = null, cursor = null, limit: max },
    }) => {
      const rows = listInstanceMonitors(db, {
        customer_id: customerIdOf(db, customer),
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
}
