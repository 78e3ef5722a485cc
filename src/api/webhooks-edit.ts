import { Elysia } from 'elysia'
import * as z from 'zod'

import { iso } from '../core/instant.ts'
import { toSecret } from '../core/signature.ts'
import type { Random } from '../outside.ts'
import type { Db } from '../store/db.ts'
import { rotateSecret, updateWebhook } from '../store/webhooks.ts'
import { closed, idIn } from './fields.ts'
import type { Infra } from './infra.ts'
import { answers } from './openapi.ts'
import { absent, ids, shapes, toWebhook } from './webhooks-shape.ts'

const SECRET_BYTES = 32
const NAME_MAX = 100
const PER_SECOND_MIN = 0.01
const PER_SECOND_MAX = 1000
const OVERLAP_MAX_S = 86_400

const NAME = `name must be text of 1 to ${NAME_MAX} characters, or null`
const PER_SECOND = `max_per_second must be a number from ${PER_SECOND_MIN} to ${PER_SECOND_MAX}, or null for no bound`
const OVERLAP = `overlap_s must be a whole number from 0 to ${OVERLAP_MAX_S}`

const truth = (name: string) => z.boolean({ error: `${name} must be true or false` }).optional()

const updateBody = closed(() => ({
  ...ids(),
  name: z.string({ error: NAME }).trim().min(1, NAME).max(NAME_MAX, NAME).nullable().optional(),
  active: truth('active'),
  max_per_second: z
    .number({ error: PER_SECOND })
    .min(PER_SECOND_MIN, PER_SECOND)
    .max(PER_SECOND_MAX, PER_SECOND)
    .nullable()
    .optional(),
  ordered: truth('ordered'),
}))

const rotateBody = closed(() => ({
  ...ids(),
  overlap_s: z.int({ error: OVERLAP }).min(0, OVERLAP).max(OVERLAP_MAX_S, OVERLAP).default(0),
}))

type Deps = {
  db: Db
  sealSecret: (webhook_id: string, secret: string) => Uint8Array
  /** Called after what waits for a target may go another way. */
  nudge: () => void
}

/** A webhook's secret that nobody has seen yet. */
export const newSecret = (random: Random): string => toSecret(random.bytes(SECRET_BYTES))

/** What a customer changes of a target that is there: its wishes, and its secret. */
export const edits = (prefix: string, infra: Infra, { db, sealSecret, nudge }: Deps) =>
  new Elysia({ name: `webhook edits ${prefix}` })
    .use(infra.keyed)
    .post(
      '/update',
      ({ customer, body: { id, webhook_id, ...edit } }) => {
        const webhook = updateWebhook(db, customer.id, idIn({ id, webhook_id }, 'webhook_id'), edit)
        if (!webhook) throw absent()
        nudge()
        return toWebhook(webhook)
      },
      {
        body: updateBody,
        detail: {
          summary: 'Name a target, switch it off or on, bound its pace, keep its order',
          description:
            'What waits for a target that is switched off fails as webhook_paused and can be redelivered. A target that was paused stays so until a test arrives.',
          tags: ['Monitoring'],
          ...answers(() => shapes().webhook),
        },
      },
    )
    .post(
      '/rotate',
      ({ customer, body: { overlap_s, ...named } }) => {
        const id = idIn(named, 'webhook_id')
        const secret = newSecret(infra.random)
        const until = overlap_s === 0 ? null : infra.clock.now() + overlap_s * 1000
        const sealed = sealSecret(id, secret)
        if (!rotateSecret(db, customer.id, { id, secret: sealed, until })) throw absent()
        return {
          id,
          secret,
          old_secret_until: iso(until),
        }
      },
      {
        body: rotateBody,
        detail: {
          summary: 'Give a target a new secret, shown this once',
          description:
            'For overlap_s seconds deliveries are signed with both secrets: the header carries two v1 values.',
          tags: ['Monitoring'],
          ...answers(() => shapes().rotated),
        },
      },
    )
