import { Elysia } from 'elysia'
import * as z from 'zod'

import { version } from '../../../package.json'
import { ApiError, invalid } from '../../core/base/errors.ts'
import { filterForm } from '../../core/filter/fields.ts'
import type { Naming } from '../../core/forum/naming.ts'
import { kindForms } from '../../delivery/kinds.ts'
import type { Clock, Log, Random } from '../../runtime/runtime.ts'
import { listCustomers } from '../../store/customers/customers.ts'
import type { KeyHolder } from '../../store/customers/keys.ts'
import {
  findWebSession,
  insertWebSession,
  removeWebSession,
  SESSION_IDLE_MS,
  touchWebSession,
  useSignInLink,
  type WebSession,
} from '../../store/customers/web-sessions.ts'
import { type Db, isStorageError } from '../../store/db/connection.ts'
import type { Authenticate, FailedAuth } from '../http/auth.ts'
import { bodySchema } from '../http/fields.ts'
import type { PeerOf, Site } from '../http/request-origin.ts'
import { customerActions, customerForms, operatorForms } from './forms.ts'

const TOKEN_BYTES = 32
const TOUCH_EVERY_MS = 60_000
const KEY_MAX = 512

type Socket = string | undefined

export type WebSessionDeps = {
  db: Db
  clock: Clock
  random: Random
  log: Log
  words: Naming
  site: Site
  peerOf: PeerOf
  failed_auth: Pick<FailedAuth, 'attempt'>
  authenticate: Authenticate
  /** True if calls cost credits. */
  is_billing: boolean
  /** True if a source is read through accounts of the operator. */
  has_accounts: boolean
}

/** Dashboard sessions by the cookie of a request. */
export type DashboardSession = {
  /** Session of the cookie; null if it is absent or expired. */
  find(request: Request, socket: Socket): WebSession | null
  /**
   * Same, for a new request. An invalid cookie counts as a failed authentication of its network.
   * @throws {ApiError} missing_token without a session, rate_limited if the network has failed too
   * often
   */
  require(request: Request, socket: Socket): WebSession
}

export function createDashboardSession({
  db,
  clock,
  site,
  peerOf,
  failed_auth,
}: Pick<WebSessionDeps, 'db' | 'clock' | 'site' | 'peerOf' | 'failed_auth'>): DashboardSession {
  const sentToken = (request: Request, socket: Socket) =>
    tokenOf(request, site.isSecure(request, socket))

  function findByToken(token: string): WebSession | null {
    const now = clock.now()
    const session = findWebSession(db, token, now)
    if (session !== null && now - session.last_used_at > TOUCH_EVERY_MS) touch(db, session, now)
    return session
  }

  return {
    find(request, socket) {
      const token = sentToken(request, socket)
      return token === null ? null : findByToken(token)
    },
    require(request, socket) {
      const token = sentToken(request, socket)
      // A browser without a cookie only checks whether it is signed in.
      const session =
        token === null
          ? null
          : failed_auth.attempt(() => peerOf(request, socket).network, token, findByToken)
      if (session !== null) return session
      throw new ApiError('missing_token', {
        message: 'not signed in: sign in with an API key',
      })
    },
  }
}

/** A full disk must not prevent access for the sake of this timestamp. */
function touch(db: Db, session: WebSession, now: number) {
  try {
    touchWebSession(db, session, now)
  } catch (error) {
    if (!isStorageError(error)) throw error
  }
}

// Over TLS, the `__Host-` prefix prevents other schemes and other names of the domain from setting
// this cookie.
const nameOf = (secure: boolean) => (secure ? '__Host-forumd' : 'forumd')

/**
 * Session token in a request's cookies; null if absent or given several times, since one of them
 * may be planted.
 */
function tokenOf({ headers }: Request, secure: boolean): string | null {
  const prefix = `${nameOf(secure)}=`
  const pairs = (headers.get('cookie') ?? '').split(';').map((pair) => pair.trim())
  const [token, ...others] = pairs.filter((pair) => pair.startsWith(prefix))
  return token === undefined || others.length > 0 ? null : token.slice(prefix.length)
}

const cookie = (token: string, seconds: number, secure: boolean): string =>
  `${nameOf(secure)}=${token}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`

const KEY = 'key must be an API key: fk_ or fo_ and 43 characters, or one that was imported'
const LINK = 'link must be the part of a sign-in link after #: 22 characters'
const signInBody = bodySchema(() => ({
  key: z.string(KEY).trim().min(1, 'key is required').max(KEY_MAX, KEY).optional(),
  link: z
    .string(LINK)
    .regex(/^[\w-]{22}$/, LINK)
    .optional(),
}))

/**
 * `/dashboard/session`: POST signs in with an API key or a one-time link, GET returns the signed-in
 * key, DELETE signs out.
 */
export function webSession(deps: WebSessionDeps, signed_in: DashboardSession) {
  const { db, clock, random, log, words, site, peerOf, failed_auth, authenticate } = deps
  const { is_billing, has_accounts } = deps

  /** The holder of the key or of the link in a body, which names one of them. */
  function holderOf(
    { key, link }: { key?: string | undefined; link?: string | undefined },
    network: string,
  ): KeyHolder {
    if (key !== undefined && link !== undefined)
      throw invalid('link', 'link must not be sent with key')
    if (link === undefined) {
      if (key === undefined) throw invalid('key', 'key is required')
      return authenticate(key, () => network)
    }
    const now = clock.now()
    const found = failed_auth.attempt(
      () => network,
      link,
      (it) => useSignInLink(db, it, now),
    )
    if (found !== null) return found
    throw new ApiError('invalid_token', {
      field: 'link',
      message:
        'this sign-in link was used or has expired: forumd key sign-in-link prints another one',
    })
  }

  const who = ({ key, customer }: KeyHolder, secure: boolean) => ({
    role: roleOf({ key, customer }),
    is_billing,
    is_alone: !is_billing && listCustomers(db).length < 2,
    has_accounts,
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
    filter_form: filterForm(words),
    webhook_kinds: kindForms(),
    forms: {
      ...customerForms(),
      ...(roleOf({ key, customer }) !== 'customer' && operatorForms()),
    },
    customer_actions: roleOf({ key, customer }) === 'customer' ? [] : customerActions(),
  })

  return new Elysia({ name: 'web session', prefix: '/dashboard', detail: { hide: true } })
    .post(
      '/session',
      ({ body, request, server, set }) => {
        const socket = server?.requestIP(request)?.address
        const secure = site.isSecure(request, socket)
        const holder = holderOf(body, peerOf(request, socket).network)
        const token = Buffer.from(random.bytes(TOKEN_BYTES)).toString('base64url')
        // A new sign-in ends the previous session.
        const before = tokenOf(request, secure)
        if (before !== null) removeWebSession(db, before)
        const browser = browserName(request.headers.get('user-agent'))
        const { address } = peerOf(request, socket)
        insertWebSession(db, { token, key_id: holder.key.id, browser, address }, clock.now())
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
      // The browser drops the cookie when the session expires, counted from now.
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

function roleOf({ key, customer }: KeyHolder): 'customer' | 'operator' | 'owner' {
  if (customer === null) return 'operator'
  return key.scopes.includes('operator') ? 'owner' : 'customer'
}

/** Names in a User-Agent, the specific before those that other browsers send too. */
const BROWSERS = [
  ['Edge', /\bEdg(?:e|A|iOS)?\/(\d{1,4})/],
  ['Opera', /\b(?:OPR|Opera)\/(\d{1,4})/],
  ['Samsung Internet', /\bSamsungBrowser\/(\d{1,4})/],
  ['Firefox', /\b(?:Firefox|FxiOS)\/(\d{1,4})/],
  ['Chrome', /\b(?:HeadlessChrome|Chrome|CriOS)\/(\d{1,4})/],
  ['Safari', /\bVersion\/(\d{1,4})[.\d]* (?:Mobile\/\w+ )?Safari\//],
  ['curl', /^curl\/(\d{1,4})/],
] as const

const SYSTEMS = [
  ['iPhone', /\biPhone\b/],
  ['iPad', /\biPad\b/],
  ['Android', /\bAndroid\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b|\bMacintosh\b/],
  ['Linux', /\bLinux\b|\bX11\b/],
] as const

const READ_MAX = 512

/**
 * Names the browser and the system of a User-Agent header in a few words: `Firefox 128 on Linux`. Returns null if neither is
 * known; a text of the caller is never returned.
 */
export function browserName(user_agent: string | null): string | null {
  const text = (user_agent ?? '').slice(0, READ_MAX)
  const [browser] = BROWSERS.flatMap(([name, form]) => {
    const found = form.exec(text)
    return found === null ? [] : `${name} ${found[1]}`
  })
  const system = SYSTEMS.find(([, form]) => form.test(text))?.[0]
  if (browser === undefined) return system ?? null
  return system === undefined ? browser : `${browser} on ${system}`
}
