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
import { isObject } from './object.ts'
import { parseProxy, type Proxy, type PROXY_SCHEMES } from './proxy.ts'
import {
  invalidField,
  isProxyLike,
  type Session,
  SESSION_PARTS,
  sessionField,
  type SessionPart,
} from './session.ts'
import type { Words } from './wire.ts'

/** The ways out that a call may take. */
export type Schemes = readonly (typeof PROXY_SCHEMES)[number][]

/** What is known of a call whose body may bring a session. */
export type Sending = {
  words: Words
  /** What the platform calls its session cookie. */
  session_cookie: string
  /** The call's own fields, beside those of a session. */
  known: readonly string[]
  /** Whether a field that nobody here knows becomes a cookie. Elsewhere the call's schema refuses it. */
  forwards: boolean
  schemes: Schemes
}

/** The fields that every body with a session may have, in the words of the wire. Whoever must not see a session leaves these out. */
export const sessionFields = (words: Words): string[] => [
  ...SESSION_PARTS.map((part) => sessionField(words, part)),
  'cookies',
  'proxy',
]

/** A body as what it has to be; 400 where it is none. */
export function bodyObject(body: unknown): Record<string, unknown> {
  if (isObject(body)) return { ...body }
  throw invalid('body', 'body must be a JSON object')
}

/** Reads the account that a write is made as out of its body. Throws what is wrong with it, as 400. */
export function readBodySession(body: Record<string, unknown>, sending: Sending): Session {
  const { words, session_cookie, schemes } = sending
  refuseProxies(body, [...sending.known, ...sessionFields(words)])
  const given = SESSION_PARTS.flatMap((part) => {
    const value = partOf(body, words, part)
    return value === null ? [] : [{ part, value }]
  })
  const has = (part: SessionPart) => given.some((it) => it.part === part)
  if (!has('session') && !has('loid'))
    throw new ApiError('SESSION_REQUIRED', {
      message: `this is done as your own account: send ${words.session} and loid in the body`,
    })
  for (const part of ['session', 'loid'] as const) if (!has(part)) throw incomplete(words, part)

  const [first, ...rest] = [
    ...given.map(({ part, value }) => ({
      name: part === 'session' ? session_cookie : part,
      value,
    })),
    ...forwarded(body, sending, given),
  ]
  // The session's own cookie comes first, and is there: this is for the type alone.
  if (first === undefined) throw incomplete(words, 'session')
  if (tooMany([first, ...rest])) throw invalidField('cookies', MANY_COOKIES)
  return { cookies: [first, ...rest], proxy: readProxy(body['proxy'], { schemes }) }
}

/** What a write leaves by, as its body says; null where it says nothing. 400 for what is no proxy, or of another kind. */
export function readProxy(
  value: unknown,
  { schemes, scheme_required = false }: { schemes: Schemes; scheme_required?: boolean },
): Proxy | null {
  if (value === undefined || value === null || value === '') return null
  const parsed = parseProxy(value, { scheme_required })
  if (!parsed.ok) throw badProxy(parsed.why)
  if (schemes.includes(parsed.proxy.scheme)) return parsed.proxy
  throw badProxy(
    `must begin with ${schemes.map((it) => `${it}://`).join(', ')} here: a browser knows no other`,
  )
}

/** A proxy mistaken for a cookie would travel to the platform. 400 for a text whose field is named like one. */
export function refuseProxies(body: Record<string, unknown>, known: readonly string[]): void {
  const field = Object.keys(body).find(
    (it) => typeof body[it] === 'string' && !known.includes(it) && isProxyLike(it),
  )
  if (field !== undefined)
    throw invalidField(field, 'is not taken: name the way out of the call in proxy')
}

const badProxy = (why: string): ApiError =>
  new ApiError('INVALID_PROXY', { message: `proxy ${why}`, field: 'proxy' })

/** A part as it was sent; empty is as good as not sent. */
function partOf(body: Record<string, unknown>, words: Words, part: SessionPart): string | null {
  const field = sessionField(words, part)
  const value = body[field]
  if (value === undefined || value === null || value === '') return null
  if (typeof value !== 'string') throw invalidField(field, 'must be text')
  if (!isCookieValue(value)) throw invalidField(field, VALUE_FORM)
  return value
}

function incomplete(words: Words, missing: SessionPart): ApiError {
  const field = sessionField(words, missing)
  return new ApiError('INCOMPLETE_SESSION', {
    message: `${field} is missing: a session needs ${words.session} and loid`,
    field,
  })
}

type Given = readonly { part: SessionPart; value: string }[]

/**
 * The cookies beside the session's own: those in `cookies`, and what else the body holds where that is asked for. A whole
 * jar may be sent, as a login answers it: what of it has been given as the session's own is not sent twice.
 */
function forwarded(body: Record<string, unknown>, sending: Sending, given: Given): Cookie[] {
  const { words, session_cookie, known, forwards } = sending
  const ours = [...known, ...sessionFields(words)]
  const beside = forwards ? Object.entries(body).filter(([field]) => !ours.includes(field)) : []
  const own = new Map<string, string>()
  for (const { part, value } of given) {
    own.set(sessionField(words, part), value)
    if (part === 'session') own.set(session_cookie, value)
  }
  const jar = Object.entries(jarOf(body['cookies'])).filter(
    ([name, value]) => own.get(name) !== value,
  )
  const read = createCookieReader(sending, given)
  return [
    ...jar.map(([name, value]) => read('cookies.', name, value)),
    ...beside.map(([name, value]) => read('', name, value)),
  ]
}

/** Reads cookies one after another, none twice, and none that the session has already under another value or spelling. */
function createCookieReader({ words, session_cookie }: Sending, given: Given) {
  const fields = SESSION_PARTS.map((part) => sessionField(words, part))
  // One that only differs by case would be a second session in the eyes of whoever reads it carelessly.
  const taken = new Map(fields.map((field) => [field.toLowerCase(), field]))
  taken.set(session_cookie.toLowerCase(), words.session)
  const left = fields.filter(
    (field) => !given.some(({ part }) => sessionField(words, part) === field),
  )
  const names = new Set<string>()
  return (place: string, name: string, value: unknown): Cookie => {
    const field = place + shown(name)
    const instead = left.includes(name) ? undefined : taken.get(name.toLowerCase())
    if (instead !== undefined) throw invalidField(field, `must be sent as ${instead}`)
    if (!isCookieName(name)) throw invalidField(field, NAME_FORM)
    if (names.has(name)) throw invalidField(field, 'must be given once')
    if (typeof value !== 'string')
      throw invalidField(field, 'must be text: what this call does not know is sent as a cookie')
    if (!isCookieValue(value)) throw invalidField(field, VALUE_FORM)
    names.add(name)
    return { name, value }
  }
}

const SHOWN_MAX = 64
/** A name that a caller made up may be as long as a body. */
const shown = (name: string): string =>
  name.length > SHOWN_MAX ? `${name.slice(0, SHOWN_MAX)}…` : name

function jarOf(value: unknown): Record<string, unknown> {
  if (value === undefined || value === null) return {}
  if (typeof value === 'object' && !Array.isArray(value)) return { ...value }
  throw invalidField('cookies', 'must be an object of names and values')
}
