import { Elysia } from 'elysia'
import * as z from 'zod'

import { ApiError } from '../core/errors.ts'
import { iso } from '../core/instant.ts'
import { once } from '../core/once.ts'
import { toUsd } from '../core/price.ts'
import type { Clock } from '../outside.ts'
import type { Db } from '../store/db.ts'
import {
  bodyOf,
  countChecks,
  countMatches,
  countPending,
  type Happening,
  listHappenings,
} from '../store/overview.ts'
import type { SignedIn } from './dashboard-session.ts'
import type { Tally } from './dashboard-tally.ts'
import { EVENT_HEADERS, openEventStream, type Said } from './event-stream.ts'

const MINUTE_MS = 60_000
const OPEN_MAX = 10
const RETRY_S = 5
/** What waits is counted so far; a page has no use for more. */
const PENDING_MAX = 10_000
const TITLES_MAX = 1000
const TITLE_MAX = 200
const FRESH_MS = 1000
/** Looking takes at most one part in so many of the time, however much there is to look at. */
const SHARE = 20

type Accounts = { usable: number; cooling: number; needs_login: number }

export type LiveDeps = {
  db: Db
  clock: Clock
  tally: Tally
  /** How the accounts of the pool stand, for the operator. */
  accounts: () => Accounts
  /** Aborts before the server stops: it waits for answers that are still being given. */
  ended: AbortSignal
  signed_in: SignedIn
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

/** How a body would be called in a list: by its first item's title, its thread's, or how its text begins. */
function titleOf(body: Uint8Array | null): string | null {
  if (body === null) return null
  const [first] =
    bodyShape().safeParse(JSON.parse(new TextDecoder().decode(body))).data?.items ?? []
  const title = first?.title ?? first?.link_title ?? first?.body
  return title?.slice(0, TITLE_MAX) ?? null
}

/** What somebody sees of the house: a customer its own, an operator (null) everything. Each is looked up once a second at most. */
function createView({ db, clock, tally, accounts }: LiveDeps) {
  const titles = new Map<string, string | null>()
  let emptied_at = clock.mono()
  const seen = new Map<string, { until: number; at: string; text: string }>()

  /** Bodies are frozen, but for those that are blanked: what one is called is believed for a minute. */
  function named(it: Happening): string | null {
    if (titles.size >= TITLES_MAX || clock.mono() - emptied_at > MINUTE_MS) {
      titles.clear()
      emptied_at = clock.mono()
    }
    const known = titles.get(it.key)
    if (known !== undefined) return known
    const title = titleOf(bodyOf(db, it))
    titles.set(it.key, title)
    return title
  }

  function look(whose: string | null): object {
    const now = clock.now()
    const { spent_micros, ...counts } = tally.lastMinute(whose)
    return {
      last_minute: {
        ...countChecks(db, whose, now - MINUTE_MS),
        matches: countMatches(db, whose, now - MINUTE_MS),
        ...counts,
        spent_usd: toUsd(spent_micros),
      },
      pending: countPending(db, whose, PENDING_MAX),
      recent: listHappenings(db, whose).map((it) => ({
        at: iso(it.at),
        what: it.what,
        monitor_id: it.monitor_id,
        monitor_name: it.monitor_name,
        delivery_id: it.delivery_id,
        webhook_id: it.webhook_id,
        title: named(it),
        status: it.status,
      })),
      ...(whose === null && { accounts: accounts() }),
    }
  }

  return {
    /** Everything but the instant, as JSON: two of the same are the same news. */
    of(whose: string | null): { at: string; text: string } {
      const key = whose ?? ''
      const known = seen.get(key)
      const before = clock.mono()
      if (known && before < known.until) return known
      const text = JSON.stringify(look(whose))
      const took_ms = clock.mono() - before
      const until = before + Math.max(FRESH_MS, took_ms * SHARE)
      const fresh = { until, at: iso(clock.now()), text }
      seen.set(key, fresh)
      return fresh
    },
    forget: (whose: string | null) => void seen.delete(whose ?? ''),
  }
}

/** `/dashboard/live`: what is going on, told at once and then whenever it is something else. */
export function dashboardLive(deps: LiveDeps) {
  const { clock, ended, signed_in } = deps
  const view = createView(deps)
  /** How many each customer, or the operators together, have open. */
  const open = new Map<string, number>()

  function close(whose: string | null) {
    const left = (open.get(whose ?? '') ?? 1) - 1
    if (left > 0) return void open.set(whose ?? '', left)
    open.delete(whose ?? '')
    view.forget(whose)
  }

  return new Elysia({ name: 'dashboard live', detail: { hide: true } }).get(
    '/dashboard/live',
    ({ request, server }) => {
      const socket = server?.requestIP(request)?.address
      const { customer } = signed_in.require(request, socket)
      const whose = customer?.id ?? null
      // Who asks for the head alone never reads, and would hold a place for nothing.
      if (request.method === 'HEAD') return new Response(null, { headers: EVENT_HEADERS })
      const opened = open.get(whose ?? '') ?? 0
      if (opened >= OPEN_MAX)
        throw new ApiError('rate_limited', {
          message: `the dashboard is open ${OPEN_MAX} times, which is all that one customer may have`,
          retry_after_s: RETRY_S,
        })
      open.set(whose ?? '', opened + 1)
      let told = ''

      function say(): Said {
        // Asked anew each time: what was shown to a key that was revoked since must not go on being shown.
        if (signed_in.find(request, socket) === null) return 'end'
        const { at, text } = view.of(whose)
        if (text === told) return 'nothing'
        told = text
        return { events: `event: snapshot\ndata: {"at":"${at}",${text.slice(1)}\n\n` }
      }

      const events = openEventStream({
        clock,
        ended,
        left: request.signal,
        say,
        on_close: () => close(whose),
      })
      return new Response(events, { headers: EVENT_HEADERS })
    },
  )
}
