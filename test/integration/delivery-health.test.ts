import { expect, test } from 'bun:test'

import { pruneWebhookHours, webhookHealth } from '../../src/store/delivery/health.ts'
import { resumeWebhook } from '../../src/store/delivery/webhooks.ts'
import { type Delivering, startDelivering } from '../support/delivery-fixture.ts'

const HOUR = 3_600_000

const healthOf = ({ db, clock }: Delivering, id = 'wh_1') => {
  const health = webhookHealth(db, 'cus_1', clock.now()).get(id)
  if (health === undefined) throw new Error(`${id} has no health`)
  return health
}

test('a receiver that fails and recovers: unused, retrying, good', async () => {
  await using it = await startDelivering()
  expect(healthOf(it)).toMatchObject({ state: 'unused', last_failure: null, next_attempt_at: null })
  it.receiver.answers.push({ status: 503, body: 'oven is cold' })
  const began = it.clock.now()
  await it.deliver('dlv_1')
  it.put('dlv_2')
  expect(healthOf(it)).toMatchObject({
    state: 'retrying',
    failing_since: began,
    last_success_at: null,
    last_failure: {
      at: began,
      delivery_id: 'dlv_1',
      reason: 'http_503',
      status_code: 503,
      body_start: 'oven is cold',
    },
    waiting: 1,
    retrying: 1,
    next_attempt_at: began,
  })
  await it.clock.advance(10_000)
  const health = healthOf(it)
  expect(health).toMatchObject({ state: 'good', failing_since: null, waiting: 0, retrying: 0 })
  expect(health.last_success_at).toBeGreaterThan(began)
  // The last error stays readable.
  expect(health.last_failure?.body_start).toBe('oven is cold')
  expect([health.succeeded.at(-1), health.failed.at(-1)]).toEqual([2, 1])
})

test('a receiver that goes on failing has failed since its first refusal', async () => {
  await using it = await startDelivering()
  it.receiver.answers.push(503, 503)
  const began = it.clock.now()
  await it.deliver('dlv_1')
  await it.clock.advance(10_000)

  const { failing_since, failed } = healthOf(it)
  expect([failing_since, failed.at(-1)]).toEqual([began, 2])
})

test('a delivery that failed or was dead-lettered is failing, until a success or a test', async () => {
  await using it = await startDelivering({ retry_delays_s: [0, 1] })
  it.receiver.answers.push({ status: 404 })
  await it.deliver('dlv_1')
  expect(healthOf(it).state).toBe('failing')
  await it.deliver('dlv_2')
  expect(healthOf(it).state).toBe('good')
  it.receiver.answers.push({ status: 500 }, { status: 500 })
  await it.deliver('dlv_3')
  expect(healthOf(it).state).toBe('retrying')
  await it.clock.advance(5000)
  expect(healthOf(it).state).toBe('failing')
  resumeWebhook(it.db, 'wh_1')
  expect(healthOf(it).state).toBe('good')
  it.receiver.answers.push({ status: 410 })
  await it.deliver('dlv_4')
  expect(healthOf(it).state).toBe('paused')
  it.db.run('UPDATE webhooks SET active = 0, paused_at = NULL, pause_reason = NULL')
  expect(healthOf(it).state).toBe('off')
})

test('attempts are counted by hour for 24 hours, oldest first, by target', async () => {
  await using it = await startDelivering()
  const other = await it.addReceiver('wh_2')
  other.answers.push({ status: 404 })
  await it.deliver('dlv_1')
  await it.deliver('dlv_2', 'wh_2')
  await it.clock.advance(23 * HOUR)
  await it.deliver('dlv_3')
  expect(healthOf(it).succeeded).toEqual([1, ...Array.from({ length: 22 }, () => 0), 1])
  expect(healthOf(it, 'wh_2').failed[0]).toBe(1)
  await it.clock.advance(HOUR)
  expect(healthOf(it).succeeded.slice(-2)).toEqual([1, 0])
  expect(healthOf(it, 'wh_2').failed).not.toContain(1)
})

test('the newest success of a target is known when its hour is counted no more', async () => {
  await using it = await startDelivering()
  await it.deliver('dlv_1')
  await it.clock.advance(2 * HOUR)
  await it.deliver('dlv_2')
  const { last_success_at } = healthOf(it)
  await it.clock.advance(48 * HOUR)
  pruneWebhookHours(it.db, it.clock.now())
  expect(healthOf(it).last_success_at).toBe(last_success_at)
  expect(it.db.query('SELECT hour FROM webhook_hours').all()).toHaveLength(1)
})

test('waiting deliveries are counted up to 1000', async () => {
  await using it = await startDelivering()
  for (let n = 0; n < 1005; n++) it.put(`dlv_${n}`)
  it.db.run(`UPDATE deliveries SET retry_index = 1
    WHERE row IN (SELECT row FROM deliveries ORDER BY row LIMIT 5)`)
  expect(healthOf(it)).toMatchObject({ waiting: 995, retrying: 5 })
})
