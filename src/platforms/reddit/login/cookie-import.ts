import { isObject } from '../../../core/base/object.ts'
import type { NativeRow } from '../readers/fields.ts'

export type Exported = {
  name: string
  value: string
  /** Lower case, without a leading dot; null if the export does not state it. */
  domain: string | null
  /** Sent to this host only, not to its subdomains. */
  host_only: boolean
  path: string
  secure: boolean
  http_only: boolean
  /** Epoch ms; null for a session cookie of the browser. */
  expires_at: number | null
}

/**
 * The cookies of a text, or its problems: sentences that name the line or the cookie, never its
 * content.
 */
export type Exports =
  { ok: true; cookies: Exported[]; others: number } | { ok: false; problems: string[] }

const TEXT_MAX = 1024 * 1024
const COOKIES_MAX = 3_000
const PROBLEMS_MAX = 10
const COOKIE_BYTES_MAX = 4_096

/**
 * Parses exports of browsers and their extensions: a cookies.txt, several JSON formats, or a Cookie
 * header. Cookies of hosts that `isOurs` refuses are counted, and not looked at: a whole browser has any.
 */
export function readExport(text: string, isOurs: (host: string) => boolean): Exports {
  if (text.length > TEXT_MAX) return { ok: false, problems: ['is longer than 1 MiB'] }
  const trimmed = text.replace(/^\uFEFF/, '').trim()
  if (trimmed === '') return { ok: false, problems: ['is empty'] }
  if (/^[[{]/.test(trimmed)) return fromJson(trimmed, isOurs)
  return /\t/.test(trimmed) || /^# .*cookie file/i.test(trimmed)
    ? fromLines(trimmed, isOurs)
    : fromHeader(trimmed)
}

type Read = Exported | string | typeof OTHER

/** A cookie of another host. */
const OTHER = Symbol('other')

/** All cookies, or all problems. `where` names the entry of a problem. */
function collect<T>(entries: readonly T[], read: (entry: T, at: number) => Read | null): Exports {
  const cookies: Exported[] = []
  const problems: string[] = []
  let others = 0
  for (const [at, entry] of entries.entries()) {
    const found = read(entry, at)
    if (found === OTHER) others += 1
    else if (typeof found === 'string') problems.push(found)
    else if (found) cookies.push(found)
  }
  if (cookies.length + problems.length > COOKIES_MAX)
    return { ok: false, problems: [`has more than ${COOKIES_MAX} cookies`] }
  if (problems.length > 0) return { ok: false, problems: problems.slice(0, PROBLEMS_MAX) }
  return cookies.length + others > 0
    ? { ok: true, cookies, others }
    : { ok: false, problems: ['has no cookies'] }
}

const PLAIN = {
  domain: null,
  host_only: true,
  path: '/',
  secure: false,
  http_only: false,
  expires_at: null,
}

/** `a=1; b=2`, as in a browser's network view. */
function fromHeader(text: string): Exports {
  const pairs = text
    .replace(/^cookie:/i, '')
    .split(';')
    .filter((it) => it.trim() !== '')
  return collect(pairs, (pair, at) => {
    const split = pair.indexOf('=')
    if (split === -1) return `cookie ${at + 1}: must be name=value`
    const [name, value] = [pair.slice(0, split).trim(), pair.slice(split + 1).trim()]
    return wrongPair(name, value, `cookie ${at + 1}`) ?? { ...PLAIN, name, value }
  })
}

/**
 * The Netscape cookie file format: seven fields per line, separated by tabs.
 * @see https://curl.se/docs/http-cookies.html
 */
function fromLines(text: string, isOurs: (host: string) => boolean): Exports {
  return collect(text.split(/\r\n|\r|\n/), (line, at) => {
    const http_only = line.startsWith('#HttpOnly_')
    if (line.trim() === '' || (line.startsWith('#') && !http_only)) return null
    const where = `line ${at + 1}`
    const fields = line.slice(http_only ? '#HttpOnly_'.length : 0).split('\t')
    if (fields.length > 1 && !isOurs(bareHost(fields[0] ?? ''))) return OTHER
    // Some editors remove an empty value at the end of a line; the other cookies are still valid.
    if (fields.length === 6) return null
    const [host = '', under = '', path = '', secure = '', ends = '', name = '', value = ''] = fields
    if (fields.length !== 7)
      return `${where}: must have seven fields separated by tabs, has ${fields.length}`
    const domain = domainOf(host)
    if (domain === null) return `${where}: the first field must be a host name`
    if (!isFlag(under) || !isFlag(secure))
      return `${where}: the second and the fourth field must be TRUE or FALSE`
    if (!/^-?\d{1,20}(?:\.\d+)?$/.test(ends)) return `${where}: the fifth field must be a number`
    return (
      wrongPair(name, value, where) ?? {
        name,
        value,
        domain,
        host_only: under.toUpperCase() === 'FALSE' && !host.startsWith('.'),
        path: pathOf(path),
        secure: secure.toUpperCase() === 'TRUE',
        http_only,
        expires_at: instantOf(Number(ends)),
      }
    )
  })
}

const isFlag = (text: string): boolean => /^(?:true|false)$/i.test(text)

/** A list of objects, such a list under `cookies`, or one object of names and values. */
function fromJson(text: string, isOurs: (host: string) => boolean): Exports {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    return { ok: false, problems: ['starts like JSON, but is not valid JSON'] }
  }
  const inner = isObject(parsed) && 'cookies' in parsed ? parsed['cookies'] : parsed
  if (Array.isArray(inner))
    return collect(inner, (it, at) => fromObject(it, `cookie ${at + 1}`, isOurs))
  if (!isObject(inner)) return { ok: false, problems: ['must be a list or an object of cookies'] }
  return collect(Object.entries(inner), ([name, value], at) => {
    const where = `cookie ${at + 1}`
    if (typeof value !== 'string') return `${where}: the value must be text`
    return wrongPair(name, value, where) ?? { ...PLAIN, name, value }
  })
}

/** Field names of EditThisCookie, Chrome, Playwright and Puppeteer, and of Firefox's extensions. */
function fromObject(it: unknown, where: string, isOurs: (host: string) => boolean): Read {
  if (!isObject(it)) return `${where}: must be an object`
  const name = it['name'] ?? it['Name raw']
  const value = it['value'] ?? it['Content raw']
  const host = it['domain'] ?? it['host'] ?? it['Host raw'] ?? null
  const path = it['path'] ?? it['Path raw'] ?? '/'
  if (typeof host === 'string' && !isOurs(bareHost(host))) return OTHER
  if (typeof name !== 'string') return `${where}: name must be text`
  if (typeof value !== 'string') return `${where}: value must be text`
  if (typeof path !== 'string') return `${where}: path must be text`
  if (host !== null && typeof host !== 'string') return `${where}: domain must be text`
  const domain = host === null ? null : domainOf(host)
  if (host !== null && domain === null) return `${where}: domain must be a host name`
  const ends = endOf(it)
  if (ends === undefined) return `${where}: the expiry must be a number of seconds`
  return (
    wrongPair(name, value, where) ?? {
      name,
      value,
      domain,
      host_only:
        flag(it, 'hostOnly', 'This domain only raw') ?? !/^(?:https?:\/\/)?\./.test(host ?? ''),
      path: pathOf(path),
      secure: flag(it, 'secure', 'isSecure', 'Send for raw') ?? false,
      http_only: flag(it, 'httpOnly', 'isHttpOnly', 'HTTP only raw') ?? false,
      expires_at: ends,
    }
  )
}

/** Epoch ms; null for a session cookie of the browser, undefined if it is not a number. */
function endOf(it: NativeRow): number | null | undefined {
  if (it['session'] === true) return null
  const expiry = it['expirationDate'] ?? it['expires'] ?? it['expiry'] ?? it['Expires raw'] ?? null
  if (expiry === null || expiry === '') return null
  const seconds = typeof expiry === 'string' ? Number(expiry) : expiry
  return typeof seconds === 'number' && Number.isFinite(seconds) ? instantOf(seconds) : undefined
}

function flag(it: NativeRow, ...fields: string[]): boolean | null {
  for (const field of fields) {
    const value = it[field]
    if (typeof value === 'boolean') return value
    if (typeof value === 'string' && isFlag(value)) return value.toLowerCase() === 'true'
  }
  return null
}

// Some exporters write milliseconds, and some of Firefox's tables microseconds.
const FAR_S = 1e11

/** Converts epoch seconds to epoch ms. Zero or less: a session cookie of the browser. */
function instantOf(seconds: number): number | null {
  if (seconds <= 0) return null
  let value = seconds
  while (value > FAR_S) value /= 1000
  return Math.round(value * 1000)
}

const bareHost = (text: string): string =>
  text
    .trim()
    .replace(/^https?:\/\//i, '')
    .replace(/\/.*$/, '')
    .replace(/^\./, '')
    .toLowerCase()

function domainOf(text: string): string | null {
  const host = bareHost(text)
  return /^(?:[a-z0-9_-]+\.)*[a-z0-9_-]+$|^\[[0-9a-f:.]+\]$/.test(host) ? host : null
}

const pathOf = (path: string): string => (path.startsWith('/') ? path : '/')

/** Problem of a name and value for a Cookie header; null if there is none. */
function wrongPair(name: string, value: string, where: string): string | null {
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name))
    return `${where}: the name contains characters that are not allowed in a cookie`
  // Spaces and commas are not in the standard, but in real cookies.
  if (!/^[\x20-\x3a\x3c-\x7e]*$/.test(value))
    return `${where}: the value contains characters that are not allowed in a cookie`
  return name.length + value.length > COOKIE_BYTES_MAX
    ? `${where}: is longer than ${COOKIE_BYTES_MAX} characters`
    : null
}
