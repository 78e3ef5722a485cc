import { Elysia } from 'elysia'

import { ApiError, invalid } from '../core/errors.ts'
import type { Db } from '../store/db.ts'
import { findKeyById } from '../store/keys.ts'
import { listMatchesAfter, newestSeq } from '../store/match-bodies.ts'
import { findMonitor } from '../store/monitors.ts'
import { EVENT_HEADERS } from './event-stream.ts'
import { query, required } from './fields.ts'
import type { Infra } from './infra.ts'
import { cursor } from './items.ts'
import { absentMonitor } from './monitor-shapes.ts'
import { atBothPlaces } from './places.ts'
import { openEvents } from './stream-events.ts'

const OPEN_MAX = 10
const RETRY_S = 5

export type StreamDeps = {
  db: Db
  /** Aborts before the server stops: it waits for answers that are still being given. */
  ended: AbortSignal
}

const streamQuery = query(() => ({ id: required('id', { max: 64 }), after: cursor() }))

/** A monitor's matches as they come, under both places where monitoring answers. */
export function stream(infra: Infra, deps: StreamDeps) {
  const open = new Map<string, number>()
  return atBothPlaces(infra.words, (place) => group(place, infra, deps, open))
}

const group = (
  prefix: string,
  { keyed, clock }: Infra,
  { db, ended }: StreamDeps,
  /** How many each customer has open. */
  open: Map<string, number>,
) =>
  new Elysia({ name: `stream ${prefix}`, prefix }).use(keyed).get(
    '/stream',
    ({ holder: { key }, customer, request, query: { id, after } }) => {
      const from = lastEventId(request.headers.get('last-event-id')) ?? after
      // Asked anew each time: to a key that was revoked since nothing more is told.
      const alive = () =>
        findMonitor(db, customer.id, id) !== null && findKeyById(db, key.id, clock.now()) !== null
      if (!alive()) throw absentMonitor()
      // Who asks for the head alone never reads, and would hold a place for nothing.
      if (request.method === 'HEAD') return new Response(null, { headers: EVENT_HEADERS })
      const opened = open.get(customer.id) ?? 0
      if (opened >= OPEN_MAX)
        throw new ApiError('rate_limited', {
          message: `${OPEN_MAX} streams are open, which is all that one customer may have`,
          retry_after_s: RETRY_S,
        })
      open.set(customer.id, opened + 1)
      const events = openEvents({
        clock,
        ended,
        left: request.signal,
        seq: from ?? newestSeq(db, id),
        next: (seq, limit) =>
          alive() ? listMatchesAfter(db, { monitor_id: id, seq, limit }) : null,
        on_close: () => void open.set(customer.id, (open.get(customer.id) ?? 1) - 1),
      })
      return new Response(events, { headers: EVENT_HEADERS })
    },
    {
      query: streamQuery,
      detail: {
        summary: 'What a monitor matches, as server-sent events',
        description:
          'Each event is called match and has as data what a webhook gets. Begins with what comes from now on, after Last-Event-ID, or after the after of items. A comment comes every 15 seconds; after an hour it ends, to be opened again.',
        tags: ['Monitoring'],
        responses: {
          200: {
            description: 'Events until either side ends it.',
            content: { 'text/event-stream': { schema: { type: 'string' } } },
          },
        },
      },
    },
  )

function lastEventId(header: string | null): number | undefined {
  if (header === null || header === '') return undefined
  if (!/^\d{1,15}$/.test(header))
    throw invalid('last-event-id', 'last-event-id must be the id of an event of this stream')
  return Number(header)
}
