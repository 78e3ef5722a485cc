import { Elysia } from 'elysia'

import { ApiError, invalid } from '../core/errors.ts'
import type { FilterSpec } from '../core/filter-spec.ts'
import { decodeFilterSpec } from '../core/filter.ts'
import type { Db } from '../store/db.ts'
import { findAnyMonitor, findDelivery, type ToldDelivery } from '../store/why.ts'
import { optionalText, query } from './fields.ts'
import type { Infra } from './infra.ts'
import { absentMonitor } from './monitor-shapes.ts'
import { answers } from './openapi.ts'
import { atBothPlaces } from './places.ts'
import { fullnameOf, itemId, type PreviewDeps } from './preview.ts'
import { deliveriesOf, payloadOf, toAttempts } from './why-deliveries.ts'
import { whyItem } from './why-item.ts'
import { whyShape } from './why-shape.ts'

/** What an explanation is made of. `freshness_ms`: what is older when it is first seen is withheld. */
export type WhyDeps = PreviewDeps & { db: Db; instance_id: string; freshness_ms: number }

/** Why a match was delivered or not, under both places where monitoring answers. */
export const why = (infra: Infra, deps: WhyDeps) =>
  atBothPlaces(infra.words, (place) => group(place, infra, deps))

const whyQuery = query(() => ({
  delivery_id: optionalText('delivery_id', { max: 64 }),
  id: optionalText('id', { max: 64 }),
  item_id: itemId(),
}))

const group = (prefix: string, infra: Infra, deps: WhyDeps) =>
  new Elysia({ name: `why ${prefix}`, prefix })
    .use(infra.keyed)
    .get('/why', ({ customer, query: asked }) => tell(infra, deps, customer.id, asked), {
      query: whyQuery,
      detail: {
        summary: 'Why an item was delivered, withheld or not matched',
        description:
          'By delivery_id, or by id (of a monitor) and item_id. Where and when the item was first seen, what each condition of the filter says of it, its enrichment, what the gate decided, and each attempt with what the receiver answered.',
        tags: ['Monitoring'],
        ...answers(() => whyShape(infra.words)),
      },
    })

type Asked = {
  delivery_id?: string | undefined
  id?: string | undefined
  item_id?: string | undefined
}

async function tell(infra: Infra, deps: WhyDeps, customer_id: string, asked: Asked) {
  const { db } = deps
  const { monitor, spec, names, deliveries } = subject(deps, customer_id, asked)
  const rows = new Map(
    deliveries.flatMap(({ body }) => payloadOf(body).items).map((row) => [row.name, row]),
  )
  const items = []
  for (const name of names)
    items.push(
      await whyItem(infra, deps, {
        customer_id,
        monitor,
        spec,
        name,
        row: rows.get(name) ?? null,
      }),
    )
  return {
    monitor_id: monitor.id,
    items,
    deliveries: deliveries.map((it) => toAttempts(db, customer_id, it)),
  }
}

/** What is asked about: by a delivery, or by a monitor and an item. @throws ApiError NOT_FOUND, INVALID_REQUEST */
function subject({ db, instance_id }: WhyDeps, customer_id: string, asked: Asked) {
  const { delivery_id, id, item_id } = asked
  if (delivery_id) {
    if (id || item_id)
      throw invalid('delivery_id', 'delivery_id stands alone; leave out id and item_id')
    const delivery = findDelivery(db, customer_id, delivery_id)
    if (delivery === null) throw new ApiError('NOT_FOUND', { message: 'there is no such delivery' })
    const { monitor, spec } = watching(db, customer_id, delivery.monitor_id)
    const names = payloadOf(delivery.body).items.map(({ name }) => name)
    return { monitor, spec, names, deliveries: [delivery] satisfies ToldDelivery[] }
  }
  if (!id) throw invalid('id', 'id is required, or delivery_id')
  const { monitor, spec } = watching(db, customer_id, id)
  if (!item_id) throw invalid('item_id', 'item_id is required beside id')
  const name = fullnameOf(spec, item_id)
  const deliveries = deliveriesOf(db, { instance_id, customer_id, monitor_id: id, name })
  return { monitor, spec, names: [name], deliveries }
}

// A removed monitor's deliveries stay readable, and so does what became of them.
function watching(db: Db, customer_id: string, id: string) {
  const monitor = findAnyMonitor(db, { customer_id, id })
  if (monitor === null) throw absentMonitor()
  const spec: FilterSpec = decodeFilterSpec(monitor.filter_spec)
  return { monitor, spec }
}
