import { expect, test } from 'bun:test'

import { post, START, startMonitorFixture } from './fixture.ts'

const S = 1000

/** A fixture in which other monitors watch the place already, and have seen its rows. */
async function busy() {
  const fixture = startMonitorFixture()
  fixture.webhook('wh_1')
  fixture.monitor('mon_other', { subforum: ['cats'] })
  await fixture.pollDue()
  return fixture
}

test('a monitor matches from the second of its creation', async () => {
  await using fixture = startMonitorFixture()
  fixture.webhook('wh_1')
  fixture.pass(700)
  fixture.feed.put('cats', post(1, 'before', START - S), post(2, 'in that second', START))
  fixture.monitor('mon_1', { subforum: ['cats'] })
  await fixture.pollDue()

  expect(fixture.titles()).toEqual(['in that second'])
})

test('the first poll of a monitor matches rows that other monitors have seen, once', async () => {
  await using fixture = await busy()
  fixture.pass(60 * S)
  const now = fixture.clock.now()
  fixture.feed.put('cats', post(1, 'before', now - S), post(2, 'in that second', now))
  await fixture.pollDue()
  fixture.pass(500)
  fixture.monitor('mon_1', { subforum: ['cats'] })
  await fixture.check()
  await fixture.check()

  expect(fixture.titles('mon_1')).toEqual(['in that second'])
})

test('items created while a monitor was paused are never delivered', async () => {
  await using fixture = await busy()
  fixture.monitor('mon_1', { subforum: ['cats'] })
  await fixture.check()
  fixture.edit('mon_1', { active: false })
  fixture.feed.put('cats', post(1, 'seen by the other', fixture.clock.now()))
  await fixture.check()
  fixture.feed.put('cats', post(2, 'not seen', fixture.clock.now()))
  fixture.pass(5 * S)
  fixture.edit('mon_1', { active: true })
  fixture.feed.put('cats', post(3, 'after', fixture.clock.now()))
  await fixture.check()

  expect(fixture.titles('mon_1')).toEqual(['after'])
  expect(fixture.titles('mon_other')).toEqual(['seen by the other', 'not seen', 'after'])
})

test('candidates from before a pause are not matched after resuming', async () => {
  await using fixture = await busy()
  fixture.monitor('mon_1', { subforum: ['cats'], min_score: 10 })
  await fixture.check()
  const now = fixture.clock.now()
  fixture.feed.put('cats', post(1, 'before the pause', now, { upvotes: 1 }))
  await fixture.check()
  fixture.edit('mon_1', { active: false })
  fixture.pass(5 * S)
  fixture.edit('mon_1', { active: true })
  const after = fixture.clock.now()
  fixture.feed.put('cats', post(2, 'after it', after, { upvotes: 1 }))
  await fixture.check()
  fixture.feed.remove('cats', 't3_1', 't3_2')
  fixture.feed.put(
    'cats',
    post(1, 'before the pause', now, { upvotes: 50 }),
    post(2, 'after it', after, { upvotes: 50 }),
  )
  await fixture.check()
  await fixture.check()
  await fixture.check()

  expect(fixture.titles('mon_1')).toEqual(['after it'])
})

test('a feed that was not polled starts over without a gap', async () => {
  await using fixture = startMonitorFixture()
  fixture.webhook('wh_1')
  fixture.feed.put('cats', ...Array.from({ length: 60 }, (_, i) => post(i + 1, 'old', START - S)))
  fixture.monitor('mon_1', { subforum: ['cats'] })
  await fixture.pollDue()
  fixture.edit('mon_1', { active: false })
  const requests_before = fixture.feed.page_requests.length
  await fixture.check()
  expect(fixture.feed.page_requests.length).toBe(requests_before)

  fixture.feed.put(
    'cats',
    ...Array.from({ length: 1500 }, (_, i) => post(100 + i, 'meanwhile', START + i * S)),
  )
  fixture.pass(1_600 * S)
  fixture.edit('mon_1', { active: true })
  fixture.feed.put('cats', post(9999, 'after', fixture.clock.now()))
  await fixture.pollDue()

  expect(fixture.titles()).toEqual(['after'])
  expect(fixture.gaps()).toEqual([])
})

test('pausing and resuming within a second delivers nothing twice', async () => {
  await using fixture = await busy()
  fixture.monitor('mon_1', { subforum: ['cats'] })
  fixture.feed.put('cats', post(1, 'once', fixture.clock.now()))
  await fixture.check()
  fixture.edit('mon_1', { active: false })
  fixture.edit('mon_1', { active: true })
  await fixture.check()

  expect(fixture.titles('mon_1')).toEqual(['once'])
})

test('an edited filter applies to what is first seen after it', async () => {
  await using fixture = await busy()
  fixture.monitor('mon_1', { subforum: ['cats'], include_any: ['fish'] })
  await fixture.check()
  fixture.feed.put('cats', post(1, 'a bird', fixture.clock.now()))
  await fixture.check()
  fixture.edit('mon_1', { filter_spec: { subforum: ['cats'], include_any: ['bird'] } })
  fixture.feed.put('cats', post(2, 'another bird', fixture.clock.now()))
  await fixture.check()

  expect(fixture.titles('mon_1')).toEqual(['another bird'])
})

test('an edit restarts only the places it adds', async () => {
  await using fixture = startMonitorFixture()
  fixture.webhook('wh_1')
  fixture.monitor('mon_1', { subforum: ['cats'] })
  await fixture.pollDue()
  fixture.feed.put('cats', post(1, 'kept place, before the edit', fixture.clock.now()))
  fixture.feed.put('dogs', post(2, 'new place, before the edit', fixture.clock.now()))
  fixture.pass(5 * S)
  fixture.edit('mon_1', { filter_spec: { subforum: ['cats', 'dogs'] } })
  fixture.feed.put('dogs', post(3, 'new place, after it', fixture.clock.now()))
  await fixture.check()

  expect(fixture.titles().toSorted()).toEqual([
    'kept place, before the edit',
    'new place, after it',
  ])
})

test('a place that an edit drops is no longer polled', async () => {
  await using fixture = startMonitorFixture()
  fixture.monitor('mon_1', { subforum: ['cats', 'dogs'] })
  await fixture.pollDue()
  fixture.edit('mon_1', { filter_spec: { subforum: ['cats'] } })
  const requests_before = fixture.feed.page_requests.length
  await fixture.check()

  expect(fixture.feed.page_requests.slice(requests_before).map(({ place }) => place)).toEqual([
    'cats',
  ])
})

test('after a baseline item everything newer is delivered, also items that others have seen', async () => {
  await using fixture = await busy()
  const at = START + 10 * S
  const rows = [post(1, 'older', at - S), post(2, 'same second, before', at)]
  const baseline = post(3, 'the baseline', at)
  fixture.feed.put(
    'cats',
    ...rows,
    baseline,
    post(4, 'same second, after', at),
    post(5, 'newer', at + S),
  )
  await fixture.check()
  fixture.monitor('mon_1', { subforum: ['cats'] }, { baseline })
  await fixture.check()

  expect(fixture.titles('mon_1')).toEqual(['same second, after', 'newer'])
})

test('a poll reads back to a baseline beyond the first page', async () => {
  await using fixture = await busy()
  const baseline = post(1, 'the baseline', START + S)
  const newer = Array.from({ length: 250 }, (_, i) => post(2 + i, `n${i}`, START + 2 * S))
  fixture.feed.put('cats', baseline, ...newer)
  await fixture.check()
  fixture.monitor('mon_1', { subforum: ['cats'] }, { baseline })
  await fixture.check()
  expect(fixture.titles('mon_1')).toHaveLength(250)

  const requests_before = fixture.feed.page_requests.length
  await fixture.check()
  expect(fixture.feed.page_requests.length - requests_before).toBe(1)
})

test.each([
  ['a search, which may end early', { q: 'cat' }, 'cat', 'listing_exhausted'],
  ['a place, which ends', { subforum: ['cats'] }, 'cats', null],
])('250 rows since its baseline exhaust %s', async (...one) => {
  const [, filter_spec, place, cut] = one
  await using fixture = startMonitorFixture()
  fixture.webhook('wh_1')
  const baseline = post(1, 'a cat', START - 300 * S)
  for (let i = 0; i < 250; i++) fixture.feed.put(place, post(2 + i, 'a cat', START - (250 - i) * S))
  fixture.monitor('mon_1', filter_spec, { baseline })
  await fixture.pollDue()
  expect(fixture.titles()).toHaveLength(250)
  expect(fixture.cuts()).toEqual([cut])
  await fixture.check()

  expect(fixture.cuts()).toEqual([cut, null])
  const gap = { reason: cut, from_at: baseline.created_utc * S, until_at: START - 250 * S }
  expect(fixture.gaps()).toMatchObject(cut === null ? [] : [gap])
})

test('a monitor created while the platform is down still gets items created since', async () => {
  await using fixture = startMonitorFixture()
  fixture.webhook('wh_1')
  fixture.feed.put('cats', post(1, 'before', START - S))
  fixture.monitor('mon_1', { subforum: ['cats'] })
  fixture.feed.faults({ kind: 'timeout' }, 1)
  await fixture.pollDue()
  fixture.feed.put(
    'cats',
    ...Array.from({ length: 150 }, (_, i) => post(2 + i, `n${i}`, START + S)),
  )
  await fixture.check()

  expect(fixture.titles()).toHaveLength(150)
  expect(fixture.gaps()).toMatchObject([{ reason: 'error', closed_at: fixture.clock.now() }])
})

test('a removed or paused monitor gets nothing from a check in progress', async () => {
  await using fixture = await busy()
  fixture.monitor('mon_1', { subforum: ['cats'] })
  await fixture.check()
  fixture.feed.put('cats', post(1, 'new', fixture.clock.now()))
  fixture.feed.meanwhile(() => fixture.edit('mon_1', { active: false }))
  await fixture.check()

  expect(fixture.titles('mon_1')).toEqual([])
  expect(fixture.titles('mon_other')).toEqual(['new'])
})

test('a feed whose last monitor is removed during a poll discards the result', async () => {
  await using fixture = startMonitorFixture()
  fixture.monitor('mon_1', { subforum: ['cats'] })
  await fixture.pollDue()
  fixture.feed.put('cats', post(1, 'new', fixture.clock.now()))
  fixture.feed.meanwhile(() => fixture.edit('mon_1', { active: false }))
  await fixture.check()

  expect(fixture.cuts()).toEqual([null])
  expect(fixture.one('SELECT count(*) AS n FROM feed_items')).toEqual({ n: 0 })
})
