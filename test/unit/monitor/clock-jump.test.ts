// Goal: rows written after the clock was set, and before the jump is noticed, are not shifted with the others.

import { expect, test } from 'bun:test'

import { post, START, startMonitorFixture } from './fixture.ts'

const S = 1000
const HOUR = 3600 * S

type Fixture = ReturnType<typeof startMonitorFixture>

/** A match in a poll during which the clock is set an hour ahead. */
async function matchedWhileSet(fixture: Fixture, filter_spec: Record<string, unknown>) {
  fixture.webhook('wh_1')
  fixture.monitor('mon_1', { subforum: ['cats'], ...filter_spec })
  await fixture.pollDue()
  const item = post(1, 'a cat', START + HOUR + 50 * S)
  fixture.feed.put('cats', item)
  fixture.feed.meanwhile(() => {
    fixture.feed.meanwhile(() => {})
    fixture.jump(HOUR)
  })
  await fixture.check()
  return item
}

test('a monitor added just after the clock was set ahead is polled within its interval', async () => {
  await using fixture = startMonitorFixture()
  fixture.monitor('mon_1', { subforum: ['dogs'] })
  await fixture.pollDue()
  fixture.jump(HOUR)
  fixture.monitor('mon_2', { subforum: ['cats'] })
  await fixture.check()
  await fixture.check()

  expect(fixture.feed.page_requests.map(({ place }) => place)).toContain('cats')
})

test('a bundle opened since closes when its window ends', async () => {
  await using fixture = startMonitorFixture()
  await matchedWhileSet(fixture, { group: true, group_window_s: 120 })
  await fixture.check()
  expect(fixture.titles()).toEqual([])
  await fixture.check()
  await fixture.check()

  expect(fixture.titles()).toEqual(['a cat'])
})

test('a candidate recorded since is rechecked on schedule', async () => {
  await using fixture = startMonitorFixture()
  const item = await matchedWhileSet(fixture, { min_score: 5 })
  fixture.feed.remove('cats', item.name)
  fixture.feed.put('cats', { ...item, upvotes: 5 })
  for (let i = 0; i < 4; i++) await fixture.check()

  expect(fixture.titles()).toEqual(['a cat'])
})
