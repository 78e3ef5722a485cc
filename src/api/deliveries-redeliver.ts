import { Elysia } from 'elysia'
import * as z from 'zod'

import { ApiError, invalid } from '../core/errors.ts'
import type { Db } from '../store/db.ts'
import { redeliver, REDELIVERED_STATUSES, type Which } from '../store/redeliver.ts'
import { findWebhook } from '../store/webhooks.ts'
import { closed, maybeInstant } from './fields.ts'
import type { Infra } from './infra.ts'
import type { Checked } from './late.ts'
import { answers } from './openapi.ts'
import { absent } from './webhooks-shape.ts'

const ROWS_MAX = 10_000
const DAYS_MAX = 14
const DAY_MS = 86_400_000

const text = (name: string) =>
  z
    .string({ error: `${name} must be text` })
    .min(1)
    .optional()

const redeliverBody = closed(() => ({
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

type Body = Checked<typeof redeliverBody>

/** Which deliveries a body means: one by its id, or those of a span of time. */
function whichOf(body: Body, now: number): Which {
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
  // Rows tell true time, and none of a customer's tells the same: the newest may lie ahead of our clock.
  const to = until ?? Infinity
  if (to < since) throw invalid('until', 'until must not be before since')
  // What arrived is sent again only when that is asked for.
  const statuses = status === undefined ? (['failed', 'dead'] as const) : [status]
  return { since, until: to, statuses, webhook_id: webhook_id ?? null }
}

/** A new round for deliveries that have ended. */
export const redeliveries = (prefix: string, { keyed, clock }: Infra, db: Db, nudge: () => void) =>
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
        summary: 'Send deliveries again that have ended',
        description:
          'By delivery_id, or those of a span of time; without status those that failed or died. Same delivery_id and body, the ladder from its beginning. skipped counts what cannot go: on its way already, its target is gone, paused or switched off, or its content is blanked because of its age.',
        tags: ['Monitoring'],
        ...answers(() => z.object({ queued: z.int(), skipped: z.int(), dry_run: z.boolean() })),
      },
    },
  )
