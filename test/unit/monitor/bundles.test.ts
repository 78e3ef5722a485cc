import { expect, test } from 'bun:test'

import { deleteWebhook } from '../../../src/store/delivery/webhooks.ts'
import { findBreaches } from '../../support/invariants.ts'
import { CUSTOMER, PLAN, post, START, startMonitorFixture } from './fixture.ts'

const S = 1000
const GROUPED = { subforum: ['cats'], group: true, group_window_s: 300 }

const breaches = ({ db, clock }: ReturnType<typeof startMonitorFixture>) =>
  findBreaches(db, {
    now: clock.now(),
    since_at: START - S,
    instance_id: 'instance',
  })

/** Two targets, of which the second is deleted while a bundle waits for it, and the closing time of the bundle. */
async function closed(daily_deliveries: number) {
  const fixture = startMonitorFixture({ plan: { ...PLAN, daily_deliveries } })
  fixture.webhook('wh_1')
  fixture.webhook('wh_2')
  fixture.monitor('mon_1', GROUPED)
  await fixture.pollDue()
  fixture.feed.put('cats', post(1, 'a cat', START + 30 * S))
  await fixture.check()
  deleteWebhook(fixture.db, CUSTOMER, 'wh_2', fixture.clock.now())
  for (let i = 0; i < 6; i++) await fixture.check()
  return fixture
}

test.each([300, 0])('suppressed matches are in no bundle of %i seconds', async (group_window_s) => {
  await using fixture = startMonitorFixture()
  fixture.webhook('wh_1')
  const filter = { q: 'cat OR dog', min_relevance: 60, group: true, group_window_s }
  fixture.monitor('mon_1', { subforum: ['cats'], ...filter })
  await fixture.pollDue()
  fixture.feed.put('cats', post(1, 'a cat', START + 30 * S), post(2, 'cat, dog', START + 31 * S))
  for (let i = 0; i < 7; i++) await fixture.check()

  expect(new Set(rows(fixture).map(([, status, why]) => `${status} ${why}`))).toEqual(
    new Set(['pending null', 'suppressed low_relevance']),
  )
  expect(fixture.titles('mon_1')).toEqual(['cat, dog'])
})

const rows = (fixture: ReturnType<typeof startMonitorFixture>) =>
  fixture
    .deliveries()
    .map(({ webhook_id, status, last_error, reason }) => [webhook_id, status, last_error ?? reason])

test("a bundle for a deleted target fails and still counts toward the day's ceiling", async () => {
  await using fixture = await closed(10)

  expect(rows(fixture)).toEqual([
    ['wh_1', 'pending', null],
    ['wh_2', 'failed', 'webhook_deleted'],
  ])
  expect(breaches(fixture)).toEqual([])
})

test('beyond the ceiling a bundle is suppressed like a single match', async () => {
  await using fixture = await closed(1)

  expect(rows(fixture)).toEqual([
    ['wh_1', 'pending', null],
    ['wh_2', 'suppressed', 'delivery_ceiling'],
  ])
  expect(breaches(fixture)).toEqual([])
})
