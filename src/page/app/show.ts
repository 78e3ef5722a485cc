// How figures, instants and codes are written on the page.

const whole = new Intl.NumberFormat('en')
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
const dollars = new Intl.NumberFormat('en', {
  style: 'currency',
  currency: 'USD',
  minimumFractionDigits: 2,
  maximumFractionDigits: 6,
})
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const moment = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' })

/** 12,345; a dash for what is not known, which is not zero. */
export const count = (it: number | null | undefined): string =>
  it === null || it === undefined ? '–' : it < 1_000_000 ? whole.format(it) : short.format(it)

/** US dollars, down to the micro-dollar where there are any. */
export const usd = (it: number | null | undefined): string =>
  it === null || it === undefined ? '–' : dollars.format(it)

const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
]

/** How long before or after `now` an instant lies: '3 minutes ago', 'in 2 hours', 'just now'. */
export function since(at: number, now: number): string {
  const away = at - now
  for (const [unit, length] of STEPS)
    if (Math.abs(away) >= length) return relative.format(Math.trunc(away / length), unit)
  return Math.abs(away) < 10_000 ? 'just now' : relative.format(Math.trunc(away / 1000), 'second')
}

/** An instant in full, in the time zone of whoever looks. */
export const inFull = (at: number): string => moment.format(at)

/** 90 s, 5 min, 2 h. */
export function span(seconds: number): string {
  if (seconds < 120) return `${whole.format(Math.round(seconds))} s`
  if (seconds < 7200) return `${whole.format(Math.round(seconds / 60))} min`
  return `${whole.format(Math.round(seconds / 3600))} h`
}

/** 1 monitor, 2 monitors. */
export const many = (n: number, one: string, more = `${one}s`): string =>
  `${count(n)} ${n === 1 ? one : more}`

/** `needs_login` as 'Needs login'. */
export const words = (code: string): string => {
  const text = code.replaceAll('_', ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** A text cut after `most` characters, never through the middle of one. */
export function cut(text: string, most: number): string {
  const letters = Array.from(text)
  return letters.length <= most ? text : `${letters.slice(0, most - 1).join('')}…`
}

/** Bytes as people say them: 12 MB. */
export function bytes(it: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  const step = Math.min(units.length - 1, it < 1000 ? 0 : Math.floor(Math.log10(it) / 3))
  return `${(it / 1000 ** step).toFixed(step === 0 ? 0 : 1)} ${units[step]}`
}
