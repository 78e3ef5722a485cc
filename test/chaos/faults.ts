import { type Killed, percentile } from './process-kill.ts'
import type { Left } from './run-result.ts'

const DUPLICATES_MAX = 0.08
const START_TO_ATTEMPT_MAX_MS = 2000

/** Random kills from which shares and times are judged: those of fewer depend on a few lives. */
const JUDGED_KILLS = 1000

type Wanted = { syscall_kills: number; items_per_s: number }

/** Violations that must not occur for any kill instant; empty if there are none. */
export function faultsOf(it: Left): string[] {
  const { books, matches, unseen } = it
  const zero = {
    lost: it.lost,
    invented: it.invented,
    under_two_ids: it.under_two_ids,
    unstable_bodies: it.unstable_bodies,
    badly_signed: it.badly_signed,
    observable_but_unseen: unseen.observable,
    unseen_and_unreported: unseen.items - unseen.reported,
    holds: books.holds,
    unbalanced: books.unbalanced,
    strayed_in_inbox: books.strayed,
    other: books.other,
    invariants_broken: it.broken,
    // Every answered read is billed. An interrupted call may be billed; nothing else may.
    reads_unbilled: Math.max(0, it.answered - books.reads_billed),
    reads_overbilled: Math.max(0, books.reads_billed - it.requests),
    matches_unlike_truth: books.matches - matches,
  }
  return [
    ...Object.entries(zero).flatMap(([what, count]) => (count === 0 ? [] : `${what}: ${count}`)),
    ...(books.integrity === 'ok' ? [] : [`integrity: ${books.integrity}`]),
  ]
}

/** Exceeded limits of a full run; empty if there are none. */
export function shortfallsOf(it: Killed, wanted: Wanted): string[] {
  const p99 = percentile(it.start_to_attempt_ms, 0.99)
  const called =
    it.syscall_kills >= wanted.syscall_kills ? [] : [`kills at a call: ${it.syscall_kills}`]
  if (it.kills < JUDGED_KILLS) return called
  return [
    ...called,
    ...(it.items_per_s >= wanted.items_per_s ? [] : [`items a second: ${it.items_per_s}`]),
    ...it.duplicates.flatMap((share) => (share <= DUPLICATES_MAX ? [] : `duplicates: ${share}`)),
    ...(p99 <= START_TO_ATTEMPT_MAX_MS ? [] : [`p99 from boot to first attempt, ms: ${p99}`]),
  ]
}
