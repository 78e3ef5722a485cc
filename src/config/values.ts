/**
 * The kinds of value a key can have. Each carries one sentence of what is allowed, which is all that its
 * errors say: what was found is added where the position is known.
 */
import { isIP } from 'node:net'

import { Cron } from 'croner'
import * as z from 'zod'

const HOST = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_][a-z0-9_-]{0,62})*\.?$/i

/** Says what is allowed instead; of a list, at which place. */
type Refuse = (allowed: string, at?: number) => never

/**
 * What `read` makes of a key's value; `initial` where there is none. One schema on purpose: all that is chained to a
 * schema of zod makes one more, and a start waits for each.
 */
const kind = <T>(read: (value: unknown, refuse: Refuse) => T, initial?: T) =>
  z.transform((value: unknown, context) => {
    if (value === undefined && initial !== undefined) return initial
    return read(value, (message, at) => {
      context.addIssue({ code: 'custom', message, path: at === undefined ? [] : [at] })
      return z.NEVER
    })
  })

/** Yes or no. */
export const flag = (initial: boolean) =>
  kind((value, refuse) => (typeof value === 'boolean' ? value : refuse('true or false')), initial)

/** A number that `test` accepts; `allowed` says what that is. */
const number = (allowed: string, test: (value: number) => boolean, initial: number) =>
  kind(
    (value, refuse) => (typeof value === 'number' && test(value) ? value : refuse(allowed)),
    initial,
  )

/** A whole number from `least` to `most`, of `unit` when it has one. */
export const whole = (initial: number, least: number, most: number, unit = '') =>
  number(
    `a whole number${unit && ` of ${unit}`} from ${least} to ${most}`,
    (value) => Number.isInteger(value) && value >= least && value <= most,
    initial,
  )

/** A number, decimals welcome, from `least` to `most`. */
export const decimal = (initial: number, least: number, most: number, unit = '') =>
  number(
    `a number${unit && ` of ${unit}`} from ${least} to ${most}`,
    (value) => value >= least && value <= most,
    initial,
  )

const microsOf = (usd: number) => Math.round(usd * 1_000_000)

/** US dollars with up to 6 decimals, as whole micro-dollars. */
export const dollars = (initial: number, most: number) =>
  kind(
    (value, refuse) =>
      typeof value === 'number' && value >= 0 && value <= most && Number(value.toFixed(6)) === value
        ? microsOf(value)
        : refuse(`an amount in US dollars from 0 to ${most}, with at most 6 decimals`),
    microsOf(initial),
  )

/** Text that `test` accepts; `allowed` says what that is. */
const text = (allowed: string, test: (value: string) => boolean, initial?: string) =>
  kind(
    (value, refuse) => (typeof value === 'string' && test(value) ? value : refuse(allowed)),
    initial,
  )

/** A User-Agent as HTTP takes it. */
export const userAgent = (initial: string) =>
  text(
    '1 to 200 characters of printable ASCII',
    (value) => /^[\x20-\x7e]{1,200}$/.test(value),
    initial,
  )

/** The name of a plan. */
export const planName = (initial?: string) =>
  text(
    'a name of letters, digits, _ and -, at most 31 characters',
    (value) => /^[A-Za-z0-9][\w-]{0,30}$/.test(value),
    initial,
  )

/** A path of the file system, relative to where forumd is started. */
export const file = (
  initial: string,
  { what, required = false }: { what: string; required?: boolean },
) =>
  text(
    required ? what : `${what}, or "" for none`,
    (value) => value.length <= 4096 && !value.includes('\0') && (!required || value !== ''),
    initial,
  )

/** A secret of visible ASCII without blanks, at most 512 characters; empty is none. */
export const secret = () =>
  text(
    'visible ASCII without blanks, at most 512 characters, or "" for none',
    (value) => /^[\x21-\x7e]{0,512}$/.test(value),
    '',
  )

const WEB = /^https?:$/

/** A web address without credentials, query or fragment, kept without a slash at its end. */
function address(orNone: string, initial?: string) {
  const allowed = 'an address that begins with http:// or https://'
  return kind((value, refuse) => {
    if (typeof value !== 'string') return refuse(`${allowed}${orNone}`)
    if ((orNone !== '' && value === '') || isAddress(value)) return value.replace(/\/+$/, '')
    return refuse(`${allowed}, without user name, query and fragment${orNone}`)
  }, initial)
}

/** An http(s) address that has no default. */
export const requiredWebAddress = () => address('')
/** An http(s) address, or "" for none. */
export const webAddress = () => address(', or "" for none', '')

/** A web address kept as written, credentials and query included; empty is none. */
export const hookAddress = () =>
  text(
    'an address that begins with http:// or https://, or "" for none',
    (value) => value === '' || WEB.test(URL.parse(value)?.protocol ?? ''),
    '',
  )

/** The address of a mail server, or "" for none. */
export const mailAddress = () =>
  text(
    'smtp://user:password@host:587 or smtps://host:465, or "" for none',
    (value) => {
      const url = value === '' ? null : URL.parse(value)
      return value === '' || (url !== null && /^smtps?:$/.test(url.protocol) && url.hostname !== '')
    },
    '',
  )

/** Whom mail comes from, or "" for nobody. */
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

/** An address or a range such as `10.0.0.0/8`. */
function isRange(value: string): boolean {
  const [ip = '', bits, ...rest] = value.split('/')
  const family = isIP(ip)
  if (family === 0 || ip.includes('%') || rest.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
}

const LIST_MAX = 1000

/** A list of texts that `test` accepts, each as `kept` has it; `allowed` says what those are. */
const list = (
  allowed: string,
  test: (value: string) => boolean,
  kept = (value: string): string => value,
) =>
  kind((value = [], refuse) => {
    if (!Array.isArray(value)) return refuse(`a list, each of it ${allowed}`)
    if (value.length > LIST_MAX) return refuse(`at most ${LIST_MAX} in the list`)
    return value.map((it: unknown, at) =>
      typeof it === 'string' && test(it) ? kept(it) : refuse(allowed, at),
    )
  })

/** An address or a name to listen on. */
export const host = (initial: string) => text('an IP address or a host name', isHost, initial)
/** Names of hosts, kept as an address that was taken apart has them. */
export const hosts = () =>
  list('a host name without scheme and port, or an IP address', isHost, (it) =>
    it.toLowerCase().replace(/\.$/, ''),
  )
/** Ranges of addresses. */
export const ranges = () => list('an IP address or a CIDR range such as 10.0.0.0/8', isRange)
/** Ranges of addresses, or names of hosts. */
export const targets = () =>
  list('a CIDR range such as 10.0.0.0/8, an IP address or a host name', (value) =>
    // What looks like a range is one, or nothing.
    value.includes('/') ? isRange(value) : isHost(value),
  )

/** Seconds from 0 to a day, one for each rung, 1 to 20 of them. */
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

/** A croner pattern that comes due at least once. */
export const schedule = (initial: string) =>
  text(
    'a cron pattern of 5 fields, or 6 with seconds first, that comes due, such as "0 * * * *"',
    isSchedule,
    initial,
  )

function isSchedule(pattern: string): boolean {
  try {
    return new Cron(pattern, { paused: true }).nextRun(new Date(0)) !== null
  } catch {
    return false
  }
}

/** A time zone of the IANA database. */
export const timeZone = (initial: string) =>
  text('an IANA time zone such as "UTC" or "Europe/Berlin"', isTimeZone, initial)

function isTimeZone(value: string): boolean {
  // Offsets such as +02:00 are zones to Intl, but not to an operator's calendar.
  if (/^[+-]/.test(value)) return false
  try {
    return new Intl.DateTimeFormat('en', { timeZone: value }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

/** A word of our interface: it becomes path segments, header and field names, of which some are `taken`. */
export const word = (initial: string, taken: readonly string[]) =>
  text(
    'a lower-case word of letters, digits and _, beginning with a letter, at most 31, that the interface does not use for something else',
    (value) => /^[a-z][a-z0-9_]{0,30}$/.test(value) && !taken.includes(value),
    initial,
  )

/** The name of a cookie; it has no default. */
export const cookieName = () =>
  text("the name of a cookie: letters, digits and !#$%&'*+-.^_`|~", (value) =>
    /^[\w!#$%&'*+.^`|~-]{1,128}$/.test(value),
  )

/** `"auto"`, true or false. */
export const auto = () =>
  kind(
    (value, refuse) =>
      value === 'auto' || typeof value === 'boolean' ? value : refuse('"auto", true or false'),
    'auto',
  )

/** One of a few words. */
export const choice = <const T extends string>(names: readonly T[], initial: NoInfer<T>) =>
  kind(
    (value, refuse) =>
      names.find((name) => name === value) ??
      refuse(`one of ${names.map((name) => `"${name}"`).join(', ')}`),
    initial,
  )
