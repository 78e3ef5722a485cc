import * as z from 'zod'

import { type Naming, toWire } from '../../core/forum/naming.ts'
import { FEED_KINDS } from '../../core/polling/feed.ts'
import { DELIVERY_STATUSES } from '../../store/delivery/deliveries.ts'
import { judgementShape } from './relevance.ts'
import { criteriaShape } from './shapes.ts'

export const OUTCOMES = {
  matched: 'it matched; see its deliveries',
  collecting: 'it matched, and is collected in a bundle until collected_until',
  waiting: 'it matches except for a threshold, and is rechecked until waiting_until',
  judging: "it matched, and waits for a verdict of the operator's model; see judgement",
  does_not_match: 'a condition of the filter is not met',
  matches_now: 'it matches now; when first observed it did not, or the filter was different',
  before_start: 'it was created before the monitor started, was resumed or added this place',
  not_seen: 'no feed of this monitor returned it; see coverage in health',
  gone: 'the platform no longer shows it, so its conditions cannot be checked',
} as const

export const whyShape = (words: Naming) => {
  const plain_text = z.string()
  const instant = plain_text.meta({ format: 'date-time' })
  const maybe = instant.nullable()
  const stream = z.looseObject(
    toWire(words, {
      id: plain_text,
      kind: z.enum(FEED_KINDS),
      subforum: plain_text.nullable(),
      first_seen_at: instant,
    }),
  )
  const item = z.object({
    item_id: plain_text,
    outcome: z.literal(Object.keys(OUTCOMES)),
    means: plain_text,
    created_at: maybe,
    matched_at: maybe,
    collected_until: maybe,
    waiting_until: maybe,
    first_seen: z
      .object({
        at: instant,
        age_s: z.int().nullable().describe('Age of the item at that time, in seconds.'),
        fresh: z.boolean().nullable(),
        freshness_s: z.int(),
        streams: z.array(stream),
      })
      .nullable(),
    filter_edited_since: z
      .boolean()
      .describe('True if the conditions are those of the current filter.'),
    as_of: z
      .enum(['match', 'now'])
      .nullable()
      .describe('Version of the item that is judged: as delivered, or as it is now.'),
    criteria: criteriaShape().nullable(),
    enrichment: z.looseObject({}).nullable(),
    judgement: judgementShape()
      .nullable()
      .describe("Result of the operator's model; null: it was not to judge the item."),
  })
  const attempt = z.object({
    n: z.int(),
    round: z.int(),
    started_at: instant,
    duration_ms: z.int(),
    status_code: z.int().nullable(),
    error: plain_text.nullable(),
    headers: z.record(plain_text, plain_text).describe('Relevant headers of the answer.'),
    body_start: plain_text.nullable().describe('Start of the answer, redacted.'),
  })
  const delivery = z.object({
    delivery_id: plain_text,
    webhook_id: plain_text.nullable(),
    status: z.enum(DELIVERY_STATUSES),
    gate: z.object({
      verdict: z.enum(['let_through', 'suppressed']),
      reason: plain_text.nullable(),
      figures: z.looseObject({}).nullable(),
    }),
    last_error: plain_text.nullable(),
    created_at: instant,
    delivered_at: maybe,
    attempts: z.array(attempt),
  })
  return z.object({ monitor_id: plain_text, items: z.array(item), deliveries: z.array(delivery) })
}
