import { Elysia } from 'elysia'
import * as z from 'zod'

import { version } from '../../package.json'
import { ApiError } from '../core/errors.ts'
import type { Words } from '../core/wire.ts'
import type { Clock, Log, Random } from '../outside.ts'
import { type Db, isStorageError } from '../store/db.ts'
import type { KeyHolder } from '../store/keys.ts'
import {
  findWebSession,
  insertWebSession,
  removeWebSession,
  SESSION_IDLE_MS,
  touchWebSession,
  type WebSession,
} from '../store/web-sessions.ts'
import type { Authenticate } from './auth.ts'
import type { Site } from './dashboard-site.ts'
import { closed } from './fields.ts'

const TOKEN_BYTES = 32
const TOUCH_EVERY_MS = 60_000
const KEY_MAX = 512

type Socket = string | undefined

export type SessionDeps = {
  db: Db
  clock: Clock
  random: Random
  log: Log
  words: Words
  site: Site
  authenticate: Authenticate
}

/** Who is signed in, by the cookie of a request. */
export type SignedIn = {
  /** Whoever the cookie belongs to; null when it is nobody's, or nobody's any more. */
  find(request: Request, socket: Socket): WebSession | null
  /** The same, or throws 401. */
  require(request: Request, socket: Socket): WebSession
}

/** Reads the session of a request, and notes that it was used. */
export function createSignedIn({
  db,
  clock,
  site,
}: Pick<SessionDeps, 'db' | 'clock' | 'site'>): SignedIn {
  function find(request: Request, socket: Socket): WebSession | null {
    const token = tokenOf(request, site.isSecure(request, socket))
    const now = clock.now()
    const session = token === null ? null : findWebSession(db, token, now)
    if (session !== null && now - session.last_used_at > TOUCH_EVERY_MS) touch(db, session, now)
    return session
  }

  return {
    find,
    require(request, socket) {
      const session = find(request, socket)
      if (session !== null) return session
      throw new ApiError('missing_token', {
        message: 'nobody is signed in: sign in with an API key',
      })
    },
  }
}

/** A full disk must not close a door that only wanted to be noted down. */
function touch(db: Db, session: WebSession, now: number) {
  try {
    touchWebSession(db, session, now)
  } catch (error) {
    if (!isStorageError(error)) throw error
  }
}

// Over TLS the browser lets nobody else set a cookie of this name: not another scheme, not another name of the domain.
const nameOf = (secure: boolean) => (secure ? '__Host-forumd' : 'forumd')

/** The session's token in a request's cookies; null when there is none, or several of which one may be planted. */
function tokenOf({ headers }: Request, secure: boolean): string | null {
  const prefix = `${nameOf(secure)}=`
  const pairs = (headers.get('cookie') ?? '').split(';').map((pair) => pair.trim())
  const [token, ...others] = pairs.filter((pair) => pair.startsWith(prefix))
  return token === undefined || others.length > 0 ? null : token.slice(prefix.length)
}

const cookie = (token: string, seconds: number, secure: boolean): string =>
  `${nameOf(secure)}=${token}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`

const KEY = 'key must be an API key: fk_ or fo_ and 43 characters, or one that was imported'
const signInBody = closed(() => ({
  key: z
    .string({ error: ({ input }) => (input === undefined ? 'key is required' : KEY) })
    .trim()
    .min(1, 'key is required')
    .max(KEY_MAX, KEY),
}))

/** `/dashboard/session`: POST signs in with an API key, GET says who is signed in, DELETE signs out. */
export function webSession(deps: SessionDeps, signed_in: SignedIn) {
  const { db, clock, random, log, words, site, authenticate } = deps

  const who = ({ key, customer }: KeyHolder, secure: boolean) => ({
    role: customer === null ? ('operator' as const) : ('customer' as const),
    customer: customer && { id: customer.id, name: customer.name },
    key: { id: key.id, name: key.name, prefix: key.prefix, scopes: key.scopes },
    insecure: !secure,
    version,
    words: {
      platform: words.platform,
      community: words.community,
      communities: words.communities,
    },
    base_path: words.api,
    monitor_path: words.monitor,
  })

  return new Elysia({ name: 'web session', prefix: '/dashboard', detail: { hide: true } })
    .post(
      '/session',
      ({ body, request, server, set }) => {
        const socket = server?.requestIP(request)?.address
        const secure = site.isSecure(request, socket)
        const holder = authenticate(body.key)
        const token = Buffer.from(random.bytes(TOKEN_BYTES)).toString('base64url')
        // Who signs in anew leaves nothing behind.
        const before = tokenOf(request, secure)
        if (before !== null) removeWebSession(db, before)
        insertWebSession(db, { token, key_id: holder.key.id }, clock.now())
        log('info', 'dashboard.signed_in', { key_id: holder.key.id, customer: holder.customer?.id })
        set.headers['set-cookie'] = cookie(token, SESSION_IDLE_MS / 1000, secure)
        return who(holder, secure)
      },
      { body: signInBody },
    )
    .get('/session', ({ request, server, set }) => {
      const socket = server?.requestIP(request)?.address
      const secure = site.isSecure(request, socket)
      const session = signed_in.require(request, socket)
      const token = tokenOf(request, secure)
      // The browser forgets it when the daemon does, counted from here on.
      if (token !== null) set.headers['set-cookie'] = cookie(token, SESSION_IDLE_MS / 1000, secure)
      return who(session, secure)
    })
    .delete('/session', ({ request, server, set }) => {
      const secure = site.isSecure(request, server?.requestIP(request)?.address)
      const token = tokenOf(request, secure)
      if (token !== null) removeWebSession(db, token)
      set.headers['set-cookie'] = cookie('', 0, secure)
      set.status = 204
    })
}
