import {
  type Cookie,
  isCookieName,
  isCookieValue,
  MANY_COOKIES,
  NAME_FORM,
  tooMany,
  VALUE_FORM,
} from './cookie.ts'
import { ApiError, invalid } from './errors.ts'
import { parseProxy, type Proxy } from './proxy.ts'
import type { Words } from './wire.ts'

/**
 * The cookies of a session. The first has a name of its own on the platform, which is configuration; the others
 * are called there as they are here.
 */
export const SESSION_PARTS = [
  'session',
  'loid',
  'token_v2',
  'csrf_token',
  'edgebucket',
  'csv',
  'session_tracker',
  'pc',
] as const
export type SessionPart = (typeof SESSION_PARTS)[number]

/** A part's name in queries and bodies: `forum_session`, `loid`. */
export const sessionField = (words: Words, part: SessionPart): string =>
  part === 'session' ? words.session : part

const DASHED = new Map(SESSION_PARTS.map((part) => [part, part.replaceAll('_', '-')]))

/** A part's name as a header: `x-forum-session`, `x-forum-token-v2`. */
export const sessionHeader = (words: Words, part: SessionPart): string =>
  words.header + DASHED.get(part)

/** The header that names the way out. */
export const proxyHeader = (words: Words): string => `${words.header}proxy`

/**
 * What a read does with a session: nothing; reads through it when one is sent; cannot do without; or lists what is its
 * account's own, and then takes it from the query as well.
 */
export type SessionUse = 'none' | 'optional' | 'required' | 'own'

/** A caller's own account: its cookies by the platform's names, the session's first, and the way out it asked for. */
export type Session = { cookies: readonly [Cookie, ...Cookie[]]; proxy: Proxy | null }

/** What a call carries. Header names in lower case. */
export type Carried = { header(name: string): string | null; query: URLSearchParams }

/** What is known of a read that may bring a session. */
export type Reading = {
  use: SessionUse
  words: Words
  /** What the platform calls its session cookie. */
  session_cookie: string
  /** Query fields that mean something else to the read. Its other fields, for `own`, become cookies. */
  known: readonly string[]
}

/** Reads the session a call carries; null when it carries none and need not. Throws what is wrong with it, as 400. */
export function readSession(carried: Carried, reading: Reading): Session | null {
  const { use, words } = reading
  const own = use === 'own'
  if (own) refuseProxies(carried, reading)
  else refuseQueryForm(carried, words)
  if (use === 'none') return null

  const asked_proxy = filled(carried.header(proxyHeader(words)))
  const given = SESSION_PARTS.flatMap((part) => {
    const sent = partOf(carried, words, part, own)
    return sent === null ? [] : [{ part, ...sent }]
  })
  const has = (part: SessionPart) => given.some((it) => it.part === part)
  if (!has('session') && !has('loid')) {
    if (use !== 'optional') throw sessionRequired(words, own)
    if (asked_proxy !== null)
      throw new ApiError('PROXY_WITHOUT_SESSION', {
        message: `${proxyHeader(words)} is for reads as your own account: send ${bothHeaders(words)} too`,
        field: proxyHeader(words),
      })
    return null
  }
  for (const part of ['session', 'loid'] as const) if (!has(part)) throw incomplete(words, part)

  for (const { field, value } of given)
    if (!isCookieValue(value)) throw invalidField(field, VALUE_FORM)
  const named = given.map(({ part, value }) => ({
    name: part === 'session' ? reading.session_cookie : part,
    value,
  }))
  const [first, ...rest] = [...named, ...(own ? forwarded(carried, reading) : [])]
  if (first === undefined) throw sessionRequired(words, own)
  if (tooMany([first, ...rest])) throw invalid('cookies', `cookies ${MANY_COOKIES}`)
  return { cookies: [first, ...rest], proxy: asked_proxy === null ? null : way(words, asked_proxy) }
}

/** The Cookie header of a session. */
export const cookieHeader = ({ cookies }: Session): string =>
  cookies.map(({ name, value }) => `${name}=${value}`).join('; ')

/** Empty is as good as not sent. */
const filled = (text: string | null): string | null => (text === '' ? null : text)

type Sent = { field: string; value: string }

/** A part as it was sent. The header wins over the query. */
function partOf(
  { header, query }: Carried,
  words: Words,
  part: SessionPart,
  own: boolean,
): Sent | null {
  const name = sessionHeader(words, part)
  const value = filled(header(name))
  if (value !== null) return { field: name, value }
  const field = sessionField(words, part)
  const [first = '', ...more] = own ? query.getAll(field) : []
  if (more.length > 0) throw invalidField(field, 'must be given once')
  return first === '' ? null : { field, value: first }
}

const bothHeaders = (words: Words) =>
  `${sessionHeader(words, 'session')} and ${sessionHeader(words, 'loid')}`

function sessionRequired(words: Words, own: boolean): ApiError {
  const queries = own ? `, or ${words.session} and loid in the query` : ''
  return new ApiError('SESSION_REQUIRED', {
    message: `this is read as your own account: send ${bothHeaders(words)}${queries}`,
  })
}

function incomplete(words: Words, missing: SessionPart): ApiError {
  const name = sessionHeader(words, missing)
  return new ApiError('INCOMPLETE_SESSION', {
    message: `${name} is missing: a session needs ${bothHeaders(words)}`,
    field: name,
  })
}

function refuseQueryForm({ query }: Carried, words: Words) {
  const part = SESSION_PARTS.find((it) => query.has(sessionField(words, it)))
  if (part === undefined) return
  const field = sessionField(words, part)
  throw invalid(
    field,
    `${field} is not taken from the query here: send headers, ${bothHeaders(words)}`,
  )
}

const PROXY_NAMES = new Set(
  `proxy proxies proxyurl server host port username password user pass httpproxy httpsproxy allproxy socks socks4
   socks4a socks5 socks5h`.split(/\s+/),
)

/** Whether a field is named like a proxy's: case, - and _ make no difference. */
export const isProxyLike = (field: string): boolean =>
  PROXY_NAMES.has(field.toLowerCase().replace(/[-_]/g, ''))

/** The own listings leave by the pool's ways, and a proxy mistaken for a cookie would travel to the platform. */
function refuseProxies({ header, query }: Carried, { words, known }: Reading) {
  const name = proxyHeader(words)
  if (filled(header(name)) !== null)
    throw invalidField(
      name,
      'is not taken here: this listing always leaves by the ways of the service',
    )
  const field = [...query.keys()].find((it) => !known.includes(it) && isProxyLike(it))
  if (field !== undefined)
    throw new ApiError('PROXY_AS_COOKIE', {
      message: `${field} names a proxy, and unknown query fields are sent to the platform as cookies`,
      field,
    })
}

function way(words: Words, text: string): Proxy {
  const parsed = parseProxy(text)
  if (parsed.ok) return parsed.proxy
  const field = proxyHeader(words)
  throw new ApiError('INVALID_PROXY', { message: `${field} ${parsed.why}`, field })
}

/** 400 INVALID_FIELD, with a sentence about the field. */
export const invalidField = (field: string, sentence: string): ApiError =>
  new ApiError('INVALID_FIELD', { field, message: `${field} ${sentence}` })

/** The query fields that nobody here knows, as cookies. */
function forwarded({ query }: Carried, { words, session_cookie, known }: Reading): Cookie[] {
  const ours = new Set([...known, ...SESSION_PARTS.map((part) => sessionField(words, part))])
  const names = new Set<string>()
  return [...query].flatMap(([name, value]) => {
    if (ours.has(name)) return []
    if (name === session_cookie) throw invalidField(name, `must be sent as ${words.session}`)
    if (!isCookieName(name)) throw invalidField(name, NAME_FORM)
    if (names.has(name)) throw invalidField(name, 'must be given once')
    if (!isCookieValue(value)) throw invalidField(name, VALUE_FORM)
    names.add(name)
    return [{ name, value }]
  })
}
