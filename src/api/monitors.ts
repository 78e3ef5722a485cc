import { Elysia } from 'elysia'
import * as z from 'zod'

import { filterSchema } from '../core/filter-schema.ts'
import { once } from '../core/once.ts'
import { listMonitors } from '../store/monitors.ts'
import { removeMonitorOf } from '../store/watching.ts'
import { closed, idIn, query, required } from './fields.ts'
import type { Infra } from './infra.ts'
import { addMonitor, editMonitor, type MonitorDeps } from './monitor-edits.ts'
import { monitorHealth } from './monitor-health.ts'
import { absentMonitor, createMonitorShapes, toMonitor, toSlots } from './monitor-shapes.ts'
import { answers, refuses, shownAs } from './openapi.ts'
import { atBothPlaces } from './places.ts'

const NAME_MAX = 120
const CADENCE_MAX_S = 86_400
const WEBHOOKS_MAX = 100
const BASELINE = /^(?:t[13]_)?[a-z0-9]{1,13}$/

/** What a body may say of a monitor. */
const fields = once(() => {
  const nameSentence = `name must have 1 to ${NAME_MAX} characters`
  const cadenceSentence = `cadence_s must be a whole number of seconds from 1 to ${CADENCE_MAX_S}`
  const idsSentence = `webhook_ids must be a list of up to ${WEBHOOKS_MAX} webhook ids, or null`
  return {
    webhook_ids: z
      .array(z.string({ error: idsSentence }).max(64, idsSentence), { error: idsSentence })
      .max(WEBHOOKS_MAX, idsSentence)
      .nullable()
      .optional(),
    name: z
      .string({ error: 'name must be text or null' })
      .trim()
      .min(1, nameSentence)
      .max(NAME_MAX, nameSentence)
      .nullable()
      .optional(),
    cadence_s: z
      .int({ error: cadenceSentence })
      .min(1, cadenceSentence)
      .max(CADENCE_MAX_S, cadenceSentence)
      .optional(),
  }
})
const baselineSentence = 'baseline_item_id must be the id of a post or comment, such as t3_abc123'

const idText = (field: string) =>
  z
    .string({ error: `${field} must be text` })
    .max(64, `${field} is no monitor's id`)
    .optional()
const naming = () => ({ id: idText('id'), monitor_id: idText('monitor_id') })

const tags = ['Monitoring']
const SPEC_REFUSALS = [
  'subforum_not_found',
  'subforum_reserved',
  'webhook_not_found',
  'webhook_paused',
  'sitewide_slots_exhausted',
] as const

/** Monitors: add, list, update, remove and health, under both places where monitoring answers. */
export const monitors = (infra: Infra, deps: MonitorDeps) =>
  atBothPlaces(infra.words, (place) => group(place, infra, deps))

function group(prefix: string, infra: Infra, deps: MonitorDeps) {
  const { words, clock } = infra
  const { db } = deps
  const shapes = createMonitorShapes(words)
  // What a spec may hold is said in the document; its reader decides, and names what is wrong.
  const filter_spec = once(() =>
    z
      .unknown()
      .refine((it) => it !== undefined, 'filter_spec is required')
      .meta(shownAs(() => filterSchema(words))),
  )
  const addBody = closed(() => ({
    filter_spec: filter_spec(),
    ...fields(),
    baseline_item_id: z
      .string({ error: baselineSentence })
      .regex(BASELINE, baselineSentence)
      .optional(),
  }))
  const editBody = closed(() => ({
    ...naming(),
    filter_spec: filter_spec().optional(),
    active: z.boolean({ error: 'active must be true or false' }).optional(),
    ...fields(),
  }))

  return new Elysia({ name: `monitors ${prefix}`, prefix })
    .use(infra.keyed)
    .post('/add', ({ customer, body }) => addMonitor(infra, deps, customer, body), {
      body: addBody,
      detail: {
        summary: 'Watch for new content',
        tags,
        ...answers(() => shapes().changed),
        ...refuses(...SPEC_REFUSALS, 'monitor_slots_exhausted'),
      },
    })
    .get(
      '/list',
      ({ customer }) => ({
        monitors: listMonitors(db, customer.id).map((it) =>
          toMonitor(db, words, it, deps.feed_url),
        ),
        slots: toSlots(db, customer, deps.plan_of(customer.plan)),
      }),
      {
        detail: { summary: 'Your monitors, and your slots', tags, ...answers(() => shapes().list) },
      },
    )
    .post(
      '/update',
      ({ customer, body }) => editMonitor(infra, deps, customer, idIn(body, 'monitor_id'), body),
      {
        body: editBody,
        detail: {
          summary: 'Change, pause or resume a monitor; history is never replayed',
          tags,
          ...refuses(...SPEC_REFUSALS),
          ...answers(() => shapes().changed),
        },
      },
    )
    .post(
      '/remove',
      ({ customer, body }) => {
        const id = idIn(body, 'monitor_id')
        if (!removeMonitorOf(db, customer.id, id, clock.now())) throw absentMonitor()
        deps.nudge()
        return { removed: true, id }
      },
      {
        body: closed(naming),
        detail: {
          summary: 'Remove a monitor; its deliveries stay readable',
          tags,
          ...answers(() => shapes().removed),
        },
      },
    )
    .get('/health', ({ customer, query: { id } }) => monitorHealth(infra, deps, customer, id), {
      query: query(() => ({ id: required('id', { max: 64 }) })),
      detail: {
        summary: 'What a monitor did, and what it can prove to have seen',
        tags,
        ...answers(() => shapes().health),
      },
    })
}
