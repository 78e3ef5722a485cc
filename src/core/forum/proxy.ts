import { isIPv4 } from 'node:net'

import { peerUrl } from '../base/url.ts'

export const PROXY_SCHEMES = ['http', 'https', 'socks4', 'socks5', 'socks5h'] as const
type ProxyScheme = (typeof PROXY_SCHEMES)[number]

/** Proxy in normal form. `host` is lower case and without brackets; credentials are decoded. */
export type Proxy = {
  scheme: ProxyScheme
  host: string
  port: number
  username: string | null
  password: string | null
}

/** Parsed proxy value, or a sentence on its error that repeats none of it. */
export type ProxyParsed = { ok: true; proxy: Proxy } | { ok: false; why: string }

const DEFAULT_PORTS: Record<ProxyScheme, number> = {
  http: 80,
  https: 443,
  socks4: 1080,
  socks5: 1080,
  socks5h: 1080,
}

const LONGEST = 2048
/** SOCKS encodes the length of name and password in one byte each (RFC 1929). */
const CREDENTIAL_BYTES_MAX = 255

// Parsers disagree on blanks, control characters and backslashes.
// oxlint-disable-next-line no-control-regex
const ODD = /[\x00-\x20\x7f\\]/
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\x00-\x1f\x7f]/
const PARTS =
  /^(?:([a-z][a-z0-9+.-]*):\/\/)?(?:([^/?#]*)@)?(\[[^\]/?#@]*\]|[^:/?#@[\]]*)(?::(\d{1,5}))?\/?$/i

const FORM = 'must be scheme://user:password@host:port, or host:port'
const SCHEME = `must begin with ${PROXY_SCHEMES.map((scheme) => `${scheme}://`).join(', ')}`

const wrong = (why: string): ProxyParsed => ({ ok: false, why })

/**
 * Parses a proxy value: an address, or an object of server, username and password. An address
 * without a scheme means http, unless `scheme_required`.
 */
export function parseProxy(value: unknown, { scheme_required = false } = {}): ProxyParsed {
  if (typeof value === 'string') return parseAddress(value, scheme_required)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return wrong('must be an address, or an object with server, username and password')
  const {
    server,
    username = null,
    password = null,
    ...rest
  }: Record<string, unknown> = { ...value }
  if (Object.keys(rest).length > 0) return wrong('may have only server, username and password')
  if (typeof server !== 'string') return wrong('needs a server, as text')
  if (!isMaybeText(username) || !isMaybeText(password))
    return wrong('must give username and password as text')
  const parsed = parseAddress(server, scheme_required)
  if (!parsed.ok || (username === null && password === null)) return parsed
  if (parsed.proxy.username !== null)
    return wrong('must give its credentials once: in server, or as username and password')
  return withCredentials({ ...parsed.proxy, username: username ?? '', password })
}

const isMaybeText = (value: unknown): value is string | null =>
  value === null || typeof value === 'string'

function parseAddress(text: string, scheme_required: boolean): ProxyParsed {
  if (text === '' || text.length > LONGEST)
    return wrong(`must be an address of 1 to ${LONGEST} characters`)
  if (ODD.test(text)) return wrong('must not contain spaces, control characters or backslashes')
  const [, prefix, userinfo, name = '', digits] = PARTS.exec(text) ?? []
  if (name === '') return wrong(FORM)
  if (prefix === undefined && scheme_required) return wrong(SCHEME)
  const scheme = PROXY_SCHEMES.find((it) => it === (prefix ?? 'http').toLowerCase())
  if (scheme === undefined) return wrong(SCHEME)
  // A single word is more likely a mistake than a host.
  if (prefix === undefined && digits === undefined) return wrong(FORM)

  const host = hostOf(name)
  if (host === null) return wrong('must name its host by a domain name or a plain IP address')
  const port = digits === undefined ? DEFAULT_PORTS[scheme] : Number(digits)
  if (port < 1 || port > 65_535) return wrong('must have a port from 1 to 65535')

  const credentials = userinfo === undefined ? NO_CREDENTIALS : credentialsOf(userinfo)
  if (credentials === null) return wrong('must have percent-encoded credentials')
  return withCredentials({ scheme, host, port, ...credentials })
}

/** Normalised host name; null if malformed, or an IP address in an unusual notation. */
function hostOf(name: string): string | null {
  const url = name.includes('%') ? null : peerUrl(`http://${name}`)
  if (url === null) return null
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  // 0177.1 and 2130706433 are IPv4 addresses for some parsers and names for others.
  return host === '' || (isIPv4(host) && host !== name) ? null : host
}

const NO_CREDENTIALS = { username: null, password: null }

function credentialsOf(userinfo: string): Pick<Proxy, 'username' | 'password'> | null {
  if (userinfo === '') return NO_CREDENTIALS
  const colon = userinfo.indexOf(':')
  const [username, password] =
    colon === -1 ? [userinfo, null] : [userinfo.slice(0, colon), userinfo.slice(colon + 1)]
  try {
    return {
      username: decodeURIComponent(username),
      password: password === null ? null : decodeURIComponent(password),
    }
  } catch {
    return null
  }
}

function withCredentials(proxy: Proxy): ProxyParsed {
  const { scheme, username, password } = proxy
  if (!username && !password) return { ok: true, proxy: { ...proxy, ...NO_CREDENTIALS } }
  const given = [username, password].filter((it) => it !== null)
  // A lone surrogate has no UTF-8 encoding.
  if (given.some((it) => CONTROL.test(it) || !it.isWellFormed()))
    return wrong('must not contain control characters in its credentials')
  if (given.some((it) => Buffer.byteLength(it) > CREDENTIAL_BYTES_MAX))
    return wrong(
      `must have a username and a password of at most ${CREDENTIAL_BYTES_MAX} bytes each`,
    )
  // Basic authentication ends the username at the first colon (RFC 7617).
  if (!scheme.startsWith('socks') && username?.includes(':'))
    return wrong('must not contain a colon in its username')
  return { ok: true, proxy }
}

/** `scheme://host:port`, without credentials: safe to log and show. */
export const proxyOrigin = ({ scheme, host, port }: Proxy): string =>
  `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`
