import type { MatchingPost } from './content-generator.ts'
import type { PollLog } from './ledger-check.ts'
import type { RecordingReceiver } from './recording-receiver.ts'

/** Maximum depth of the platform's listings. */
const DEEPEST = 1000

/** Classification of items that never arrived. */
export type Unseen = {
  items: number
  /** Items that a check recorded as complete should have shown: each is an error of the daemon. */
  observable: number
  /** Items in a gap reported by health. Items neither reported nor observable are a false claim of health. */
  reported: number
}

/**
 * Classifies each item that a receiver has not accepted: observable if it was among the newest thousand of its subforum at
 * the end of a recorded complete check, reported if it is in a recorded gap.
 */
export function unseen(
  wanted: readonly MatchingPost[],
  written: ReadonlyMap<string, readonly number[]>,
  { seen }: RecordingReceiver,
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
  const reported = missing.filter(({ place, posted_at }) => {
    // The platform reports whole seconds.
    const at = Math.floor(posted_at / 1000) * 1000
    return gaps.some(
      (it) =>
        it.place === place && (it.from_at ?? 0) <= posted_at && (it.until_at ?? Infinity) >= at,
    )
  })
  return { items: missing.length, observable: observable.length, reported: reported.length }
}
