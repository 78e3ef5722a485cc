import { expect, test } from 'bun:test'

import { nextDayAt } from '../../../../src/core/relevance/judgement.ts'
import { createUpkeep } from '../../../../src/monitor/maintenance.ts'
import { removeMonitorOf } from '../../../../src/store/monitoring/monitors.ts'
import { measureWaiting } from '../../../../src/store/relevance/judgements.ts'
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
  expect(it.fixture.one('SELECT body FROM messages WHERE seq IS NOT NULL')).toBeNull()
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
  expect(it.counted()).toBe(0)
})

test('an answer without a verdict leaves the match to when_down', async () => {
  const content = { score: 0.9, reason: 'x', deliver: true }
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
  await using it = await startJudgingFixture({ model: { concurrency: 1 } })
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
    model: { limits: { all: 2, customer: 0 } },
  })
  await it.find('cat 1', 'cat 2', 'cat 3', 'cat 4')
  await it.run()

  expect(it.requests).toHaveLength(2)
  expect(it.counted()).toBe(2)
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

/** A second customer with a webhook and a monitor of the same place with the word bob. */
function addBob(it: Awaited<ReturnType<typeof startJudgingFixture>>) {
  it.fixture.customer('cus_bob')
  it.fixture.webhook('wh_bob', { customer_id: 'cus_bob' })
  it.fixture.edit('mon_1', { filter_spec: { subforum: ['cats'], include_any: ['alice'] } })
  it.fixture.monitor(
    'mon_bob',
    { subforum: ['cats'], include_any: ['bob'] },
    { customer_id: 'cus_bob', relevance: { prompt: 'cats', when_down: 'hold' } },
  )
}

test('a customer with many matches leaves the others their part of the calls', async () => {
  await using it = await startJudgingFixture({
    relevance: { when_down: 'hold' },
    model: { limits: { all: 20, customer: 0 } },
  })
  addBob(it)
  await it.fixture.pollDue()
  await it.find(...Array.from({ length: 40 }, (_, n) => `alice cat ${n}`))
  await it.run()
  // Five of twenty are reserved for bob.
  expect(it.requests).toHaveLength(15)
  expect(it.waiting()).toBe(25)

  await it.find(...Array.from({ length: 6 }, (_, n) => `bob cat ${n}`))
  await it.run()
  expect(it.requests).toHaveLength(20)
  expect(it.sent().filter(({ title }) => title.startsWith('bob'))).toHaveLength(5)
  expect(measureWaiting(it.fixture.db, { customer_id: 'cus_bob' })).toMatchObject({
    waiting: 1,
    limited: 1,
    limited_until: nextDayAt(it.fixture.clock.now()),
  })
})

test('matches of customers are judged in turn, however many one has', async () => {
  await using it = await startJudgingFixture({ model: { concurrency: 1 } })
  addBob(it)
  await it.fixture.pollDue()
  await it.find(...Array.from({ length: 30 }, (_, n) => `alice cat ${n}`), 'bob 1', 'bob 2')
  await it.run()

  const titles = it.requests.slice(0, 4).map((body) => itemIn(body)['title'] ?? '')
  expect(titles.filter((title) => title.startsWith('bob'))).toEqual(['bob 1', 'bob 2'])
})

test('a limit of one customer is kept beside that of all', async () => {
  await using it = await startJudgingFixture({
    relevance: { when_down: 'hold' },
    model: { limits: { all: 0, customer: 3 } },
  })
  await it.find(...Array.from({ length: 8 }, (_, n) => `cat ${n}`))
  await it.run()

  expect(it.requests).toHaveLength(3)
  expect(it.waiting()).toBe(5)
})

test('an erased match keeps the call that was made for it', async () => {
  await using it = await startJudgingFixture({
    relevance: { when_down: 'hold' },
    model: { limits: { all: 1, customer: 0 } },
  })
  it.answer(timeout)
  await it.find('a cat')
  await it.run()
  it.erase('author', 't3_1')
  it.kill()
  await it.find('another cat')
  await it.run()

  expect(it.requests).toHaveLength(1)
  expect(it.waiting()).toBe(1)
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
  expect(it.counted()).toBe(2)
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
  expect(it.counted()).toBe(5)
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

test('an erased item leaves the queue, and a verdict that comes later is dropped', async () => {
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
  it.erase('author', 't3_1', 't3_2')
  const end = finish as (() => void) | null
  end?.()
  await it.judging.idle()

  expect(it.waiting()).toBe(0)
  expect(it.sent()).toHaveLength(1)
  expect(it.fixture.one('SELECT count(*) AS n FROM judgements WHERE reason IS NOT NULL')).toEqual({
    n: 0,
  })
  expect(JSON.stringify(it.sent())).not.toContain('it has a cat')
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

test('upkeep deletes verdicts after the retention', async () => {
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
  const count = () => it.fixture.one<{ n: number }>('SELECT count(*) AS n FROM judgements')
  it.fixture.pass(29 * 24 * HOUR)
  await upkeep()
  expect(count()).toEqual({ n: 2 })
  it.fixture.pass(2 * 24 * HOUR)
  await upkeep()
  expect(count()).toEqual({ n: 0 })
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
  const before = it.fixture.one<{ body: string }>('SELECT body FROM judgements')
  const { author } = JSON.parse(before?.body ?? '')
  it.erase('author_gone', 't3_1')
  await end()

  expect(it.sent()).toHaveLength(1)
  expect(
    JSON.stringify(it.fixture.deliveries().map((row) => it.fixture.payload(row))),
  ).not.toContain(`"${author}"`)
})

test('the reason of a verdict is erased with the author', async () => {
  await using it = await startJudgingFixture()
  it.answer(async () => completion({ score: 1, reason: 'ann writes of cats' }))
  await it.find('a cat')
  await it.run()
  const stored = () => JSON.stringify(it.fixture.db.query('SELECT * FROM judgements').all())
  expect(stored()).toContain('ann writes')
  it.erase('author_gone', 't3_1')

  expect(stored()).not.toContain('ann writes')
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
    model: { concurrency: 1 },
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
         CROSS JOIN judgements w INDEXED BY judgements_since
                 ON w.outcome IS NULL AND w.monitor_id = m.id AND w.at <= ? WHERE m.relevance IS NOT NULL`,
    )
    .all(0)
    .map(({ detail }) => detail)

  expect(plan.filter((step) => step.startsWith('SCAN')).length).toBe(1)
  expect(plan.join()).toContain('judgements_since (monitor_id=? AND at<?)')
})
