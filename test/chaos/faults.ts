import { type Killed, percentile } from './killing.ts'
import type { Left } from './left.ts'

const DUPLICATES_MAX = 0.08
const BOOT_TO_ATTEMPT_MAX_MS = 2000

/** What a full run has to reach; shares and times are of a thousand kills, and of a few dozen they say little. */
export type Wanted = { syscall_kills: number; items_per_s: number }

/** Everything that must never be, whatever instant a process is killed at; empty when all is well. */
export function faultsOf(it: Left): string[] {
  const { books, matches, unseen } = it
  const zero = {
    lost: it.lost,
    invented: it.invented,
    under_two_ids: it.under_two_ids,
    unstable_bodies: it.unstable_bodies,
    badly_signed: it.badly_signed,
    observable_but_unseen: unseen.observable,
    unseen_and_untold: unseen.items - unseen.told,
    holds: books.holds,
    unbalanced: books.unbalanced,
    other: books.other,
    invariants_broken: it.broken,
    // An answer that was given was billed. A call cut by a kill may have been billed or not, but no other was.
    reads_unbilled: Math.max(0, it.answered - books.reads_billed),
    reads_overbilled: Math.max(0, books.reads_billed - it.asked),
    matches_unlike_truth: books.matches - matches,
  }
  return [
    ...Object.entries(zero).flatMap(([what, count]) => (count === 0 ? [] : `${what}: ${count}`)),
    ...(books.integrity === 'ok' ? [] : [`integrity: ${books.integrity}`]),
  ]
}

/** Where the figures of a full run are not what they have to be; empty when they are. */
export function shortfallsOf(it: Killed, wanted: Wanted): string[] {
  const p99 = percentile(it.boot_to_attempt_ms, 0.99)
  const called =
    it.syscall_kills >= wanted.syscall_kills ? [] : [`kills at a call: ${it.syscall_kills}`]
  // Without random kills there is nothing to time, and none of their duplicates.
  if (it.kills === 0) return called
  return [
    ...called,
    ...(it.items_per_s >= wanted.items_per_s ? [] : [`items a second: ${it.items_per_s}`]),
    ...it.duplicates.flatMap((share) => (share <= DUPLICATES_MAX ? [] : `duplicates: ${share}`)),
    ...(p99 <= BOOT_TO_ATTEMPT_MAX_MS ? [] : [`p99 from boot to first attempt, ms: ${p99}`]),
  ]
}
