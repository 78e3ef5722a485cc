import { Elysia } from 'elysia'
import * as z from 'zod'

import { ApiError, invalid } from '../../core/base/errors.ts'
import { once } from '../../core/base/lazy.ts'
import { iso } from '../../core/base/time.ts'
import { ERASURE_REASONS } from '../../core/delivery/envelope.ts'
import type { Db } from '../../store/db/connection.ts'
import {
  ALARM_EVENTS,
  DELIVERY_STATUSES,
  type DeliveryQuery,
  ITEM_EVENTS,
  listDeliveries,
  type ListedDelivery,
  ownedMonitor,
  ownedWebhook,
  REDELIVER_REFUSALS,
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
  maybeFlag,
  maybeInstant,
  maybeOneOf,
  optionalText,
  querySchema,
  type SchemaOutput,
} from '../http/fields.ts'
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

const Q_MAX = 200
/** Deliveries and bytes of payload that one search by text reads, which takes milliseconds. */
const EXAMINED_MAX = 1000
const EXAMINED_BYTES_MAX = 8_000_000
const STEP = 25
/** The beginning of an id that few others share. */
const ID_PREFIX = /^dlv_[\w-]{4,64}$/

const listQuery = querySchema(() => ({
  id: optionalText('id'),
  webhook_id: optionalText('webhook_id'),
  status: maybeOneOf('status', DELIVERY_STATUSES),
  retrying: maybeFlag('retrying'),
  q: optionalText('q', { max: Q_MAX }),
  since: maybeInstant('since'),
  limit: limit(PAGE_MAX, PAGE),
  before: maybeInstant('before'),
}))

const payloadShape = once(() =>
  z.looseObject({
    count: z.int(),
    grouped: z.boolean(),
    items: z.array(z.looseObject({})),
    digest: z
      .looseObject({
        monitor_name: z.string().nullable(),
        from: z.string().meta({ format: 'date-time', description: 'Begin of its period.' }),
        to: z.string().meta({ format: 'date-time', description: 'End of its period.' }),
        time_zone: z.string().describe('IANA time zone of its hour.'),
      })
      .optional()
      .describe('Period of a digest; absent for other deliveries.'),
    type: z
      .enum([...ALARM_EVENTS, ...ITEM_EVENTS])
      .optional()
      .describe('Event of an alarm, or of an item; absent for matches.'),
    item: z
      .object({ id: z.string(), source: z.string() })
      .optional()
      .describe('Of item.deleted: fullname and source of the item.'),
    monitor_ids: z
      .array(z.string())
      .optional()
      .describe('Of item.deleted: monitors of which the target had received it.'),
    reason: z
      .enum(ERASURE_REASONS)
      .optional()
      .describe(
        'Of item.deleted. author: its author deleted it; platform: it was removed; request: the operator erased it.',
      ),
    detected_at: z
      .string()
      .optional()
      .meta({ format: 'date-time', description: 'Of events of an item.' }),
    alarm: z
      .looseObject({
        kind: z.enum(ALARM_KINDS),
        since: z.string().meta({ format: 'date-time' }),
        repeat: z.int().describe('0: not a repeat.'),
        monitor_name: z.string().nullable(),
        title: z.string(),
        message: z.string(),
      })
      .optional(),
  }),
)

const deliveryShape = () =>
  z
    .object({
      delivery_id: z.string(),
      monitor_id: z.string(),
      webhook_id: z.string().nullable(),
      status: z.enum(DELIVERY_STATUSES),
      attempts: z.int(),
      last_error: z.string().nullable(),
      created_at: z.string(),
      delivered_at: z.string().nullable(),
      retrying: z.boolean().describe('True if it waits after a failed attempt.'),
      next_attempt_at: z
        .string()
        .nullable()
        .describe('Due time of the next attempt; null unless pending.'),
      held_until: z
        .string()
        .nullable()
        .describe('End of the quiet hours for which it waits; null: it does not.'),
      redeliver_refusal: z
        .enum(REDELIVER_REFUSALS)
        .nullable()
        .describe('Reason why it cannot be sent again now; null if it can.'),
      payload: payloadShape(),
    })
    .meta({ title: 'Delivery' })

function toDelivery({ id, body, created_at, delivered_at, held_until, ...row }: ListedDelivery) {
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
    retrying: row.retrying === 1,
    next_attempt_at: iso(row.next_attempt_at),
    redeliver_refusal: row.refusal,
    held_until: iso(status === 'pending' ? held_until : null),
    // Parsed from the bytes that were sent, so that the answer equals the delivery.
    payload: payloadShape().parse(JSON.parse(new TextDecoder().decode(body))),
  }
}

type Search = DeliveryQuery & { q: string }
type Page = { found: ListedDelivery[]; next_before: number | null }

/** A page of deliveries. Without text it is one query. */
function search(db: Db, { q, ...query }: Search): Page {
  if (ID_PREFIX.test(q)) return firstOf(db, { ...query, id_prefix: q })
  return q === '' ? firstOf(db, query) : searchText(db, query, q.toLowerCase())
}

function firstOf(db: Db, query: DeliveryQuery): Page {
  const { limit: rows_max } = query
  const rows = listDeliveries(db, { ...query, limit: rows_max + 1 })
  const found = rows.slice(0, rows_max)
  return { found, next_before: rows.length > rows_max ? (found.at(-1)?.created_at ?? null) : null }
}

/** Deliveries with a text in lower case: reads from newest to oldest until the page is full, or as many as one call may read. */
function searchText(db: Db, query: DeliveryQuery, wanted: string): Page {
  const found: ListedDelivery[] = []
  let before = query.before ?? null
  for (let rows_read = 0, bytes = 0; rows_read < EXAMINED_MAX && bytes < EXAMINED_BYTES_MAX;) {
    const rows = listDeliveries(db, { ...query, before, limit: STEP })
    for (const row of rows) {
      before = row.created_at
      rows_read += 1
      bytes += row.body.length
      if (!containsText(row.body, wanted)) continue
      found.push(row)
      if (found.length === query.limit) return { found, next_before: before }
    }
    if (rows.length < STEP) return { found, next_before: null }
  }
  return { found, next_before: before }
}

/** True if a field of an item contains the text, which is in lower case. */
function containsText(body: Uint8Array, wanted: string): boolean {
  const json = new TextDecoder().decode(body)
  // Most bodies are excluded without parsing them.
  if (!json.toLowerCase().includes(JSON.stringify(wanted).slice(1, -1))) return false
  const { items } = payloadShape().parse(JSON.parse(json))
  return items.some((item) =>
    Object.values(item).some(
      (value) => typeof value === 'string' && value.toLowerCase().includes(wanted),
    ),
  )
}

/** `nudge` is called after deliveries were queued. */
export const deliveries = (context: RouteContext, db: Db, nudge: () => void = () => {}) => {
  const place = context.words.monitor
  return [group(place, context, db), redeliveries(place, context, db, nudge)]
}

const group = (prefix: string, { keyed }: RouteContext, db: Db) =>
  new Elysia({ name: `deliveries ${prefix}`, prefix }).use(keyed).get(
    '/deliveries',
    ({ customer, query: { id, webhook_id, q, limit: rows, ...filters } }) => {
      // Deliveries of a removed monitor or target stay readable; those of another customer do not
      // exist.
      if (id && !ownedMonitor(db, customer.id, id))
        throw new ApiError('NOT_FOUND', { message: 'there is no such monitor' })
      if (webhook_id && !ownedWebhook(db, customer.id, webhook_id)) throw absent()
      const { found, next_before } = search(db, {
        ...filters,
        customer_id: customer.id,
        monitor_id: id || null,
        webhook_id: webhook_id || null,
        q: q?.trim() ?? '',
        limit: rows,
      })
      return { deliveries: found.map(toDelivery), next_before: iso(next_before) }
    },
    {
      query: listQuery,
      detail: {
        summary: 'Deliveries and their outcomes, newest first',
        description:
          'Filters combine. q finds an id by its beginning, such as dlv_8fK2, or text in the items; one call reads at most 1000 deliveries for it, so that a page may have fewer rows than limit. Pass next_before as before for the next page.',
        tags: ['Monitoring'],
        ...answers(() =>
          z.object({
            deliveries: z.array(deliveryShape()),
            next_before: z
              .string()
              .nullable()
              .describe('The before of the next page; null at the end.'),
          }),
        ),
      },
    },
  )
