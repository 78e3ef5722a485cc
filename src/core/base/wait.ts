/** Longest wait that a peer may ask for, in seconds: after it comes a trial. */
export const WAIT_MAX_S = 780

/**
 * Seconds of a wait that a peer names, rounded up and within {@link WAIT_MAX_S}; null for anything that is no wait. A text is
 * a number with or without a fraction.
 */
export function boundedWait(stated: unknown): number | null {
  const seconds =
    typeof stated === 'string' && /^\d+(?:\.\d+)?$/.test(stated) ? Number(stated) : stated
  // A number of 400 digits is Infinity, and still a wait.
  return typeof seconds === 'number' && seconds >= 0
    ? Math.min(Math.ceil(seconds), WAIT_MAX_S)
    : null
}

const MONTHS = 'JanFebMarAprMayJunJulAugSepOctNovDec'
const DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)'
const TIME = '(?<h>[01]\\d|2[0-3]):(?<m>[0-5]\\d):(?<s>[0-5]\\d|60)'
const MONTH = '(?<month>[A-Z][a-z]{2})'
const FORMS = [
  `${DAY}, (?<day>\\d{2}) ${MONTH} (?<year>\\d{4}) ${TIME} GMT`,
  `(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (?<day>\\d{2})-${MONTH}-(?<year>\\d{2}) ${TIME} GMT`,
  `${DAY} ${MONTH} (?<day>[ \\d]\\d) ${TIME} (?<year>\\d{4})`,
].map((form) => new RegExp(`^${form}$`))

/** Epoch ms of an HTTP date in one of the three forms of RFC 9110, 5.6.7; null for any other text. */
export function httpDate(text: string, now: number): number | null {
  for (const form of FORMS) {
    const { day, month = '', year, h, m, s } = form.exec(text)?.groups ?? {}
    const index = MONTHS.indexOf(month) / 3
    if (day === undefined || !Number.isInteger(index)) continue
    const at = (years: number) =>
      Date.UTC(years, index, Number(day), Number(h), Number(m), Number(s))
    if (year?.length !== 2) return at(Number(year))
    // Two digits that seem to be more than 50 years in the future are of the past.
    const century = Math.floor(new Date(now).getUTCFullYear() / 100) * 100
    const here = at(century + Number(year))
    return here - now > 50 * 365.25 * 86_400_000 ? at(century - 100 + Number(year)) : here
  }
  return null
}

/** The one value of header lines that were joined by commas; the whole text if they differ. */
function sameLine(text: string): string {
  const parts = text.split(',').map((it) => it.trim())
  // A date has a comma of its own.
  for (const size of [1, 2]) {
    const first = parts.slice(0, size).join(', ')
    const lines = Array.from({ length: parts.length / size }, (_, n) =>
      parts.slice(n * size, (n + 1) * size).join(', '),
    )
    if (parts.length % size === 0 && lines.every((it) => it === first)) return first
  }
  return text
}

/**
 * Seconds to wait by a Retry-After header, bounded; null if it is absent or no wait. A date is relative to the answer's Date
 * header, else to `now`, epoch ms.
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3
 */
export function retryAfter(
  headers: { get(name: string): string | null },
  now: number,
): number | null {
  const text = headers.get('retry-after')
  if (text === null || text.length > 10_000) return null
  const value = sameLine(text.trim())
  const at = httpDate(value, now)
  if (at === null) return boundedWait(value)
  const sent = httpDate(headers.get('date')?.trim() ?? '', now) ?? now
  return boundedWait(Math.max(0, (at - sent) / 1000))
}

/** Seconds of a pause after a limit: the stated ones, at least 1, else those of a limit that names none. */
export const pauseAfterLimit = (
  stated_s: number | null,
  unnamed_s: number,
): { retry_after_s: number; estimated?: true } =>
  stated_s === null
    ? { retry_after_s: unnamed_s, estimated: true }
    : { retry_after_s: Math.max(1, stated_s) }
