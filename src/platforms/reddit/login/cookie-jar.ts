import type { Cookie } from 'tough-cookie'
import * as z from 'zod'

import { once } from '../../../core/base/lazy.ts'
import { isObject } from '../../../core/base/object.ts'
import type { Clock } from '../../../runtime/runtime.ts'
import type { CookieJar, CookieJars } from '../../port.ts'
import { secondsAt } from '../readers/fields.ts'
import { type Exported, readExport } from './cookie-import.ts'

/**
 * Expiry claim of a JSON web token in epoch ms; null if the text is no such token. Not verified.
 */
export function expiryOf(token: string): number | null {
  const payload = /^[\w-]+\.([\w-]+)\.[\w-]*$/.exec(token)?.[1]
  if (payload === undefined) return null
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString())
    const seconds = isObject(claims) ? secondsAt(claims, 'exp') : null
    return seconds === null ? null : seconds * 1000
  } catch {
    return null
  }
}

// Loaded with the first jar: its list of public suffixes takes several milliseconds to load.
const library = (): typeof import('tough-cookie') => require('tough-cookie')

/**
 * Cookies that the platform renews, in addition to the session. The others are its internal state.
 */
const RETAINED_COOKIES = ['token_v2', 'loid', 'csrf_token', 'edgebucket']

const storedShape = once(() => {
  const cookie = z.object({
    name: z.string(),
    value: z.string(),
    domain: z.string(),
    host_only: z.boolean(),
    path: z.string(),
    secure: z.boolean(),
    http_only: z.boolean(),
    expires_at: z.number().nullable(),
  })
  return z.object({
    version: z.literal(1),
    cookies: z.array(cookie),
    replaced: cookie.nullable().default(null),
  })
})

/** Creates jars for the platform at `base_url` with a session cookie named `session_cookie`. */
export function createJars(deps: {
  base_url: string
  session_cookie: string
  clock: Clock
}): CookieJars {
  const { base_url, session_cookie, clock } = deps
  const host = new URL(base_url).hostname
  const retained_names = new Set([session_cookie, ...RETAINED_COOKIES])

  function create(stored: Exported | null = null): CookieJar & { put(cookie: Exported): boolean } {
    const { Cookie, CookieJar: ToughCookieJar } = library()
    const jar = new ToughCookieJar()
    /** The session's cookie that answers have replaced since it was last proven. */
    let replaced = stored

    const alive = () =>
      jar
        .getCookiesSync(base_url, { expire: false })
        .filter((it) => (endOf(it) ?? Number.POSITIVE_INFINITY) > clock.now())

    const find = (name: string) => alive().find(({ key }) => key === name)

    /** Removes every cookie of a name for this host, whichever path or domain it was set for. */
    function remove(name: string) {
      for (const it of jar.getCookiesSync(base_url, { expire: false }))
        if (it.key === name)
          jar.store.removeCookie(it.domain ?? host, it.path ?? '/', it.key, () => {})
    }

    function set(cookie: Cookie, url: string): boolean {
      // Tried on an empty jar first: an invalid cookie must not replace the present one.
      const now = new Date(clock.now())
      const fits = new ToughCookieJar().setCookieSync(cookie.clone() ?? cookie, url, {
        ignoreError: true,
        now,
      })
      if (!fits) return false
      remove(cookie.key)
      return jar.setCookieSync(cookie, url, { ignoreError: true, now }) !== undefined
    }

    function put({
      name,
      value,
      domain,
      host_only,
      path,
      secure,
      http_only,
      expires_at,
    }: Exported) {
      // An empty value counts as no cookie, even if a browser stores it.
      if (value === '') return false
      const at = domain ?? host
      const cookie = new Cookie({
        key: name,
        value,
        domain: host_only ? null : at,
        path,
        secure,
        httpOnly: http_only,
        expires: expires_at === null ? 'Infinity' : new Date(expires_at),
      })
      return set(cookie, `http${secure ? 's' : ''}://${at}${path}`)
    }

    function takeOne(line: string, which: 'kept' | 'all'): boolean {
      const cookie = Cookie.parse(line)
      if (!cookie || cookie.key === '' || (which === 'kept' && !retained_names.has(cookie.key)))
        return false
      fixEnd(cookie, clock.now())
      const end = endOf(cookie)
      const before = find(cookie.key)
      const endsWithin = (ms: number) =>
        cookie.value === '' || (end !== null && end <= clock.now() + ms)
      // One answer does not end a session: checks of it do, and without the cookie there would be none.
      if (which === 'kept' && cookie.key === session_cookie && endsWithin(SESSION_MIN_MS))
        return false
      if (endsWithin(0)) {
        remove(cookie.key)
        return before !== undefined
      }
      const previous = before && [before.value, endOf(before)]
      if (which === 'kept' && cookie.key === session_cookie && before?.value !== cookie.value)
        replaced ??= before ? toStored(before) : null
      return set(cookie, base_url) && (previous?.[0] !== cookie.value || previous[1] !== end)
    }

    return {
      put,
      header: () =>
        alive()
          .map((it) => it.cookieString())
          .join('; ') || null,
      take: (lines, which = 'kept') =>
        lines.map((line) => takeOne(line, which)).some((changed) => changed),
      has_session: () => find(session_cookie) !== undefined,
      expires_at() {
        const session = find(session_cookie)
        const ends = session ? [endOf(session), expiryOf(session.value)] : []
        const expiries = ends.filter((it) => it !== null)
        return expiries.length === 0 ? null : Math.min(...expiries)
      },
      cookies: () =>
        alive().map((it) => ({ name: it.key, value: it.value, expires_at: endOf(it) })),
      swap() {
        const before = find(session_cookie)
        const other = replaced
        if (other === null || (other.expires_at ?? Infinity) <= clock.now() || !put(other)) return
        replaced = before === undefined ? null : toStored(before)
      },
      settle() {
        const has_changed = replaced !== null
        replaced = null
        return has_changed
      },
      text: () => JSON.stringify({ version: 1, cookies: alive().map(toStored), replaced }),
    }
  }

  return {
    empty: () => create(),
    open(text) {
      const stored = storedShape().safeParse(parsed(text))
      if (!stored.success) return null
      const jar = create(stored.data.replaced)
      for (const cookie of stored.data.cookies) jar.put(cookie)
      return jar
    },
    import(text) {
      const found = readExport(text, (it) => it === '' || it === host || host.endsWith(`.${it}`))
      if (!found.ok) return found
      const jar = create()
      const { domainMatch } = library()
      const ours = found.cookies.filter(({ domain, host_only }) =>
        domain === null || host_only ? (domain ?? host) === host : domainMatch(host, domain),
      )
      for (const cookie of ours) jar.put(cookie)
      const session = ours.find(({ name }) => name === session_cookie)
      if (!session)
        return { ok: false, problems: [`has no cookie named ${session_cookie} for ${host}`] }
      if (!jar.has_session())
        return { ok: false, problems: [`its cookie ${session_cookie} has expired, or is empty`] }
      const ends = jar.expires_at()
      if (ends !== null && ends <= clock.now())
        return { ok: false, problems: [`the session in its cookie ${session_cookie} has expired`] }
      const cookies = jar.cookies().length
      const others = found.others + found.cookies.length - ours.length
      return { ok: true, jar, cookies, others }
    },
  }
}

/** A session that lasts shorter is none. */
const SESSION_MIN_MS = 60_000

/** The last instant of a Date; later expiries are limited to it. */
const LAST_MS = 8.64e15

/**
 * Converts Max-Age to an instant; it takes precedence over Expires.
 * @see https://www.rfc-editor.org/rfc/rfc6265#section-5.3
 */
function fixEnd(cookie: Cookie, now: number): void {
  const { maxAge } = cookie
  if (maxAge === null) return
  if (maxAge !== 'Infinity')
    cookie.expires = new Date(
      maxAge === '-Infinity' ? 0 : Math.min(now + Math.max(0, maxAge) * 1000, LAST_MS),
    )
  cookie.maxAge = null
}

const endOf = ({ expires }: Cookie): number | null =>
  expires instanceof Date && !Number.isNaN(expires.getTime()) ? expires.getTime() : null

const toStored = (it: Cookie) => ({
  name: it.key,
  value: it.value,
  domain: it.domain ?? '',
  host_only: it.hostOnly ?? true,
  path: it.path ?? '/',
  secure: it.secure,
  http_only: it.httpOnly,
  expires_at: endOf(it),
})

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
