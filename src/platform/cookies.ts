import type { Cookie } from 'tough-cookie'
import * as z from 'zod'

import { once } from '../core/once.ts'
import type { Clock } from '../outside.ts'
import { type Exported, readExport } from './cookie-text.ts'
import { expiryOf } from './jwt.ts'

/** One cookie as a caller is given it. Epoch ms; null: it ends with the browser. */
type JarCookie = { name: string; value: string; expires_at: number | null }

/** The cookies of one account at the platform. Only its own requests may carry them. */
export type Jar = {
  /** The Cookie header for the platform, or null when there is nothing to send. */
  header(): string | null
  /**
   * Takes over what an answer sets, and tells whether anything changed. `kept` are those that a careful client takes
   * back later; a sign-in takes `all`. An empty or past one is a deletion.
   */
  take(lines: readonly string[], which?: 'kept' | 'all'): boolean
  has_session(): boolean
  /** Epoch ms by which the session cookie ends, as it says itself or its cookie does; null when neither tells. */
  expires_at(): number | null
  cookies(): JarCookie[]
  /** Everything in it, to be sealed and opened again. */
  text(): string
}

/** A jar, and how many cookies of other sites were left out; or sentences that say what is wrong, never what it holds. */
type Imported =
  { ok: true; jar: Jar; cookies: number; others: number } | { ok: false; problems: string[] }

/** Jars of cookies, as they are opened, filled and kept. */
export type Jars = {
  empty(): Jar
  /** A serialised jar; null when it is none. */
  open(text: string): Jar | null
  /** A cookies.txt, JSON or a Cookie header out of somebody's own browser. */
  import(text: string): Imported
}

// Read with the first jar: it brings the list of all public suffixes with it, which takes a start several milliseconds.
const library = (): typeof import('tough-cookie') => require('tough-cookie')

/** What the platform gives out again and again, beside the session itself. The rest of it is its own book-keeping. */
const KEPT = ['token_v2', 'loid', 'csrf_token', 'edgebucket']

const storedShape = once(() =>
  z.object({
    version: z.literal(1),
    cookies: z.array(
      z.object({
        name: z.string(),
        value: z.string(),
        domain: z.string(),
        host_only: z.boolean(),
        path: z.string(),
        secure: z.boolean(),
        http_only: z.boolean(),
        expires_at: z.number().nullable(),
      }),
    ),
  }),
)

/** Jars for the platform at `base_url`, whose session cookie is called `session_cookie`. */
export function createJars(deps: { base_url: string; session_cookie: string; clock: Clock }): Jars {
  const { base_url, session_cookie, clock } = deps
  const host = new URL(base_url).hostname
  const kept = new Set([session_cookie, ...KEPT])

  function create(): Jar & { put(cookie: Exported): boolean } {
    const { Cookie, CookieJar } = library()
    const jar = new CookieJar()

    const alive = () =>
      jar
        .getCookiesSync(base_url, { expire: false })
        .filter((it) => (endOf(it) ?? Number.POSITIVE_INFINITY) > clock.now())

    const find = (name: string) => alive().find(({ key }) => key === name)

    /** One name, one value: what stood under it for this host is gone, wherever it was set. */
    function remove(name: string) {
      for (const it of jar.getCookiesSync(base_url, { expire: false }))
        if (it.key === name)
          jar.store.removeCookie(it.domain ?? host, it.path ?? '/', it.key, () => {})
    }

    function set(cookie: Cookie, url: string): boolean {
      // Tried on an empty jar first: what the rules of cookies refuse must not cost us the one we have.
      const now = new Date(clock.now())
      const fits = new CookieJar().setCookieSync(cookie.clone() ?? cookie, url, {
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
      // Nothing under a name is no cookie, however a browser may keep it.
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
      if (!cookie || cookie.key === '' || (which === 'kept' && !kept.has(cookie.key))) return false
      fixEnd(cookie, clock.now())
      const end = endOf(cookie)
      const before = find(cookie.key)
      if (cookie.value === '' || (end !== null && end <= clock.now())) {
        remove(cookie.key)
        return before !== undefined
      }
      const told = before && [before.value, endOf(before)]
      return set(cookie, base_url) && (told?.[0] !== cookie.value || told[1] !== end)
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
        const told = ends.filter((it) => it !== null)
        return told.length === 0 ? null : Math.min(...told)
      },
      cookies: () =>
        alive().map((it) => ({ name: it.key, value: it.value, expires_at: endOf(it) })),
      text: () => JSON.stringify({ version: 1, cookies: alive().map(toStored) }),
    }
  }

  return {
    empty: create,
    open(text) {
      const stored = storedShape().safeParse(parsed(text))
      if (!stored.success) return null
      const jar = create()
      for (const cookie of stored.data.cookies) jar.put(cookie)
      return jar
    },
    import(text) {
      const found = readExport(text)
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
      return { ok: true, jar, cookies, others: found.cookies.length - ours.length }
    },
  }
}

/** The last instant that a calendar holds. What is to last longer ends then. */
const LAST_MS = 8.64e15

/** Max-Age counts from now, and wins; afterwards only an instant is left. */
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
