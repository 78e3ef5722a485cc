import * as z from 'zod'

import { once } from '../../core/base/lazy.ts'
import { createLru } from '../../core/base/lru.ts'
import { iso } from '../../core/base/time.ts'
import type { Clock } from '../../runtime/runtime.ts'
import type { Db } from '../../store/db/connection.ts'
import { type ActivityHour, countHour, listRecentMatches } from '../../store/maintenance/counts.ts'
import { oneOf, querySchema } from '../http/fields.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** Periods that are counted, with the length and the number of their buckets. A bucket of a day is one of UTC. */
const PERIODS = {
  '24h': { bucket: 'hour', bucket_ms: HOUR_MS, buckets: 24 },
  '7d': { bucket: 'hour', bucket_ms: HOUR_MS, buckets: 168 },
  '30d': { bucket: 'day', bucket_ms: DAY_MS, buckets: 30 },
} as const
type Period = keyof typeof PERIODS

export const activityQuery = querySchema(() => ({
  period: oneOf('period', ['24h', '7d', '30d'], '24h'),
}))

const NEWEST = 8
const SCOPES_MAX = 200
/** Counts of a past hour change only where a delivery of it ends late. */
const PAST_MS = 10 * 60_000

export const activityShape = once(() =>
  z.object({
    bucket: z.enum(['hour', 'day']).describe('Length of a bucket; days are of UTC.'),
    buckets: z
      .array(
        z.object({
          start: z.iso.datetime().describe('Start of the hour or day.'),
          matches: z
            .int()
            .nullable()
            .describe(
              'Items matched, each once per monitor; null where `[retention] days` has removed them.',
            ),
          delivered: z.int().describe('Deliveries that arrived in it.'),
          failed: z.int().describe('Deliveries created in it that failed for good.'),
        }),
      )
      .describe(
        'Every hour or day of the period, oldest first; the last one has not ended. 24 for 24h, 168 for 7d, 30 for 30d.',
      ),
    newest: z
      .array(
        z.object({
          matched_at: z.iso.datetime().describe('When it was matched first.'),
          monitors: z
            .array(z.object({ id: z.string(), name: z.string().nullable() }))
            .describe('The monitors that it matched.'),
          item: z.looseObject({}).describe('The item as delivered to a webhook.'),
        }),
      )
      .describe(`The newest matched items, each once; at most ${NEWEST}.`),
  }),
)

type NewestMatch = {
  matched_at: string
  monitors: { id: string; name: string | null }[]
  item: Record<string, unknown>
}

type Bucket = Omit<ActivityHour, 'at' | 'matches'> & { start: string; matches: number | null }

export type Activity = {
  bucket: 'hour' | 'day'
  buckets: Bucket[]
  newest: NewestMatch[]
}

type Deps = {
  db: Db
  clock: Clock
  /** Days for which matches are kept; 0: for ever. */
  retention_days: number
}

const bodyShape = once(() => z.looseObject({ items: z.array(z.looseObject({})).default([]) }))

/** Creates the reader of the activity of a customer, or of all (null). Past buckets are cached for ten minutes. */
export function createActivity({ db, clock, retention_days }: Deps) {
  type Past = { read_at: number; counts: Map<string, ActivityHour> }
  const cache = createLru<string, Past>(SCOPES_MAX)

  function pastCounts(customer_id: string | null): Past['counts'] {
    const key = customer_id ?? ''
    const cached = cache.get(key)
    if (cached && clock.mono() - cached.read_at < PAST_MS) return cached.counts
    const fresh = { read_at: clock.mono(), counts: new Map<string, ActivityHour>() }
    cache.set(key, fresh)
    return fresh.counts
  }

  /** Counts hour by hour: one may have a hundred thousand rows, and other calls run between two of them. */
  async function count(customer_id: string | null, from: number, until: number) {
    const sum = { at: from, matches: 0, delivered: 0, failed: 0 }
    for (let at = from; at < until; at += HOUR_MS) {
      const { matches, delivered, failed } = countHour(db, customer_id, at)
      sum.matches += matches
      sum.delivered += delivered
      sum.failed += failed
      await new Promise((resolve) => setImmediate(resolve))
    }
    return sum
  }

  async function listBuckets(customer_id: string | null, period: Period): Promise<Bucket[]> {
    const { bucket, bucket_ms, buckets } = PERIODS[period]
    const now = clock.now()
    const kept_from = retention_days > 0 ? now - retention_days * DAY_MS : 0
    const last_at = Math.floor(now / bucket_ms) * bucket_ms
    const past = pastCounts(customer_id)
    const found: Bucket[] = []
    for (let at = last_at - (buckets - 1) * bucket_ms; at <= last_at; at += bucket_ms) {
      const key = `${bucket} ${at}`
      const counted =
        past.get(key) ?? (await count(customer_id, at, Math.min(at + bucket_ms, now + 1)))
      if (at < last_at) past.set(key, counted)
      const { matches, delivered, failed } = counted
      found.push({ start: iso(at), matches: at < kept_from ? null : matches, delivered, failed })
    }
    return found
  }

  return async (customer_id: string | null, period: Period): Promise<Activity> => ({
    bucket: PERIODS[period].bucket,
    buckets: await listBuckets(customer_id, period),
    newest: newestMatches(db, customer_id),
  })
}

/** The newest matched items. An item of several monitors, or of several deliveries, is one. */
function newestMatches(db: Db, customer_id: string | null): NewestMatch[] {
  const found = new Map<string, NewestMatch>()
  // More than are returned, because an item may have matched several monitors.
  for (const { monitor_id, monitor_name, matched_at, body } of listRecentMatches(
    db,
    customer_id,
    4 * NEWEST,
  )) {
    const { items } = bodyShape().parse(JSON.parse(new TextDecoder().decode(body)))
    // Within a body the oldest comes first.
    for (const item of items.toReversed()) {
      const key = JSON.stringify([item['source'], item['kind'], item['id']])
      const match = found.get(key) ?? { matched_at: '', monitors: [], item }
      match.matched_at = iso(matched_at)
      if (!match.monitors.some(({ id }) => id === monitor_id))
        match.monitors.push({ id: monitor_id, name: monitor_name })
      found.set(key, match)
    }
  }
  return [...found.values()].slice(0, NEWEST)
}
