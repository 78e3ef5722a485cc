import { createNaming } from '../../../../src/core/forum/naming.ts'
import { createJudging, type ModelSettings } from '../../../../src/monitor/relevance/judging.ts'
import type { AskModel, ModelReply } from '../../../../src/monitor/relevance/model.ts'
import { eraseItems } from '../../../../src/store/erasure/erase.ts'
import { findBreaches } from '../../../support/invariants.ts'
import { PLAN, post, START, startMonitorFixture } from '../fixture.ts'

export const S = 1000
export const MINUTE = 60 * S
export const HOUR = 60 * MINUTE

const MODEL: ModelSettings = {
  model: 'small',
  limits: { all: 0, customer: 0 },
  concurrency: 4,
  max_wait_ms: 300 * S,
}

/** A chat completion with one answer. */
export const completion = (content: unknown): ModelReply => ({
  kind: 'answered',
  status: 200,
  body: JSON.stringify({
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: typeof content === 'string' ? content : JSON.stringify(content),
        },
      },
    ],
  }),
  retry_after_s: null,
})

/** The item in a request. */
export const itemIn = (body: string): Record<string, string> =>
  JSON.parse(JSON.parse(body).messages[1].content)

/** An honest model: the share of the text that is the word cat. */
const honest: AskModel = async (body) => {
  const { title = '' } = itemIn(body)
  const score = title.includes('cat') ? 0.9 : 0.1
  return completion({ score, reason: title.includes('cat') ? 'it has a cat' : 'no cat' })
}

type Choice = {
  relevance?: object
  model?: Partial<ModelSettings> | null
  retention_ms?: number
  webhook_ids?: string[]
  filter?: Record<string, unknown>
}

/** A monitor of every post of a place, whose matches a scripted model judges. */
export async function startJudgingFixture({
  relevance = {},
  model = {},
  retention_ms = Infinity,
  webhook_ids,
  filter = {},
}: Choice = {}) {
  const fixture = startMonitorFixture({ plan: PLAN })
  // No power is cut here.
  fixture.db.run('PRAGMA synchronous = OFF')
  fixture.webhook('wh_1')
  fixture.monitor(
    'mon_1',
    { subforum: ['cats'], ...filter },
    {
      relevance: { prompt: 'cats', ...relevance },
      ...(webhook_ids !== undefined && { webhook_ids }),
    },
  )
  await fixture.pollDue()
  const requests: string[] = []
  const calls: string[] = []
  const results: string[] = []
  let ask: AskModel = honest
  let pendings = 0

  // The monotonic clock of a machine gives fractions of a millisecond, which no whole column takes.
  let micros = 0
  const clock = { ...fixture.clock, mono: () => fixture.clock.mono() + (micros += 7) / 1e6 }

  let stopping = new AbortController()
  const open = () =>
    createJudging({
      db: fixture.db,
      instance_id: 'instance',
      words: createNaming({ platform: 'forum', community: 'subforum' }),
      watches: fixture.watches,
      plan_of: () => PLAN,
      clock,
      random: { fraction: () => 0.5 },
      log: (level, event, fields = {}) => void fixture.events.push({ level, event, fields }),
      signal: stopping.signal,
      model: model === null ? null : { ...MODEL, ...model },
      ask(body) {
        requests.push(body)
        return ask(body)
      },
      retention_ms,
      on_pending: () => void pendings++,
      wake() {},
      on_call: (outcome) => void calls.push(outcome),
      on_result: (outcome) => void results.push(outcome),
    })
  let judging = open()
  let posts = 0

  return {
    fixture,
    requests,
    calls,
    results,
    get judging() {
      return judging
    },
    pendings: () => pendings,
    answer: (it: AskModel) => void (ask = it),
    /** Puts posts with these titles into the place, and polls them. */
    async find(...titles: (string | { title: string; text: string })[]) {
      for (const it of titles) {
        const { title, text } = typeof it === 'string' ? { title: it, text: '' } : it
        fixture.feed.put('cats', post(++posts, title, fixture.clock.now(), { text }))
      }
      await fixture.check()
    },
    /** Runs the loop until nothing is due and no call is under way. */
    async run() {
      for (let i = 0; i < 500; i++) {
        const next = await judging.turn()
        await judging.idle()
        if (next > fixture.clock.now()) {
          if ((await judging.turn()) > fixture.clock.now()) return
          await judging.idle()
        }
      }
      throw new Error('the loop has no end')
    },
    /** Runs the loop after some time. */
    async after(ms: number) {
      fixture.pass(ms)
      await this.run()
    },
    /** Closes the database while calls are under way, and starts again on the same file. */
    kill() {
      stopping.abort()
      fixture.reboot()
      stopping = new AbortController()
      judging = open()
    },
    erase(reason: 'author' | 'author_gone', ...ids: string[]) {
      const words = { community: 'subforum', home: 'forum' }
      const deps = { db: fixture.db, instance_id: 'instance', words, clock_offset_ms: () => 0 }
      const items = ids.map((item_id) => ({ item_id, reason }))
      eraseItems(deps, items, fixture.clock.now())
    },
    waiting: () =>
      fixture.one<{ n: number }>('SELECT count(*) AS n FROM judgements WHERE outcome IS NULL')?.n ??
      0,
    /** Calls of all days. */
    counted: () => fixture.one<{ n: number }>('SELECT sum(calls) AS n FROM judgements')?.n ?? 0,
    /** Titles of deliveries by their status, with reason and judgement. */
    sent: () =>
      fixture.deliveries().map((row) => {
        const { items, suppressed } = fixture.payload(row)
        return {
          status: row.status,
          reason: row.reason,
          title: items[0]?.title as string,
          judgement: items[0]?.judgement,
          suppressed,
        }
      }),
    breaches: () =>
      findBreaches(fixture.db, {
        now: fixture.clock.now(),
        since_at: START - S,
        instance_id: 'instance',
      }),
    async [Symbol.asyncDispose]() {
      stopping.abort()
      await fixture[Symbol.asyncDispose]()
    },
  }
}
