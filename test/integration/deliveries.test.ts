import { expect, test } from 'bun:test'

import { envelope } from '../../src/core/delivery/envelope.ts'
import { insertDelivery } from '../../src/store/delivery/deliveries.ts'
import { startTargets } from '../support/webhooks-fixture.ts'

const PLACES = ['/forum/monitor/deliveries', '/api/forum/monitor/deliveries']
const DELIVERIES = '/forum/monitor/deliveries'

type Targets = Awaited<ReturnType<typeof startTargets>>

/** Commits deliveries as checks would, all within one millisecond. */
function put(it: Targets, ids: string[], { customer = 'cus_1', monitor = 'mon_1' } = {}) {
  for (const id of ids)
    insertDelivery(it.db, {
      id,
      customer_id: customer,
      monitor_id: monitor,
      webhook_id: null,
      status: 'suppressed',
      reason: 'stale_item',
      body: envelope({
        delivery_id: id,
        monitor_id: monitor,
        items: [{ id: 'a', title: 'Grüße' }],
        grouped: false,
        suppressed: { reason: 'stale_item', oldest_age_s: 1000, threshold_s: 900 },
      }),
      now: it.clock.now(),
    })
}

const ids = (answer: { body: { deliveries: { delivery_id: string }[] } }) =>
  answer.body.deliveries.map(({ delivery_id }) => delivery_id)

test.each(PLACES)('%s shows the outcome of a match, with the frozen payload', async (place) => {
  await using it = await startTargets()
  it.addMonitor('mon_1')
  put(it, ['dlv_1'])
  expect((await it.call(place)).body).toEqual({
    deliveries: [
      {
        delivery_id: 'dlv_1',
        monitor_id: 'mon_1',
        webhook_id: null,
        status: 'suppressed',
        attempts: 0,
        last_error: null,
        created_at: '2026-01-01T00:00:00.000Z',
        delivered_at: null,
        held_until: null,
        payload: {
          delivery_id: 'dlv_1',
          monitor_id: 'mon_1',
          count: 1,
          grouped: false,
          items: [{ id: 'a', title: 'Grüße' }],
          suppressed: { reason: 'stale_item', oldest_age_s: 1000, threshold_s: 900 },
        },
      },
    ],
  })
})

test('250 deliveries of one millisecond are paged by time, without loss or repeat', async () => {
  await using it = await startTargets()
  it.addMonitor('mon_1')
  const all = Array.from({ length: 250 }, (_, n) => `dlv_${String(n).padStart(3, '0')}`)
  put(it, all)

  const seen: string[] = []
  let before = ''
  for (let page = 0; page < 5; page++) {
    const answer = await it.call(`${DELIVERIES}?limit=100${before && `&before=${before}`}`)
    seen.push(...ids(answer))
    before = answer.body.deliveries.at(-1)?.created_at ?? before
  }
  expect(seen).toEqual(all.toReversed())
})

test('the default page has 50 rows', async () => {
  await using it = await startTargets()
  it.addMonitor('mon_1')
  put(
    it,
    Array.from({ length: 60 }, (_, n) => `dlv_${n}`),
  )
  expect(ids(await it.call(DELIVERIES))).toHaveLength(50)
  expect(ids(await it.call(`${DELIVERIES}?limit=200`))).toHaveLength(60)
})

test('filters by monitor, including a removed one, or by status', async () => {
  await using it = await startTargets()
  it.addMonitor('mon_1')
  it.addMonitor('mon_2')
  put(it, ['dlv_1'])
  put(it, ['dlv_2'], { monitor: 'mon_2' })
  it.db.run("UPDATE monitors SET removed_at = 1 WHERE id = 'mon_2'")

  expect(ids(await it.call(`${DELIVERIES}?id=mon_2`))).toEqual(['dlv_2'])
  expect(ids(await it.call(`${DELIVERIES}?status=suppressed`))).toEqual(['dlv_2', 'dlv_1'])
  expect(ids(await it.call(`${DELIVERIES}?status=delivered`))).toEqual([])
})

test("another customer's deliveries are hidden, and its monitor is the same 404 as an absent one", async () => {
  await using it = await startTargets()
  it.addMonitor('mon_1')
  put(it, ['dlv_1'])
  expect(ids(await it.call(DELIVERIES, undefined, 'cus_2'))).toEqual([])
  const foreign = await it.call(`${DELIVERIES}?id=mon_1`, undefined, 'cus_2')
  const absent = await it.call(`${DELIVERIES}?id=mon_none`, undefined, 'cus_2')
  expect([foreign.status, foreign.text]).toEqual([404, absent.text])
})

test.each([
  ['limit=0', 'limit', 'limit must be a whole number from 1 to 200'],
  ['limit=201', 'limit', 'limit must be a whole number from 1 to 200'],
  ['status=lost', 'status', 'status must be one of pending, delivered, failed, dead, suppressed'],
  [
    'before=yesterday',
    'before',
    'before must be an ISO 8601 timestamp such as 2026-01-31T12:00:00Z',
  ],
])('%s: names %s and what is allowed', async (query, field, error) => {
  await using it = await startTargets()
  expect(await it.call(`${DELIVERIES}?${query}`)).toMatchObject({
    status: 400,
    body: { field, error },
  })
})
