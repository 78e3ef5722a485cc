import type { Look } from './sight.ts'
import { oldestAt, rateOf, type Row, spanOf } from './stream-rows.ts'

/**
 * What a cut check did not see: from where it should have reached (null: unknown) to the oldest row it read.
 * `checked_at`: when the last finished check was, by the platform's clock. What was created before it had been there
 * to be seen, however long ago the newest row of a quiet place was created.
 */
export function gapOf(
  look: Look,
  checked_at: number | null = null,
): { from_at: number | null; until_at: number | null } {
  const until_at = oldestAt(look.rows)
  if (look.met) return { from_at: look.floor_at, until_at }
  const head_at = look.head?.head_created_at ?? null
  const known = [head_at, checked_at].filter((it) => it !== null)
  const from_at = known.length === 0 ? look.floor_at : Math.max(...known)
  return {
    from_at: from_at !== null && until_at !== null ? Math.min(from_at, until_at) : from_at,
    until_at,
  }
}

const OVER = 1.15
/** What comes in a crowd is thought to have done so before for a little longer than it was seen to. */
const CROWD_LASTS = 1.2
const CROWD_LASTS_MIN_S = 40
/** How long a rate that was just so high may go on. */
const RECENT_LASTS_S = 600
/** The platform tells whole seconds: what is missing may have come within the one in which the gap ends. */
const ENDS_WITHIN_S = 1
/** Fewer rows than this are no crowd. */
const CROWD_MIN = 50

/**
 * How many items a gap hides, meant to be too high rather than too low; null when no rate is known. Rates are items a
 * second: `usual` as they come in the long run, `recent` as they came before the gap, and `rows` is what was read above
 * it. What was crowded before or is after may have been so within, but not for much longer than it was seen to be: else
 * one crowded minute would fill a gap of hours.
 */
export function estimateMissed(
  { from_at, until_at }: { from_at: number | null; until_at: number | null },
  rates: { recent: number | null; usual: readonly (number | null)[] },
  rows: readonly Row[] = [],
): number | null {
  const known = rates.usual.filter((it) => it !== null)
  const usual = known.length === 0 ? rates.recent : Math.max(...known)
  if ((usual === null && rateOf(rows) === null) || from_at === null || until_at === null)
    return null
  const length_s = Math.max(0, until_at - from_at) / 1000 + ENDS_WITHIN_S
  const above = Math.max(0, (rates.recent ?? 0) - (usual ?? 0)) * Math.min(length_s, RECENT_LASTS_S)
  const mu = OVER * ((usual ?? 0) * length_s + above + crowdedIn(rows, length_s))
  return Math.ceil(mu + 2 * Math.sqrt(mu) + 2)
}

/** How many items come in so long beneath some rows, if the last of them were the end of a crowd. */
function crowdedIn(rows: readonly Row[], length_s: number): number {
  const plain = rows.filter(({ sticky }) => !sticky)
  let most = 0
  for (let count = plain.length; count >= CROWD_MIN; count = Math.floor(count / 2)) {
    const span_s = Math.max(1, spanOf(plain.slice(-count)))
    const lasted_s = Math.min(length_s, Math.max(CROWD_LASTS_MIN_S, CROWD_LASTS * span_s))
    most = Math.max(most, (count / span_s) * lasted_s)
  }
  return most
}
