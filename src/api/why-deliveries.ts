import * as z from 'zod'

import { deliveryId } from '../core/delivery-id.ts'
import { iso } from '../core/instant.ts'
import { once } from '../core/once.ts'
import type { Db } from '../store/db.ts'
import { listAttempts } from '../store/deliveries.ts'
import {
  findDelivery,
  findMatch,
  listDeliveriesBetween,
  listWebhookIds,
  type ToldDelivery,
} from '../store/why.ts'

const payload_shape = once(() =>
  z.looseObject({
    items: z.array(z.looseObject({ name: z.string() })).default([]),
    suppressed: z.looseObject({ reason: z.string() }).optional(),
  }),
)

/** A delivery's body, read back. */
export const payloadOf = (body: Uint8Array) =>
  payload_shape().parse(JSON.parse(new TextDecoder().decode(body)))

// The longest that a bundle is collected, and as long again for a daemon that was down when its time had come.
const BUNDLED_WITHIN_MS = 2 * 3_600_000
const BUNDLES_MAX = 2_000

/** The deliveries that carry an item of a monitor: alone, by the ids that they must have, or among others. */
export function deliveriesOf(
  db: Db,
  of: { instance_id: string; customer_id: string; monitor_id: string; name: string },
): ToldDelivery[] {
  const { instance_id, customer_id, monitor_id, name } = of
  const match = findMatch(db, { monitor_id, item_id: name })
  if (match === null) return []
  const alone = [null, ...listWebhookIds(db, customer_id)].flatMap(
    (webhook_id) =>
      findDelivery(db, customer_id, deliveryId(instance_id, monitor_id, webhook_id, [name])) ?? [],
  )
  if (alone.length > 0) return alone
  const written = listDeliveriesBetween(db, {
    monitor_id,
    from_at: match.matched_at,
    until_at: match.matched_at + BUNDLED_WITHIN_MS,
    limit: BUNDLES_MAX,
  })
  return written.filter(({ body }) => payloadOf(body).items.some((it) => it.name === name))
}

/** A delivery with what the gate decided of it and what its receiver answered, as the store has redacted it. */
export function toAttempts(db: Db, customer_id: string, delivery: ToldDelivery) {
  const { id, webhook_id, status, reason, last_error, created_at, delivered_at, body } = delivery
  const { suppressed } = payloadOf(body)
  const attempts = listAttempts(db, customer_id, id) ?? []
  return {
    delivery_id: id,
    webhook_id,
    status,
    gate: {
      verdict: status === 'suppressed' ? ('suppressed' as const) : ('let_through' as const),
      reason,
      // The figures behind it, as the body tells them: how old it was, how relevant, how many a day.
      figures: suppressed === undefined ? null : { ...suppressed, reason: undefined },
    },
    last_error,
    created_at: iso(created_at),
    delivered_at: iso(delivered_at),
    attempts: attempts.map(({ started_at, ended_at, http_status, ...attempt }) => ({
      ...attempt,
      started_at: iso(started_at),
      duration_ms: ended_at - started_at,
      status_code: http_status,
    })),
  }
}
