import { expect, test } from 'bun:test'

import type { Fetch } from '../../src/runtime/runtime.ts'
import { listAttempts } from '../../src/store/delivery/deliveries.ts'
import { redeliver } from '../../src/store/delivery/redeliver.ts'
import { rotateSecret, updateWebhook } from '../../src/store/delivery/webhooks.ts'
import { type Delivering, startDelivering } from '../support/delivery-fixture.ts'
import { addMonitor } from '../support/target-row.ts'

const ids = (it: Delivering) =>
  it.receiver.received.map(({ headers }) => headers.get('x-service-delivery-id'))

const editWebhook = (it: Delivering, edit: Parameters<typeof updateWebhook>[3]) =>
  updateWebhook(it.db, 'cus_1', 'wh_1', edit)

test('a target limited to two a second gets two a second', async () => {
  await using it = await startDelivering()
  editWebhook(it, { max_per_second: 2 })
  for (let n = 0; n < 5; n++) it.put(`dlv_${n}`)
  it.nudge()
  const counts: number[] = []
  for (let second = 0; second < 3; second++) {
    await it.clock.advance(second === 0 ? 0 : 1000)
    counts.push(ids(it).length)
  }
  expect(counts).toEqual([2, 4, 5])
})

test.each([3_600_000, -3_600_000])(
  'a clock change of %i ms does not change the rate',
  async (jump) => {
    await using it = await startDelivering()
    editWebhook(it, { max_per_second: 1 })
    for (let n = 0; n < 4; n++) it.put(`dlv_${n}`)
    it.nudge()
    await it.clock.advance(0)
    expect(ids(it)).toHaveLength(1)
    it.clock.jump(jump)
    it.nudge()
    await it.clock.advance(900)
    expect(ids(it)).toHaveLength(1)
    await it.clock.advance(100)
    expect(ids(it)).toHaveLength(2)
  },
)

test.each([
  ['ahead', 3_600_000, false],
  ['back', -3_600_000, false],
  // The clock change has not been observed when it is used.
  ['back just before', -3_600_000, true],
])('a clock that is set %s does not shorten an overlap of two secrets', async (_, jump, before) => {
  await using it = await startDelivering()
  const secret = new TextEncoder().encode(`whsec_${Buffer.alloc(32, 8).toString('base64')}`)
  if (before) it.clock.jump(jump)
  rotateSecret(it.db, 'cus_1', {
    id: 'wh_1',
    secret,
    until: it.clock.now() + 600_000,
    now: it.clock.now(),
  })
  const signedBy = () =>
    it.receiver.received.at(-1)?.headers.get('x-service-signature')?.match(/v1=/g)?.length
  if (!before) it.clock.jump(jump)
  await it.deliver('dlv_1')
  expect(signedBy()).toBe(2)
  await it.clock.advance(590_000)
  await it.deliver('dlv_2')
  expect(signedBy()).toBe(2)
  await it.clock.advance(20_000 + Math.max(0, -jump))
  await it.deliver('dlv_3')
  expect(signedBy()).toBe(1)
})

test('in an ordered target a delivery waits for the outcome of the previous one', async () => {
  await using it = await startDelivering()
  editWebhook(it, { ordered: true })
  it.receiver.answers.push(500)
  for (let n = 0; n < 4; n++) it.put(`dlv_${n}`)
  it.nudge()
  await it.clock.advance(4000)
  expect(ids(it)).toEqual(['dlv_0'])
  await it.clock.advance(10_000)
  expect(ids(it)).toEqual(['dlv_0', 'dlv_0', 'dlv_1', 'dlv_2', 'dlv_3'])
})

test('a permanently refused delivery does not block the next one', async () => {
  await using it = await startDelivering()
  editWebhook(it, { ordered: true })
  it.receiver.answers.push(400)
  for (let n = 0; n < 2; n++) it.put(`dlv_${n}`)
  it.nudge()
  await it.clock.advance(1000)
  expect(ids(it)).toEqual(['dlv_0', 'dlv_1'])
  expect(it.row('dlv_0').status).toBe('failed')
})

test('order is per monitor, and monitors do not wait for each other', async () => {
  await using it = await startDelivering()
  editWebhook(it, { ordered: true })
  it.receiver.answers.push(500)
  for (let n = 0; n < 2; n++) it.put(`dlv_${n}`)
  addMonitor(it.db, 'mon_2')
  it.put('dlv_other')
  it.db.run("UPDATE deliveries SET monitor_id = 'mon_2' WHERE id = 'dlv_other'")
  it.nudge()
  await it.clock.advance(1000)
  expect(new Set(ids(it))).toEqual(new Set(['dlv_0', 'dlv_other']))
  expect(ids(it)).toHaveLength(2)
})

test('a restart in the middle keeps the order', async () => {
  await using it = await startDelivering()
  editWebhook(it, { ordered: true })
  it.receiver.answers.push({ hang: true })
  for (let n = 0; n < 3; n++) it.put(`dlv_${n}`)
  it.nudge()
  await it.clock.advance(0)
  it.die()
  await it.reboot()
  await it.clock.advance(1000)
  expect(ids(it)).toEqual(['dlv_0', 'dlv_0', 'dlv_1', 'dlv_2'])
})

test.each([
  ['waits for its next attempt', 500],
  ['is on its way', { hang: true } as const],
])('a delivery that %s when ordering is enabled is sent before later ones', async (_, answer) => {
  await using it = await startDelivering()
  it.receiver.answers.push(answer)
  await it.deliver('dlv_0')
  editWebhook(it, { ordered: true })
  await it.deliver('dlv_1')
  expect(ids(it)).toEqual(['dlv_0'])
  await it.clock.advance(30_000)
  expect(ids(it)).toEqual(['dlv_0', 'dlv_0', 'dlv_1'])
})

test('redeliveries follow the current ordering of their target', async () => {
  await using it = await startDelivering()
  for (let n = 0; n < 2; n++) await it.deliver(`dlv_${n}`)
  editWebhook(it, { ordered: true })
  it.receiver.answers.push(500)
  const which = { since: 0, until: Infinity, statuses: ['delivered'], webhook_id: null } as const
  const now = it.clock.now()
  const redelivery = { customer_id: 'cus_1', which, dry_run: false, rows_max: 10, now }
  expect(redeliver(it.db, redelivery)).toEqual({ queued: 2, skipped: 0 })
  it.nudge()
  await it.clock.advance(1000)
  expect(ids(it).slice(2)).toEqual(['dlv_0'])
  await it.clock.advance(10_000)
  expect(ids(it).slice(2)).toEqual(['dlv_0', 'dlv_0', 'dlv_1'])
})

test("an attempt stores the receiver's answer, visible to its owner only", async () => {
  await using it = await startDelivering()
  it.receiver.answers.push({
    status: 500,
    body: 'queue is full',
    headers: { 'retry-after': '7', 'set-cookie': 'a=1' },
  })
  await it.deliver('dlv_1')
  await it.clock.advance(10_000)

  expect(listAttempts(it.db, 'cus_1', 'dlv_1')).toMatchObject([
    {
      n: 1,
      round: 1,
      http_status: 500,
      error: 'http_500',
      headers: { 'retry-after': '7' },
      body_start: 'queue is full',
    },
    { n: 2, http_status: 200, error: null },
  ])
  expect(JSON.stringify(listAttempts(it.db, 'cus_1', 'dlv_1'))).not.toContain('set-cookie')
  expect(listAttempts(it.db, 'cus_2', 'dlv_1')).toBeNull()
})

test('a 429 holds the target: deliveries that were not tried keep their attempts, and other targets theirs', async () => {
  await using it = await startDelivering({ concurrency: 1 })
  const other = await it.addReceiver('wh_2')
  it.receiver.answers.push({ status: 429, headers: { 'retry-after': '60' } })
  for (let n = 0; n < 4; n++) it.put(`dlv_${n}`)
  it.put('dlv_other', 'wh_2')
  it.nudge()
  await it.clock.advance(59_000)
  expect(ids(it)).toEqual(['dlv_0'])
  expect(other.received).toHaveLength(1)
  expect([1, 2, 3].map((n) => it.row(`dlv_${n}`).attempts)).toEqual([0, 0, 0])
  await it.clock.advance(1000)
  expect(ids(it)).toHaveLength(2)
  await it.clock.advance(240_000)
  expect([0, 1, 2, 3].map((n) => it.row(`dlv_${n}`).status)).toEqual(
    Array.from({ length: 4 }, () => 'delivered'),
  )
  expect(it.row('dlv_3').attempts).toBe(1)
})

test('a burst at a receiver that takes ten and then one in five seconds arrives as a whole', async () => {
  await using it = await startDelivering({
    fetch: limited({ burst: 10, every_ms: 5000 }, () => it.clock.mono()),
  })
  for (let n = 0; n < 60; n++) it.put(`dlv_${n}`)
  it.nudge()
  await it.clock.advance(400_000)
  const rows = Array.from({ length: 60 }, (_, n) => it.row(`dlv_${n}`))
  expect(rows.filter(({ status }) => status !== 'delivered')).toEqual([])
  expect(rows.reduce((sum, { attempts }) => sum + attempts, 0)).toBeLessThan(1.4 * 60)
})

/** A receiver with a token bucket, as Synapse has one. */
function limited(
  { burst, every_ms }: { burst: number; every_ms: number },
  now: () => number,
): Fetch {
  let tokens = burst
  let filled_at = -Infinity
  return () => {
    tokens = Math.min(burst, tokens + (now() - filled_at) / every_ms)
    filled_at = now()
    if (tokens >= 1) {
      tokens -= 1
      return Promise.resolve(new Response('ok'))
    }
    const wait_s = Math.ceil(((1 - tokens) * every_ms) / 1000)
    return Promise.resolve(
      new Response('', { status: 429, headers: { 'retry-after': String(wait_s) } }),
    )
  }
}
