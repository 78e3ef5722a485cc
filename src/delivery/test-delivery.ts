import { envelope } from '../core/delivery/envelope.ts'
import { type TestReport, toReport } from '../core/delivery/retry.ts'
import { type Naming, toWire } from '../core/forum/naming.ts'
import type { Clock, Random } from '../runtime/runtime.ts'
import type { Db } from '../store/db/connection.ts'
import { awaitsConfirmation, findAddressee } from '../store/delivery/targets.ts'
import { resumeWebhook } from '../store/delivery/webhooks.ts'
import type { EmailSender } from './email.ts'
import { kindOf } from './kinds.ts'
import type { Send } from './send.ts'

/** The monitor that test deliveries name. */
const TEST_MONITOR_ID = 'mon_test'

/** The body of a test delivery: one invented post, complete with enrichment, marked `test`. */
function sampleBody(delivery_id: string, words: Naming, now: number): Uint8Array {
  const created_at = Math.floor(now / 1000) * 1000
  const permalink = '/test/comments/sample1/a_sample_post/'
  const item = toWire(words, {
    id: 'sample1',
    name: 't3_sample1',
    title: 'A sample post: if you can read this, your target works',
    author: 'sample_author',
    subforum: 'test',
    permalink,
    url: `https://example.com${permalink}`,
    upvotes: 1,
    comments: 0,
    created: new Date(created_at).toISOString(),
    created_utc: created_at / 1000,
    text: 'This is a test delivery with invented content; no monitor matched anything.',
    link_url: null,
    upvote_ratio: 1,
    over_18: false,
    spoiler: false,
    locked: false,
    stickied: false,
    is_self: true,
    is_video: false,
    is_crosspost: false,
    crosspost_origin: null,
    flair: null,
    domain: null,
    media_kind: null,
    thumbnail_url: null,
    edited: false,
    author_info: { fullname: null, flair: null, premium: null },
    kind: 'post',
    enrichment: {
      relevance: {
        score: 1,
        matched_terms: [],
        considered_terms: 0,
        method: 'no_keyword_criteria',
      },
      sentiment: {
        polarity: 0,
        label: 'neutral',
        positive_terms: [],
        negative_terms: [],
        method: 'lexicon_heuristic',
      },
      intent: { tag: 'discussion', method: 'rule_based_heuristic' },
    },
  })
  return envelope({
    delivery_id,
    monitor_id: TEST_MONITOR_ID,
    items: [item],
    grouped: false,
    test: true,
  })
}

// As many characters as the id of a real delivery: 16 bytes give 22.
const ID_BYTES = 16

/** Sends a test to a customer's target and returns the outcome; null when there is no such target. */
export type TestTarget = (customer_id: string, webhook_id: string) => Promise<TestReport | null>

/**
 * One attempt with an invented match, signed like a real one and listed nowhere. A success resumes a paused target. A
 * mail target without confirmation gets the confirmation mail again instead.
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
  words: Naming
  email?: EmailSender | undefined
}): TestTarget {
  return async (customer_id, webhook_id) => {
    const to = findAddressee(db, customer_id, webhook_id)
    if (!to) return null
    const hints = kindOf(to.kind).verdict?.hints
    const id = `dlv_${Buffer.from(random.bytes(ID_BYTES)).toString('base64url')}`
    if (email !== undefined && awaitsConfirmation(db, webhook_id)) {
      const began = clock.mono()
      const attempt = await email.confirm(to)
      return toReport(attempt, id, Math.round(clock.mono() - began), null, hints)
    }
    const body = sampleBody(id, words, clock.now())
    const { attempt, duration_ms, excerpt } = await send(to, { id, body })
    const report = toReport(attempt, id, duration_ms, excerpt?.body_start ?? null, hints)
    if (report.ok) resumeWebhook(db, webhook_id)
    return report
  }
}
