import { Elysia } from 'elysia'
import * as z from 'zod'

import { once } from '../../core/base/lazy.ts'
import type { Db } from '../../store/db/connection.ts'
import { ownedMonitor } from '../../store/delivery/deliveries.ts'
import { listMatchesAfter } from '../../store/monitoring/matches.ts'
import type { RouteContext } from '../context.ts'
import { limit, querySchema, required, type SchemaOutput } from '../http/fields.ts'
import { absentMonitor } from '../monitors/shapes.ts'
import { answers } from '../openapi/route-docs.ts'

const PAGE_MAX = 200
const PAGE = 50

const CURSOR = 'after must be what an earlier answer gave as after'

export const cursor = () =>
  z
    .string({ error: CURSOR })
    .regex(/^\d{1,15}$/, CURSOR)
    .transform(Number)
    .optional()
    .meta({ type: 'string' })

const bodyShape = once(() => z.looseObject({ items: z.array(z.looseObject({})) }))

const answerShape = () =>
  z.object({
    items: z.array(z.looseObject({})).describe('Oldest first, each as delivered to a webhook.'),
    after: z.string().nullable().describe('Cursor of the next page; null: no matches yet.'),
    has_more: z.boolean(),
  })

const itemsQuery = querySchema(() => ({
  id: required('id', { max: 64 }),
  after: cursor(),
  limit: limit(PAGE_MAX, PAGE),
}))

export const items = (context: RouteContext, db: Db) => group(context.words.monitor, context, db)

const group = (prefix: string, { keyed }: RouteContext, db: Db) =>
  new Elysia({ name: `items ${prefix}`, prefix })
    .use(keyed)
    .get('/items', ({ customer, query: input }) => page(db, customer.id, input), {
      query: itemsQuery,
      detail: {
        summary: 'Matches of a monitor, oldest first',
        description:
          'Fresh matches are stored for the days of [retention] (default: 30), with or without a webhook. Repeat with the after of the last answer for newer matches.',
        tags: ['Monitoring'],
        ...answers(answerShape),
      },
    })

function page(
  db: Db,
  customer_id: string,
  { id, after = 0, limit: rows }: SchemaOutput<typeof itemsQuery>,
) {
  // Matches of a removed monitor stay readable; a monitor of another customer does not exist.
  if (!ownedMonitor(db, customer_id, id)) throw absentMonitor()
  const found = listMatchesAfter(db, { monitor_id: id, seq: after, limit: rows + 1 })
  const page_rows = found.slice(0, rows)
  const last = page_rows.at(-1)?.seq ?? after
  return {
    items: page_rows.flatMap(
      ({ body }) => bodyShape().parse(JSON.parse(new TextDecoder().decode(body))).items,
    ),
    after: last === 0 ? null : String(last),
    has_more: found.length > rows,
  }
}
