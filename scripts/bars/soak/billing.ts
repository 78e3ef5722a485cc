import * as z from 'zod'

import { type ChaosFixture, READ_MICROS } from '../../../test/chaos/fixture.ts'
import { type LedgerTotals, readLedger } from '../../../test/chaos/ledger-check.ts'
import { type DaemonProcess, runForumd } from '../../../test/support/process.ts'

/** Result of calls that cost more than the balance. */
export type Spent = {
  /** Number of calls that the balance covered. */
  affordable: number
  /** Number of calls per response status. */
  answers: Record<number, number>
  /** Reads added to the ledger. */
  billed: number
  credits_remaining: number
  holds: number
  unbalanced: number
}

/** Twice as many as the balance covers. */
export const CALLS = 10_000
const AT_ONCE = 250
const READ_USD = READ_MICROS / 1e6

const minted = z.object({ key: z.string() })
const account = z.object({ credits_remaining: z.number() })

/**
 * Makes ten thousand calls at Bun's client concurrency for a customer who can pay for half of them. Stops the
 * daemon.
 */
export async function spendMoreThanThereIs(
  fixture: ChaosFixture,
  daemon: DaemonProcess,
  before: LedgerTotals,
): Promise<Spent> {
  const credits = (CALLS / 2) * READ_USD
  const args = `key create --config ${fixture.config} --customer bob --credits ${credits} --json`
  const { key } = minted.parse(JSON.parse(await runForumd(args.split(' '))))
  const headers = { authorization: `Bearer ${key}` }
  const money = async () => {
    const me = await fetch(`${daemon.url}/account/me`, { headers })
    return account.parse(await me.json()).credits_remaining
  }
  const affordable = Math.round((await money()) / READ_USD)
  const answers: Record<number, number> = {}
  let requests = 0
  const caller = async () => {
    while (requests++ < CALLS) {
      const response = await fetch(`${daemon.url}/api/forum/posts?subforum=hay0&limit=1`, {
        headers,
      })
      await response.arrayBuffer()
      answers[response.status] = (answers[response.status] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, caller))
  const credits_remaining = await money()
  await daemon.end('SIGTERM')
  const { reads_billed, holds, unbalanced } = readLedger(fixture.data)
  const billed = reads_billed - before.reads_billed
  return { affordable, answers, billed, credits_remaining, holds, unbalanced }
}
