/**
 * Highest id that a list has shown. Ids only grow, until the database behind them is restored from a copy: then they are given
 * again, to other items. Epoch ms by the source's clock, but `lower_since`, by ours.
 */
export type Summit = {
  id: number
  /** When an answer first showed it, and its creation, if that is later. */
  at: number
  /** Since when all ids that are shown are lower; 0: they are not. */
  lower_since: number
}

/** A row of the newest ones. `known_ms`: creation under this id so far; null: the id is new. */
export type SummitRow = { id: number; created_ms: number; known_ms: number | null }

/** Copies in caches are no older. */
const COPY_MS = 75_000
/** More ids than moderators remove at once. */
const FAR_IDS = 50
const LATE_MS = 5000
const FUTURE_MS = 60_000
const SAME_MS = 1500

/**
 * The summit after a page of the newest rows, and whether ids went back; `from`: the lowest one given again. `new_ids`: an id below it that was not known counts;
 * false: such an item may be an old one that was published.
 */
export function climb(
  before: Summit | null,
  page: { rows: readonly SummitRow[]; ids: readonly number[]; as_of: number },
  { now, new_ids }: { now: number; new_ids: boolean },
): { summit: Summit | null; is_back: boolean; from?: number } {
  const { rows, as_of } = page
  const id = page.ids.reduce((most, it) => Math.max(most, it), 0)
  if (id === 0) return { summit: before, is_back: false }
  // That of a copy from another server says nothing of the time at which its id was given.
  const created_ms = rows.find((row) => row.id === id)?.created_ms ?? now
  const summit = { id, at: Math.max(as_of, Math.min(created_ms, now)), lower_since: 0 }
  if (before === null) return { summit, is_back: false }
  const isGivenAgain = (row: SummitRow): boolean => {
    if (row.id > before.id || row.created_ms <= before.at + LATE_MS) return false
    if (row.created_ms > Math.max(as_of, now) + FUTURE_MS) return false
    return row.known_ms === null
      ? new_ids || id < before.id
      : Math.abs(row.known_ms - row.created_ms) > SAME_MS
  }
  const again = rows.filter(isGivenAgain).map((row) => row.id)
  if (again.length > 0) return { summit, is_back: true, from: Math.min(...again) }
  if (id > before.id) return { summit, is_back: false }
  if (id === before.id) return { summit: { ...before, lower_since: 0 }, is_back: false }
  const lower_since = before.lower_since || now
  if (now - lower_since < COPY_MS) return { summit: { ...before, lower_since }, is_back: false }
  return { summit, is_back: before.id - id > FAR_IDS }
}

export const isAfter = (summit: Summit | null, created_ms: number): boolean =>
  summit !== null && created_ms > summit.at
