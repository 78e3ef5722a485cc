import { type TestReport, toReport } from '../core/delivery-test.ts'
import type { Words } from '../core/wire.ts'
import type { Clock, Random } from '../outside.ts'
import type { Db } from '../store/db.ts'
import { awaitsConfirmation } from '../store/mail-targets.ts'
import { findAddressee } from '../store/targets.ts'
import { resumeWebhook } from '../store/webhook-standing.ts'
import type { EmailOffice } from './email-office.ts'
import { sampleBody } from './sample.ts'
import type { Send } from './send.ts'

// As many characters as the id of a real delivery has: 16 bytes spell 22.
const ID_BYTES = 16

/** Sends a test to a customer's target and tells how it went; null when there is no such target. */
export type TestTarget = (customer_id: string, webhook_id: string) => Promise<TestReport | null>

/**
 * One attempt with an invented match, signed like a real one, listed nowhere. An answer that says yes takes a paused
 * target back into service. A reader of mail who has not said yes yet is asked once more instead.
 */
export function createTester({
  db,
  send,
  clock,
  random,
  words,
  email,
}: {
  db: Db
  send: Send
  clock: Clock
  random: Random
  words: Words
  email?: EmailOffice | undefined
}): TestTarget {
  return async (customer_id, webhook_id) => {
    const to = findAddressee(db, customer_id, webhook_id)
    if (!to) return null
    const id = `dlv_${Buffer.from(random.bytes(ID_BYTES)).toString('base64url')}`
    if (email !== undefined && awaitsConfirmation(db, webhook_id)) {
      const began = clock.mono()
      const attempt = await email.confirm(to)
      return toReport(attempt, id, Math.round(clock.mono() - began))
    }
    const body = sampleBody(id, words, clock.now())
    const { attempt, duration_ms } = await send(to, { id, body })
    const report = toReport(attempt, id, duration_ms)
    if (report.ok) resumeWebhook(db, webhook_id)
    return report
  }
}
