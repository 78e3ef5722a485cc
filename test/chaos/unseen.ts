import type { PollLog } from './books.ts'
import type { Wanted } from './poster.ts'
import type { Witness } from './witness.ts'

/** No listing of the platform goes deeper. */
const DEEPEST = 1000

/** What there is to say of items that never arrived. */
export type Unseen = {
  items: number
  /** A check that was written down as whole could have shown them. Each of these is our fault. */
  observable: number
  /** They lie in a gap that health tells of. What is not told, and was not observable, is a lie of health's. */
  told: number
}

/**
 * Looks at each item that a receiver has not accepted: whether it was still among the newest thousand of its place when
 * a check ended that is on record as whole, and whether it lies in a recorded gap.
 */
export function unseen(
  wanted: readonly Wanted[],
  written: ReadonlyMap<string, readonly number[]>,
  { seen }: Witness,
  { checks, gaps }: PollLog,
): Unseen {
  const accepted = new Set(seen.flatMap((it) => (it.accepted ? it.items : [])))
  const missing = wanted.filter(({ name }) => !accepted.has(name))
  const observable = missing.filter(({ place, posted_at }) => {
    const times = written.get(place) ?? []
    const index = times.findIndex((at) => at >= posted_at)
    const gone_at = times[index + DEEPEST] ?? Infinity
    return checks.some(
      (it) =>
        it.place === place &&
        it.cut_reason === null &&
        it.started_at > posted_at &&
        it.ended_at < gone_at,
    )
  })
  const told = missing.filter(({ place, posted_at }) => {
    // The platform tells whole seconds.
    const at = Math.floor(posted_at / 1000) * 1000
    return gaps.some(
      (it) =>
        it.place === place && (it.from_at ?? 0) <= posted_at && (it.until_at ?? Infinity) >= at,
    )
  })
  return { items: missing.length, observable: observable.length, told: told.length }
}
