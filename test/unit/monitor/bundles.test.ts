import { expect, test } from 'bun:test'

import { findBreaches } from '../../../src/store/auditor.ts'
import { deleteWebhook } from '../../../src/store/webhooks.ts'
import { CUSTOMER, PLAN, post, START, startStage } from './stage.ts'

const S = 1000
const GROUPED = { subforum: ['cats'], group: true, group_window_s: 300 }

const breaches = ({ db, clock }: ReturnType<typeof startStage>) =>
  findBreaches(db, {
    now: clock.now(),
    since_at: START - S,
    boot: 'boot_1',
    instance_id: 'instance',
    attempts_max: 6,
    wait_max_ms: 1_200_000,
    in_flight: () => false,
  })

/** Two targets, of which the second is deleted while a bundle waits for it, and the time at which it closes. */
async function closed(daily_deliveries: number) {
  const stage = startStage({ plan: { ...PLAN, daily_deliveries } })
  stage.webhook('wh_1')
  stage.webhook('wh_2')
  stage.monitor('mon_1', GROUPED)
  await stage.look()
  stage.feed.put('cats', post(1, 'a cat', START + 30 * S))
  await stage.check()
  deleteWebhook(stage.db, CUSTOMER, 'wh_2', stage.clock.now())
  for (let i = 0; i < 6; i++) await stage.check()
  return stage
}

test.each([300, 0])('what is withheld is in no bundle of %i seconds', async (group_window_s) => {
  await using stage = startStage()
  stage.webhook('wh_1')
  const asked = { q: 'cat OR dog', min_relevance: 60, group: true, group_window_s }
  stage.monitor('mon_1', { subforum: ['cats'], ...asked })
  await stage.look()
  stage.feed.put('cats', post(1, 'a cat', START + 30 * S), post(2, 'cat, dog', START + 31 * S))
  for (let i = 0; i < 7; i++) await stage.check()

  expect(new Set(rows(stage).map(([, status, why]) => `${status} ${why}`))).toEqual(
    new Set(['pending null', 'suppressed low_relevance']),
  )
  expect(stage.titles('mon_1')).toEqual(['cat, dog'])
})

const rows = (stage: ReturnType<typeof startStage>) =>
  stage
    .deliveries()
    .map(({ webhook_id, status, last_error, reason }) => [webhook_id, status, last_error ?? reason])

test('what waited for a target that was deleted fails, and counts for the day as it would have', async () => {
  await using stage = await closed(10)

  expect(rows(stage)).toEqual([
    ['wh_1', 'pending', null],
    ['wh_2', 'failed', 'webhook_deleted'],
  ])
  expect(breaches(stage)).toEqual([])
})

test('beyond the ceiling it is withheld as anything else is', async () => {
  await using stage = await closed(1)

  expect(rows(stage)).toEqual([
    ['wh_1', 'pending', null],
    ['wh_2', 'suppressed', 'delivery_ceiling'],
  ])
  expect(breaches(stage)).toEqual([])
})
