import type { Killed } from './process-kill.ts'
import type { Left } from './run-result.ts'

const DUPLICATES_MAX = 0.08
const START_TO_ATTEMPT_MAX_MS = 2000
/** Lives whose first attempt comes later than that. */
const LATE_MAX = 0.01

/**
 * Kills of a full run, in which a share is the limit itself: with so many, 99 of 100 runs at a true share of 8 % are within
 * two points of it. The repeats of a kill come together, so a kill is one trial and a delivery is none.
 */
const FULL_KILLS = 1000
const CONFIDENCE = 0.99

type Wanted = { syscall_kills: number; items_per_s: number }

/** The number that 99 of 100 samples of `trials` do not exceed if each trial counts with the probability `share`. */
function countWithin(trials: number, share: number): number {
  let probability = (1 - share) ** trials
  let sum = probability
  let count = 0
  for (; sum < CONFIDENCE && count < trials; count++) {
    probability *= ((trials - count) / (count + 1)) * (share / (1 - share))
    sum += probability
  }
  return count
}

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

/** Exceeded limits; empty if there are none. A shorter run exceeds one where a full run within it hardly ever would. */
export function shortfallsOf(it: Killed, wanted: Wanted): string[] {
  const called =
    it.syscall_kills >= wanted.syscall_kills ? [] : [`kills at a call: ${it.syscall_kills}`]
  if (it.kills === 0) return called
  const countOf = (trials: number, share: number) =>
    it.kills >= FULL_KILLS ? trials * share : countWithin(trials, share)
  const duplicates_max = countOf(it.kills, DUPLICATES_MAX) / it.kills
  const starts = it.start_to_attempt_ms
  const late = starts.filter((ms) => ms > START_TO_ATTEMPT_MAX_MS).length
  return [
    ...called,
    ...(it.items_per_s >= wanted.items_per_s ? [] : [`items a second: ${it.items_per_s}`]),
    ...it.duplicates.flatMap((share) => (share <= duplicates_max ? [] : `duplicates: ${share}`)),
    ...(late <= countOf(starts.length, LATE_MAX)
      ? []
      : [
          `from boot to first attempt over ${START_TO_ATTEMPT_MAX_MS} ms: ${late} of ${starts.length}`,
        ]),
  ]
}
