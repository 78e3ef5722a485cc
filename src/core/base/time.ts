const INSTANT = /^(\d{4}-\d\d-\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d))?$/

/**
 * Formats epoch ms as ISO 8601 in UTC, with milliseconds; null stays null. All answers and commands
 * use this form.
 */
export function iso(at: number): string
export function iso(at: number | null): string | null
export function iso(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString()
}

/**
 * Parses an ISO 8601 instant with a zone, or a day, which begins in UTC. Epoch ms; null if
 * malformed.
 */
export function parseInstant(text: string): number | null {
  const [, day] = INSTANT.exec(text) ?? []
  // Date.parse reads 30 February as 2 March.
  if (day === undefined || !isDay(day)) return null
  const at = Date.parse(text)
  return Number.isNaN(at) ? null : at
}

function isDay(day: string): boolean {
  const at = Date.parse(day)
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(day)
}

export const DEFAULT_TIMEZONE = 'America/New_York'
export const TIMEZONE_RULE =
  'must be an IANA time zone, such as Europe/Vienna or UTC, not an offset'

const LONGEST = 64
// An offset has no daylight saving time, and browsers refuse it.
const OFFSET = /^[+\u2212-]/

/**
 * Primary name of a time zone, with corrected case and resolved aliases (GMT is UTC); null if
 * unknown.
 */
export function parseTimezone(text: string): string | null {
  if (text.length > LONGEST || OFFSET.test(text)) return null
  try {
    const zone = new Temporal.ZonedDateTime(0n, text)
    const primaries = Intl.supportedValuesOf('timeZone')
    if (primaries.includes(zone.timeZoneId)) return zone.timeZoneId
    // `equals` matches every alias of a zone; only one of the names is primary.
    const primary = primaries.find((it) => zone.equals(new Temporal.ZonedDateTime(0n, it)))
    return primary ?? zone.timeZoneId
  } catch {
    return null
  }
}

/** Offsets of a peer's clock up to this may be the network's. */
const OFFSET_REPORTED_MIN_MS = 60_000

/** An offset of a peer's clock, or 0 for one of at most a minute. */
export const reportedOffset = (measured_ms: number): number =>
  Math.abs(measured_ms) > OFFSET_REPORTED_MIN_MS ? measured_ms : 0

/**
 * Least plausible offset of the clock that dates the items of a source, from that of its Date headers: either that clock or
 * ours. The items tell nothing of it, since they may have the times of other servers and of the future.
 */
export const earliestOffset = (measured_ms: number): number => Math.round(Math.min(0, measured_ms))
