import { ApiError, invalid } from '../base/errors.ts'
import { FILTER_FIELDS } from '../filter/fields.ts'
import type { Naming } from './naming.ts'
import { parseProxy, type Proxy } from './proxy.ts'

/** Cookie as sent: name and value only. */
export type Cookie = { name: string; value: string }

// RFC 6265, section 4.1.1. A separator inside a value would start another cookie.
const VALUE = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*$/
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/
/**
 * `__Host-` and `__Secure-` are guarantees of a browser; the others are properties of every object.
 */
const RESERVED = /^(?:__host-|__secure-)|^(?:__proto__|constructor|prototype)$/i

const COOKIES_MAX = 40
const BYTES_MAX = 8192
/** `=` and `; ` per cookie. */
const OVERHEAD_BYTES = 3

export const VALUE_FORM =
  'must be a cookie value: letters, digits and punctuation, without spaces, quotes, commas, semicolons or backslashes'
export const NAME_FORM = 'cannot be the name of a cookie'
export const MANY_COOKIES = `must be at most ${COOKIES_MAX}, ${BYTES_MAX} bytes together`

export const isCookieValue = (text: string): boolean => VALUE.test(text)

export const isCookieName = (text: string): boolean => NAME.test(text) && !RESERVED.test(text)

export function tooManyCookies(cookies: readonly Cookie[]): boolean {
  const bytes = cookies.reduce(
    (sum, { name, value }) => sum + name.length + value.length + OVERHEAD_BYTES,
    0,
  )
  return cookies.length > COOKIES_MAX || bytes > BYTES_MAX
}

/**
 * Cookies of a session. The first has another name on the platform, set by the configuration; the
 * others have the same name there.
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

/** Cookies without which a session is incomplete. */
export const NEEDED_PARTS = ['session', 'loid'] as const

/** Field name of a session cookie in queries and bodies: `forum_session`, `loid`. */
export const sessionField = (words: Naming, part: SessionPart): string =>
  part === 'session' ? words.session : part

const DASHED = new Map(SESSION_PARTS.map((part) => [part, part.replaceAll('_', '-')]))

/** Header name of a session cookie: `x-forum-session`, `x-forum-token-v2`. */
export const sessionHeader = (words: Naming, part: SessionPart): string =>
  words.header + DASHED.get(part)

/** Forms in which calls carry a session: the name of each cookie, and its place in a sentence. */
export const SESSION_FORMS = {
  header: { nameOf: sessionHeader, place: '' },
  query: { nameOf: sessionField, place: ' in the query' },
  body: { nameOf: sessionField, place: ' in the body' },
} as const
type SessionForm = (typeof SESSION_FORMS)[keyof typeof SESSION_FORMS]

/** Names of the needed cookies: `x-forum-session and x-forum-loid`. */
export const neededNames = ({ nameOf }: SessionForm, words: Naming): string =>
  NEEDED_PARTS.map((part) => nameOf(words, part)).join(' and ')

export const proxyHeader = (words: Naming): string => `${words.header}proxy`

/**
 * Use of a session by a read. `none`: ignored. `optional`: used if sent. `required`: must be sent.
 * `own`: lists the account's own data, and also accepts the session in the query.
 */
export type SessionUse = 'none' | 'optional' | 'required' | 'own'

/**
 * A caller's own account: its cookies by the platform's names, the session cookie first, and the
 * requested proxy.
 */
export type Session = { cookies: readonly [Cookie, ...Cookie[]]; proxy: Proxy | null }

/** Headers and query of a call. Header names in lower case. */
export type RequestFields = { header(name: string): string | null; query: URLSearchParams }

export type SessionSpec = {
  use: SessionUse
  words: Naming
  session_cookie: string
  /** Query fields with a meaning of their own. With `own`, all other fields become cookies. */
  reserved_fields: readonly string[]
}

/**
 * Parses the session of a call; null if it is absent and not required.
 * @throws {ApiError} 400 naming the header or field that is missing or malformed
 */
export function readSession(fields: RequestFields, spec: SessionSpec): Session | null {
  const { use, words } = spec
  const own = use === 'own'
  if (own) refuseProxies(fields, spec)
  else refuseQueryForm(fields, words)
  const proxy_text = fields.header(proxyHeader(words))
  const given = SESSION_PARTS.flatMap((part) => partOf(fields, words, part, own) ?? [])
  const needed = NEEDED_PARTS.filter((part) => given.some((it) => it.part === part))
  if (use === 'none') {
    // The proxy has no effect on such a read, like the session. It is validated all the same: a proxy
    // without a session and a malformed one are errors on every read.
    if (proxy_text !== null) {
      if (needed.length < NEEDED_PARTS.length) throw proxyWithoutSession(words)
      parseProxyHeader(words, proxy_text)
    }
    return null
  }
  if (needed.length === 0) {
    if (proxy_text !== null) throw proxyWithoutSession(words)
    if (use === 'optional') return null
  }
  const { header, query } = SESSION_FORMS
  const cookies = toCookies(given, own ? [header, query] : [header], spec, () =>
    own ? forwarded(fields, spec) : [],
  )
  if (tooManyCookies(cookies)) throw invalid('cookies', `cookies ${MANY_COOKIES}`)
  return { cookies, proxy: proxy_text === null ? null : parseProxyHeader(words, proxy_text) }
}

/** Session cookie as sent; `field` is its name in the call. */
export type SentPart = { part: SessionPart; field: string; value: string }

/**
 * Cookies of a session by the platform's names, followed by those of `others`.
 * @param forms Forms that the call accepts; errors name the fields of the first.
 * @throws {ApiError} 400 SESSION_REQUIRED, INCOMPLETE_SESSION, or naming a malformed cookie
 */
export function toCookies(
  given: readonly SentPart[],
  forms: readonly [SessionForm, ...SessionForm[]],
  { words, session_cookie }: Pick<SessionSpec, 'words' | 'session_cookie'>,
  others: () => Cookie[],
): Session['cookies'] {
  const missing = NEEDED_PARTS.filter((needed) => !given.some(({ part }) => part === needed))
  const [first, ...rest] = given.map(({ part, value }) => ({
    name: part === 'session' ? session_cookie : part,
    value,
  }))
  if (first === undefined || missing.length === NEEDED_PARTS.length) {
    const verb = forms[0] === SESSION_FORMS.body ? 'acts' : 'reads'
    const names = forms.map((form) => neededNames(form, words) + form.place).join(', or ')
    const message = `this call ${verb} as your own account: send ${names}`
    throw new ApiError('SESSION_REQUIRED', { message })
  }
  if (missing[0] !== undefined) {
    const field = forms[0].nameOf(words, missing[0])
    const message = `${field} is missing: a session needs ${neededNames(forms[0], words)}`
    throw new ApiError('INCOMPLETE_SESSION', { message, field })
  }
  for (const { field, value } of given)
    if (!isCookieValue(value)) throw invalidField(field, VALUE_FORM)
  return [first, ...rest, ...others()]
}

export const cookieHeader = ({ cookies }: Session): string =>
  cookies.map(({ name, value }) => `${name}=${value}`).join('; ')

/** An empty text counts as absent. */
const filled = (text: string | null): string | null => (text === '' ? null : text)

/** Session cookie as sent. The header wins over the query. */
function partOf(
  { header, query }: RequestFields,
  words: Naming,
  part: SessionPart,
  own: boolean,
): SentPart | null {
  const name = SESSION_FORMS.header.nameOf(words, part)
  const value = filled(header(name))
  if (value !== null) return { part, field: name, value }
  const field = SESSION_FORMS.query.nameOf(words, part)
  const [first = '', ...more] = own ? query.getAll(field) : []
  if (more.length > 0) throw invalidField(field, 'must be given once')
  return first === '' ? null : { part, field, value: first }
}

const proxyWithoutSession = (words: Naming): ApiError =>
  new ApiError('PROXY_WITHOUT_SESSION', {
    message: `${proxyHeader(words)} is for reads as your own account: send ${neededNames(SESSION_FORMS.header, words)} too`,
    field: proxyHeader(words),
  })

function refuseQueryForm({ query }: RequestFields, words: Naming) {
  for (const field of ['proxy', proxyHeader(words)])
    if (query.has(field))
      throw invalidField(
        field,
        `is not accepted in the query: send the header ${proxyHeader(words)}`,
      )
  const part = SESSION_PARTS.find((it) => query.has(sessionField(words, it)))
  if (part === undefined) return
  const field = sessionField(words, part)
  throw invalid(
    field,
    `${field} is not accepted in the query here: send headers, ${neededNames(SESSION_FORMS.header, words)}`,
  )
}

const PROXY_NAMES = new Set(
  `proxy proxies proxyurl server host port username password user pass httpproxy httpsproxy allproxy socks socks4
   socks4a socks5 socks5h`.split(/\s+/),
)

/** True for a field named like a proxy; ignores case, - and _. */
export const isProxyLike = (field: string): boolean =>
  PROXY_NAMES.has(field.toLowerCase().replace(/[-_]/g, ''))

/**
 * Own listings always use the proxies of the service, and a mistyped proxy field would be sent to
 * the platform as a cookie.
 */
function refuseProxies({ header, query }: RequestFields, { words, reserved_fields }: SessionSpec) {
  const name = proxyHeader(words)
  if (header(name) !== null)
    throw invalidField(
      name,
      'is not accepted here: this listing always uses the proxies of the service',
    )
  const field = [...query.keys()].find((it) => !reserved_fields.includes(it) && isProxyLike(it))
  if (field !== undefined)
    throw new ApiError('PROXY_AS_COOKIE', {
      message: `${field} names a proxy, and unknown query fields are sent to the platform as cookies`,
      field,
    })
}

function parseProxyHeader(words: Naming, text: string): Proxy {
  const parsed = parseProxy(text)
  if (parsed.ok) return parsed.proxy
  const field = proxyHeader(words)
  throw new ApiError('INVALID_PROXY', { message: `${field} ${parsed.why}`, field })
}

/** Error 400 INVALID_FIELD with a sentence about the field. */
export const invalidField = (field: string, sentence: string): ApiError =>
  new ApiError('INVALID_FIELD', { field, message: `${field} ${sentence}` })

/**
 * Rejects a proxy header on a write, where it would have no effect: writes take the proxy from the
 * body.
 * @throws {ApiError} 400 INVALID_FIELD if the header is present
 */
export function refuseProxyHeader(words: Naming, headers: { has(name: string): boolean }): void {
  const field = proxyHeader(words)
  if (headers.has(field))
    throw invalidField(field, 'is for reads: send the proxy in the body field proxy')
}

/** Unknown query fields as cookies. */
function forwarded(
  { query }: RequestFields,
  { words, session_cookie, reserved_fields }: SessionSpec,
): Cookie[] {
  const ours = new Set([
    ...reserved_fields,
    ...SESSION_PARTS.map((part) => sessionField(words, part)),
  ])
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

/** Path segments in use by the service: the platform's word must differ from them. */
export const TAKEN_PLACES: readonly string[] = [
  'account',
  'api',
  'confirm',
  'connect',
  'dashboard',
  'docs',
  'feed',
  'feedback',
  'health',
  'mcp',
  'metrics',
  'openapi',
  'operator',
  'unsubscribe',
]

/**
 * Fields beside the community in rows, parameters and filters: the community's word must differ
 * from them.
 */
export const TAKEN_FIELDS: readonly string[] = `
  after author author_info body comment_count comments contest_mode created created_utc
  crosspost_origin depth domain edited enrichment flair id interval_s is_crosspost is_self
  is_submitter is_video kind limit link_title link_url listing_status locked media
  media_kind name nsfw over_18 parent_id permalink post post_id q score sort sort_type
  spoiler stickied t text thumbnail_url title top_comment total_score upvote_ratio upvotes
  url max_comments max_score query place scanned matched oldest error first_seen_at
  items archived filter_spec from to format score first_seen
`
  .trim()
  .split(/\s+/)
  .concat(FILTER_FIELDS.filter((it) => it !== 'subforum'))
