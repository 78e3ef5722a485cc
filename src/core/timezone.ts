/** Where a browser stands where a caller names nothing. */
export const DEFAULT_TIMEZONE = 'America/New_York'
/** What a time zone has to be, for a sentence that begins with its field. */
export const TIMEZONE_RULE =
  'must be an IANA time zone, such as Europe/Vienna or UTC, not an offset'

const LONGEST = 64
// An offset is no place: it knows nothing of summer time, and browsers refuse it.
const OFFSET = /^[+\u2212-]/

/** A time zone by its primary name, case mended and aliases resolved (GMT is UTC); null for what is none. */
export function parseTimezone(text: string): string | null {
  if (text.length > LONGEST || OFFSET.test(text)) return null
  try {
    const zone = new Temporal.ZonedDateTime(0n, text)
    const primaries = Intl.supportedValuesOf('timeZone')
    if (primaries.includes(zone.timeZoneId)) return zone.timeZoneId
    // Two names are equal when they mean one zone; only one of them is primary.
    const primary = primaries.find((it) => zone.equals(new Temporal.ZonedDateTime(0n, it)))
    return primary ?? zone.timeZoneId
  } catch {
    return null
  }
}
