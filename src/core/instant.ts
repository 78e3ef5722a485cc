const INSTANT = /^(\d{4}-\d\d-\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d))?$/

/** Epoch ms as ISO 8601 in UTC, to the millisecond; null stays null. How every answer and command tells an instant. */
export function iso(at: number): string
export function iso(at: number | null): string | null
export function iso(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString()
}

/** An ISO 8601 instant with its zone, or a day, which begins in UTC, in epoch ms; null when it is none. */
export function parseInstant(text: string): number | null {
  const [, day] = INSTANT.exec(text) ?? []
  // Date.parse takes 30 February for 2 March.
  if (day === undefined || !isDay(day)) return null
  const at = Date.parse(text)
  return Number.isNaN(at) ? null : at
}

function isDay(day: string): boolean {
  const at = Date.parse(day)
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(day)
}
