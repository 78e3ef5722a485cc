import { type TestReport, toReport } from '../core/delivery-test.ts'
import type { Words } from '../core/wire.ts'
import type { Clock, Random } from '../outside.ts'
import type { Db } from '../store/db.ts'
import { findAddressee, resumeWebhook } from '../store/webhooks.ts'
import { sampleBody } from './sample.ts'
import type { Send } from './send.ts'

// As many characters as the id of a real delivery has: 16 bytes spell 22.
const ID_BYTES = 16

/** Sends a test to a customer's target and tells how it went; null when there is no such target. */
export type TestTarget = (customer_id: string, webhook_id: string) => Promise<TestReport | null>

/**
 * One attempt with an invented match, signed like a real one, listed nowhere. An answer that says yes takes a paused
 * target back into service.
 */
export function createTester({
  db,
  send,
  clock,
  random,
  words,
}: {
  db: Db
  send: Send
  clock: Clock
  random: Random
  words: Words
}): TestTarget {
  return async (customer_id, webhook_id) => {
    const to = findAddressee(db, customer_id, webhook_id)
    if (!to) return null
    const id = `dlv_${Buffer.from(random.bytes(ID_BYTES)).toString('base64url')}`
    const body = sampleBody(id, words, clock.now())
    const { attempt, duration_ms } = await send(to, { id, body })
    const report = toReport(attempt, id, duration_ms)
    if (report.ok) resumeWebhook(db, webhook_id)
    return report
  }
}
