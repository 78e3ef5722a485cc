const DAY_MS = 86_400_000

/** Days before the end of a source at which the operator is warned, the first one first. */
const WARNED_DAYS = [30, 14, 7, 1] as const

/** A source with the day on which its way in ends, as `2027-03-31`. */
export type SourceEnd = { source: string; ends_at: string }

/** Whole days from `now` (epoch ms) until a day begins, in UTC; 0: it is today; negative: it is over. */
export const daysUntil = (day: string, now: number): number =>
  Math.floor(Date.parse(day) / DAY_MS) - Math.floor(now / DAY_MS)

/** The warning that is due: its days, `over` after the day, null while the end is far away. */
export function endWarning(day: string, now: number): number | 'over' | null {
  const days = daysUntil(day, now)
  if (days < 0) return 'over'
  return WARNED_DAYS.findLast((it) => days <= it) ?? null
}
