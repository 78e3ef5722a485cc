// What the log and the numbers hear of deliveries, beside what becomes of them.

import { expect, test } from 'bun:test'

import { redeliver } from '../../src/store/redeliver.ts'
import { deleteWebhook } from '../../src/store/webhooks.ts'
import { type Delivering, startDelivering } from '../support/delivering.ts'

const SECOND = 1000

const pausesTold = (it: Delivering) =>
  it.events.filter(({ event }) => event === 'webhook.paused').map(({ fields }) => fields)

test('an attempt is logged with its number, and as a warning where the delivery is lost with it', async () => {
  await using it = await startDelivering({ retry_delays_s: [0, 5] })
  it.receiver.answers.push(500, 500, 400, 200)
  await it.deliver('dlv_1')
  await it.clock.advance(10 * SECOND)
  await it.deliver('dlv_2')
  await it.deliver('dlv_3')

  const told = it.events.filter(({ event }) => event === 'delivery.attempted')
  expect(told.map(({ level, fields }) => [level, fields['attempt'], fields['status']])).toEqual([
    ['debug', 1, 'pending'],
    ['warn', 2, 'dead'],
    ['warn', 1, 'failed'],
    ['debug', 1, 'delivered'],
  ])
})

test('a target is told as gone when its receiver says that, and not when it refuses one delivery', async () => {
  await using it = await startDelivering()
  it.receiver.answers.push(400, 410)
  await it.deliver('dlv_1')
  expect(pausesTold(it)).toEqual([])

  await it.deliver('dlv_2')
  expect(pausesTold(it)).toEqual([{ webhook_id: 'wh_1', reason: 'gone' }])
})

test('a target that was deleted before its receiver says that it is gone is not told as paused', async () => {
  await using it = await startDelivering()
  const release = Promise.withResolvers<void>()
  it.receiver.answers.push({ until: release.promise, status: 410 })
  await it.deliver('dlv_1')
  deleteWebhook(it.db, 'cus_1', 'wh_1', it.clock.now())
  release.resolve()
  await it.clock.advance(SECOND)

  expect(it.receiver.received).toHaveLength(1)
  expect(pausesTold(it)).toEqual([])
})

test('how soon a delivery is attempted and arrives is told of its first round alone', async () => {
  await using it = await startDelivering()
  it.receiver.answers.push(500)
  await it.deliver('dlv_1')
  await it.clock.advance(10 * SECOND)
  redeliver(it.db, {
    customer_id: 'cus_1',
    which: { delivery_id: 'dlv_1' },
    dry_run: false,
    rows_max: 1,
    now: it.clock.now(),
  })
  it.nudge()
  await it.clock.advance(0)

  expect(it.attempted.map((told) => [told.first, told.first_round, told.verdict.status])).toEqual([
    [true, true, 'pending'],
    [false, true, 'delivered'],
    [false, false, 'delivered'],
  ])
})
