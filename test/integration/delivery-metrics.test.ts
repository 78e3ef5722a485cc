// Log events and metrics of deliveries, besides their outcomes.

import { expect, test } from 'bun:test'

import { redeliver } from '../../src/store/delivery/redeliver.ts'
import { deleteWebhook } from '../../src/store/delivery/webhooks.ts'
import { type Delivering, startDelivering } from '../support/delivery-fixture.ts'

const SECOND = 1000

const pausesNotified = (it: Delivering) =>
  it.events.filter(({ event }) => event === 'webhook.paused').map(({ fields }) => fields)

test('each attempt is logged with its number, at debug level', async () => {
  await using it = await startDelivering({ retry_delays_s: [0, 5] })
  it.receiver.answers.push(500, 500, 400, 200)
  await it.deliver('dlv_1')
  await it.clock.advance(10 * SECOND)
  await it.deliver('dlv_2')
  await it.deliver('dlv_3')

  const attempt_events = it.events.filter(({ event }) => event === 'delivery.attempted')
  expect(
    attempt_events.map(({ level, fields }) => [level, fields['attempt'], fields['status']]),
  ).toEqual([
    ['debug', 1, 'pending'],
    ['debug', 2, 'dead'],
    ['debug', 1, 'failed'],
    ['debug', 1, 'delivered'],
  ])
})

const outageLines = (it: Delivering): Record<string, unknown>[] =>
  it.events
    .filter(({ event }) => /^webhook\.(failing|recovered)$/.test(event))
    .map(({ level, event, fields }) => ({ level, event, ...fields }))

test('a receiver that fails for 18 minutes logs its first failure and its recovery', async () => {
  await using it = await startDelivering()
  it.receiver.answers.push(...Array.from({ length: 24 }, () => 500))
  for (let n = 0; n < 6; n++) await it.deliver(`dlv_${n}`)
  expect(outageLines(it)).toEqual([
    { level: 'warn', event: 'webhook.failing', webhook_id: 'wh_1', error: 'http_500' },
  ])

  await it.clock.advance(18 * 60 * SECOND)
  expect(outageLines(it).slice(1)).toEqual([
    {
      level: 'info',
      event: 'webhook.recovered',
      webhook_id: 'wh_1',
      count: 24,
      duration_ms: expect.any(Number),
    },
  ])
})

test('several running attempts that receive a 410 log one pause', async () => {
  await using it = await startDelivering()
  const release = Promise.withResolvers<void>()
  it.receiver.answers.push(
    { until: release.promise, status: 410 },
    { until: release.promise, status: 410 },
    410,
  )
  for (const id of ['dlv_1', 'dlv_2', 'dlv_3']) it.put(id)
  it.nudge()
  await it.clock.advance(0)
  release.resolve()
  await it.clock.advance(SECOND)

  expect(it.receiver.received).toHaveLength(3)
  expect(pausesNotified(it)).toEqual([{ webhook_id: 'wh_1', reason: 'gone' }])
})

test('a process without file descriptors blames no receiver, and uses up no attempt', async () => {
  let out_of_files = true
  await using it = await startDelivering({
    fetch: (url, init) =>
      out_of_files
        ? Promise.reject(Object.assign(new TypeError('EMFILE'), { code: 'EMFILE' }))
        : fetch(url, init),
  })
  await it.deliver('dlv_1')
  await it.clock.advance(600 * SECOND)
  expect(it.row('dlv_1')).toEqual({ status: 'pending', attempts: 0, last_error: null })

  out_of_files = false
  await it.clock.advance(5 * SECOND)
  expect(it.row('dlv_1')).toEqual({ status: 'delivered', attempts: 1, last_error: null })
  expect(
    it.events
      .filter(({ event }) => event.startsWith('process.'))
      .map(({ level, event }) => [level, event]),
  ).toEqual([
    ['error', 'process.out_of_files'],
    ['info', 'process.files_recovered'],
  ])
  expect(outageLines(it)).toEqual([])
})

test('a target is reported as gone after a 410, and not after one refused delivery', async () => {
  await using it = await startDelivering()
  it.receiver.answers.push(400, 410)
  await it.deliver('dlv_1')
  expect(pausesNotified(it)).toEqual([])

  await it.deliver('dlv_2')
  expect(pausesNotified(it)).toEqual([{ webhook_id: 'wh_1', reason: 'gone' }])
})

test('a target deleted before its 410 is not reported as paused', async () => {
  await using it = await startDelivering()
  const release = Promise.withResolvers<void>()
  it.receiver.answers.push({ until: release.promise, status: 410 })
  await it.deliver('dlv_1')
  deleteWebhook(it.db, 'cus_1', 'wh_1', it.clock.now())
  release.resolve()
  await it.clock.advance(SECOND)

  expect(it.receiver.received).toHaveLength(1)
  expect(pausesNotified(it)).toEqual([])
})

test('delivery latency metrics count the first round only', async () => {
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

  expect(
    it.attempted.map((attempt) => [attempt.first, attempt.is_original, attempt.verdict.status]),
  ).toEqual([
    [true, true, 'pending'],
    [false, true, 'delivered'],
    [false, false, 'delivered'],
  ])
})
