import * as z from 'zod'

import { ApiError } from '../../core/base/errors.ts'
import { once } from '../../core/base/lazy.ts'
import { iso } from '../../core/base/time.ts'
import { attentionSchema, readAttention } from '../../core/delivery/attention.ts'
import { filterSchema } from '../../core/filter/fields.ts'
import { decodeFilterSpec, renderFilterSpec } from '../../core/filter/parse.ts'
import { type Naming, toWire } from '../../core/forum/naming.ts'
import type { Plan } from '../../core/limits/plan.ts'
import { FEED_KINDS, type FeedKind } from '../../core/polling/feed.ts'
import { readRelevance, relevanceSchema } from '../../core/relevance/rules.ts'
import type { Customer } from '../../store/customers/customers.ts'
import type { Db } from '../../store/db/connection.ts'
import {
  countSlots,
  listMonitorFeeds,
  type Monitor,
  MONITOR_PAUSE_REASONS,
} from '../../store/monitoring/monitors.ts'
import { documentAs } from '../openapi/route-docs.ts'
import { alarmsShape } from './alarms.ts'
import { relevanceHealthShape } from './relevance.ts'

/**
 * One error for absent monitors and those of other customers: the answers must not differ by a
 * byte.
 */
export const absentMonitor = () =>
  new ApiError('NOT_FOUND', { message: 'there is no such monitor', absent: 'monitor' })

export const TARGETS = ['all', 'listed', 'none'] as const
export type Targets = (typeof TARGETS)[number]

function targetsOf(webhook_ids: string[] | null): Targets {
  if (webhook_ids === null) return 'all'
  return webhook_ids.length === 0 ? 'none' : 'listed'
}

export function toMonitor(
  db: Db,
  words: Naming,
  monitor: Monitor,
  feed_url: (monitor_id: string) => string,
) {
  const { id, name, cadence_s, requested_cadence_s, webhook_ids, active, pause_reason } = monitor
  return {
    id,
    name,
    filter_spec: renderFilterSpec(decodeFilterSpec(monitor.filter_spec), words),
    cadence_s,
    requested_cadence_s,
    raised: requested_cadence_s !== null && cadence_s > requested_cadence_s,
    webhook_ids,
    targets: targetsOf(webhook_ids),
    active,
    pause_reason,
    created_at: iso(monitor.created_at),
    updated_at: iso(monitor.updated_at),
    last_match_at: iso(monitor.last_match_at),
    attention: readAttention(monitor.attention),
    relevance: readRelevance(monitor.relevance),
    feed_url: feed_url(id),
    streams: listMonitorFeeds(db, id).map(({ key, kind, place, interval_s }) =>
      toWire(words, { id: key, kind, subforum: isSubforum(kind) ? place : null, interval_s }),
    ),
  }
}

const isSubforum = (kind: FeedKind): boolean => kind === 'posts' || kind === 'comments'

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

// Answers of monitoring, used by the OpenAPI document only and created with it.

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

/** Response schemas of monitoring in the wire's words, created at the first call. */
export const createMonitorShapes = (words: Naming) =>
  once(() => {
    const { text, instant, maybeInstant, count, flag, maybeText } = parts()
    const fields = {
      id: text,
      name: maybeText,
      filter_spec: z.looseObject({}).meta(documentAs(() => filterSchema(words))),
      cadence_s: count.describe('Promised interval, in seconds.'),
      requested_cadence_s: count.nullable().describe('Interval of the request; null: the default.'),
      raised: flag.describe('True if the plan does not allow the requested interval.'),
      webhook_ids: z.array(text).nullable().describe('Null: every active webhook. Empty: none.'),
      targets: z
        .enum(TARGETS)
        .describe('all: webhook_ids is null. none: it is empty. listed: it names some.'),
      active: flag,
      pause_reason: pauseReasonShape(),
      created_at: instant,
      updated_at: instant,
      last_match_at: maybeInstant,
      attention: attentionSchema()
        .nullable()
        .describe('Quiet hours, digests and alarms, with all defaults; null: none.'),
      relevance: relevanceSchema()
        .nullable()
        .describe("Rules by which the operator's model judges matches; null: it does not."),
      feed_url: text.describe('Matches as Atom; anyone with this address can read them.'),
      streams: z.array(
        z.looseObject(
          toWire(words, {
            id: text,
            kind: z.enum(FEED_KINDS),
            subforum: maybeText,
            interval_s: count.describe('Actual poll interval, in seconds.'),
          }),
        ),
      ),
    }
    const warnings = z
      .array(text)
      .optional()
      .describe(
        `${words.community}_unverified: the platform could not be reached. places_unverified: a source could not.`,
      )
    return {
      changed: z.looseObject({ ...fields, warnings }),
      list: z.looseObject({
        monitors: z.array(z.looseObject(fields).meta({ title: 'Monitor' })),
        slots: z.looseObject({
          used: count,
          total: count,
          tier: text,
          sitewide_used: count,
          sitewide_total: count,
        }),
      }),
      removed: z.looseObject({ removed: z.literal(true), id: text }),
      acknowledged: z.object({ id: text, acknowledged: count }),
      health: healthShape(),
    }
  })

const pauseReasonShape = () =>
  z
    .enum(MONITOR_PAUSE_REASONS)
    .nullable()
    .describe(
      'Why the service has paused it, until active is set again. filter_too_slow: its patterns took more processor time than a monitor has.',
    )

const sourceCoverage = once(() => {
  const { text, instant, maybeInstant, count, flag, maybeText } = parts()
  const ids = z.looseObject({ from_id: count, to_id: count })
  return z.looseObject({
    source: text,
    status: z.enum(['complete', 'degraded', 'partial', 'unknown']),
    reason: maybeText,
    proof: maybeText,
    proven: ids.nullable().describe('Ids that are proven, both inclusive.'),
    behind: ids.nullable().describe('Ids that the next checks will read.'),
    lag_ids: count,
    lag_s: count.nullable().describe('Seconds since the instant up to which everything was read.'),
    reread: z
      .looseObject({ since: instant, at: instant })
      .nullable()
      .describe(
        'Items since `since` were read again up to `at`: what had come late under an old id, or had changed, was matched. Null: none were, or the source needs no such pass.',
      ),
    missing: z
      .looseObject({ found: count, healed: count, open: count })
      .describe('Numbers of ids that had no item, or were not read, when it was their turn.'),
    open: z
      .array(
        z.looseObject({
          from_id: count,
          to_id: count,
          reason: text,
          at: instant,
          retry_at: maybeInstant,
        }),
      )
      .describe('Ids that are still missing. retry_at null: they are not requested again.'),
    open_truncated: flag,
    changes: z
      .looseObject({ waiting: count, oldest_at: maybeInstant, dropped_24h: count })
      .nullable()
      .describe(
        'Items that the source has named as changed and that were not read since; oldest_at: when the first of them was named. dropped_24h: not to be read any more. Null: the source names no changes.',
      ),
    left_out: z
      .looseObject({
        rows: count.describe('Number of rows.'),
        field: text.describe('Name of a field.'),
        at: instant,
      })
      .nullable()
      .describe(
        'Rows of the source that were left out since the start of the daemon, because a value of theirs cannot be; field: the last such value. Null: none.',
      ),
  })
})

const healthShape = once(() => {
  const { text, instant, maybeInstant, count, flag, maybeText, event } = parts()
  return z.looseObject({
    id: text,
    active: flag,
    pause_reason: pauseReasonShape(),
    daily_delivery_ceiling: count,
    delivered_24h: count,
    failed_24h: count.describe('Deliveries that exhausted the retry schedule.'),
    rejected_24h: count.describe('Deliveries that their receiver refused permanently.'),
    suppressed_24h: count.describe(
      'Withheld by the daily ceiling, as stale, or for an unknown reason. A lower bound.',
    ),
    suppressed_breakdown: z.looseObject({
      ceiling: count,
      stale: count,
      low_relevance: count,
      irrelevant: count,
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
      proof: z
        .array(text)
        .describe(
          'How its feeds prove that nothing was missed: time_listing (polls and audits of listings), keyset, dense or sparse_walk (by ids), overlap (of polls of a feed).',
        ),
      since: instant,
      audited_until: maybeInstant,
      audit_interval_s: count.nullable(),
      gaps: z.array(
        z.looseObject({
          stream: text,
          reason: text,
          at: instant,
          from: maybeInstant,
          until: maybeInstant,
          missed_estimate: count.nullable(),
          from_id: count
            .nullable()
            .describe(
              'First id of a further source that had no item (reason unanswered) or was not read (skipped). Null: a gap in time.',
            ),
          to_id: count.nullable(),
          healed_at: maybeInstant,
        }),
      ),
      gaps_returned: count,
      gaps_truncated: flag,
      gap_events_24h: count.nullable(),
      gaps_open: count
        .nullable()
        .describe('Number of the gap events that no later check has healed.'),
      posts_in_window_at_least: count.nullable(),
      posts_missed_estimate: count.nullable(),
      observed_events: z.array(event),
      unobserved_events: z.array(event),
    }),
    sources: z
      .array(sourceCoverage())
      .nullable()
      .optional()
      .describe('Coverage of each further source; absent if the monitor has none.'),
    stream_liveness: z.looseObject({
      status: z.enum(['live', 'degraded', 'unknown']),
      reason: maybeText,
      streams: z.array(z.looseObject({ id: text, reason: text })),
    }),
    cadence: z.looseObject({
      promised_cadence_s: count,
      requested_cadence_s: count.nullable(),
      meets_entitlement: flag
        .nullable()
        .describe(
          'True while every feed is polled as often as promised, by its interval and by its last check; null while unknown.',
        ),
      last_checked_s_ago: count.nullable(),
      freshness_ratio: z.number().nullable(),
      within_margin: flag.nullable(),
      slowest_stream: maybeText,
      unknown_reason: maybeText,
    }),
    alarms: alarmsShape(),
    relevance: relevanceHealthShape().optional(),
  })
})

const text = () => z.string()
const count = () => z.int()

export const criteriaShape = () =>
  z
    .array(
      z.object({
        criterion: text(),
        verdict: z.enum(['met', 'not_met', 'later', 'withheld']),
        detail: text().describe('Part of the item that was checked.'),
      }),
    )
    .describe('Every condition of the filter, in order of evaluation.')

export const previewShape = (words: Naming) =>
  z.object({
    filter_spec: z.looseObject({}),
    matches: z.array(z.looseObject({})).describe('As delivered to a webhook.'),
    matched: count(),
    low_relevance: count().describe('Matches below min_relevance.'),
    not_yet: count().describe('Below min_score or min_comments so far.'),
    scanned: count(),
    truncated: z.boolean().describe('True if there were more items than could be checked.'),
    terms: z.array(
      z.object({ term: text(), role: z.enum(['wanted', 'excluded']), items: count() }),
    ),
    criteria: z
      .array(z.object({ criterion: text(), left: count() }))
      .describe('Items that pass each condition and all before it.'),
    estimate_per_day: z.number().nullable().describe('Null: not enough data.'),
    feeds: z.array(
      z.looseObject(
        toWire(words, {
          kind: z.enum(FEED_KINDS),
          subforums: z.array(text()).nullable(),
          query: text().nullable(),
          place: text().nullable().describe('A thread, an author, or a source.'),
          items: z
            .enum(['posts', 'comments'])
            .optional()
            .describe('The items that were listed of a further source.'),
          scanned: count().nullable(),
          matched: count().nullable(),
          oldest: text().nullable().meta({ format: 'date-time' }),
          error: text().nullable().describe('Why this feed could not be read.'),
        }),
      ),
    ),
    feeds_left_out: count().describe('Searches, threads and authors that were not read.'),
    item: z
      .object({
        item_id: text(),
        in_feeds: z.boolean(),
        verdict: z.enum(['matches', 'does_not_match', 'not_yet', 'withheld']),
        criteria: criteriaShape(),
        row: z.looseObject({}),
      })
      .nullable(),
  })
