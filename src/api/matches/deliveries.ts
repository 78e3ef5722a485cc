import { Elysia } from 'elysia'
import * as z from 'zod'

import { ApiError, invalid } from '../../core/base/errors.ts'
import { once } from '../../core/base/lazy.ts'
import { iso } from '../../core/base/time.ts'
import type { Db } from '../../store/db/connection.ts'
import {
  ALARM_EVENTS,
  DELIVERY_STATUSES,
  type DeliveryRow,
  listDeliveries,
  ownedMonitor,
} from '../../store/delivery/deliveries.ts'
import {
  redeliver,
  REDELIVERED_STATUSES,
  type RedeliverySelection,
} from '../../store/delivery/redeliver.ts'
import { findWebhook } from '../../store/delivery/webhooks.ts'
import { ALARM_KINDS } from '../../store/monitoring/alarms.ts'
import type { RouteContext } from '../context.ts'
import {
  bodySchema,
  limit,
  maybeInstant,
  maybeOneOf,
  optionalText,
  querySchema,
  type SchemaOutput,
} from '../http/fields.ts'
import { atBothPaths } from '../http/routes.ts'
import { answers } from '../openapi/route-docs.ts'
import { absent } from '../webhooks/shapes.ts'

const ROWS_MAX = 10_000
const DAYS_MAX = 14
const DAY_MS = 86_400_000

const text = (name: string) =>
  z
    .string({ error: `${name} must be text` })
    .min(1)
    .optional()

const redeliverBody = bodySchema(() => ({
  delivery_id: text('delivery_id'),
  since: maybeInstant('since'),
  until: maybeInstant('until'),
  status: z
    .enum(REDELIVERED_STATUSES, {
      error: `status must be one of ${REDELIVERED_STATUSES.join(', ')}`,
    })
    .optional(),
  webhook_id: text('webhook_id'),
  dry_run: z.boolean({ error: 'dry_run must be true or false' }).default(false),
}))

type Body = SchemaOutput<typeof redeliverBody>

/** Deliveries selected by a body: one by its id, or those of a time span. */
function whichOf(body: Body, now: number): RedeliverySelection {
  const { delivery_id, since, until, status, webhook_id } = body
  if (delivery_id !== undefined) {
    for (const [field, value] of Object.entries({ since, until, status, webhook_id }))
      if (value !== undefined)
        throw invalid(field, `${field} does not go with delivery_id, which names one delivery`)
    return { delivery_id }
  }
  if (since === undefined) throw invalid('since', 'since is required, or delivery_id')
  if (since < now - DAYS_MAX * DAY_MS)
    throw invalid('since', `since must be at most ${DAYS_MAX} days ago`)
  // Rows carry true time, and a delivery's may be ahead of the local clock, so the end is open.
  const to = until ?? Infinity
  if (to < since) throw invalid('until', 'until must not be before since')
  // Accepted deliveries are sent again only on request.
  const statuses = status === undefined ? (['failed', 'dead'] as const) : [status]
  return { since, until: to, statuses, webhook_id: webhook_id ?? null }
}

/** Redelivers deliveries that have ended. */
const redeliveries = (prefix: string, { keyed, clock }: RouteContext, db: Db, nudge: () => void) =>
  new Elysia({ name: `redeliveries ${prefix}`, prefix }).use(keyed).post(
    '/deliveries/redeliver',
    ({ customer, body }) => {
      const now = clock.now()
      const which = whichOf(body, now)
      const { webhook_id, dry_run } = body
      if (webhook_id !== undefined && !findWebhook(db, customer.id, webhook_id)) throw absent()
      const answer = redeliver(db, {
        customer_id: customer.id,
        which,
        dry_run,
        rows_max: ROWS_MAX,
        now,
      })
      if (answer === null) throw new ApiError('NOT_FOUND', { message: 'there is no such delivery' })
      if ('too_many' in answer)
        throw invalid(
          'since',
          `since to until holds more than ${ROWS_MAX} such deliveries, which is what goes out in one call: narrow it`,
        )
      if (!dry_run) nudge()
      return { ...answer, dry_run }
    },
    {
      body: redeliverBody,
      detail: {
        summary: 'Redeliver ended deliveries',
        description:
          'By delivery_id, or by time range; without status, those that failed or were dead-lettered. The delivery_id and body stay the same, and the retry schedule starts over. skipped counts deliveries that cannot be sent: already pending, target removed, paused or disabled, or content erased because of its age.',
        tags: ['Monitoring'],
        ...answers(() => z.object({ queued: z.int(), skipped: z.int(), dry_run: z.boolean() })),
      },
    },
  )

const PAGE_MAX = 200
const PAGE = 50

const listQuery = querySchema(() => ({
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
    type: z
      .enum(ALARM_EVENTS)
      .optional()
      .meta({ description: 'Event of an alarm, which has no items; absent for matches.' }),
    alarm: z
      .looseObject({
        kind: z.enum(ALARM_KINDS),
        since: z.string().meta({ format: 'date-time' }),
        repeat: z.int().meta({ description: '0: not a repeat.' }),
        monitor_name: z.string().nullable(),
        title: z.string(),
        message: z.string(),
      })
      .optional(),
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
    held_until: z
      .string()
      .nullable()
      .meta({ description: 'End of the quiet hours for which it waits; null: it does not.' }),
    payload: payloadShape(),
  })

function toDelivery({ id, body, created_at, delivered_at, held_until, ...row }: DeliveryRow) {
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
    held_until: iso(status === 'pending' ? held_until : null),
    // Parsed from the bytes that were sent, so that the answer equals the delivery.
    payload: payloadShape().parse(JSON.parse(new TextDecoder().decode(body))),
  }
}

/**
 * Routes to list deliveries, newest first, and to redeliver them, under both path prefixes of
 * monitoring. `nudge` is called after deliveries were queued.
 */
export const deliveries = (context: RouteContext, db: Db, nudge: () => void = () => {}) => {
  const of = (place: string) => [group(place, context, db), redeliveries(place, context, db, nudge)]
  return atBothPaths(context.words, of).flat()
}

const group = (prefix: string, { keyed }: RouteContext, db: Db) =>
  new Elysia({ name: `deliveries ${prefix}`, prefix }).use(keyed).get(
    '/deliveries',
    ({ customer, query: { id, status, limit: rows, before } }) => {
      // Deliveries of a removed monitor stay readable; a monitor of another customer does not
      // exist.
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
        summary: 'Deliveries and their outcomes, newest first',
        tags: ['Monitoring'],
        ...answers(() => z.object({ deliveries: z.array(deliveryShape()) })),
      },
    },
  )
