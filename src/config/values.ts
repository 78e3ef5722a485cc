/**
 * The kinds of value a key can have. Each carries one sentence of what is allowed, which is all that its
 * errors say: what was found is added where the position is known.
 */
import { isIP } from 'node:net'

import { Cron } from 'croner'
import * as z from 'zod'

const HOST = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_][a-z0-9_-]{0,62})*\.?$/i

/** Yes or no. */
export const flag = (initial: boolean) => z.boolean({ error: 'true or false' }).default(initial)

/** A whole number from `least` to `most`, of `unit` when it has one. */
export function whole(initial: number, least: number, most: number, unit = '') {
  const error = `a whole number${unit && ` of ${unit}`} from ${least} to ${most}`
  return z.int({ error }).min(least, { error }).max(most, { error }).default(initial)
}

/** A number, decimals welcome, from `least` to `most`. */
export function decimal(initial: number, least: number, most: number, unit = '') {
  const error = `a number${unit && ` of ${unit}`} from ${least} to ${most}`
  return z.number({ error }).min(least, { error }).max(most, { error }).default(initial)
}

/** US dollars with up to 6 decimals, as whole micro-dollars. */
export function dollars(initial: number, most: number) {
  const error = `an amount in US dollars from 0 to ${most}, with at most 6 decimals`
  return z
    .number({ error })
    .min(0, { error })
    .max(most, { error })
    .refine((usd) => Number(usd.toFixed(6)) === usd, { error })
    .default(initial)
    .transform((usd) => Math.round(usd * 1_000_000))
}

/** Text that `test` accepts; `allowed` says what that is. */
const text = (allowed: string, test: (value: string) => boolean) =>
  z.string({ error: allowed }).refine(test, { error: allowed })

/** A User-Agent as HTTP takes it. */
export const userAgent = (initial: string) =>
  text('1 to 200 characters of printable ASCII', (value) =>
    /^[\x20-\x7e]{1,200}$/.test(value),
  ).default(initial)

/** The name of a plan. */
export const planName = () =>
  text('a name of letters, digits, _ and -, at most 31 characters', (value) =>
    /^[A-Za-z0-9][\w-]{0,30}$/.test(value),
  )

/** A path of the file system, relative to where forumd is started. */
export const file = (
  initial: string,
  { what, required = false }: { what: string; required?: boolean },
) =>
  text(
    required ? what : `${what}, or "" for none`,
    (value) => value.length <= 4096 && !value.includes('\0') && (!required || value !== ''),
  ).default(initial)

/** A secret of visible ASCII without blanks, at most 512 characters; empty is none. */
export const secret = () =>
  text('visible ASCII without blanks, at most 512 characters, or "" for none', (value) =>
    /^[\x21-\x7e]{0,512}$/.test(value),
  ).default('')

/** An address with one of `schemes`, without credentials, query or fragment, kept without a slash at its end. */
function address(schemes: readonly string[], extra: string) {
  const allowed = `an address that begins with ${schemes.map((it) => `${it}://`).join(' or ')}${extra}`
  return z
    .string({ error: allowed })
    .refine((value) => (extra !== '' && value === '') || isAddress(value, schemes), {
      error: `${allowed.replace(extra, '')}, without user name, query and fragment${extra}`,
    })
    .transform((value) => value.replace(/\/+$/, ''))
}

const WEB = ['http', 'https'] as const
/** An http(s) address that has no default. */
export const requiredWebAddress = () => address(WEB, '')
/** An http(s) address, or "" for none. */
export const webAddress = () => address(WEB, ', or "" for none').default('')

/** A web address kept as written, credentials and query included; empty is none. */
export const hookAddress = () =>
  text('an address that begins with http:// or https://, or "" for none', (value) => {
    const url = value === '' ? null : URL.parse(value)
    return value === '' || (url !== null && /^https?:$/.test(url.protocol))
  }).default('')

/** The address of a mail server, or "" for none. */
export const mailAddress = () =>
  text('smtp://user:password@host:587 or smtps://host:465, or "" for none', (value) => {
    const url = value === '' ? null : URL.parse(value)
    return value === '' || (url !== null && /^smtps?:$/.test(url.protocol) && url.hostname !== '')
  }).default('')

/** Whom mail comes from, or "" for nobody. */
export const sender = () =>
  text(
    'an e-mail address, plain or as "Name <name@host>", or "" for none',
    (value) =>
      value === '' ||
      (value.length <= 320 &&
        /^([^<>\r\n]*<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/.test(value)),
  ).default('')

const isAddress = (value: string, schemes: readonly string[]): boolean => {
  const url = URL.parse(value)
  if (url === null || !schemes.includes(url.protocol.slice(0, -1)) || url.hostname === '')
    return false
  return !url.username && !url.password && !value.includes('?') && !value.includes('#')
}

const isHost = (value: string): boolean => isIP(value) > 0 || HOST.test(value)

/** An address or a range such as `10.0.0.0/8`. */
function isRange(value: string): boolean {
  const [ip = '', bits, ...rest] = value.split('/')
  const family = isIP(ip)
  if (family === 0 || ip.includes('%') || rest.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
}

/** A list of at most `most` texts that `test` accepts. */
const list = (allowed: string, test: (value: string) => boolean, most = 1000) =>
  z
    .array(text(allowed, test), { error: `a list, each of it ${allowed}` })
    .max(most, { error: `at most ${most} in the list` })
    .default([])

/** An address or a name to listen on. */
export const host = (initial: string) =>
  text('an IP address or a host name', isHost).default(initial)
/** Names of hosts. */
export const hosts = () => list('a host name without scheme and port, or an IP address', isHost)
/** Ranges of addresses. */
export const ranges = () => list('an IP address or a CIDR range such as 10.0.0.0/8', isRange)
/** Ranges of addresses, or names of hosts. */
export const targets = () =>
  list('a CIDR range such as 10.0.0.0/8, an IP address or a host name', (value) =>
    // What looks like a range is one, or nothing.
    value.includes('/') ? isRange(value) : isHost(value),
  )

/** Seconds from 0 to a day, one for each rung, 1 to 20 of them. */
export function delays(initial: number[]) {
  const error = 'a number of seconds from 0 to 86400'
  return z
    .array(z.number({ error }).min(0, { error }).max(86_400, { error }), {
      error: 'a list of delays in seconds, such as [0, 5, 30, 120, 300, 780]',
    })
    .min(1, { error: 'at least one delay; the first attempt is one of them' })
    .max(20, { error: 'at most 20 delays' })
    .default(initial)
}

/** A croner pattern that comes due at least once. */
export const schedule = (initial: string) =>
  text(
    'a cron pattern of 5 fields, or 6 with seconds first, that comes due, such as "0 * * * *"',
    isSchedule,
  ).default(initial)

function isSchedule(pattern: string): boolean {
  try {
    return new Cron(pattern, { paused: true }).nextRun(new Date(0)) !== null
  } catch {
    return false
  }
}

/** A time zone of the IANA database. */
export const timeZone = (initial: string) =>
  text('an IANA time zone such as "UTC" or "Europe/Berlin"', (value) => {
    // Offsets such as +02:00 are zones to Intl, but not to an operator's calendar.
    if (/^[+-]/.test(value)) return false
    try {
      return new Intl.DateTimeFormat('en', { timeZone: value }).resolvedOptions().timeZone !== ''
    } catch {
      return false
    }
  }).default(initial)

/** A word of our interface: it becomes path segments, header and field names, of which some are `taken`. */
export const word = (initial: string, taken: readonly string[]) =>
  text(
    'a lower-case word of letters, digits and _, beginning with a letter, at most 31, that the interface does not use for something else',
    (value) => /^[a-z][a-z0-9_]{0,30}$/.test(value) && !taken.includes(value),
  ).default(initial)

/** The name of a cookie; it has no default. */
export const cookieName = () =>
  text("the name of a cookie: letters, digits and !#$%&'*+-.^_`|~", (value) =>
    /^[\w!#$%&'*+.^`|~-]{1,128}$/.test(value),
  )

/** `"auto"`, true or false. */
export const auto = () =>
  z
    .custom<'auto' | boolean>((value) => value === 'auto' || typeof value === 'boolean', {
      error: '"auto", true or false',
    })
    .default('auto')

/** One of a few words. */
export const choice = <const T extends readonly string[]>(names: T, initial: T[number]) =>
  z
    .custom<T[number]>((value) => names.some((name) => name === value), {
      error: `one of ${names.map((name) => `"${name}"`).join(', ')}`,
    })
    .default(() => initial)
