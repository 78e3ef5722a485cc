import { findBreachesIn } from '../support/invariants.ts'
import { ATTEMPTS_MAX, type ChaosFixture } from './fixture.ts'
import { type LedgerTotals, readLedger, readPollLog } from './ledger-check.ts'
import { type Unseen, unseen } from './missed-items.ts'
import type { Reading } from './reader.ts'
import { judge, type Judged } from './recording-receiver.ts'

/** The result of a run, read after the daemon has stopped. */
export type Left = Judged & {
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
  return {
    ...judge(fixture.receivers, matching),
    books: readLedger(fixture.data),
    unseen: unseen(matching, written, fixture.receivers[0], readPollLog(fixture.data)),
    answered: reading.answered(),
    requests: reading.requests(),
    broken: findBreachesIn(fixture.data, { attempts_max: ATTEMPTS_MAX }).length,
  }
}
