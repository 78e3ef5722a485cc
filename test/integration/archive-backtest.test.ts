// Goal: a filter is tried on past days through the API, and the answer is what its monitor would have found.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'

import { openArchive } from '../../src/store/archive/file.ts'
import { archive } from '../support/archive.ts'
import { postOf } from '../support/items.ts'
import { startTestDaemon } from '../support/test-daemon.ts'

const DAY_S = 86_400
const START = Date.parse('2026-03-01T12:00:00Z')

let house: Awaited<ReturnType<typeof startTestDaemon>>
beforeAll(async () => {
  house = await startTestDaemon({
    start_at: START,
    change(config) {
      config.limits.management_per_minute = 0
      config.limits.key_rate = 0
      for (const plan of Object.values(config.plans)) plan.daily_deliveries = 2
    },
  })
  house.sandbox.post({ subforum: 'cats', title: 'an old cat' })
  await house.clock.advance(60_000)
  const filter_spec = { subforum: 'cats', include_any: ['nothing'] }
  const { body } = await house.send('/forum/monitor/add', { filter_spec })
  using db = openArchive(join(house.dir, 'archive.sqlite'))
  const names = ['red cat', 'blue cat', 'red dog', 'green bird', 'red cat for hire']
  archive(
    db,
    // Five items a day on each of the last ten days.
    Array.from({ length: 50 }, (_, n) =>
      postOf({
        id: `x${n}`,
        name: `t3_x${n}`,
        title: names[n % 5] ?? '',
        created_utc: START / 1000 - Math.floor(n / 5) * DAY_S - 3600 - n,
      }),
    ),
    { scopes: [`m:${body.id}`] },
  )
})
afterAll(() => house[Symbol.asyncDispose]())

const titles = (rows: { title: string }[]) => new Set(rows.map(({ title }) => title))

const preview = (body: object) => house.send('/forum/monitor/preview', body)

test('matches by day, terms, samples and the expected deliveries', async () => {
  await house.send('/forum/monitor/webhook/create', { url: house.receiver.url, kind: 'webhook' })
  const { status, body } = await preview({
    filter_spec: { subforum: 'cats', include_any: ['red', 'blue'], exclude_terms: ['hire'] },
    window: '7d',
    limit: 3,
  })

  expect(status).toBe(200)
  expect(body).toMatchObject({
    matched: 21,
    truncated: false,
    estimate_per_day: 3,
    window: { basis: 'matches', scanned_until: null },
    terms: [
      { term: 'red', role: 'wanted', items: 14 },
      { term: 'blue', role: 'wanted', items: 7 },
      { term: 'hire', role: 'excluded', items: 7 },
    ],
    deliveries: {
      per_day: 3,
      targets: 1,
      daily_ceiling: 2,
      days_over_ceiling: 7,
      over_ceiling: 7,
      polls_per_day: 1440,
    },
    compare: null,
  })
  expect(body.days).toHaveLength(8)
  expect(body.days.at(-1)).toEqual({ date: '2026-03-01', matched: 3 })
  expect(body.matches.map(({ title }: { title: string }) => title)).toEqual([
    'red cat',
    'blue cat',
    'red dog',
  ])
  expect(body.matches[0].enrichment.relevance.matched_terms).toEqual(['red'])
})

test('two filters side by side', async () => {
  const { body } = await preview({
    filter_spec: { subforum: 'cats', include_any: ['red'] },
    compare: { subforum: 'cats', include_any: ['cat'] },
    window: '30d',
  })

  expect(body.matched).toBe(30)
  expect(body.compare).toMatchObject({
    filter_spec: { include_any: ['cat'] },
    matched: 30,
    both: 20,
    only_first: 10,
    only_second: 10,
  })
  expect(titles(body.compare.samples.only_first)).toEqual(new Set(['red dog']))
  expect(titles(body.compare.samples.only_second)).toEqual(new Set(['blue cat']))
})

test('nothing is known without archived items', async () => {
  const { body } = await house.call(
    '/forum/monitor/preview',
    {
      method: 'POST',
      body: JSON.stringify({ filter_spec: { q: 'cat' }, window: '30d' }),
    },
    house.mint('bob'),
  )

  expect(body).toMatchObject({
    matched: 0,
    estimate_per_day: null,
    window: { oldest: null },
    deliveries: { per_day: null },
  })
})

test.each<[object, string]>([
  [{ window: '0d' }, 'window'],
  [{ window: '91d' }, 'window'],
  [{ window: 30 }, 'window'],
  [{ compare: { q: 'a' } }, 'compare'],
  [{ window: '1d', item_id: 't3_x1' }, 'item_id'],
  [{ window: '1d', compare: { nothing: 1 } }, 'compare.nothing'],
  [{ window: '1d', compare: 5 }, 'compare'],
])('%j is refused for %s', async (fields, field) => {
  const { status, body } = await preview({ filter_spec: { q: 'cat' }, ...fields })

  expect(status).toBe(400)
  expect(body.field).toBe(field)
  expect(body.error).toContain(field)
})

test('backtests without end are slowed down', async () => {
  const statuses: number[] = []
  for (let n = 0; n < 60; n++)
    statuses.push((await preview({ filter_spec: { q: 'cat' }, window: '90d' })).status)

  expect(statuses[0]).toBe(200)
  expect(statuses).toContain(429)
  expect(new Set(statuses)).toEqual(new Set([200, 429]))
})
