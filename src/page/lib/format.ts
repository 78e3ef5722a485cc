// Formats numbers, times and codes for the page.

const whole = new Intl.NumberFormat('en')
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
const dollars = new Intl.NumberFormat('en', {
  style: 'currency',
  currency: 'USD',
  minimumFractionDigits: 2,
  maximumFractionDigits: 6,
})
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const moment = new Intl.DateTimeFormat('en', {
  dateStyle: 'medium',
  timeStyle: 'medium',
  hourCycle: 'h23',
})

/** Formats a count as 12,345; a dash for an unknown value. */
export const count = (it: number | null | undefined): string =>
  it === null || it === undefined ? '–' : it < 1_000_000 ? whole.format(it) : short.format(it)

/** Formats a count in few characters: 1,234 below ten thousand, then 12.3K. */
export const compact = (it: number): string => (it < 10_000 ? whole : short).format(it)

/** Formats US dollars with up to six decimals; a dash for an unknown value. */
export const usd = (it: number | null | undefined): string =>
  it === null || it === undefined ? '–' : dollars.format(it)

const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
]

/** Formats an instant relative to `now`, both in epoch ms: '3 minutes ago', 'in 2 hours'; `close` within 10 s. */
export function since(at: number, now: number, close = 'just now'): string {
  const away = at - now
  for (const [unit, length] of STEPS)
    if (Math.abs(away) >= length) return relative.format(Math.trunc(away / length), unit)
  return Math.abs(away) < 10_000 ? close : relative.format(Math.trunc(away / 1000), 'second')
}

/** Formats an instant (epoch ms) in full, in the time zone of the browser. */
export const inFull = (at: number): string => moment.format(at)

/** Formats seconds as '90 s', '5 min' or '2 h'. */
export function formatDuration(seconds: number): string {
  if (seconds < 120) return `${whole.format(Math.round(seconds))} s`
  if (seconds < 7200) return `${whole.format(Math.round(seconds / 60))} min`
  return `${whole.format(Math.round(seconds / 3600))} h`
}

/** Formats seconds exactly, to the second: '23 h 45 min', '1 min 30 s', '0 s'. */
export function exactDuration(seconds: number): string {
  const parts: [number, string][] = [
    [Math.floor(seconds / 3600), 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ]
  const given = parts.filter(([n]) => n > 0).map(([n, unit]) => `${n} ${unit}`)
  return given.length === 0 ? '0 s' : given.join(' ')
}

/** Formats a count with its noun: '1 monitor', '2 monitors'. */
export const many = (n: number, one: string, more = `${one}s`): string =>
  `${count(n)} ${n === 1 ? one : more}`

/** Formats a code as words: `needs_login` as 'Needs login'. */
export const words = (code: string): string => {
  const text = code.replaceAll('_', ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Formats the name of a filter's condition: `include_any` as 'Include any'. */
export const conditionName = (field: string): string => (field === 'q' ? 'Query' : words(field))

/** Truncates a text to `most` code points, including the ellipsis. */
export function ellipsize(text: string, most: number): string {
  const letters = Array.from(text)
  return letters.length <= most ? text : `${letters.slice(0, most - 1).join('')}…`
}

/** Formats bytes with a decimal unit: '12.0 MB'. */
export function bytes(it: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  const step = Math.min(units.length - 1, it < 1000 ? 0 : Math.floor(Math.log10(it) / 3))
  return `${(it / 1000 ** step).toFixed(step === 0 ? 0 : 1)} ${units[step]}`
}

/**
 * Returns the URL if a link to it is allowed; null: show it as text. Only https URLs without credentials are allowed.
 * `own`: the daemon built the URL on the platform's host, which may be a sandbox without TLS.
 */
export function safeUrl(url: unknown, own = false): string | null {
  if (typeof url !== 'string' || !URL.canParse(url)) return null
  const { protocol, username, password, href } = new URL(url)
  if (username !== '' || password !== '') return null
  return protocol === 'https:' || (own && protocol === 'http:') ? href : null
}

/** True for a page that was loaded over plain HTTP from another machine, so that others can read what it sends. */
export const isExposed = ({ protocol, hostname }: Pick<URL, 'protocol' | 'hostname'>): boolean =>
  protocol === 'http:' && !LOOPBACK.test(hostname)

/** Hosts of this machine, as a browser normalises them. @see https://www.rfc-editor.org/rfc/rfc6761#section-6.3 */
const LOOPBACK = /^(?:(?:.+\.)?localhost\.?|127\.\d+\.\d+\.\d+|\[::1\])$/

/** A share from 0 to 1 as '82 %'. */
export const percent = (share: number): string => `${Math.round(share * 100)} %`
