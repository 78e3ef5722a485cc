import { Elysia } from 'elysia'
import { LRUCache } from 'lru-cache'
import * as z from 'zod'

import { ApiError } from '../../core/base/errors.ts'
import { iso } from '../../core/base/time.ts'
import { readMessage } from '../../core/delivery/message.ts'
import type { Links } from '../../core/forum/links.ts'
import type { ByteBudget, HeldBytes } from '../../core/limits/byte-budget.ts'
import { manyLines, oneLine } from '../../delivery/text.ts'
import type { Db } from '../../store/db/connection.ts'
import {
  type AtomFeedMonitor,
  feedRevision,
  findAtomFeedMonitor,
  rotateAtomFeed,
} from '../../store/monitoring/atom-feeds.ts'
import {
  listNewestMatches,
  type MatchBody,
  matchesVersion,
} from '../../store/monitoring/matches.ts'
import { findMonitor } from '../../store/monitoring/monitors.ts'
import type { RouteContext } from '../context.ts'
import { bodySchema, idField, idIn, type SchemaOutput } from '../http/fields.ts'
import type { Bytes } from '../http/response.ts'
import { absentMonitor } from '../monitors/shapes.ts'
import { answers, refuses } from '../openapi/route-docs.ts'

/**
 * Renders the matches of a monitor as an Atom document (RFC 4287), newest first as the rows come.
 * @see https://www.rfc-editor.org/rfc/rfc4287
 */
function atomOf({
  monitor,
  rows,
  community,
  self,
}: {
  monitor: AtomFeedMonitor
  rows: readonly MatchBody[]
  community: string
  /** Address of the feed itself. */
  self: string
}): string {
  const updated_at = rows[0]?.matched_at ?? monitor.created_at
  return [
    '<?xml version="1.0" encoding="utf-8"?>',
    '<feed xmlns="http://www.w3.org/2005/Atom">',
    `<id>urn:forumd:${xml(monitor.id)}</id>`,
    `<title>${xml(monitor.name ?? 'Matches')}</title>`,
    `<updated>${iso(updated_at)}</updated>`,
    `<link rel="self" type="application/atom+xml" href="${xml(self)}"/>`,
    `<link rel="alternate" type="text/html" href="${xml(new URL(`/dashboard/monitors/${monitor.id}`, self).href)}"/>`,
    '<generator>forumd</generator>',
    ...rows.flatMap((row) => entriesOf(row, community)),
    '</feed>',
    '',
  ].join('\n')
}

const shown = (rows: readonly MatchBody[]): MatchBody[] =>
  rows.filter(
    ({ matched_at }, at) =>
      at < ENTRIES.least || matched_at > (rows[0]?.matched_at ?? 0) - ENTRIES.hour_ms,
  )

/** Entries of a body: one for each item of a bundle. */
function entriesOf({ body, matched_at }: MatchBody, community: string): string[] {
  const { delivery_id, items } = readMessage(body, { community, media_hosts: [] })
  return items.map(({ title, url, author, subforum, text, created }, at) => {
    const created_at = Date.parse(created ?? '')
    return [
      '<entry>',
      `<id>urn:forumd:${xml(items.length === 1 ? delivery_id : `${delivery_id}:${at + 1}`)}</id>`,
      `<title>${xml(oneLine(title) || 'untitled')}</title>`,
      `<updated>${iso(matched_at)}</updated>`,
      ...(Number.isNaN(created_at) ? [] : [`<published>${iso(created_at)}</published>`]),
      `<author><name>${xml(oneLine(author) || 'unknown')}</name></author>`,
      ...(url === null ? [] : [`<link rel="alternate" href="${xml(url)}"/>`]),
      ...(subforum === '' ? [] : [`<category term="${xml(subforum)}"/>`]),
      `<content type="html">${xml(paragraphs(text))}</content>`,
      '</entry>',
    ].join('\n')
  })
}

/** Readers show content as HTML, whatever its type says. */
const paragraphs = (text: string): string =>
  manyLines(text)
    .split('\n\n')
    .filter(Boolean)
    .map((it) => `<p>${Bun.escapeHTML(it).replaceAll('\n', '<br>')}</p>`)
    .join('')

/** Characters that XML documents may not contain, not even escaped. */
// oxlint-disable-next-line no-control-regex -- XML 1.0 does not allow them
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g

const xml = (text: string): string => Bun.escapeHTML(text.toWellFormed().replace(FORBIDDEN, ''))

/** Entries of a feed; as many as the hour before the newest one had, if those are more. */
const ENTRIES = { least: 50, most: 200, hour_ms: 3_600_000 }
const FRESH_S = 60

export type AtomFeedDeps = { db: Db; links: Links }

/** `budget` counts the rendered feeds that are kept. */
type AtomFeedOptions = AtomFeedDeps & { budget?: ByteBudget }

const rotateBody = bodySchema(() => ({ id: idField('id'), monitor_id: idField('monitor_id') }))

export const atomFeedUrl = ({ db, links }: AtomFeedDeps, monitor_id: string): string =>
  links.feed(monitor_id, feedRevision(db, monitor_id))

export function atomFeed(context: RouteContext, { budget, ...deps }: AtomFeedOptions) {
  const cache = createFeedCache(budget && { budget })
  return group(context.words.monitor, context, { ...deps, cache })
}

const group = (
  prefix: string,
  { keyed, words, in_flight }: RouteContext,
  deps: AtomFeedDeps & { cache: FeedCache },
) =>
  new Elysia({ name: `feed ${prefix}`, prefix })
    .get(
      '/feed/:token',
      ({ params: { token }, request }) =>
        answer(deps, words.community, token, {
          if_none_match: request.headers.get('if-none-match'),
          send: (bytes, init) => in_flight.send(request, bytes, init),
        }),
      {
        detail: {
          summary: "A monitor's matches as an Atom feed",
          description:
            'Needs no key: anyone with the address can read it. It is the feed_url of the monitor.',
          tags: ['Monitoring'],
          ...refuses('NOT_FOUND'),
          responses: {
            200: {
              description: 'The newest matches.',
              content: { 'application/atom+xml': { schema: { type: 'string' } } },
            },
            304: { description: 'Nothing has changed since.' },
          },
        },
      },
    )
    .use(keyed)
    .post('/feed/rotate', ({ customer, body }) => rotate(deps, customer.id, body), {
      body: rotateBody,
      detail: {
        summary: 'Replace the feed address of a monitor; the old one stops at once',
        tags: ['Monitoring'],
        ...answers(() => z.object({ id: z.string(), feed_url: z.string() })),
      },
    })

function rotate(deps: AtomFeedDeps, customer_id: string, body: SchemaOutput<typeof rotateBody>) {
  const id = idIn(body, 'monitor_id')
  if (findMonitor(deps.db, customer_id, id) === null) throw absentMonitor()
  rotateAtomFeed(deps.db, id)
  return { id, feed_url: atomFeedUrl(deps, id) }
}

/** Answers with a feed, from the cache if nothing has changed. */
function answer(
  { db, links, cache }: AtomFeedDeps & { cache: FeedCache },
  community: string,
  token: string,
  {
    if_none_match,
    send,
  }: {
    if_none_match: string | null
    send: (bytes: Bytes, init: ResponseInit) => Response
  },
): Response {
  const named = links.readFeed(token)
  const monitor = named && findAtomFeedMonitor(db, named.monitor_id)
  if (!monitor || named.revision !== monitor.feed_revision)
    throw new ApiError('NOT_FOUND', { message: 'there is no feed at this address' })
  const query = { monitor_id: monitor.id, limit: ENTRIES.most }
  const self = links.feed(monitor.id, monitor.feed_revision)
  const version = JSON.stringify([monitor.name, self, matchesVersion(db, query)])
  const { etag, bytes } = cache.get(monitor.id, version, () =>
    atomOf({ monitor, rows: shown(listNewestMatches(db, query)), community, self }),
  )
  const headers = { etag, 'cache-control': `private, max-age=${FRESH_S}` }
  if (if_none_match?.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag))
    return new Response(null, { status: 304, headers })
  return send(bytes, {
    headers: { ...headers, 'content-type': 'application/atom+xml; charset=utf-8' },
  })
}

/** Rendered feed; `etag` is the hash of its bytes. */
type RenderedFeed = { etag: string; bytes: Uint8Array<ArrayBuffer> }

type CachedFeed = RenderedFeed & { version: string; hold: HeldBytes | null }

/** Bytes of all rendered feeds; one feed may take half. */
const BYTES_MAX = 16 * 1024 * 1024
/** Memory of an entry besides its bytes. */
const ENTRY_BYTES = 512

/** Rendered feeds by monitor, least recently used evicted first. */
export type FeedCache = {
  /**
   * Feed of a monitor; rendered if there is none of this `version`, which identifies its content.
   */
  get(monitor_id: string, version: string, render: () => string): RenderedFeed
  bytes(): number
}

/**
 * Creates a cache of rendered feeds: rendering fifty matches takes milliseconds of the event loop,
 * comparing versions does not.
 */
export function createFeedCache({
  bytes_max = BYTES_MAX,
  budget,
}: {
  bytes_max?: number
  /** Counts the kept feeds, which are evicted when calls need the memory. */
  budget?: ByteBudget
} = {}): FeedCache {
  const entries = new LRUCache<string, CachedFeed>({
    maxSize: bytes_max,
    maxEntrySize: bytes_max / 2,
    sizeCalculation: sizeOf,
    dispose: ({ hold }) => hold?.release(),
  })

  budget?.onPressure((needed) => {
    const target = entries.calculatedSize - needed
    while (entries.size > 0 && entries.calculatedSize > target) entries.pop()
  })

  return {
    get(monitor_id, version, render) {
      const cached = entries.get(monitor_id)
      if (cached?.version === version) return cached
      entries.delete(monitor_id)
      const entry: CachedFeed = { version, ...toRendered(render()), hold: null }
      if (sizeOf(entry) > bytes_max / 2) return entry
      const hold = budget?.take(null, 'cache', sizeOf(entry)) ?? null
      // Without room it is answered and not kept.
      if (typeof hold === 'string') return entry
      entry.hold = hold
      entries.set(monitor_id, entry)
      return entry
    },
    bytes: () => entries.calculatedSize,
  }
}

const sizeOf = ({ bytes }: RenderedFeed): number => bytes.byteLength + ENTRY_BYTES

function toRendered(text: string): RenderedFeed {
  const bytes = new TextEncoder().encode(text)
  return { bytes, etag: `"${Bun.hash(bytes).toString(36)}"` }
}
