import { LRUCache } from 'lru-cache'
import * as z from 'zod'

import { once } from '../../core/base/lazy.ts'
import { iso } from '../../core/base/time.ts'
import type { Clock } from '../../runtime/runtime.ts'
import type { Db } from '../../store/db/connection.ts'
import { type ActivityHour, countHour, listRecentMatches } from '../../store/maintenance/counts.ts'

const HOUR_MS = 3_600_000
const HOURS = 24
const NEWEST = 8
/** Customers whose past hours are cached. */
const SCOPES_MAX = 200
/** Counts of a past hour change only where a delivery of it ends late. */
const PAST_MS = 10 * 60_000

/** Shape of an answer, for the OpenAPI document. */
export const activityShape = once(() =>
  z.object({
    hours: z
      .array(
        z.object({
          start: z.iso.datetime().meta({ description: 'Start of the hour.' }),
          matches: z.int().meta({ description: 'Items matched, each once per monitor.' }),
          delivered: z.int().meta({ description: 'Deliveries that arrived in this hour.' }),
          failed: z
            .int()
            .meta({ description: 'Deliveries created in this hour that failed for good.' }),
        }),
      )
      .meta({ description: 'The last 24 hours, oldest first; the last one has not ended.' }),
    newest: z
      .array(
        z.object({
          matched_at: z.iso.datetime().meta({ description: 'When it was matched first.' }),
          monitors: z
            .array(z.object({ id: z.string(), name: z.string().nullable() }))
            .meta({ description: 'The monitors that it matched.' }),
          item: z.looseObject({}).meta({ description: 'The item as delivered to a webhook.' }),
        }),
      )
      .meta({ description: `The newest matched items, each once; at most ${NEWEST}.` }),
  }),
)

type NewestMatch = {
  matched_at: string
  monitors: { id: string; name: string | null }[]
  item: Record<string, unknown>
}

/** Activity of the last 24 hours. */
export type Activity = {
  hours: (Omit<ActivityHour, 'at'> & { start: string })[]
  newest: NewestMatch[]
}

const bodyShape = once(() => z.looseObject({ items: z.array(z.looseObject({})).default([]) }))

/** Creates the reader of the activity of a customer, or of all (null). Past hours are cached for ten minutes. */
export function createActivity({ db, clock }: { db: Db; clock: Clock }) {
  type Past = { read_at: number; hours: Map<number, ActivityHour> }
  const cache = new LRUCache<string, Past>({ max: SCOPES_MAX })

  function pastHours(customer_id: string | null): Map<number, ActivityHour> {
    const key = customer_id ?? ''
    const cached = cache.get(key)
    if (cached && clock.mono() - cached.read_at < PAST_MS) return cached.hours
    const fresh = { read_at: clock.mono(), hours: new Map<number, ActivityHour>() }
    cache.set(key, fresh)
    return fresh.hours
  }

  async function listHours(customer_id: string | null): Promise<Activity['hours']> {
    const hour_at = Math.floor(clock.now() / HOUR_MS) * HOUR_MS
    const past = pastHours(customer_id)
    const hours: Activity['hours'] = []
    for (let at = hour_at - (HOURS - 1) * HOUR_MS; at <= hour_at; at += HOUR_MS) {
      let counted = past.get(at)
      if (counted === undefined) {
        counted = countHour(db, customer_id, at)
        // An hour may have a hundred thousand rows: other calls run between two of them.
        await new Promise((resolve) => setImmediate(resolve))
      }
      if (at < hour_at) past.set(at, counted)
      const { matches, delivered, failed } = counted
      hours.push({ start: iso(at), matches, delivered, failed })
    }
    return hours
  }

  return async (customer_id: string | null): Promise<Activity> => ({
    hours: await listHours(customer_id),
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
