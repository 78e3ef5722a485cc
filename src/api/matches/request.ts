import { Elysia } from 'elysia'
import * as z from 'zod'

import { ApiError, invalid } from '../../core/base/errors.ts'
import { once } from '../../core/base/lazy.ts'
import { iso } from '../../core/base/time.ts'
import { signDelivery } from '../../core/delivery/signature.ts'
import type { Db } from '../../store/db/connection.ts'
import { listAttempts } from '../../store/delivery/deliveries.ts'
import { findAddressee, findRequestBasis } from '../../store/delivery/targets.ts'
import { findDelivery } from '../../store/monitoring/why.ts'
import type { RouteContext } from '../context.ts'
import { patternText, querySchema } from '../http/fields.ts'
import { answers } from '../openapi/route-docs.ts'

type Deps = {
  db: Db
  openSecret: (webhook_id: string, sealed: Uint8Array) => string
  user_agent: string
  /** Milliseconds by which true time is ahead of our clock. */
  clock_offset_ms: () => number
}

const query = querySchema(() => ({
  delivery_id: patternText('delivery_id', /^dlv_[\w-]{1,64}$/, 'the id of a delivery: dlv_…'),
}))

const shape = once(() => {
  const headers = z.record(z.string(), z.string())
  return z.object({
    delivery_id: z.string(),
    method: z.literal('POST'),
    url: z.string(),
    headers: headers.describe('Headers of this request, signed at signed_at.'),
    signed_at: z.iso.datetime().describe('Time of the signature in headers.'),
    body: z.string().describe('The body, whose bytes are signed.'),
    attempts: z
      .array(
        z.object({
          n: z.int(),
          headers: z
            .record(z.string(), z.string().nullable())
            .describe(
              'Headers that the attempt sent; null: a signature by a secret that was since rotated.',
            ),
        }),
      )
      .describe('The attempts so far, first to last.'),
  })
})

const SIGNATURES = ['x-service-signature', 'webhook-signature']

/**
 * `GET …/deliveries/request`: the request of a delivery, computed from its body and the secret of its target, since no
 * header is stored.
 */
export const deliveryRequest = (context: RouteContext, deps: Deps) =>
  group(context.words.monitor, context, deps)

const group = (prefix: string, context: RouteContext, deps: Deps) =>
  new Elysia({ name: `delivery request ${prefix}`, prefix })
    .use(context.keyed)
    .get(
      '/deliveries/request',
      ({ customer, query: { delivery_id } }) =>
        requestOf(deps, customer.id, delivery_id, context.clock.now()),
      {
        query,
        detail: {
          summary: 'The signed request of a delivery: its headers and body',
          description:
            'For a receiver that does not accept a signature: headers of each attempt, and a request with a new timestamp to send by hand. Only for kind webhook, while the content is kept.',
          tags: ['Monitoring'],
          ...answers(shape),
        },
      },
    )

function requestOf(deps: Deps, customer_id: string, delivery_id: string, now: number) {
  const { db, user_agent, clock_offset_ms } = deps
  const delivery = findDelivery(db, customer_id, delivery_id)
  if (delivery === null) throw new ApiError('NOT_FOUND', { message: 'there is no such delivery' })
  const basis = findRequestBasis(db, delivery_id)
  const target =
    delivery.webhook_id === null ? null : findAddressee(db, customer_id, delivery.webhook_id)
  if (basis === null || target?.kind !== 'webhook')
    throw invalid(
      'delivery_id',
      'delivery_id must be of a delivery to a webhook of kind webhook that still exists: only those are signed',
    )
  if (basis.erased)
    throw invalid('delivery_id', 'delivery_id is of a delivery whose content is no longer stored')
  const { body } = delivery
  const fixed = { 'content-type': 'application/json', 'user-agent': user_agent }
  const headersAt = (at: number, signed_at: number) => ({
    ...fixed,
    ...signDelivery(deps, target, {
      id: delivery_id,
      body,
      timestamp_s: Math.floor(at / 1000),
      now: signed_at,
    }),
  })
  const signed_at = now + clock_offset_ms()
  return {
    delivery_id,
    method: 'POST' as const,
    url: target.url,
    headers: headersAt(signed_at, now),
    signed_at: iso(signed_at),
    body: new TextDecoder().decode(body),
    attempts: (listAttempts(db, customer_id, delivery_id) ?? []).map(({ n, started_at }) => {
      const headers: Record<string, string | null> = headersAt(started_at, started_at)
      if (started_at < (basis.secret_since ?? 0))
        for (const name of SIGNATURES) headers[name] = null
      return { n, headers }
    }),
  }
}
