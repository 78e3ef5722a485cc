import { Elysia } from 'elysia'
import * as z from 'zod'

import { ApiError } from '../core/errors.ts'
import type { Links } from '../core/links.ts'
import type { Db } from '../store/db.ts'
import { feedRound, findFeedMonitor, rotateFeed } from '../store/feeds.ts'
import { listNewestMatches } from '../store/match-bodies.ts'
import { findMonitor } from '../store/monitors.ts'
import { atomOf } from './feed-atom.ts'
import { closed, idField, idIn } from './fields.ts'
import type { Infra } from './infra.ts'
import type { Checked } from './late.ts'
import { absentMonitor } from './monitor-shapes.ts'
import { answers, refuses } from './openapi.ts'
import { atBothPlaces } from './places.ts'

const ENTRIES = 50
const FRESH_S = 60

export type FeedDeps = { db: Db; links: Links }

const rotateBody = closed(() => ({ id: idField('id'), monitor_id: idField('monitor_id') }))

/** The address at which a monitor's feed answers now. */
export const feedUrl = ({ db, links }: FeedDeps, monitor_id: string): string =>
  links.feed(monitor_id, feedRound(db, monitor_id))

/** A monitor's matches as Atom, for who knows the address, under both places where monitoring answers. */
export const feed = (infra: Infra, deps: FeedDeps) =>
  atBothPlaces(infra.words, (place) => group(place, infra, deps))

const group = (prefix: string, { keyed, words }: Infra, deps: FeedDeps) =>
  new Elysia({ name: `feed ${prefix}`, prefix })
    .get(
      '/feed/:token',
      ({ params: { token }, request }) =>
        answer(deps, words.community, token, request.headers.get('if-none-match')),
      {
        detail: {
          summary: "A monitor's matches as an Atom feed",
          description:
            'Needs no key: who knows the address may read. It is the feed_url of the monitor.',
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
        summary: 'Give a monitor a new feed address; the one before is dead at once',
        tags: ['Monitoring'],
        ...answers(() => z.object({ id: z.string(), feed_url: z.string() })),
      },
    })

function rotate(deps: FeedDeps, customer_id: string, body: Checked<typeof rotateBody>) {
  const id = idIn(body, 'monitor_id')
  if (findMonitor(deps.db, customer_id, id) === null) throw absentMonitor()
  rotateFeed(deps.db, id)
  return { id, feed_url: feedUrl(deps, id) }
}

function answer(deps: FeedDeps, community: string, token: string, known: string | null): Response {
  const { db, links } = deps
  const named = links.readFeed(token)
  const monitor = named && findFeedMonitor(db, named.monitor_id)
  if (!monitor || named.round !== feedRound(db, monitor.id))
    throw new ApiError('NOT_FOUND', { message: 'there is no feed at this address' })
  const rows = listNewestMatches(db, { monitor_id: monitor.id, limit: ENTRIES })
  // Of all that is shown: what somebody wrote may be blanked without a match more or less.
  const seen = rows.reduce((hash, { body }) => Bun.hash(body, hash), Bun.hash(monitor.name ?? ''))
  const etag = `W/"${seen.toString(36)}"`
  const headers = { etag, 'cache-control': `private, max-age=${FRESH_S}` }
  if (known?.split(',').some((tag) => tag.trim() === etag))
    return new Response(null, { status: 304, headers })
  const self = feedUrl(deps, monitor.id)
  return new Response(atomOf({ monitor, rows, community, self }), {
    headers: { ...headers, 'content-type': 'application/atom+xml; charset=utf-8' },
  })
}
