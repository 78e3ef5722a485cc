import { Elysia } from 'elysia'

import { invalid } from '../../core/base/errors.ts'
import { createLru } from '../../core/base/lru.ts'
import { iso } from '../../core/base/time.ts'
import { type InboxPosition, NO_FILTER, spanOf } from '../../core/inbox/filter.ts'
import { type ChartBucket, createCharts } from '../../core/inbox/stats.ts'
import type { Clock } from '../../runtime/runtime.ts'
import type { Db } from '../../store/db/connection.ts'
import { listMentions, listMonitorNames } from '../../store/inbox/stats.ts'
import type { RouteContext } from '../context.ts'
import {
  maybeInstant,
  oneOf,
  optionalText,
  querySchema,
  type SchemaOutput,
} from '../http/fields.ts'
import { inboxPaths } from '../http/routes.ts'
import { answers } from '../openapi/route-docs.ts'
import { INBOX_EXAMPLES } from './examples.ts'
import { inboxStatsShape } from './shapes.ts'

const DAY_MS = 86_400_000
const DAYS = 30
const DAYS_MAX = 90
const HOURLY_DAYS_MAX = 7
/** Items of one answer. */
const ITEMS_MAX = 200_000
/** Items that are counted before other work runs, which takes milliseconds. */
const SLICE = 1000
const FRESH_MS = 30_000
const CACHED_MAX = 200
/** Default ends of windows are full minutes, so that answers can be shared. */
const ROUND_MS = 60_000

const statsQuery = querySchema(() => ({
  from: maybeInstant('from').meta({
    description: `Start of the window; absent: ${DAYS} days before its end.`,
  }),
  to: maybeInstant('to').meta({ description: 'End of the window; absent: now.' }),
  bucket: oneOf('bucket', ['day', 'hour'], 'day').meta({
    description: 'Width of the intervals, which begin with the days or hours of UTC.',
  }),
  monitor: optionalText('monitor', { max: 64 }).meta({
    description: 'Only items that this monitor matched.',
  }),
}))

type Window = { from: number; to: number; bucket: ChartBucket; monitor: string | null }

/**
 * The window of a query.
 * @throws {ApiError} INVALID_REQUEST if it is empty or too long
 */
function windowOf({ from, to, bucket, monitor }: SchemaOutput<typeof statsQuery>, now: number) {
  const end = to ?? Math.ceil(now / ROUND_MS) * ROUND_MS
  const begin = from ?? end - DAYS * DAY_MS
  if (end <= begin) throw invalid('to', 'to must be after from')
  const days = bucket === 'hour' ? HOURLY_DAYS_MAX : DAYS_MAX
  // By default as many days as the width permits.
  const start = from === undefined ? Math.max(begin, end - days * DAY_MS) : begin
  if (end - start > days * DAY_MS)
    throw invalid('from', `from must be at most ${days} days before to, by ${bucket}`)
  return { from: start, to: end, bucket, monitor: monitor ?? null }
}

/** Figures of the inbox for charts. */
export function inboxStats(context: RouteContext, db: Db) {
  const stats = createStats(db, context.clock)
  return new Elysia({ name: `inbox stats `, prefix: inboxPaths(context.words)[0] })
    .use(context.keyed)
    .get(
      '/stats',
      ({ customer, query }) => stats(customer.id, windowOf(query, context.clock.now())),
      {
        query: statsQuery,
        detail: {
          summary: 'Mentions over time, share of voice, sentiment, places and authors',
          description: `Over at most ${DAYS_MAX} days, and as far as matches are stored ([retention]); by hour at most ${HOURLY_DAYS_MAX} days. Up to ${FRESH_MS / 1000} seconds old.`,
          tags: ['Inbox'],
          operationId: 'inboxStats',
          ...answers(inboxStatsShape, INBOX_EXAMPLES.stats),
        },
      },
    )
}

type Answer = Awaited<ReturnType<typeof readStats>>

/** Computes answers, one at a time for each customer; equal questions share an answer. */
function createStats(db: Db, clock: Clock) {
  const cached = createLru<string, { at: number; answer: Promise<Answer> }>(CACHED_MAX)
  const busy = new Map<string, Promise<unknown>>()

  return (customer_id: string, window: Window): Promise<Answer> => {
    const key = JSON.stringify([customer_id, window])
    const known = cached.get(key)
    if (known !== undefined && clock.mono() - known.at < FRESH_MS) return known.answer
    const before = busy.get(customer_id) ?? Promise.resolve()
    const answer = before.then(() => readStats(db, customer_id, window))
    const done = answer.catch(() => cached.delete(key))
    busy.set(customer_id, done)
    void done.then(() => busy.get(customer_id) === done && busy.delete(customer_id))
    cached.set(key, { at: clock.mono(), answer })
    return answer
  }
}

async function readStats(db: Db, customer_id: string, { from, to, bucket, monitor }: Window) {
  const charts = createCharts({ from, to, bucket })
  let cursor: InboxPosition | null = null
  let examined = 0
  let rows = 0
  do {
    const span = spanOf({ ...NO_FILTER, from, to }, cursor)
    const slice = listMentions(db, { customer_id, span, limit: SLICE })
    for (const it of slice) {
      const monitors = it.monitors?.split(',') ?? []
      if (monitor === null) charts.add({ ...it, monitors })
      else if (monitors.includes(monitor)) charts.add({ ...it, monitors: [monitor] })
    }
    rows = slice.length
    examined += rows
    cursor = slice.at(-1) ?? cursor
    await new Promise((resolve) => setImmediate(resolve))
  } while (rows === SLICE && examined < ITEMS_MAX)
  const complete = rows < SLICE
  const { at, series, total, share, places, authors, ...sums } = charts.result()
  const names = new Map(listMonitorNames(db, customer_id).map((it) => [it.id, it] as const))
  const named = (id: string) => ({
    monitor_id: id,
    name: names.get(id)?.name ?? null,
    removed: names.get(id)?.removed === 1,
  })
  return {
    from: iso(complete ? from : (cursor?.matched_at ?? from)),
    to: iso(to),
    bucket,
    examined,
    complete,
    mentions: {
      at: at.map((it) => iso(it)),
      series: series.map(({ monitor_id, counts }) => ({
        ...(monitor_id === null
          ? { monitor_id: null, name: null, removed: false }
          : named(monitor_id)),
        counts,
      })),
      total,
    },
    share: share.map(({ monitor_id, ...it }) => ({ ...named(monitor_id), ...it })),
    ...sums,
    places: places.map(({ source, name, mentions }) => ({ source, place: name, mentions })),
    authors: authors.map(({ source, name, mentions }) => ({ source, author: name, mentions })),
  }
}
