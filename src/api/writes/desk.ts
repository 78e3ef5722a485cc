import type { HTTPHeaders } from 'elysia'

import { bodyObject, readBodySession, type Schemes, type Sending } from '../../core/body-session.ts'
import { ApiError } from '../../core/errors.ts'
import { bodyHash, IDEMPOTENCY_HEADER, readIdempotencyKey } from '../../core/idempotency.ts'
import type { Tier } from '../../core/price.ts'
import type { Proxy } from '../../core/proxy.ts'
import type { Session } from '../../core/session.ts'
import type { ActOutcome } from '../../gateway/act-browser.ts'
import { isStorageError } from '../../store/db.ts'
import type { Holder } from '../auth.ts'
import type { Infra } from '../infra.ts'
import { type Body, createOnce, type Named, type OnceDeps } from './once.ts'
import { privateProxy, toActError } from './refused.ts'
import { createWriteShapes } from './shapes.ts'

/** What the writes need to know beside what is done. */
export type WritesOptions = Pick<OnceDeps, 'db' | 'ring'> & {
  /** What the platform calls its session cookie. */
  session_cookie: string
  /** The proxy as it may be dialled, its name resolved once for all; null when it may not be. */
  guardProxy: (proxy: Proxy) => Promise<Proxy | null>
  /** The proxies that a browser can leave by. */
  browser_schemes: Schemes
}

type Set = { status?: number | string; headers: HTTPHeaders }

/** One call of a write, as its route hands it on. */
type Call = {
  request: Request
  holder: Holder
  set: Set
  tier: Tier
  /** What is done, for the operator: a word such as `comment`. */
  act: string
}

/** The hands of a write: whose they are, and how to ask the platform for something that is paid for. */
type Hands = {
  session: Session
  /** Answers what the act made, or throws what its fault stands for. */
  ask<T>(act: () => Promise<ActOutcome<T>>): Promise<T>
}

/** What every group of writes works with. */
export type WriteDesk = Pick<Infra, 'words' | 'keyed' | 'log'> &
  Pick<WritesOptions, 'session_cookie' | 'browser_schemes'> & {
    shapes: ReturnType<typeof createWriteShapes>
    /** As `guardProxy` of the options; 400 for what may not be dialled. */
    guardProxy(proxy: Proxy | null): Promise<Proxy | null>
    /**
     * A hook before the check of fields: reads the session and the call's name out of the body, which a schema would have
     * taken apart by then. `fields` are the call's own, by their names. Throws 400.
     */
    reads(
      fields: () => object,
      sending: Pick<Sending, 'forwards' | 'schemes'>,
    ): (context: { request: Request; body: unknown; route: string }) => void
    /** Does a write with the session its body brought, once for each name, and answers what `work` makes. */
    perform(call: Call, work: (hands: Hands) => Promise<Body>): Promise<Body>
    /** Meters what goes to the platform. Where its end cannot be booked, nobody can tell the caller how it ended. */
    metered<T>(call: Call, act: () => Promise<T>): Promise<T>
  }

type Sent = { session: Session; name: string | null; route: string; body_hash: Uint8Array }

/** What every group of writes works with. Made once: names are claimed over all of them. */
export function createWriteDesk(infra: Infra, options: WritesOptions): WriteDesk {
  const { words, keyed, meter, inside, together, clock, log } = infra
  const { db, ring, session_cookie, browser_schemes } = options
  const once = createOnce({ db, ring, together, clock, log, words })
  const sents = new WeakMap<Request, Sent>()

  function sentWith(request: Request): Sent {
    const sent = sents.get(request)
    if (!sent) throw new Error('a write was reached without its session')
    return sent
  }

  async function guardProxy(proxy: Proxy | null): Promise<Proxy | null> {
    if (proxy === null) return null
    const guarded = await options.guardProxy(proxy)
    if (guarded === null) throw privateProxy()
    return guarded
  }

  async function metered<T>({ tier, holder, set }: Call, act: () => Promise<T>): Promise<T> {
    let asked = false
    try {
      return await meter(tier, holder, set.headers, async () => {
        asked = true
        return { ok: true, value: await act() }
      })
    } catch (error) {
      if (!asked || !isStorageError(error)) throw error
      throw new ApiError('OUTCOME_UNKNOWN', {
        message:
          'this has been put to the platform, and what came of it could not be written down: look whether it was done before doing it again',
      })
    }
  }

  function handsFor(call: Call, session: Session, begun: () => void): Hands {
    return {
      session,
      ask: (act) =>
        metered(call, async () => {
          begun()
          const acted = await act()
          if (acted.ok) return acted.value
          const { fault } = acted
          if (fault.kind === 'blocked') log('warn', 'act.blocked', { act: call.act })
          if (fault.kind === 'rejected' || fault.kind === 'unreadable')
            log('warn', 'platform.fault', { ...fault })
          throw toActError(fault)
        }),
    }
  }

  return {
    words,
    keyed,
    log,
    session_cookie,
    browser_schemes,
    shapes: createWriteShapes(words),
    guardProxy,
    metered,

    reads: (fields, sending) => {
      const whole = () => ({ ...sending, known: Object.keys(fields()), words, session_cookie })
      return ({ request, body, route }) => {
        const name = readIdempotencyKey(request.headers.get(IDEMPOTENCY_HEADER))
        const session =
          inside.mannerOf(request).session ?? readBodySession(bodyObject(body), whole())
        sents.set(request, { session, name, route, body_hash: bodyHash(body) })
      }
    },

    async perform(call, work) {
      if (inside.mannerOf(call.request).rehearsed === true) return {}
      const { session, name, route, body_hash } = sentWith(call.request)
      const done = async (begun: () => void) => {
        const proxy = await guardProxy(session.proxy)
        // A session that was lent is known by what it is, not by what it says.
        const own = proxy === session.proxy ? session : { ...session, proxy }
        return work(handsFor(call, own, begun))
      }
      if (name === null) return done(() => {})
      const named: Named = { key_id: call.holder.key.id, route, name, body_hash }
      const answer = await once(named, done)
      if (answer.first) return answer.body
      const { status, headers, body } = answer.given
      call.set.status = status
      Object.assign(call.set.headers, headers, { 'idempotent-replayed': 'true' })
      return body
    },
  }
}
