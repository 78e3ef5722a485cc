/**
 * The value types of the keys of the configuration. The error of each states only the allowed values; the loader adds the
 * value found and its position.
 */
import { isIP } from 'node:net'

import * as z from 'zod'

/** A table that rejects unknown keys. */
export const table = <T extends z.ZodRawShape>(shape: T) =>
  z.strictObject(shape, { error: 'a table of keys' })

/** A nested table; if omitted, its keys have their defaults. */
export const inner = <T>(it: z.ZodType<T, object>) => it.prefault({})

const HOST = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_][a-z0-9_-]{0,62})*\.?$/i

/** Reports the allowed values; `at` is the index in a list. */
type Refuse = (allowed: string, at?: number) => never

/**
 * A schema that parses a value with `read`; `initial` is the default. Each chained zod call would create another schema
 * and delay the start, so this is a single one.
 */
const kind = <T>(read: (value: unknown, refuse: Refuse) => T, initial?: T) =>
  z.transform((value: unknown, context) => {
    if (value === undefined && initial !== undefined) return initial
    return read(value, (message, at) => {
      context.addIssue({ code: 'custom', message, path: at === undefined ? [] : [at] })
      return z.NEVER
    })
  })

export const bool = (initial: boolean) =>
  kind((value, refuse) => (typeof value === 'boolean' ? value : refuse('true or false')), initial)

/** A number that `test` accepts; `allowed` describes it in errors. */
const number = (allowed: string, test: (value: number) => boolean, initial: number) =>
  kind(
    (value, refuse) => (typeof value === 'number' && test(value) ? value : refuse(allowed)),
    initial,
  )

/** An integer in [`least`, `most`]; `unit` appears in errors. */
export const integer = (initial: number, least: number, most: number, unit = '') =>
  number(
    `a whole number${unit && ` of ${unit}`} from ${least} to ${most}`,
    (value) => Number.isInteger(value) && value >= least && value <= most,
    initial,
  )

/** A number in [`least`, `most`]; `unit` appears in errors. */
export const decimal = (initial: number, least: number, most: number, unit = '') =>
  number(
    `a number${unit && ` of ${unit}`} from ${least} to ${most}`,
    (value) => value >= least && value <= most,
    initial,
  )

const microsOf = (usd: number) => Math.round(usd * 1_000_000)

/** US dollars with up to 6 decimals, parsed to whole micro-dollars. */
export const dollarAmount = (initial: number, most: number) =>
  kind(
    (value, refuse) =>
      typeof value === 'number' && value >= 0 && value <= most && Number(value.toFixed(6)) === value
        ? microsOf(value)
        : refuse(`an amount in US dollars from 0 to ${most}, with at most 6 decimals`),
    microsOf(initial),
  )

/** A text that `test` accepts; `allowed` describes it in errors. */
export const text = (allowed: string, test: (value: string) => boolean, initial?: string) =>
  kind(
    (value, refuse) => (typeof value === 'string' && test(value) ? value : refuse(allowed)),
    initial,
  )

/** A User-Agent header value; with the default '' it may be empty. */
export const userAgent = (initial: string) =>
  text(
    `1 to 200 characters of printable ASCII${initial === '' ? ', or "" for that of [requests]' : ''}`,
    (value) => (initial === '' && value === '') || /^[\x20-\x7e]{1,200}$/.test(value),
    initial,
  )

/** The name of a source, which is part of paths; `all` stands for all of them. */
export const sourceName = () =>
  text(
    'a name of lower-case letters, digits and -, at most 31 characters, other than all',
    (value) => /^[a-z0-9][a-z0-9-]{0,30}$/.test(value) && value !== 'all',
  )

// Date.parse reads 30 February as 2 March.
const dayOf = (at: number): string | null =>
  Number.isNaN(at) ? null : new Date(at).toISOString().slice(0, 10)

/** A day such as `2027-03-31`; empty: none. */
export const day = () =>
  text(
    'a day such as "2027-03-31" in quotes, or "" for none',
    (value) =>
      value === '' || (/^\d{4}-\d{2}-\d{2}$/.test(value) && value === dayOf(Date.parse(value))),
    '',
  )

export const planName = (initial?: string) =>
  text(
    'a name of letters, digits, _ and -, at most 31 characters',
    (value) => /^[A-Za-z0-9][\w-]{0,30}$/.test(value),
    initial,
  )

/** A file path, relative to the working directory. */
export const file = (
  initial: string,
  { what, required = false }: { what: string; required?: boolean },
) =>
  text(
    required ? what : `${what}, or "" for none`,
    (value) => value.length <= 4096 && !value.includes('\0') && (!required || value !== ''),
    initial,
  )

/** A secret of visible ASCII without spaces, at most 512 characters; empty: none. */
export const secret = () =>
  text(
    'visible ASCII without blanks, at most 512 characters, or "" for none',
    (value) => /^[\x21-\x7e]{0,512}$/.test(value),
    '',
  )

const WEB = /^https?:$/

/** An http(s) URL without credentials, query or fragment; a trailing slash is removed. */
function address(orNone: string, initial?: string) {
  const allowed = 'an address that begins with http:// or https://'
  return kind((value, refuse) => {
    if (typeof value !== 'string') return refuse(`${allowed}${orNone}`)
    if ((orNone !== '' && value === '') || isAddress(value)) return value.replace(/\/+$/, '')
    return refuse(`${allowed}, without user name, query and fragment${orNone}`)
  }, initial)
}

/** The http(s) URL of this service, or "" for none: every page, file and redirect is at the root of its host. */
export const serviceAddress = () =>
  kind((value, refuse) => {
    const allowed = 'https://HOST or http://HOST, with a port if need be, or "" for none'
    if (value === '') return value
    if (typeof value !== 'string' || !isAddress(value)) return refuse(allowed)
    if (new URL(value).pathname.replace(/\/+$/, '') !== '')
      return refuse(
        `${allowed}, without a path: give forumd a host name of its own, such as https://forumd.example.org`,
      )
    return value.replace(/\/+$/, '')
  }, '')
/** An http(s) URL, or "" for none. */
export const webAddress = () => address(', or "" for none', '')

/** An http(s) URL that may have credentials and a query, or "" for none. */
export const hookAddress = () =>
  text(
    'an address that begins with http:// or https://, or "" for none',
    (value) => value === '' || WEB.test(URL.parse(value)?.protocol ?? ''),
    '',
  )

/** The URL of a mail server, or "" for none. */
export const mailAddress = () =>
  text(
    'smtp://user:password@host:587 or smtps://host:465, or "" for none',
    (value) => {
      const url = value === '' ? null : URL.parse(value)
      const plain = url !== null && url.search + url.hash === '' && /^\/?$/.test(url.pathname)
      return value === '' || (plain && /^smtps?:$/.test(url.protocol) && url.hostname !== '')
    },
    '',
  )

/** The name of a model at its service, or "" for none. */
export const modelName = () =>
  text(
    'visible ASCII without blanks, at most 200 characters, or "" for none',
    (value) => /^[\x21-\x7e]{0,200}$/.test(value),
    '',
  )

/** The path of a program, or its name on PATH. */
export const programName = (initial: string) =>
  text('a path, or a name on PATH', (value) => /^[^\0]{1,4096}$/.test(value), initial)

/** The place of a replica in an object store, or "" for none. */
export const replicaAddress = () =>
  text(
    's3://bucket/folder, with ?endpoint=https://host and &region=NAME as needed, or "" for none',
    (value) => {
      if (value === '') return true
      const url = value.length <= 1024 && !/\s/.test(value) ? URL.parse(value) : null
      const endpoint = url?.searchParams.get('endpoint') ?? null
      return (
        url?.protocol === 's3:' &&
        url.hostname !== '' &&
        (endpoint === null || WEB.test(URL.parse(endpoint)?.protocol ?? ''))
      )
    },
    '',
  )

/** The sender of email, or "" for none. */
export const sender = () =>
  text(
    'an e-mail address, plain or as "Name <name@host>", or "" for none',
    (value) =>
      value === '' ||
      (value.length <= 320 &&
        /^([^<>\r\n]*<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/.test(value)),
    '',
  )

function isAddress(value: string): boolean {
  const url = URL.parse(value)
  if (url === null || !WEB.test(url.protocol) || url.hostname === '') return false
  return !url.username && !url.password && !value.includes('?') && !value.includes('#')
}

const isHost = (value: string): boolean => isIP(value) > 0 || HOST.test(value)

/** Tests for an IP address or a CIDR range such as `10.0.0.0/8`. */
function isRange(value: string): boolean {
  const [ip = '', bits, ...rest] = value.split('/')
  const family = isIP(ip)
  if (family === 0 || ip.includes('%') || rest.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
}

const LIST_MAX = 1000

/** A list of texts that `test` accepts, normalised; `allowed` describes an element in errors. */
const list = (
  allowed: string,
  test: (value: string) => boolean,
  normalize = (value: string): string => value,
) =>
  kind((value = [], refuse) => {
    if (!Array.isArray(value)) return refuse(`a list, each element ${allowed}`)
    if (value.length > LIST_MAX) return refuse(`at most ${LIST_MAX} in the list`)
    return value.map((it: unknown, at) =>
      typeof it === 'string' && test(it) ? normalize(it) : refuse(allowed, at),
    )
  })

export const host = (initial: string) => text('an IP address or a host name', isHost, initial)
export const hosts = () =>
  list('a host name without scheme and port, or an IP address', isHost, (it) =>
    it.toLowerCase().replace(/\.$/, ''),
  )
export const ranges = () => list('an IP address or a CIDR range such as 10.0.0.0/8', isRange)
export const targets = () =>
  list('a CIDR range such as 10.0.0.0/8, an IP address or a host name', (value) =>
    // Text with a slash must be a valid range.
    value.includes('/') ? isRange(value) : isHost(value),
  )

/** A retry schedule: 1 to 20 delays of 0 to 86,400 seconds. */
export const delays = (initial: readonly number[]) =>
  kind((value = initial, refuse) => {
    if (!Array.isArray(value))
      return refuse('a list of delays in seconds, such as [0, 5, 30, 120, 300, 780]')
    if (value.length === 0) return refuse('at least one delay; the first attempt is one of them')
    if (value.length > 20) return refuse('at most 20 delays')
    return value.map((it: unknown, at) =>
      typeof it === 'number' && it >= 0 && it <= 86_400
        ? it
        : refuse('a number of seconds from 0 to 86400', at),
    )
  })

export const timeZone = (initial: string) =>
  text('an IANA time zone such as "UTC" or "Europe/Berlin"', isTimeZone, initial)

function isTimeZone(value: string): boolean {
  // Intl accepts offsets such as +02:00, but they have no daylight saving time.
  if (/^[+-]/.test(value)) return false
  try {
    return new Intl.DateTimeFormat('en', { timeZone: value }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

/** A configurable word of the API: part of paths, header and field names. `taken`: reserved words. */
export const word = (initial: string, taken: readonly string[]) =>
  text(
    'a lower-case word of letters, digits and _, beginning with a letter, at most 31, that the interface does not use for something else',
    (value) => /^[a-z][a-z0-9_]{0,30}$/.test(value) && !taken.includes(value),
    initial,
  )

export const COOKIE_NAME = "the name of a cookie: letters, digits and !#$%&'*+-.^_`|~"

/** A cookie name, or "" for none. */
export const cookieName = () =>
  text(`${COOKIE_NAME}, or "" for none`, (value) => /^[\w!#$%&'*+.^`|~-]{0,128}$/.test(value), '')

/** `"auto"`, true or false. */
export const auto = () =>
  kind(
    (value, refuse) =>
      value === 'auto' || typeof value === 'boolean' ? value : refuse('"auto", true or false'),
    'auto',
  )

export const choice = <const T extends string>(names: readonly T[], initial?: NoInfer<T>) =>
  kind(
    (value, refuse) =>
      names.find((name) => name === value) ??
      refuse(`one of ${names.map((name) => `"${name}"`).join(', ')}`),
    initial,
  )
