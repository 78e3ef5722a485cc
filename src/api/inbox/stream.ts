import { Elysia } from 'elysia'

import { ApiError, invalid } from '../../core/base/errors.ts'
import { findKeyById } from '../../store/customers/keys.ts'
import type { Db } from '../../store/db/connection.ts'
import { type InboxVersion, inboxVersion, listInboxChanges } from '../../store/inbox/changes.ts'
import { countInbox } from '../../store/inbox/counts.ts'
import type { RouteContext } from '../context.ts'
import { optionalText, querySchema } from '../http/fields.ts'
import { inboxPaths } from '../http/routes.ts'
import { EVENT_HEADERS, openEventStream, type SseChunk, type SseDeps } from '../matches/sse.ts'
import { inboxEventText, toCounts } from './shapes.ts'

const OPEN_MAX = 10
const RETRY_S = 5
/** Ids of one event; a reader with more changes reads its list again. */
const IDS_MAX = 100
const VERSION = /^(\d{1,15})\.(\d{1,15})\.(\d{1,15})$/

/** A state of the inboxes as the id of an event. */
export const writeVersion = ({ match, action, erasure }: InboxVersion): string =>
  `${match}.${action}.${erasure}`

/**
 * Parses such an id; null if it is absent.
 * @throws {ApiError} INVALID_REQUEST if it is malformed
 */
function readVersion(field: string, text: string | null | undefined): InboxVersion | null {
  if (text === null || text === undefined || text === '') return null
  const [, match, action, erasure] = VERSION.exec(text) ?? []
  if (match === undefined || action === undefined || erasure === undefined)
    throw invalid(field, `${field} must be the version of an event or of the counts`)
  return { match: Number(match), action: Number(action), erasure: Number(erasure) }
}

const isSame = (a: InboxVersion, b: InboxVersion): boolean => writeVersion(a) === writeVersion(b)

/** Counts by customer, read once for all streams of a state. */
function createCounted(db: Db) {
  const counted = new Map<string, { version: string; counts: ReturnType<typeof toCounts> }>()
  return {
    at(customer_id: string, version: string) {
      const known = counted.get(customer_id)
      if (known?.version === version) return known.counts
      const counts = toCounts(countInbox(db, customer_id))
      counted.set(customer_id, { version, counts })
      return counts
    },
    forget: (customer_id: string) => void counted.delete(customer_id),
  }
}

const listed = (ids: readonly string[]) => ({ count: ids.length, ids: ids.slice(0, IDS_MAX) })

/** Stream of arrivals and changes of an inbox. */
export function inboxStream(context: RouteContext, deps: SseDeps) {
  const open = new Map<string, number>()
  const counted = createCounted(deps.db)
  return group(inboxPaths(context.words)[0], context, { ...deps, open, counted })
}

type GroupDeps = SseDeps & {
  /** Open streams by customer. */
  open: Map<string, number>
  counted: ReturnType<typeof createCounted>
}

const group = (
  prefix: string,
  { keyed, clock, in_flight }: RouteContext,
  { db, ended, open, counted }: GroupDeps,
) =>
  new Elysia({ name: `inbox stream ${prefix}`, prefix }).use(keyed).get(
    '/stream',
    ({ holder: { key }, customer, request, query: { after } }) => {
      const header = request.headers.get('last-event-id')
      const from = readVersion('last-event-id', header) ?? readVersion('after', after)
      // A HEAD request never reads, and would occupy a place.
      if (request.method === 'HEAD') return new Response(null, { headers: EVENT_HEADERS })
      const opened = open.get(customer.id) ?? 0
      if (opened >= OPEN_MAX)
        throw new ApiError('rate_limited', {
          message: `${OPEN_MAX} streams of the inbox are open, which is the limit of one customer`,
          retry_after_s: RETRY_S,
        })
      open.set(customer.id, opened + 1)
      let last = from ?? inboxVersion(db)

      function nextChunk(): SseChunk {
        // Verified each time: a revoked key receives nothing more.
        if (findKeyById(db, key.id, clock.now()) === null) return 'end'
        const now = inboxVersion(db)
        if (isSame(now, last)) return 'nothing'
        const changes = listInboxChanges(db, customer.id, last, now)
        last = now
        const { arrived, changed, lost } = changes
        if (!lost && arrived.length === 0 && changed.length === 0) return 'nothing'
        const version = writeVersion(now)
        const data = {
          version,
          new: listed(arrived),
          changed: listed(changed),
          gone: lost,
          counts: counted.at(customer.id, version),
        }
        return { events: `id: ${version}\nevent: inbox\ndata: ${JSON.stringify(data)}\n\n` }
      }

      function close() {
        const left = (open.get(customer.id) ?? 1) - 1
        if (left > 0) return void open.set(customer.id, left)
        open.delete(customer.id)
        counted.forget(customer.id)
      }

      const events = openEventStream({
        clock,
        ended,
        left: request.signal,
        nextChunk,
        hold: (bytes) => in_flight.holdForStream(request, bytes),
        on_close: close,
      })
      return new Response(events, { headers: EVENT_HEADERS })
    },
    {
      query: querySchema(() => ({
        after: optionalText('after', { max: 64 }).meta({
          description: 'Version of the counts after which it starts; default: now.',
        }),
      })),
      detail: {
        summary: 'Arrivals and changes of the inbox as server-sent events',
        description: `${inboxEventText} Starts with what happens next, after Last-Event-ID, or after. At most one event a second. A comment is sent every 15 seconds; the stream ends after an hour, and clients reconnect.`,
        tags: ['Inbox'],
        operationId: 'inboxStream',
        responses: {
          200: {
            description: 'Events until either side ends it.',
            content: { 'text/event-stream': { schema: { type: 'string' } } },
          },
        },
      },
    },
  )
