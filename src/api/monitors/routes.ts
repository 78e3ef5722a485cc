import { Elysia } from 'elysia'
import * as z from 'zod'

import { once } from '../../core/base/lazy.ts'
import { attentionSchema } from '../../core/delivery/attention.ts'
import { relevanceSchema } from '../../core/relevance/rules.ts'
import { acknowledgeAlarms } from '../../store/monitoring/alarms.ts'
import { listMonitors, removeMonitorOf } from '../../store/monitoring/monitors.ts'
import type { RouteContext } from '../context.ts'
import { bodySchema, idIn, querySchema, required } from '../http/fields.ts'
import { answers, refuses } from '../openapi/route-docs.ts'
import { coverageDays, coverageQuery, coverageShape } from './coverage.ts'
import { addMonitor, editMonitor, type MonitorDeps, requireMonitor } from './edit.ts'
import { monitorHealth } from './health.ts'
import { filterField } from './preview.ts'
import { absentMonitor, createMonitorShapes, TARGETS, toMonitor, toSlots } from './shapes.ts'

const NAME_MAX = 120
const CADENCE_MAX_S = 86_400
const WEBHOOKS_MAX = 100
const BASELINE = /^(?:t[13]_)?[a-z0-9]{1,13}$/

const fields = once(() => {
  const nameSentence = `name must have 1 to ${NAME_MAX} characters`
  const cadenceSentence = `cadence_s must be a whole number of seconds from 1 to ${CADENCE_MAX_S}`
  const idsSentence = `webhook_ids must be a list of up to ${WEBHOOKS_MAX} webhook ids, or null`
  return {
    webhook_ids: z
      .array(z.string({ error: idsSentence }).max(64, idsSentence), { error: idsSentence })
      .max(WEBHOOKS_MAX, idsSentence)
      .nullable()
      .optional()
      .describe(
        'The webhooks to deliver to. Null or empty: every active one, unless targets is none.',
      ),
    targets: z
      .enum(TARGETS, { error: `targets must be one of ${TARGETS.join(', ')}` })
      .optional()
      .describe(
        'none: no webhook, for a monitor that is read by pull. The field distinguishes its empty webhook_ids from those that mean every webhook, so a monitor can be sent back as it was read.',
      ),
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
    attention: attentionSchema()
      .nullable()
      .optional()
      .describe('Quiet hours, digests and alarms. Replaces all rules at once; null removes them.'),
    relevance: relevanceSchema()
      .nullable()
      .optional()
      .describe(
        "Matches are judged by the operator's model before they are delivered. Replaces all rules at once; null removes them.",
      ),
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

export const monitors = (context: RouteContext, deps: MonitorDeps) =>
  group(context.words.monitor, context, deps)

function group(prefix: string, context: RouteContext, deps: MonitorDeps) {
  const { words, clock } = context
  const { db } = deps
  const shapes = createMonitorShapes(words)
  const filter_spec = once(() => filterField(words))
  const addBody = bodySchema(() => ({
    filter_spec: filter_spec(),
    ...fields(),
    baseline_item_id: z
      .string({ error: baselineSentence })
      .regex(BASELINE, baselineSentence)
      .optional(),
  }))
  const editBody = bodySchema(() => ({
    ...naming(),
    filter_spec: filter_spec().optional(),
    active: z.boolean({ error: 'active must be true or false' }).optional(),
    ...fields(),
  }))

  return new Elysia({ name: `monitors ${prefix}`, prefix })
    .use(context.keyed)
    .post('/add', ({ customer, body }) => addMonitor(context, deps, customer, body), {
      body: addBody,
      detail: {
        summary: 'Create a monitor',
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
      ({ customer, body }) => editMonitor(context, deps, customer, idIn(body, 'monitor_id'), body),
      {
        body: editBody,
        detail: {
          summary: 'Update, pause or resume a monitor; past items are never replayed',
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
        body: bodySchema(naming),
        detail: {
          summary: 'Remove a monitor; its deliveries stay readable',
          tags,
          ...answers(() => shapes().removed),
        },
      },
    )
    .post(
      '/acknowledge',
      ({ customer, body }) => {
        const { id } = requireMonitor(db, customer.id, idIn(body, 'monitor_id'))
        return { id, acknowledged: acknowledgeAlarms(db, id, clock.now()) }
      },
      {
        body: bodySchema(naming),
        detail: {
          summary: 'Acknowledge the open alarms of a monitor',
          description:
            'Ends their repeats; an alarm stays open until its condition is over, which is then delivered too. acknowledged counts the alarms that were not acknowledged before.',
          tags,
          ...answers(() => shapes().acknowledged),
        },
      },
    )
    .get('/health', ({ customer, query: { id } }) => monitorHealth(context, deps, customer, id), {
      query: querySchema(() => ({ id: required('id', { max: 64 }) })),
      detail: {
        summary: 'Health and coverage of a monitor',
        tags,
        ...answers(() => shapes().health),
      },
    })
    .get('/coverage', ({ customer, query }) => coverageDays(context, deps, customer, query), {
      query: coverageQuery,
      detail: {
        summary: 'Coverage of a monitor by day',
        description:
          'Days of UTC, from and to included, at most 100; without them the last 30. By creation times: a second is complete if every feed was verified for it and no gap or event lies over it. The newest minutes are not verified before the next audit.',
        tags,
        ...answers(coverageShape),
      },
    })
}
