import * as z from 'zod'

import { ApiError } from '../core/errors.ts'
import { decodeFilterSpec, renderFilterSpec } from '../core/filter.ts'
import type { Plan } from '../core/gate.ts'
import { iso } from '../core/instant.ts'
import { once } from '../core/once.ts'
import { STREAM_KINDS, type StreamKind } from '../core/stream.ts'
import { worded, type Words } from '../core/wire.ts'
import type { Customer } from '../store/customers.ts'
import type { Db } from '../store/db.ts'
import { countSlots, listWatched, type Monitor } from '../store/monitors.ts'

/** One error for what is absent and what is somebody else's: the answers must not differ by a byte. */
export const absentMonitor = () =>
  new ApiError('NOT_FOUND', { message: 'there is no such monitor' })

/** A monitor as it is shown. */
export function toMonitor(
  db: Db,
  words: Words,
  monitor: Monitor,
  feed_url: (monitor_id: string) => string,
) {
  const { id, name, cadence_s, webhook_ids, active } = monitor
  return {
    id,
    name,
    filter_spec: renderFilterSpec(decodeFilterSpec(monitor.filter_spec), words),
    cadence_s,
    webhook_ids,
    active,
    created_at: iso(monitor.created_at),
    updated_at: iso(monitor.updated_at),
    last_match_at: iso(monitor.last_match_at),
    feed_url: feed_url(id),
    streams: listWatched(db, id).map(({ key, kind, place, interval_s }) =>
      worded(words, { id: key, kind, subforum: isSubforum(kind) ? place : null, interval_s }),
    ),
  }
}

const isSubforum = (kind: StreamKind): boolean => kind === 'posts' || kind === 'comments'

/** What of a plan is taken. */
export function toSlots(db: Db, customer: Customer, plan: Plan) {
  const { used, sitewide_used } = countSlots(db, customer.id)
  return {
    used,
    total: plan.slots,
    tier: customer.plan,
    sitewide_used,
    sitewide_total: plan.sitewide_slots,
  }
}

// What monitoring answers with, for the document alone: nothing is made before somebody reads it.

const parts = once(() => {
  const text = z.string()
  const instant = text.meta({ format: 'date-time' })
  const maybeInstant = instant.nullable()
  const count = z.int()
  const flag = z.boolean()
  const maybeText = text.nullable()
  const event = z.looseObject({ kind: text, at: instant, until: maybeInstant, stream: maybeText })
  return { text, instant, maybeInstant, count, flag, maybeText, event }
})

/** The bodies of monitoring, as zod schemas in the words of the wire; made at the first call. */
export const createMonitorShapes = (words: Words) =>
  once(() => {
    const { text, instant, maybeInstant, count, flag, maybeText } = parts()
    const fields = {
      id: text,
      name: maybeText,
      filter_spec: z.looseObject({}),
      cadence_s: count.meta({ description: 'The promise, in seconds.' }),
      webhook_ids: z
        .array(text)
        .nullable()
        .meta({ description: 'Null: every active webhook. Empty: nowhere.' }),
      active: flag,
      created_at: instant,
      updated_at: instant,
      last_match_at: maybeInstant,
      feed_url: text.meta({ description: 'The matches as Atom, for who knows this address.' }),
      streams: z.array(
        z.looseObject(
          worded(words, {
            id: text,
            kind: z.enum(STREAM_KINDS),
            subforum: maybeText,
            interval_s: count.meta({ description: 'How often it is really looked at.' }),
          }),
        ),
      ),
    }
    const warnings = z
      .array(text)
      .optional()
      .meta({ description: `${words.community}_unverified: the platform could not be asked.` })
    return {
      changed: z.looseObject({ ...fields, warnings }),
      list: z.looseObject({
        monitors: z.array(z.looseObject(fields)),
        slots: z.looseObject({
          used: count,
          total: count,
          tier: text,
          sitewide_used: count,
          sitewide_total: count,
        }),
      }),
      removed: z.looseObject({ removed: z.literal(true), id: text }),
      health: healthShape(),
    }
  })

const healthShape = once(() => {
  const { text, instant, maybeInstant, count, flag, maybeText, event } = parts()
  return z.looseObject({
    id: text,
    active: flag,
    daily_delivery_ceiling: count,
    delivered_24h: count,
    failed_24h: count.meta({ description: 'Deliveries that exhausted the retry ladder.' }),
    rejected_24h: count.meta({ description: 'Deliveries that their receiver refused for good.' }),
    suppressed_24h: count.meta({ description: 'A floor.' }),
    suppressed_breakdown: z.looseObject({
      ceiling: count,
      stale: count,
      low_relevance: count,
      unknown: count,
      sampled: count,
      sample_truncated: flag,
      resolved: flag,
      unresolved_reason: maybeText,
    }),
    ceiling_reached: flag,
    last_match_at: maybeInstant,
    coverage_24h: z.looseObject({
      status: z.enum(['complete', 'degraded', 'partial', 'unknown']),
      reason: maybeText,
      since: instant,
      gaps: z.array(
        z.looseObject({
          stream: text,
          reason: text,
          at: instant,
          from: maybeInstant,
          until: maybeInstant,
          missed_estimate: count.nullable(),
          healed_at: maybeInstant,
        }),
      ),
      gaps_returned: count,
      gaps_truncated: flag,
      gap_events_24h: count.nullable(),
      posts_in_window_at_least: count.nullable(),
      posts_missed_estimate: count.nullable(),
      observed_events: z.array(event),
      unobserved_events: z.array(event),
    }),
    stream_liveness: z.looseObject({
      status: z.enum(['live', 'degraded', 'unknown']),
      reason: maybeText,
      streams: z.array(z.looseObject({ id: text, reason: text })),
    }),
    cadence: z.looseObject({
      promised_cadence_s: count,
      requested_cadence_s: count.nullable(),
      meets_entitlement: flag.nullable(),
      last_checked_s_ago: count.nullable(),
      freshness_ratio: z.number().nullable(),
      within_margin: flag.nullable(),
      slowest_stream: maybeText,
      unknown_reason: maybeText,
    }),
  })
})
