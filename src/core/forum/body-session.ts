import { ApiError, invalid } from '../base/errors.ts'
import { isObject } from '../base/object.ts'
import type { Naming } from './naming.ts'
import { parseProxy, type Proxy, type PROXY_SCHEMES } from './proxy.ts'
import {
  type Cookie,
  invalidField,
  isCookieName,
  isCookieValue,
  isProxyLike,
  MANY_COOKIES,
  NAME_FORM,
  type SentPart,
  type Session,
  SESSION_FORMS,
  SESSION_PARTS,
  sessionField,
  type SessionPart,
  toCookies,
  tooManyCookies,
  VALUE_FORM,
} from './session.ts'

export type Schemes = readonly (typeof PROXY_SCHEMES)[number][]

export type Sending = {
  words: Naming
  session_cookie: string
  /** The call's own fields, beside those of a session. */
  reserved_fields: readonly string[]
  /** True: unknown fields that are text become cookies. Every other unknown field is refused. */
  forwards: boolean
  schemes: Schemes
}

/** Session fields of a body, by their public names. Logs and stored copies omit them. */
export const sessionFields = (words: Naming): string[] => [
  ...SESSION_PARTS.map((part) => sessionField(words, part)),
  'cookies',
  'proxy',
]

/** @throws {ApiError} 400 for any other body */
export function bodyObject(body: unknown): Record<string, unknown> {
  if (isObject(body)) return { ...body }
  throw invalid('body', 'body must be a JSON object')
}

/** @throws {ApiError} 400 naming the field that is missing or malformed */
export function readBodySession(body: Record<string, unknown>, sending: Sending): Session {
  const { words, schemes } = sending
  refuseProxies(body, [...sending.reserved_fields, ...sessionFields(words)])
  const given = SESSION_PARTS.flatMap((part) => partOf(body, words, part) ?? [])
  const cookies = toCookies(given, [SESSION_FORMS.body], sending, () =>
    forwarded(body, sending, given),
  )
  if (tooManyCookies(cookies)) throw invalidField('cookies', MANY_COOKIES)
  return { cookies, proxy: readProxy(body['proxy'], { schemes }) }
}

/**
 * Parses the session of a write to a further source: one credential, in the place of the session
 * cookie. Every other field of a session is refused, so that cookies of another source are never
 * sent to another site.
 * @throws {ApiError} 400 naming the field that is missing or malformed
 */
export function readSourceSession(
  body: Record<string, unknown>,
  {
    words,
    reserved_fields,
    source,
  }: Pick<Sending, 'words' | 'reserved_fields'> & { source: string },
): Session {
  const field = words.session
  const other = sessionFields(words).find((it) => it !== field && body[it] != null)
  if (other !== undefined)
    throw invalidField(other, `is not accepted with the source ${source}: send ${field} alone`)
  const unknown = Object.keys(body).find(
    (it) => !reserved_fields.includes(it) && !sessionFields(words).includes(it),
  )
  if (unknown !== undefined)
    throw invalid(unknown, `${displayName(unknown)} is not a field of this call`)
  const value = body[field]
  if (value === undefined || value === null || value === '')
    throw new ApiError('SESSION_REQUIRED', {
      message: `this call acts as your own account: send ${field}, the credential of your account at the source ${source}`,
    })
  if (typeof value !== 'string') throw invalidField(field, 'must be text')
  if (!isCookieValue(value)) throw invalidField(field, VALUE_FORM)
  const cookies = [{ name: field, value }] as const
  if (tooManyCookies(cookies)) throw invalidField(field, MANY_COOKIES)
  return { cookies, proxy: null }
}

/**
 * Parses the proxy of a write from its body; null if the body names none.
 * @throws {ApiError} 400 for a malformed proxy or an unsupported kind
 */
export function readProxy(
  value: unknown,
  { schemes, scheme_required = false }: { schemes: Schemes; scheme_required?: boolean },
): Proxy | null {
  if (value === undefined || value === null) return null
  const parsed = parseProxy(value, { scheme_required })
  if (!parsed.ok) throw badProxy(parsed.why)
  if (schemes.includes(parsed.proxy.scheme)) return parsed.proxy
  throw badProxy(
    `must begin with ${schemes.map((it) => `${it}://`).join(', ')} here: a browser supports no other`,
  )
}

/** @throws {ApiError} 400 naming the field */
export function refuseProxies(
  body: Record<string, unknown>,
  reserved_fields: readonly string[],
): void {
  const field = Object.keys(body).find(
    (it) => typeof body[it] === 'string' && !reserved_fields.includes(it) && isProxyLike(it),
  )
  if (field !== undefined)
    throw invalidField(field, 'is not accepted: name the proxy of the call in proxy')
}

const badProxy = (why: string): ApiError =>
  new ApiError('INVALID_PROXY', { message: `proxy ${why}`, field: 'proxy' })

/** Session field as sent; an empty text counts as absent. */
function partOf(body: Record<string, unknown>, words: Naming, part: SessionPart): SentPart | null {
  const field = SESSION_FORMS.body.nameOf(words, part)
  const value = body[field]
  if (value === undefined || value === null || value === '') return null
  if (typeof value !== 'string') throw invalidField(field, 'must be text')
  if (!isCookieValue(value)) throw invalidField(field, VALUE_FORM)
  return { part, field, value }
}

/**
 * Cookies beside the session's own: those in `cookies`, and unknown fields where `forwards` is set.
 * A caller may send a whole jar from a login; values that the session already has are not sent
 * twice.
 */
function forwarded(
  body: Record<string, unknown>,
  sending: Sending,
  given: readonly SentPart[],
): Cookie[] {
  const { words, session_cookie, reserved_fields, forwards } = sending
  const ours = [...sessionFields(words), ...reserved_fields]
  const beside = forwards ? Object.entries(body).filter(([field]) => !ours.includes(field)) : []
  // As the schemas of the calls that forward nothing refuse every unknown field.
  const [unknown] = beside.find(([, value]) => typeof value !== 'string') ?? []
  if (unknown !== undefined) {
    const name = displayName(unknown)
    throw invalid(
      name,
      `${name} is not a known field; allowed: ${ours.join(', ')}, and text, which is sent as a cookie`,
    )
  }
  const own = new Map<string, string>()
  for (const { part, field, value } of given) {
    own.set(field, value)
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

/**
 * Parses cookies one by one; refuses duplicates and second values or spellings of session cookies.
 */
function createCookieReader({ words, session_cookie }: Sending, given: readonly SentPart[]) {
  const fields = SESSION_PARTS.map((part) => sessionField(words, part))
  // A name that differs only by case would act as a second session for a lenient parser.
  const taken = new Map(fields.map((field) => [field.toLowerCase(), field]))
  taken.set(session_cookie.toLowerCase(), words.session)
  const left = fields.filter((field) => !given.some((it) => it.field === field))
  const names = new Set<string>()
  return (place: string, name: string, value: unknown): Cookie => {
    const field = place + displayName(name)
    const instead = left.includes(name) ? undefined : taken.get(name.toLowerCase())
    if (instead !== undefined) throw invalidField(field, `must be sent as ${instead}`)
    if (!isCookieName(name)) throw invalidField(field, NAME_FORM)
    if (names.has(name)) throw invalidField(field, 'must be given once')
    if (typeof value !== 'string') throw invalidField(field, 'must be text')
    if (!isCookieValue(value)) throw invalidField(field, VALUE_FORM)
    names.add(name)
    return { name, value }
  }
}

const DISPLAY_NAME_MAX = 64
/** A caller's field name may be as long as a body. */
const displayName = (name: string): string =>
  name.length > DISPLAY_NAME_MAX ? `${name.slice(0, DISPLAY_NAME_MAX)}…` : name

function jarOf(value: unknown): Record<string, unknown> {
  if (value === undefined || value === null) return {}
  if (typeof value === 'object' && !Array.isArray(value)) return { ...value }
  throw invalidField('cookies', 'must be an object of names and values')
}
