import { type Books, readBooks, readPollLog } from './books.ts'
import type { Reading } from './reading.ts'
import type { Stage } from './stage.ts'
import { type Unseen, unseen } from './unseen.ts'
import { judge } from './witness.ts'

/** What is left of a stage whose daemon is gone. */
export type Left = {
  matches: number
  /** Over all receivers. */
  lost: number
  invented: number
  under_two_ids: number
  unstable_bodies: number
  badly_signed: number
  books: Books
  /** Of the items that were lost: whether they could be seen, and whether that was told. */
  unseen: Unseen
  /** Answers to reads that were given, and reads that were asked for. */
  answered: number
  asked: number
  /** Log lines that say that an invariant is broken. */
  broken: number
}

/** Compares what the receivers have written down with what the platform had, and reads the books. */
export function lookAtWhatIsLeft(stage: Stage, reading: Reading, broken: number): Left {
  const { wanted, written } = stage.poster
  const truth = wanted.map(({ name }) => name)
  const verdicts = stage.witnesses.map((it) => judge(it, truth))
  const sum = (key: keyof (typeof verdicts)[number]) =>
    verdicts.reduce((total, it) => total + it[key], 0)
  return {
    matches: truth.length,
    lost: sum('lost'),
    invented: sum('invented'),
    under_two_ids: sum('under_two_ids'),
    unstable_bodies: sum('unstable_bodies'),
    badly_signed: sum('badly_signed'),
    books: readBooks(stage.data),
    unseen: unseen(wanted, written, stage.witnesses[0], readPollLog(stage.data)),
    answered: reading.answered(),
    asked: reading.asked(),
    broken,
  }
}

/** Log lines that say that an invariant is broken. */
export const countBroken = (lines: readonly string[]): number =>
  lines.filter((line) => line.includes('storage.invariant_broken')).length
