import { findBreachesIn } from '../support/invariants.ts'
import { ATTEMPTS_MAX, type ChaosFixture } from './fixture.ts'
import { type LedgerTotals, readLedger, readPollLog } from './ledger-check.ts'
import { type Unseen, unseen } from './missed-items.ts'
import type { Reading } from './reader.ts'
import { judge } from './recording-receiver.ts'

/** The result of a run, read after the daemon has stopped. */
export type Left = {
  matches: number
  /** Sum over all receivers. */
  lost: number
  invented: number
  under_two_ids: number
  unstable_bodies: number
  badly_signed: number
  books: LedgerTotals
  /** Lost items: how many were observable, and how many are reported. */
  unseen: Unseen
  /** Answered reads and requested reads. */
  answered: number
  requests: number
  /** Rows that contradict an invariant. */
  broken: number
}

/** Compares the receivers' logs with the platform's posts and reads the billing tables. */
export function inspectLeftovers(fixture: ChaosFixture, reading: Reading): Left {
  const { matching, written } = fixture.poster
  const truth = matching.map(({ name }) => name)
  const verdicts = fixture.receivers.map((it) => judge(it, truth))
  const sum = (key: keyof (typeof verdicts)[number]) =>
    verdicts.reduce((total, it) => total + it[key], 0)
  return {
    matches: truth.length,
    lost: sum('lost'),
    invented: sum('invented'),
    under_two_ids: sum('under_two_ids'),
    unstable_bodies: sum('unstable_bodies'),
    badly_signed: sum('badly_signed'),
    books: readLedger(fixture.data),
    unseen: unseen(matching, written, fixture.receivers[0], readPollLog(fixture.data)),
    answered: reading.answered(),
    requests: reading.requests(),
    broken: findBreachesIn(fixture.data, { attempts_max: ATTEMPTS_MAX }).length,
  }
}
