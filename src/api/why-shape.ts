import * as z from 'zod'

import { STREAM_KINDS } from '../core/stream.ts'
import { worded, type Words } from '../core/wire.ts'
import { DELIVERY_STATUSES } from '../store/deliveries.ts'
import { criteriaShape } from './preview-shape.ts'
import { OUTCOMES } from './why-item.ts'

/** What why answers with, for the document. */
export const whyShape = (words: Words) => {
  const text = z.string()
  const instant = text.meta({ format: 'date-time' })
  const maybe = instant.nullable()
  const stream = z.looseObject(
    worded(words, {
      id: text,
      kind: z.enum(STREAM_KINDS),
      subforum: text.nullable(),
      first_seen_at: instant,
    }),
  )
  const item = z.object({
    item_id: text,
    outcome: z.literal(Object.keys(OUTCOMES)),
    means: text,
    created_at: maybe,
    matched_at: maybe,
    collected_until: maybe,
    waiting_until: maybe,
    first_seen: z
      .object({
        at: instant,
        age_s: z.int().nullable().meta({ description: 'How old it was then.' }),
        fresh: z.boolean().nullable(),
        freshness_s: z.int(),
        streams: z.array(stream),
      })
      .nullable(),
    filter_edited_since: z
      .boolean()
      .meta({ description: 'The conditions are those of the filter as it is now.' }),
    as_of: z
      .enum(['match', 'now'])
      .nullable()
      .meta({ description: 'Whether the item is judged as it was delivered, or as it is now.' }),
    criteria: criteriaShape().nullable(),
    enrichment: z.looseObject({}).nullable(),
  })
  const attempt = z.object({
    n: z.int(),
    round: z.int(),
    started_at: instant,
    duration_ms: z.int(),
    status_code: z.int().nullable(),
    error: text.nullable(),
    headers: z.record(text, text).meta({ description: 'Of the answer: those that help.' }),
    body_start: text.nullable().meta({ description: 'How the answer began, redacted.' }),
  })
  const delivery = z.object({
    delivery_id: text,
    webhook_id: text.nullable(),
    status: z.enum(DELIVERY_STATUSES),
    gate: z.object({
      verdict: z.enum(['let_through', 'suppressed']),
      reason: text.nullable(),
      figures: z.looseObject({}).nullable(),
    }),
    last_error: text.nullable(),
    created_at: instant,
    delivered_at: maybe,
    attempts: z.array(attempt),
  })
  return z.object({ monitor_id: text, items: z.array(item), deliveries: z.array(delivery) })
}
