const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
/** Hours east of UTC; names with several meanings are left out, and read as UTC. */
const ZONES: ReadonlyMap<string, number> = new Map(
  'est-5 edt-4 cst-6 cdt-5 mst-7 mdt-6 pst-8 pdt-7 akst-9 akdt-8 hst-10 ast-4 adt-3 brt-3 art-3 bst+1 west+1 cet+1 met+1 cest+2 mest+2 eet+2 sast+2 eest+3 msk+3 ict+7 wib+7 hkt+8 sgt+8 awst+8 jst+9 kst+9 aest+10 aedt+11 nzst+12 nzdt+13'
    .split(' ')
    .map((it) => [it.replace(/[^a-z]/g, ''), Number(it.replace(/[a-z]/g, ''))]),
)

const WEEKDAY = '(?:[a-z]{2,9}[.,]*\\s+)?'
const MONTH = '(?<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\\.?'
const CLOCK = '(?<h>\\d{1,2}):(?<m>\\d{2})(?::(?<s>\\d{2})(?:[.,]\\d{1,9})?)?'
const ZONE =
  '(?:\\s*(?<zone>z|(?:gmt|utc?|z)?\\s?[+-]\\d{2}:?\\d{2}|(?:gmt|utc)[+-]\\d{1,2}|[+-]\\d{2}|[a-z]{1,5})(?:\\s+\\([^()]{0,40}\\)|\\s+[a-z]{1,5})?)?'

const FORMS = [
  // RFC 822 and its kin, with full names of months and with hyphens.
  `${WEEKDAY}(?<day>\\d{1,2})[ -]+${MONTH},?[ -]+(?<year>\\d{4}|\\d{2})(?:,?\\s+${CLOCK}${ZONE})?`,
  // RFC 3339, ISO 8601 and what databases write.
  `(?<year>\\d{4})-(?<day_month>\\d{1,2})-(?<day>\\d{1,2})(?:(?:\\s*t\\s*|\\s+)${CLOCK}${ZONE})?`,
  `(?<year>\\d{4})/(?<day_month>\\d{1,2})/(?<day>\\d{1,2})(?:\\s+${CLOCK}${ZONE})?`,
  `(?<year>\\d{4})(?<day_month>\\d{2})(?<day>\\d{2})t(?<h>\\d{2}):?(?<m>\\d{2}):?(?<s>\\d{2})${ZONE}`,
  // asctime, and Date.prototype.toString.
  `${WEEKDAY}${MONTH}\\s+(?<day>\\d{1,2})\\s+${CLOCK}\\s+(?<year>\\d{4})`,
  `[a-z]{3}\\s+${MONTH}\\s+(?<day>\\d{1,2})\\s+${CLOCK}\\s+(?<name>[a-z]{2,4})\\s+(?<year>\\d{4})`,
  `[a-z]{3}\\s+${MONTH}\\s+(?<day>\\d{1,2})\\s+(?<year>\\d{4})\\s+${CLOCK}${ZONE}`,
].map((form) => new RegExp(`^${form}$`, 'i'))

const LENGTH_MAX = 80
/** A document from before feeds is wrong about its time. */
const FIRST = Date.UTC(1990, 0, 1)
/** The time of a zone that was left out. */
const AHEAD_MAX_MS = 14 * 3_600_000

/** Minutes east of UTC. */
function offsetOf(zone: string): number {
  const [, sign, hours, minutes = '0'] = /([+-])(\d{1,2}):?(\d{2})?$/.exec(zone) ?? []
  if (hours === undefined) return (ZONES.get(zone.toLowerCase()) ?? 0) * 60
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes))
}

/**
 * Epoch ms of a date as feeds write it; null for any other text, as in other languages than English, and for a time that
 * cannot be. Without a zone it is UTC. `now`: the answer's own time.
 */
export function feedDate(text: string, now: number): number | null {
  const given = text.trim().replace(/\s+/g, ' ')
  if (given.length > LENGTH_MAX) return null
  for (const form of FORMS) {
    const found = form.exec(given)?.groups
    if (found === undefined) continue
    const { year = '', month, day_month, day, h = '0', m = '0', s = '0', zone, name } = found
    const years = Number(year) + (year.length > 2 ? 0 : Number(year) < 69 ? 2000 : 1900)
    const index = month === undefined ? Number(day_month) - 1 : MONTHS.indexOf(month.toLowerCase())
    const [days, hours, minutes] = [Number(day), Number(h), Number(m)]
    const offset = offsetOf(zone ?? name ?? '')
    if (index < 0 || index > 11 || days < 1 || days > 31 || minutes > 59 || Number(s) > 60)
      return null
    if (hours > 24 || (hours === 24 && minutes > 0) || Math.abs(offset) > 14 * 60) return null
    const midnight = Date.UTC(years, index, days)
    // February has no 30th.
    if (new Date(midnight).getUTCDate() !== days) return null
    const at = midnight + ((hours * 60 + minutes - offset) * 60 + Number(s)) * 1000
    return at >= FIRST && at <= now + AHEAD_MAX_MS ? at : null
  }
  return null
}
