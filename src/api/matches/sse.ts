import { Elysia } from 'elysia'

import { ApiError, invalid } from '../../core/base/errors.ts'
import type { HeldBytes } from '../../core/limits/byte-budget.ts'
import type { Clock } from '../../runtime/runtime.ts'
import { findKeyById } from '../../store/customers/keys.ts'
import type { Db } from '../../store/db/connection.ts'
import { listMatchesAfter, type MatchBody, newestSeq } from '../../store/monitoring/matches.ts'
import { findMonitor } from '../../store/monitoring/monitors.ts'
import type { RouteContext } from '../context.ts'
import { querySchema, required } from '../http/fields.ts'
import { absentMonitor } from '../monitors/shapes.ts'
import { cursor } from './pull.ts'

const POLL_MS = 1000
const HEARTBEAT_MS = 15_000
const RECONNECT_MS = 3000
/** Longest duration of a stream, ms. The reader reconnects and is authenticated again. */
const LONGEST_MS = 3_600_000

export const EVENT_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // A proxy that buffers answers would withhold events.
  'x-accel-buffering': 'no',
}

/** Next part of a stream: events as text, nothing yet, or the end. */
export type SseChunk = { events: string } | 'nothing' | 'end'

const encoder = new TextEncoder()
const HEARTBEAT = encoder.encode(': nothing new\n\n')

/**
 * Opens a stream of server-sent events. `nextChunk` is called once a second, and only after the
 * reader has taken the last chunk: memory holds at most one chunk per reader. `hold` counts it;
 * while it has no room, events wait.
 * A comment is sent after 15 seconds without events. The stream ends with `ended`, when `nextChunk`
 * returns 'end', or after an hour.
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
export function openEventStream({
  clock,
  ended,
  left,
  nextChunk,
  hold,
  on_close,
  from,
}: {
  clock: Clock
  ended: AbortSignal
  /** Aborts when the reader disconnects, including one that never began to read. */
  left: AbortSignal
  nextChunk: () => SseChunk
  /** Counts the bytes of events until the reader has taken them; null while there is no room. */
  hold: (bytes: number) => HeldBytes | null
  /** Called once when the stream ends. */
  on_close: () => void
  /**
   * Initial event id, if the events have ids: a reader that is disconnected before the first event
   * reconnects with it and misses nothing.
   */
  from?: number
}): ReadableStream<Uint8Array> {
  const gone = new AbortController()
  const over = AbortSignal.any([ended, gone.signal])
  const opened_at = clock.mono()
  let sent_at = opened_at
  let closed = false
  let held: HeldBytes | null = null
  let waiting: Uint8Array | null = null

  function close() {
    if (closed) return
    closed = true
    held?.release()
    on_close()
  }

  function leave() {
    gone.abort()
    close()
  }
  left.addEventListener('abort', leave, { once: true })

  function readChunk(): SseChunk {
    try {
      return nextChunk()
    } catch (error) {
      // A broken stream throws here and is never cancelled; its place must be released.
      close()
      throw error
    }
  }

  /** Next bytes to send, once there is room for them; null while there are none. */
  function pollChunk(): Uint8Array | 'end' | null {
    if (over.aborted || clock.mono() - opened_at >= LONGEST_MS) return 'end'
    if (waiting === null) {
      const chunk = readChunk()
      if (chunk === 'end') return chunk
      if (chunk !== 'nothing') waiting = encoder.encode(chunk.events)
    }
    if (waiting !== null) {
      held = hold(waiting.byteLength)
      if (held !== null) {
        const bytes = waiting
        waiting = null
        return bytes
      }
    }
    return clock.mono() - sent_at < HEARTBEAT_MS ? null : HEARTBEAT
  }

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        // Sent at once, so that the reader sees that the stream is open.
        const begins = from === undefined ? '' : `id: ${from}\n`
        controller.enqueue(encoder.encode(`retry: ${RECONNECT_MS}\n${begins}\n`))
      },
      async pull(controller) {
        // The previous chunk has been taken.
        held?.release()
        held = null
        let chunk = pollChunk()
        while (chunk === null) {
          await clock.sleep(POLL_MS, over)
          chunk = pollChunk()
        }
        if (chunk === 'end') {
          close()
          // A reader that disconnected has closed it already.
          if (!gone.signal.aborted) controller.close()
          return
        }
        sent_at = clock.mono()
        controller.enqueue(chunk)
      },
      cancel: leave,
    },
    { highWaterMark: 1 },
  )
}

// The database is the queue: memory holds nothing for a slow reader, and no notification of a match
// is needed. Polling once a second is one index step per reader.

const AT_ONCE = 50
const CHUNK_BYTES = 256 * 1024

const decoder = new TextDecoder()

/** A match as an event; its id returns in Last-Event-ID. */
const toEvent = ({ seq, body }: MatchBody): string =>
  `id: ${seq}\nevent: match\ndata: ${decoder.decode(body)}\n\n`

/** Matches that fit one chunk, at least one. */
function firstOf(rows: readonly MatchBody[]): readonly MatchBody[] {
  let bytes = 0
  const end = rows.findIndex(({ body }, n) => (bytes += body.byteLength) > CHUNK_BYTES && n > 0)
  return end === -1 ? rows : rows.slice(0, end)
}

/**
 * Opens a stream of a monitor's matches after `seq`, at the pace of the reader. It ends when `next`
 * returns null; a reader that reconnects continues where it stopped.
 */
export function openEvents({
  seq,
  next,
  ...options
}: {
  clock: Clock
  ended: AbortSignal
  /** Aborts when the reader disconnects, including one that never began to read. */
  left: AbortSignal
  seq: number
  /** Matches after this seq, at most `limit`; null: there will be no more. */
  next: (seq: number, limit: number) => MatchBody[] | null
  hold: (bytes: number) => HeldBytes | null
  /** Called once when the stream ends. */
  on_close: () => void
}): ReadableStream<Uint8Array> {
  let last = seq

  function nextChunk(): SseChunk {
    const rows = next(last, AT_ONCE)
    if (rows === null) return 'end'
    const found = firstOf(rows)
    last = found.at(-1)?.seq ?? last
    return found.length === 0 ? 'nothing' : { events: found.map(toEvent).join('') }
  }

  return openEventStream({ ...options, nextChunk, from: seq })
}

const OPEN_MAX = 10
const RETRY_S = 5

export type SseDeps = {
  db: Db
  /** Aborts before the server stops, which waits for open answers. */
  ended: AbortSignal
}

const sseQuery = querySchema(() => ({ id: required('id', { max: 64 }), after: cursor() }))

export function sse(context: RouteContext, deps: SseDeps) {
  const open = new Map<string, number>()
  return group(context.words.monitor, context, deps, open)
}

const group = (
  prefix: string,
  { keyed, clock, in_flight }: RouteContext,
  { db, ended }: SseDeps,
  /** Open streams by customer. */
  open: Map<string, number>,
) =>
  new Elysia({ name: `stream ${prefix}`, prefix }).use(keyed).get(
    '/stream',
    ({ holder: { key }, customer, request, query: { id, after } }) => {
      const from = lastEventId(request.headers.get('last-event-id')) ?? after
      // Verified each time: a revoked key receives nothing more.
      const alive = () =>
        findMonitor(db, customer.id, id) !== null && findKeyById(db, key.id, clock.now()) !== null
      if (!alive()) throw absentMonitor()
      // A HEAD request never reads, and would occupy a place.
      if (request.method === 'HEAD') return new Response(null, { headers: EVENT_HEADERS })
      const opened = open.get(customer.id) ?? 0
      if (opened >= OPEN_MAX)
        throw new ApiError('rate_limited', {
          message: `${OPEN_MAX} streams are open, which is the limit of one customer`,
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
        hold: (bytes) => in_flight.holdForStream(request, bytes),
        on_close: () => void open.set(customer.id, (open.get(customer.id) ?? 1) - 1),
      })
      return new Response(events, { headers: EVENT_HEADERS })
    },
    {
      query: sseQuery,
      detail: {
        summary: 'Matches of a monitor as server-sent events',
        description:
          'Each event is named match, and its data equals the body of a webhook. Starts with new matches, after Last-Event-ID, or after the after of items. A comment is sent every 15 seconds; the stream ends after an hour, and clients reconnect.',
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
