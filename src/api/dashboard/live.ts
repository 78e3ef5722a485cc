import { Elysia } from 'elysia'
import * as z from 'zod'

import { ApiError } from '../../core/base/errors.ts'
import { once } from '../../core/base/lazy.ts'
import { iso } from '../../core/base/time.ts'
import { toUsd } from '../../core/limits/price.ts'
import type { Clock } from '../../runtime/runtime.ts'
import type { Db } from '../../store/db/connection.ts'
import { inboxVersion } from '../../store/inbox/actions.ts'
import { countUnreadItems } from '../../store/inbox/counts.ts'
import {
  type ActivityEvent,
  bodyOf,
  countChecks,
  countMatches,
  countPending,
  listActivity,
} from '../../store/maintenance/counts.ts'
import type { InFlight } from '../in-flight.ts'
import { EVENT_HEADERS, openEventStream, type SseChunk } from '../matches/sse.ts'
import type { Tally } from './counters.ts'
import type { DashboardSession } from './session.ts'

const MINUTE_MS = 60_000
const OPEN_MAX = 10
const RETRY_S = 5
/** Waiting and retrying deliveries are counted up to this number each; the page shows no more. */
const PENDING_MAX = 10_000
/** Unread items of the inbox are counted up to this number; the page shows 999+. */
const UNREAD_MAX = 1000
const TITLES_MAX = 1000
const TITLE_MAX = 200
const FRESH_MS = 1000
/** Reading the state takes at most 1/20 of the time, however much is stored. */
const SHARE = 20

type Accounts = { usable: number; cooling: number; needs_login: number }

export type LiveDeps = {
  db: Db
  clock: Clock
  tally: Tally
  accounts: () => Accounts
  /** Aborts before the server stops, which waits for open answers. */
  ended: AbortSignal
  signed_in: DashboardSession
  in_flight: Pick<InFlight, 'holdForStream'>
}

const bodyShape = once(() =>
  z.object({
    items: z
      .array(
        z.looseObject({
          title: z.string().nullish(),
          link_title: z.string().nullish(),
          body: z.string().nullish(),
        }),
      )
      .default([]),
  }),
)

function titleOf(body: Uint8Array | null): string | null {
  if (body === null) return null
  const [first] =
    bodyShape().safeParse(JSON.parse(new TextDecoder().decode(body))).data?.items ?? []
  const title = first?.title ?? first?.link_title ?? first?.body
  return title?.slice(0, TITLE_MAX) ?? null
}

/** State of one customer, or of all (null, for operators). Each is read at most once a second. */
function createView({ db, clock, tally, accounts }: LiveDeps) {
  const titles = new Map<string, string | null>()
  let cleared_at = clock.mono()
  const seen = new Map<string, { until: number; at: string; text: string }>()

  /** Cached for a minute: bodies are immutable unless their content is erased. */
  function cachedTitle(it: ActivityEvent): string | null {
    if (titles.size >= TITLES_MAX || clock.mono() - cleared_at > MINUTE_MS) {
      titles.clear()
      cleared_at = clock.mono()
    }
    const cached = titles.get(it.key)
    if (cached !== undefined) return cached
    const title = titleOf(bodyOf(db, it))
    titles.set(it.key, title)
    return title
  }

  function readSnapshot(customer_id: string | null): object {
    const now = clock.now()
    const { spent_micros, ...counts } = tally.lastMinute(customer_id)
    return {
      last_minute: {
        ...countChecks(db, customer_id, now - MINUTE_MS),
        matches: countMatches(db, customer_id, now - MINUTE_MS),
        ...counts,
        spent_usd: toUsd(spent_micros),
      },
      ...countPending(db, customer_id, PENDING_MAX),
      recent: listActivity(db, customer_id).map((it) => ({
        at: iso(it.at),
        what: it.what,
        monitor_id: it.monitor_id,
        monitor_name: it.monitor_name,
        delivery_id: it.delivery_id,
        webhook_id: it.webhook_id,
        title: cachedTitle(it),
        status: it.status,
      })),
      ...(customer_id === null
        ? { accounts: accounts() }
        : {
            unread: countUnreadItems(db, customer_id, UNREAD_MAX),
            inbox: inboxVersion(db, customer_id),
          }),
    }
  }

  return {
    /** The state without its time, as JSON; equal texts are sent once. */
    of(customer_id: string | null): { at: string; text: string } {
      const key = customer_id ?? ''
      const cached = seen.get(key)
      const before = clock.mono()
      if (cached && before < cached.until) return cached
      const text = JSON.stringify(readSnapshot(customer_id))
      const took_ms = clock.mono() - before
      const until = before + Math.max(FRESH_MS, took_ms * SHARE)
      const fresh = { until, at: iso(clock.now()), text }
      seen.set(key, fresh)
      return fresh
    },
    forget: (customer_id: string | null) => void seen.delete(customer_id ?? ''),
  }
}

/** `/dashboard/live`: server-sent events with the current state, at once and after each change. */
export function dashboardLive(deps: LiveDeps) {
  const { clock, ended, signed_in, in_flight } = deps
  const view = createView(deps)
  /** Open streams by customer; operators share one entry. */
  const open = new Map<string, number>()

  function close(customer_id: string | null) {
    const left = (open.get(customer_id ?? '') ?? 1) - 1
    if (left > 0) return void open.set(customer_id ?? '', left)
    open.delete(customer_id ?? '')
    view.forget(customer_id)
  }

  return new Elysia({ name: 'dashboard live', detail: { hide: true } }).get(
    '/dashboard/live',
    ({ request, server }) => {
      const socket = server?.requestIP(request)?.address
      const { customer } = signed_in.require(request, socket)
      const customer_id = customer?.id ?? null
      // A HEAD request never reads, and would occupy a place.
      if (request.method === 'HEAD') return new Response(null, { headers: EVENT_HEADERS })
      const opened = open.get(customer_id ?? '') ?? 0
      if (opened >= OPEN_MAX)
        throw new ApiError('rate_limited', {
          message: `the dashboard is open ${OPEN_MAX} times, which is the limit of one customer`,
          retry_after_s: RETRY_S,
        })
      open.set(customer_id ?? '', opened + 1)
      let last_text = ''

      function nextChunk(): SseChunk {
        // Verified each time: a key may have been revoked since.
        if (signed_in.find(request, socket) === null) return 'end'
        const { at, text } = view.of(customer_id)
        if (text === last_text) return 'nothing'
        last_text = text
        return { events: `event: snapshot\ndata: {"at":"${at}",${text.slice(1)}\n\n` }
      }

      const events = openEventStream({
        clock,
        ended,
        left: request.signal,
        nextChunk,
        hold: (bytes) => in_flight.holdForStream(request, bytes),
        on_close: () => close(customer_id),
      })
      return new Response(events, { headers: EVENT_HEADERS })
    },
  )
}
