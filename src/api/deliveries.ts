import { Elysia } from 'elysia'
import * as z from 'zod'

import { ApiError } from '../core/errors.ts'
import { iso } from '../core/instant.ts'
import { once } from '../core/once.ts'
import type { Db } from '../store/db.ts'
import {
  DELIVERY_STATUSES,
  type DeliveryRow,
  listDeliveries,
  ownedMonitor,
} from '../store/deliveries.ts'
import { redeliveries } from './deliveries-redeliver.ts'
import { limit, maybeInstant, maybeOneOf, optionalText, query } from './fields.ts'
import type { Infra } from './infra.ts'
import { answers } from './openapi.ts'
import { atBothPlaces } from './places.ts'

const PAGE_MAX = 200
const PAGE = 50

const listQuery = query(() => ({
  id: optionalText('id'),
  status: maybeOneOf('status', DELIVERY_STATUSES),
  limit: limit(PAGE_MAX, PAGE),
  before: maybeInstant('before'),
}))

const payloadShape = once(() =>
  z.looseObject({
    count: z.int(),
    grouped: z.boolean(),
    items: z.array(z.looseObject({})),
  }),
)

const deliveryShape = () =>
  z.object({
    delivery_id: z.string(),
    monitor_id: z.string(),
    webhook_id: z.string().nullable(),
    status: z.enum(DELIVERY_STATUSES),
    attempts: z.int(),
    last_error: z.string().nullable(),
    created_at: z.string(),
    delivered_at: z.string().nullable(),
    payload: payloadShape(),
  })

function toDelivery({ id, body, created_at, delivered_at, ...row }: DeliveryRow) {
  const { monitor_id, webhook_id, status, attempts, last_error } = row
  return {
    delivery_id: id,
    monitor_id,
    webhook_id,
    status,
    attempts,
    last_error,
    created_at: iso(created_at),
    delivered_at: iso(delivered_at),
    // The very bytes that were sent, read back: what is shown cannot differ from what was delivered.
    payload: payloadShape().parse(JSON.parse(new TextDecoder().decode(body))),
  }
}

/**
 * What became of each match, newest first, and another round for it, under both places where monitoring answers.
 * `nudge` is called after something was queued.
 */
export const deliveries = (infra: Infra, db: Db, nudge: () => void = () => {}) => {
  const of = (place: string) => [group(place, infra, db), redeliveries(place, infra, db, nudge)]
  return atBothPlaces(infra.words, of).flat()
}

const group = (prefix: string, { keyed }: Infra, db: Db) =>
  new Elysia({ name: `deliveries ${prefix}`, prefix }).use(keyed).get(
    '/deliveries',
    ({ customer, query: { id, status, limit: rows, before } }) => {
      // A removed monitor's deliveries stay readable; somebody else's monitor is no monitor.
      if (id && !ownedMonitor(db, customer.id, id))
        throw new ApiError('NOT_FOUND', { message: 'there is no such monitor' })
      const page = listDeliveries(db, {
        customer_id: customer.id,
        monitor_id: id || null,
        status: status ?? null,
        before: before ?? null,
        limit: rows,
      })
      return { deliveries: page.map(toDelivery) }
    },
    {
      query: listQuery,
      detail: {
        summary: 'What became of each match, newest first',
        tags: ['Monitoring'],
        ...answers(() => z.object({ deliveries: z.array(deliveryShape()) })),
      },
    },
  )
