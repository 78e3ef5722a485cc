import { expect, test } from 'bun:test'

import { createUpkeep } from '../../../../src/monitor/maintenance.ts'
import { eraseItems } from '../../../../src/store/erasure/erase.ts'
import { removeMonitorOf } from '../../../../src/store/monitoring/monitors.ts'
import { CUSTOMER } from '../fixture.ts'
import { completion, HOUR, itemIn, MINUTE, S, startJudgingFixture } from './judging-fixture.ts'

const unreachable = async () => ({ kind: 'failed', fault: 'unreachable', sent: false }) as const
const timeout = async () => ({ kind: 'failed', fault: 'timeout', sent: true }) as const

test('a match waits for its verdict, which is in the payload', async () => {
  await using it = await startJudgingFixture()
  await it.find('a cat')

  expect(it.sent()).toEqual([])
  expect(it.waiting()).toBe(1)
  expect(it.breaches()).toEqual([])

  await it.run()

  expect(it.sent()).toMatchObject([
    {
      status: 'pending',
      title: 'a cat',
      judgement: {
        status: 'judged',
        score: 0.9,
        min_score: 0.5,
        reason: 'it has a cat',
        model: 'small',
        cached: false,
        fault: null,
      },
    },
  ])
  expect(it.waiting()).toBe(0)
  expect(it.pendings()).toBeGreaterThan(0)
  expect(it.breaches()).toEqual([])
})

test('a match below the minimum is suppressed as irrelevant, with its verdict', async () => {
  await using it = await startJudgingFixture()
  await it.find('a dog')
  await it.run()

  expect(it.sent()).toMatchObject([
    {
      status: 'suppressed',
      reason: 'irrelevant',
      judgement: { score: 0.1, reason: 'no cat' },
      suppressed: { reason: 'irrelevant', score: 0.1, min_score: 0.5 },
    },
  ])
  expect(it.results).toEqual(['irrelevant'])
  expect(it.fixture.one('SELECT body FROM match_bodies')).toBeNull()
})

test('the pull API has the verdict', async () => {
  await using it = await startJudgingFixture({ webhook_ids: [] })
  await it.find('a cat')
  await it.run()

  const row = it.fixture.one<{ body: Uint8Array }>('SELECT body FROM match_bodies')
  const { items } = JSON.parse(new TextDecoder().decode(row?.body))
  expect(items[0].judgement).toMatchObject({ status: 'judged', score: 0.9 })
})

test('every request has one item', async () => {
  await using it = await startJudgingFixture()
  await it.find('cat one', 'cat two', 'dog three')
  await it.run()

  expect(
    it.requests.map((body) => itemIn(body)['title'] ?? '').toSorted((a, b) => a.localeCompare(b)),
  ).toEqual(['cat one', 'cat two', 'dog three'])
  for (const body of it.requests)
    expect(JSON.parse(body).messages.map((m: { role: string }) => m.role)).toEqual([
      'system',
      'user',
    ])
})

test('a grouped monitor bundles what was judged', async () => {
  await using it = await startJudgingFixture({ filter: { group: true, group_window_s: 300 } })
  await it.find('cat one', 'cat two')
  await it.run()
  for (let i = 0; i < 6; i++) await it.fixture.check()

  const [row] = it.fixture.deliveries()
  if (row === undefined) throw new Error('there is no bundle')
  const { items } = it.fixture.payload(row)
  expect(items.map((item: any) => item.judgement.status)).toEqual(['judged', 'judged'])
  expect(it.breaches()).toEqual([])
})

test.each(['deliver', 'hold'])('when_down is %s and the model is down', async (when_down) => {
  await using it = await startJudgingFixture({ relevance: { when_down } })
  it.answer(unreachable)
  await it.find('a cat', 'a dog')
  await it.run()

  if (when_down === 'hold') {
    expect(it.sent()).toEqual([])
    expect(it.waiting()).toBe(2)
    // The model is back: both are judged, and one of them is withheld.
    it.answer(async (body) =>
      completion({ score: itemIn(body)['title'] === 'a cat' ? 1 : 0, reason: 'x' }),
    )
    await it.after(10 * S)
    await it.after(10 * S)
  }

  expect(it.waiting()).toBe(0)
  expect(it.sent().map(({ status, title }) => `${status} ${title}`)).toEqual(
    when_down === 'hold'
      ? ['pending a cat', 'suppressed a dog']
      : ['pending a cat', 'pending a dog'],
  )
  if (when_down === 'deliver')
    expect(it.sent()[0]?.judgement).toEqual({
      status: 'unavailable',
      score: null,
      min_score: 0.5,
      reason: null,
      model: null,
      cached: false,
      fault: 'unreachable',
    })
  expect(it.breaches()).toEqual([])
})

test('a model that stays down gets fewer and fewer calls', async () => {
  await using it = await startJudgingFixture({ relevance: { when_down: 'hold' } })
  it.answer(unreachable)
  await it.find('a cat')
  for (let i = 0; i < 4 * 60; i++) await it.after(MINUTE)

  expect(it.requests.length).toBeGreaterThan(20)
  expect(it.requests.length).toBeLessThan(60)
  expect(it.waiting()).toBe(1)
  // None of them reached the service.
  expect(it.day()).toMatchObject({ calls: 0, tokens: 0, cost_micros: 0 })
})

const LIES: [string, unknown][] = [
  ['a score above 1', { score: 1.5, reason: 'x' }],
  ['a negative score', { score: -0.1, reason: 'x' }],
  ['a score as text', { score: '0.9', reason: 'x' }],
  ['no score', { reason: 'x' }],
  ['no reason', { score: 0.9 }],
  ['a further field', { score: 0.9, reason: 'x', deliver: true }],
  ['a list of verdicts', [{ score: 0.9, reason: 'x' }]],
  ['text around the object', 'Sure! {"score": 0.9, "reason": "x"}'],
  ['two objects', '{"score": 0.1, "reason": "x"} {"score": 0.9, "reason": "y"}'],
  ['nothing', ''],
  ['null', 'null'],
  ['NaN', '{"score": NaN, "reason": "x"}'],
  ['a huge reason beyond the bound', { score: 0.9, reason: 'x'.repeat(100_000) }],
]

test.each(LIES)('an answer with %s is no verdict', async (_, content) => {
  await using held = await startJudgingFixture({ relevance: { when_down: 'hold' } })
  held.answer(async () => completion(content))
  await held.find('a cat')
  await held.run()

  expect(held.sent()).toEqual([])
  expect(held.waiting()).toBe(1)
  expect(held.calls).toEqual(['invalid_answer'])

  await using delivered = await startJudgingFixture()
  delivered.answer(async () => completion(content))
  await delivered.find('a cat')
  await delivered.run()

  expect(delivered.sent()).toMatchObject([
    { status: 'pending', judgement: { status: 'unavailable', fault: 'invalid_answer' } },
  ])
})

test('an item that spoils its own answers gets fewer and fewer calls, and the others are judged', async () => {
  await using it = await startJudgingFixture({ relevance: { when_down: 'hold' } })
  it.answer(async (body) =>
    completion(itemIn(body)['title'] === 'spoiler' ? 'no' : { score: 1, reason: 'x' }),
  )
  await it.find('spoiler')
  for (let i = 0; i < 12; i++) {
    await it.find(`item ${i}`)
    await it.after(HOUR)
  }

  expect(it.sent()).toHaveLength(12)
  expect(it.waiting()).toBe(1)
  const asked = it.requests.filter((body) => itemIn(body)['title'] === 'spoiler')
  expect(asked.length).toBeGreaterThan(5)
  expect(asked.length).toBeLessThan(12)
})

test('one item that the model is slow with does not open the breaker for the others', async () => {
  await using it = await startJudgingFixture({ model: { concurrency: 1 } })
  it.answer(async (body) =>
    itemIn(body)['title'] === 'slow' ? timeout() : completion({ score: 1, reason: 'x' }),
  )
  await it.find('slow', 'a cat')
  await it.run()

  expect(it.sent().map(({ judgement }) => judgement.fault)).toEqual(['timeout', null])
})

test('a match that is delivered without a verdict waits no longer than it may', async () => {
  await using it = await startJudgingFixture({ model: { concurrency: 1, batch: 1 } })
  const waiting: (() => void)[] = []
  it.answer(
    () =>
      new Promise((resolve) => {
        waiting.push(() => resolve(completion({ score: 1, reason: 'x' })))
      }),
  )
  await it.find('one', 'two', 'three')
  await it.judging.turn()
  it.fixture.pass(301 * S)
  await it.judging.turn()
  await it.judging.turn()

  expect(it.sent().map(({ title, judgement }) => [title, judgement.fault])).toEqual([
    ['two', 'too_slow'],
    ['three', 'too_slow'],
  ])
  for (const finish of waiting) finish()
  await it.judging.idle()
  expect(it.sent()).toHaveLength(3)
})

test.each(['deliver', 'hold'])('a limit of calls is kept, and %s decides', async (when_down) => {
  await using it = await startJudgingFixture({
    relevance: { when_down },
    model: { limits: { calls: 2, tokens: 0, cost_micros: 0 } },
  })
  await it.find('cat 1', 'cat 2', 'cat 3', 'cat 4')
  await it.run()

  expect(it.requests).toHaveLength(2)
  expect(it.day()).toMatchObject({ calls: 2 })
  if (when_down === 'deliver') {
    expect(it.sent().map(({ judgement }) => judgement.fault)).toEqual(
      expect.arrayContaining([null, null, 'limit_calls', 'limit_calls']),
    )
    return
  }
  expect(it.waiting()).toBe(2)
  await it.after(11 * HOUR)
  expect(it.waiting()).toBe(2)
  // The next UTC day has limits of its own.
  await it.after(2 * HOUR)
  expect(it.waiting()).toBe(0)
  expect(it.requests).toHaveLength(4)
})

test('tokens are reserved at the most they can be, and settled by the answer', async () => {
  await using it = await startJudgingFixture({
    model: { concurrency: 1, prices: { input: 1_000_000, output: 2_000_000 } },
  })
  let during: unknown
  it.answer(async () => {
    during = it.day()
    return completion({ score: 1, reason: 'x' }, { prompt_tokens: 150, completion_tokens: 10 })
  })
  await it.find('a cat')
  await it.run()

  const [body = ''] = it.requests
  const { messages } = JSON.parse(body)
  const bytes = messages.reduce((n: number, m: any) => n + Buffer.byteLength(m.content), 0)
  expect(during).toEqual({ calls: 1, tokens: bytes + 64 + 300, cost_micros: bytes + 64 + 600 })
  expect(it.day()).toEqual({ calls: 1, tokens: 160, cost_micros: 170 })
})

test.each([
  ['no usage', null],
  ['a usage that is no number', { prompt_tokens: 'few', completion_tokens: 1 }],
  ['a negative usage', { prompt_tokens: -5000, completion_tokens: 1 }],
])('an answer with %s is counted at the most it can be', async (_, usage) => {
  await using it = await startJudgingFixture()
  it.answer(async () => completion({ score: 1, reason: 'x' }, usage))
  await it.find('a cat')
  await it.run()

  const { messages } = JSON.parse(it.requests[0] ?? '')
  const bytes = messages.reduce((n: number, m: any) => n + Buffer.byteLength(m.content), 0)
  expect(it.day()?.tokens).toBe(bytes + 64 + 300)
})

test('a service that charges more than a call can cost stops within the limit', async () => {
  const limit = 100_000
  await using it = await startJudgingFixture({
    relevance: { when_down: 'hold' },
    model: { concurrency: 1, limits: { calls: 0, tokens: limit, cost_micros: 0 } },
  })
  it.answer(async () =>
    completion({ score: 1, reason: 'x' }, { prompt_tokens: 30_000, completion_tokens: 10_000 }),
  )
  await it.find(...Array.from({ length: 10 }, (_, n) => `cat ${n}`))
  await it.run()

  // The second call is reserved at what the first one has cost; a third does not fit.
  expect(it.requests).toHaveLength(2)
  expect(it.day()?.tokens).toBe(80_000)
  expect(it.waiting()).toBe(8)
  expect(it.fixture.events.map(({ event }) => event)).toContain('relevance.overcharged')
})

test('many calls at once stay within every limit', async () => {
  await using it = await startJudgingFixture({
    relevance: { when_down: 'hold' },
    model: {
      concurrency: 16,
      limits: { calls: 0, tokens: 0, cost_micros: 20_000 },
      prices: { input: 1_000_000, output: 4_000_000 },
    },
  })
  let most = 0
  it.answer(async () => {
    most = Math.max(most, it.day()?.cost_micros ?? 0)
    return completion({ score: 1, reason: 'x' }, { prompt_tokens: 400, completion_tokens: 300 })
  })
  await it.find(...Array.from({ length: 60 }, (_, n) => `cat ${n}`))
  await it.run()

  expect(most).toBeGreaterThan(10_000)
  expect(most).toBeLessThanOrEqual(20_000)
  expect(it.day()?.cost_micros).toBeLessThanOrEqual(20_000)
  expect(it.waiting() + it.sent().length).toBe(60)
})

test('the same text and prompt are judged once, until the verdict is too old', async () => {
  await using it = await startJudgingFixture()
  await it.find('a cat')
  await it.run()
  await it.find('a cat')
  await it.run()

  expect(it.requests).toHaveLength(1)
  expect(it.sent().map(({ judgement }) => judgement.cached)).toEqual([false, true])

  await it.after(25 * HOUR)
  await it.find('a cat')
  await it.run()
  expect(it.requests).toHaveLength(2)
})

test('a changed prompt is a new question', async () => {
  await using it = await startJudgingFixture()
  await it.find('a cat')
  await it.run()
  it.fixture.edit('mon_1', { relevance: { prompt: 'only black cats' } })
  await it.find('a cat')
  await it.run()

  expect(it.requests).toHaveLength(2)
  expect(it.requests[1]).toContain('only black cats')
})

test('a kill during a call loses nothing, and counts the call that may be billed', async () => {
  await using it = await startJudgingFixture({ model: { concurrency: 2 } })
  it.answer(() => new Promise(() => {}))
  await it.find('cat 1', 'cat 2', 'cat 3')
  await it.judging.turn()
  expect(it.requests).toHaveLength(2)
  it.kill()

  expect(it.waiting()).toBe(3)
  expect(it.day()).toMatchObject({ calls: 2 })
  it.answer(async () => completion({ score: 1, reason: 'x' }))
  await it.run()

  expect(it.waiting()).toBe(0)
  expect(
    it
      .sent()
      .map(({ title }) => title)
      .toSorted(),
  ).toEqual(['cat 1', 'cat 2', 'cat 3'])
  // Two calls were cut off, and three were made.
  expect(it.day()).toMatchObject({ calls: 5 })
  expect(it.breaches()).toEqual([])
})

test('without a model when_down decides', async () => {
  await using delivered = await startJudgingFixture({ model: null })
  await delivered.find('a cat')
  await delivered.run()
  expect(delivered.sent()).toMatchObject([{ judgement: { fault: 'not_configured' } }])

  await using held = await startJudgingFixture({ model: null, relevance: { when_down: 'hold' } })
  await held.find('a cat')
  await held.run()
  expect(held.waiting()).toBe(1)
  expect(held.sent()).toEqual([])
})

test('rules that are removed release what waits', async () => {
  await using it = await startJudgingFixture({ model: null, relevance: { when_down: 'hold' } })
  await it.find('a cat')
  await it.run()
  it.fixture.edit('mon_1', { relevance: null })
  await it.run()

  expect(it.sent()).toMatchObject([{ status: 'pending', title: 'a cat' }])
  expect(it.sent()[0]?.judgement).toBeUndefined()
})

test('matches of a removed monitor are suppressed, and the model is not asked', async () => {
  await using it = await startJudgingFixture({ model: null, relevance: { when_down: 'hold' } })
  await it.find('a cat')
  removeMonitorOf(it.fixture.db, CUSTOMER, 'mon_1', it.fixture.clock.now())
  await it.run()

  expect(it.sent()).toMatchObject([{ status: 'suppressed', reason: 'unjudged' }])
  expect(it.requests).toEqual([])
})

test('a match that is held until its content is to be erased stays listed as unjudged', async () => {
  await using it = await startJudgingFixture({
    relevance: { when_down: 'hold' },
    retention_ms: 30 * 24 * HOUR,
  })
  it.answer(unreachable)
  await it.find('a cat')
  for (let day = 0; day < 29; day++) await it.after(24 * HOUR)
  expect(it.waiting()).toBe(1)
  await it.after(24 * HOUR)

  expect(it.waiting()).toBe(0)
  expect(it.sent()).toMatchObject([{ status: 'suppressed', reason: 'unjudged' }])
})

test('an erased item leaves the queue and the cache, and a verdict that comes later is dropped', async () => {
  await using it = await startJudgingFixture()
  await it.find('a cat')
  await it.run()
  let finish: (() => void) | null = null
  it.answer(
    () =>
      new Promise((resolve) => {
        finish = () => resolve(completion({ score: 1, reason: 'SECRET words' }))
      }),
  )
  await it.find('a secret cat')
  await it.judging.turn()
  const erase = (...ids: string[]) =>
    eraseItems(
      {
        db: it.fixture.db,
        instance_id: 'instance',
        community: 'subforum',
        clock_offset_ms: () => 0,
      },
      ids.map((item_id) => ({ item_id, reason: 'author' as const })),
      it.fixture.clock.now(),
    )
  erase('t3_1', 't3_2')
  const end = finish as (() => void) | null
  end?.()
  await it.judging.idle()

  expect(it.waiting()).toBe(0)
  expect(it.sent()).toHaveLength(1)
  expect(it.fixture.one('SELECT count(*) AS n FROM judgements WHERE reason IS NOT NULL')).toEqual({
    n: 0,
  })
  expect(JSON.stringify(it.sent())).not.toContain('it has a cat')
  // The erased verdict is not used again.
  it.answer(async () => completion({ score: 1, reason: 'x' }))
  await it.find('a cat')
  await it.run()
  expect(it.requests).toHaveLength(3)
})

test('a service that refuses a schema gets a request without one, and the match is judged', async () => {
  await using it = await startJudgingFixture({ model: { concurrency: 1 } })
  it.answer(async (body) =>
    'response_format' in JSON.parse(body)
      ? { kind: 'answered', status: 400, body: '{"error":"response_format"}', retry_after_s: null }
      : completion('```json\n{"score": 1, "reason": "x"}\n```'),
  )
  await it.find('cat 1', 'cat 2')
  await it.run()

  expect(it.sent().map(({ judgement }) => judgement.status)).toEqual(['judged', 'judged'])
  expect(it.requests).toHaveLength(3)
})

test('a refusal of one item after an answer changes neither the form nor the model for others', async () => {
  await using it = await startJudgingFixture({ model: { concurrency: 1 } })
  it.answer(async (body) =>
    itemIn(body)['title'] === 'refused'
      ? { kind: 'answered', status: 400, body: '', retry_after_s: null }
      : completion({ score: 1, reason: 'x' }),
  )
  await it.find('cat 1', 'refused', 'cat 2')
  await it.run()

  expect(it.sent().map(({ judgement }) => judgement.fault)).toEqual([null, 'refused', null])
  expect(it.requests.every((body) => 'response_format' in JSON.parse(body))).toBe(true)
})

test('Retry-After of a service is waited for', async () => {
  await using it = await startJudgingFixture({ relevance: { when_down: 'hold' } })
  it.answer(async () => ({ kind: 'answered', status: 429, body: '', retry_after_s: 600 }))
  await it.find('a cat')
  await it.run()
  await it.after(590 * S)
  expect(it.requests).toHaveLength(1)
  await it.after(70 * S)
  expect(it.requests).toHaveLength(2)
})

test('upkeep deletes verdicts after the retention, and old days of the model', async () => {
  await using it = await startJudgingFixture()
  await it.find('a cat', 'a dog')
  await it.run()
  const stopping = new AbortController()
  const upkeep = createUpkeep({
    db: it.fixture.db,
    clock: it.fixture.clock,
    signal: stopping.signal,
    retention_days: 30,
  })
  const count = () =>
    it.fixture.one<{ n: number; days: number }>(
      'SELECT (SELECT count(*) FROM judgements) AS n, (SELECT count(*) FROM relevance_days) AS days',
    )
  it.fixture.pass(29 * 24 * HOUR)
  await upkeep()
  expect(count()).toEqual({ n: 2, days: 1 })
  it.fixture.pass(2 * 24 * HOUR)
  await upkeep()
  expect(count()).toEqual({ n: 0, days: 1 })
  it.fixture.pass(400 * 24 * HOUR)
  await upkeep()
  expect(count()).toEqual({ n: 0, days: 0 })
})

/** A match whose call is under way; `end` answers it. */
async function startCall(title: string) {
  const it = await startJudgingFixture()
  const answers: (() => void)[] = []
  it.answer(
    () =>
      new Promise((resolve) => {
        answers.push(() => resolve(completion({ score: 1, reason: 'old words' })))
      }),
  )
  await it.find(title)
  await it.judging.turn()
  const end = async () => {
    it.answer(async () => completion({ score: 0, reason: 'new words' }))
    for (const answer of answers) answer()
    await it.run()
  }
  return { it, end }
}

test('rules that change during a call apply to its match', async () => {
  const { it, end } = await startCall('a cat')
  await using _ = it
  it.fixture.edit('mon_1', { relevance: { prompt: 'dogs' } })
  await end()

  expect(it.requests).toHaveLength(2)
  expect(it.sent()).toMatchObject([{ status: 'suppressed', judgement: { reason: 'new words' } }])
})

test('a monitor that is removed during a call sends nothing', async () => {
  const { it, end } = await startCall('a cat')
  await using _ = it
  removeMonitorOf(it.fixture.db, CUSTOMER, 'mon_1', it.fixture.clock.now())
  await end()

  expect(it.requests).toHaveLength(1)
  expect(it.sent()).toMatchObject([{ status: 'suppressed', reason: 'unjudged' }])
})

test('an author who is erased during a call is not delivered', async () => {
  const { it, end } = await startCall('a cat')
  await using _ = it
  const before = it.fixture.one<{ body: string }>('SELECT body FROM relevance_waiting')
  const { author } = JSON.parse(before?.body ?? '')
  eraseItems(
    { db: it.fixture.db, instance_id: 'instance', community: 'subforum', clock_offset_ms: () => 0 },
    [{ item_id: 't3_1', reason: 'author_gone' }],
    it.fixture.clock.now(),
  )
  await end()

  expect(it.sent()).toHaveLength(1)
  expect(
    JSON.stringify(it.fixture.deliveries().map((row) => it.fixture.payload(row))),
  ).not.toContain(`"${author}"`)
})

test('a match that is delivered late is checked for its deletion as long as its body is stored', async () => {
  await using it = await startJudgingFixture({ relevance: { when_down: 'hold' } })
  it.answer(unreachable)
  await it.find('a cat')
  for (let day = 0; day < 20; day++) await it.after(24 * HOUR)
  it.answer(async () => completion({ score: 1, reason: 'x' }))
  await it.after(HOUR)

  expect(it.sent()).toHaveLength(1)
  const kept = it.fixture.one<{ last_kept_at: number }>('SELECT last_kept_at FROM kept_items')
  expect(kept?.last_kept_at).toBe(it.fixture.clock.now())
})

test('behind a long queue of held matches others wait no longer than they may', async () => {
  await using it = await startJudgingFixture({
    relevance: { when_down: 'hold' },
    model: { concurrency: 1, batch: 1 },
  })
  it.answer(() => new Promise(() => {}))
  await it.find(...Array.from({ length: 20 }, (_, n) => `held ${n}`))
  it.fixture.edit('mon_1', { filter_spec: { subforum: ['cats'], include_any: ['held'] } })
  it.fixture.monitor(
    'mon_2',
    { subforum: ['cats'], include_any: ['eager'] },
    { relevance: { prompt: 'cats', when_down: 'deliver' } },
  )
  await it.fixture.pollDue()
  await it.find('an eager cat')
  await it.judging.turn()
  expect(it.sent()).toEqual([])
  it.fixture.pass(301 * S)
  await it.judging.turn()

  expect(it.sent().map(({ title, judgement }) => [title, judgement.fault])).toEqual([
    ['an eager cat', 'too_slow'],
  ])
  expect(it.waiting()).toBe(20)
})

test('overdue matches are found by index, however many are held', async () => {
  await using it = await startJudgingFixture()
  const plan = it.fixture.db
    .query<{ detail: string }, [number]>(
      `EXPLAIN QUERY PLAN SELECT w.item_id FROM monitors m INDEXED BY monitors_relevance
         CROSS JOIN relevance_waiting w INDEXED BY relevance_waiting_since
                 ON w.monitor_id = m.id AND w.since_at <= ? WHERE m.relevance IS NOT NULL`,
    )
    .all(0)
    .map(({ detail }) => detail)

  expect(plan.filter((step) => step.startsWith('SCAN')).length).toBe(1)
  expect(plan.join()).toContain('relevance_waiting_since (monitor_id=? AND since_at<?)')
})
