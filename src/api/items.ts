import { Elysia } from 'elysia'
import * as z from 'zod'

import { once } from '../core/once.ts'
import type { Db } from '../store/db.ts'
import { ownedMonitor } from '../store/deliveries.ts'
import { KEPT_DAYS } from '../store/forgetting.ts'
import { listMatchesAfter } from '../store/match-bodies.ts'
import { limit, query, required } from './fields.ts'
import type { Infra } from './infra.ts'
import type { Checked } from './late.ts'
import { absentMonitor } from './monitor-shapes.ts'
import { answers } from './openapi.ts'
import { atBothPlaces } from './places.ts'

const PAGE_MAX = 200
const PAGE = 50

const CURSOR = 'after must be what an earlier answer gave as after'

/** Where somebody who fetches matches has come to: the seq of the last one they have. */
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
    items: z
      .array(z.looseObject({}))
      .meta({ description: 'Oldest first, each as a webhook gets it.' }),
    after: z
      .string()
      .nullable()
      .meta({ description: 'Give it back to go on; null as long as there is nothing.' }),
    has_more: z.boolean(),
  })

const itemsQuery = query(() => ({
  id: required('id', { max: 64 }),
  after: cursor(),
  limit: limit(PAGE_MAX, PAGE),
}))

/** A monitor's matches for who comes to fetch them, under both places where monitoring answers. */
export const items = (infra: Infra, db: Db) =>
  atBothPlaces(infra.words, (place) => group(place, infra, db))

const group = (prefix: string, { keyed }: Infra, db: Db) =>
  new Elysia({ name: `items ${prefix}`, prefix })
    .use(keyed)
    .get('/items', ({ customer, query: asked }) => page(db, customer.id, asked), {
      query: itemsQuery,
      detail: {
        summary: 'Fetch what a monitor matched, oldest first',
        description: `Matches that were fresh, whether or not the monitor has a webhook, are kept for ${KEPT_DAYS} days to be fetched. Ask again with the after of the last answer for what came since.`,
        tags: ['Monitoring'],
        ...answers(answerShape),
      },
    })

function page(
  db: Db,
  customer_id: string,
  { id, after = 0, limit: rows }: Checked<typeof itemsQuery>,
) {
  // A removed monitor's matches stay readable; somebody else's monitor is no monitor.
  if (!ownedMonitor(db, customer_id, id)) throw absentMonitor()
  const found = listMatchesAfter(db, { monitor_id: id, seq: after, limit: rows + 1 })
  const shown = found.slice(0, rows)
  const last = shown.at(-1)?.seq ?? after
  return {
    items: shown.flatMap(
      ({ body }) => bodyShape().parse(JSON.parse(new TextDecoder().decode(body))).items,
    ),
    after: last === 0 ? null : String(last),
    has_more: found.length > rows,
  }
}
