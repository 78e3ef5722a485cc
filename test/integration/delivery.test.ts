import { expect, test } from 'bun:test'

import { transact } from '../../src/store/db/connection.ts'
import { deleteWebhook, updateWebhook } from '../../src/store/delivery/webhooks.ts'
import { startDelivering } from '../support/delivery-fixture.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** A week is ten thousand iterations of an idle sender, so these tests may take long. */
const WEEK_MAX_MS = 60_000

test('a match reaches its receiver at once, signed, with the committed bytes', async () => {
  await using it = await startDelivering()
  await it.deliver('dlv_1')

  const [request] = it.receiver.received
  expect(it.receiver.received).toHaveLength(1)
  expect(request?.text).toBe(
    '{"delivery_id":"dlv_1","monitor_id":"mon_1","count":1,"grouped":false,"items":[{"id":"a","kind":"post"}]}',
  )
  expect(request?.headers.get('x-service-delivery-id')).toBe('dlv_1')
  expect(request?.headers.get('host')).toBe(`receiver.test:${it.receiver.port}`)
  expect(it.row('dlv_1')).toEqual({ status: 'delivered', attempts: 1, last_error: null })
})

test('a failing receiver is retried on schedule and dead-lettered after six attempts', async () => {
  await using it = await startDelivering()
  it.receiver.answers.push(500, 503, 429, 504, 500, 502)
  await it.deliver('dlv_1')
  const attempts = [it.receiver.received.length]
  for (const delay_s of [5, 30, 120, 300, 780]) {
    await it.clock.advance(delay_s * SECOND - 1)
    attempts.push(it.receiver.received.length)
    await it.clock.advance(1)
    attempts.push(it.receiver.received.length)
  }

  expect(attempts).toEqual([1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6])
  expect(it.row('dlv_1')).toEqual({ status: 'dead', attempts: 6, last_error: 'http_502' })
  await it.clock.advance(DAY)
  expect(it.receiver.received).toHaveLength(6)
})

test('every attempt of a delivery has the same id and bytes, and its own timestamp and signature', async () => {
  await using it = await startDelivering()
  it.receiver.answers.push(500, 500)
  await it.deliver('dlv_1')
  await it.clock.advance(MINUTE)

  const { received } = it.receiver
  const values = (name: string) => new Set(received.map(({ headers }) => headers.get(name)))
  expect(received).toHaveLength(3)
  expect(new Set(received.map(({ text }) => text)).size).toBe(1)
  expect(values('x-service-delivery-id').size).toBe(1)
  expect(values('x-service-timestamp').size).toBe(3)
  expect(values('x-service-signature').size).toBe(3)
})

test('a redirect is not followed, and ends the delivery after one attempt', async () => {
  await using it = await startDelivering()
  it.receiver.answers.push({ status: 302, headers: { location: '/elsewhere' } })
  await it.deliver('dlv_1')
  await it.clock.advance(HOUR)

  expect(it.receiver.received).toHaveLength(1)
  expect(it.row('dlv_1')).toEqual({ status: 'failed', attempts: 1, last_error: 'http_302' })
})

test('another 4xx ends the delivery after one attempt', async () => {
  await using it = await startDelivering()
  it.receiver.answers.push(404)
  await it.deliver('dlv_1')
  await it.clock.advance(HOUR)

  expect(it.receiver.received).toHaveLength(1)
  expect(it.row('dlv_1')).toEqual({ status: 'failed', attempts: 1, last_error: 'http_404' })
})

test('Retry-After delays an attempt, by at most 780 seconds', async () => {
  await using it = await startDelivering()
  it.receiver.answers.push({ status: 503, headers: { 'retry-after': '60' } })
  it.receiver.answers.push({ status: 429, headers: { 'retry-after': '86400' } })
  await it.deliver('dlv_1')

  await it.clock.advance(59 * SECOND)
  expect(it.receiver.received).toHaveLength(1)
  await it.clock.advance(SECOND)
  expect(it.receiver.received).toHaveLength(2)
  await it.clock.advance(779 * SECOND)
  expect(it.receiver.received).toHaveLength(2)
  await it.clock.advance(SECOND)
  expect(it.row('dlv_1').status).toBe('delivered')
})

test('Retry-After may be an HTTP date, in true time', async () => {
  const ahead = 2 * HOUR
  await using it = await startDelivering({ clock_offset_ms: ahead })
  const date = new Date(it.clock.now() + ahead).toUTCString()
  const at = new Date(it.clock.now() + ahead + 90 * SECOND).toUTCString()
  it.receiver.answers.push({ status: 503, headers: { date, 'retry-after': at } })
  await it.deliver('dlv_1')

  await it.clock.advance(89 * SECOND)
  expect(it.receiver.received).toHaveLength(1)
  await it.clock.advance(SECOND)
  expect(it.row('dlv_1').status).toBe('delivered')
})

test('a receiver that never answers is a timeout, and is retried', async () => {
  await using it = await startDelivering()
  it.receiver.answers.push({ hang: true })
  await it.deliver('dlv_1')
  await it.clock.advance(11 * SECOND)

  expect(it.row('dlv_1')).toEqual({ status: 'pending', attempts: 1, last_error: 'timeout' })
  await it.clock.advance(MINUTE)
  expect(it.row('dlv_1').status).toBe('delivered')
})

test('a 2xx with an endless body is delivered', async () => {
  await using it = await startDelivering()
  it.receiver.answers.push({ drip: true })
  await it.deliver('dlv_1')
  await it.clock.advance(11 * SECOND)

  expect(it.row('dlv_1')).toEqual({ status: 'delivered', attempts: 1, last_error: null })
})

test('a dead receiver with thousands pending delays no other', async () => {
  await using it = await startDelivering({ concurrency: 8 })
  const slow = await it.addReceiver('wh_0')
  it.db.transaction(() => {
    for (let n = 0; n < 2000; n++) it.put(`dlv_slow_${n}`, 'wh_0')
  })()
  for (let n = 0; n < 8; n++) slow.answers.push({ hang: true })
  it.nudge()
  await it.clock.advance(0)
  await it.deliver('dlv_1', 'wh_1')

  expect(slow.received).toHaveLength(4)
  expect(it.row('dlv_1').status).toBe('delivered')
})

test('deliveries of two busy targets alternate', async () => {
  await using it = await startDelivering({ concurrency: 2 })
  const other = await it.addReceiver('wh_2')
  for (let n = 0; n < 10; n++) it.put(`dlv_a${n}`, 'wh_1')
  for (let n = 0; n < 10; n++) it.put(`dlv_b${n}`, 'wh_2')
  const release = Promise.withResolvers<void>()
  it.receiver.answers.push({ until: release.promise })
  other.answers.push({ until: release.promise })
  it.nudge()
  await it.clock.advance(0)

  expect([it.receiver.received.length, other.received.length]).toEqual([1, 1])
  release.resolve()
  await it.clock.advance(0)
  expect([it.receiver.received.length, other.received.length]).toEqual([10, 10])
})

test('a target gets at most four attempts at once', async () => {
  await using it = await startDelivering()
  const release = Promise.withResolvers<void>()
  for (let n = 0; n < 9; n++) {
    it.receiver.answers.push({ until: release.promise })
    it.put(`dlv_${n}`)
  }
  it.nudge()
  await it.clock.advance(0)

  expect(it.receiver.received).toHaveLength(4)
  release.resolve()
  await it.clock.advance(0)
  expect(it.rows().filter(({ status }) => status === 'delivered')).toHaveLength(9)
})

test('a 410 response pauses the target, fails its pending deliveries and stops sending', async () => {
  await using it = await startDelivering({ per_target_concurrency: 1 })
  it.receiver.answers.push(410)
  it.put('dlv_1')
  await it.clock.advance(1)
  await it.deliver('dlv_2')
  await it.clock.advance(HOUR)

  expect(it.receiver.received).toHaveLength(1)
  expect(it.row('dlv_1')).toEqual({ status: 'failed', attempts: 1, last_error: 'http_410' })
  expect(it.row('dlv_2')).toEqual({ status: 'failed', attempts: 0, last_error: 'webhook_paused' })
  expect(it.webhook()).toMatchObject({ pause_reason: 'gone' })
})

test(
  'a target is paused after a week in which every delivery failed, and not a minute before',
  async () => {
    await using it = await startDelivering()
    for (let day = 0; day < 7; day++) {
      it.receiver.answers.push(400)
      await it.deliver(`dlv_${day}`)
      await it.clock.advance(day < 6 ? DAY : DAY - MINUTE)
    }
    expect(it.webhook()).toEqual({ paused_at: null, pause_reason: null })

    await it.clock.advance(2 * MINUTE)
    expect(it.webhook()).toMatchObject({ pause_reason: 'failing' })
  },
  WEEK_MAX_MS,
)

test(
  'one success resets the week',
  async () => {
    await using it = await startDelivering()
    for (let day = 0; day < 8; day++) {
      it.receiver.answers.push(day === 5 ? 200 : 400)
      await it.deliver(`dlv_${day}`)
      await it.clock.advance(DAY)
    }
    expect(it.webhook()).toEqual({ paused_at: null, pause_reason: null })
  },
  WEEK_MAX_MS,
)

test.each([-8 * DAY, HOUR])(
  'a clock change of %i ms does not change the week until a target is paused',
  async (jump) => {
    await using it = await startDelivering()
    for (let day = 0; day < 7; day++) {
      it.receiver.answers.push(400)
      await it.deliver(`dlv_${day}`)
      if (day === 3) it.clock.jump(jump)
      await it.clock.advance(day < 6 ? DAY : DAY - MINUTE)
    }
    expect(it.webhook()).toEqual({ paused_at: null, pause_reason: null })

    await it.clock.advance(2 * MINUTE)
    expect(it.webhook()).toMatchObject({ pause_reason: 'failing' })
  },
  WEEK_MAX_MS,
)

test('two failures and a clock that jumps eight days ahead pause nothing', async () => {
  await using it = await startDelivering()
  it.receiver.answers.push(400, 400)
  await it.deliver('dlv_1')
  it.clock.jump(8 * DAY)
  await it.deliver('dlv_2')
  await it.clock.advance(2 * MINUTE)

  expect(it.webhook()).toEqual({ paused_at: null, pause_reason: null })
})

test.each([HOUR, -HOUR, DAY])('a clock jump of %i ms moves no attempt', async (jump) => {
  await using it = await startDelivering()
  it.receiver.answers.push(500)
  await it.deliver('dlv_1')
  await it.clock.advance(2 * SECOND)
  it.clock.jump(jump)
  // Any iteration observes it; here a new match causes one, and is sent at once.
  await it.deliver('dlv_2')
  expect(it.receiver.received).toHaveLength(2)

  await it.clock.advance(2.9 * SECOND)
  expect(it.receiver.received).toHaveLength(2)
  await it.clock.advance(0.1 * SECOND)
  expect(it.row('dlv_1').status).toBe('delivered')
})

test('the signature carries true time if the local clock is known to be wrong', async () => {
  await using it = await startDelivering({ clock_offset_ms: 3_600_000 })
  await it.deliver('dlv_1')

  const stamp = Number(it.receiver.received[0]?.headers.get('x-service-timestamp'))
  expect(stamp * 1000).toBe(it.clock.now() + HOUR)
})

test('delivered_at is true time, too', async () => {
  await using it = await startDelivering({ clock_offset_ms: HOUR })
  await it.deliver('dlv_1')

  expect(it.rows()[0]?.delivered_at).toBe(it.clock.now() + HOUR)
})

test('a target deleted during attempts ends them at once, and what it answers is recorded', async () => {
  await using it = await startDelivering()
  const release = Promise.withResolvers<void>()
  it.receiver.answers.push(
    { until: release.promise, status: 500 },
    { until: release.promise, status: 200 },
  )
  for (const id of ['dlv_1', 'dlv_2']) await it.deliver(id)
  deleteWebhook(it.db, 'cus_1', 'wh_1', it.clock.now())
  const failed = { status: 'failed', attempts: 0, last_error: 'webhook_deleted' } as const
  expect(['dlv_1', 'dlv_2'].map((id) => it.row(id))).toEqual([failed, failed])

  release.resolve()
  await it.clock.advance(HOUR)

  expect(it.receiver.received).toHaveLength(2)
  expect(it.row('dlv_1')).toEqual({ ...failed, attempts: 1 })
  expect(it.row('dlv_2')).toMatchObject({ status: 'delivered', attempts: 1 })
  expect(it.db.query('SELECT http_status FROM attempts ORDER BY delivery_row').all()).toEqual([
    { http_status: 500 },
    { http_status: 200 },
  ])
})

test('a running attempt to a target that is disabled may succeed, and is not retried', async () => {
  await using it = await startDelivering()
  const release = Promise.withResolvers<void>()
  it.receiver.answers.push(
    { until: release.promise, status: 500 },
    { until: release.promise, status: 200 },
  )
  it.put('dlv_1')
  it.put('dlv_2')
  it.nudge()
  await it.clock.advance(0)
  updateWebhook(it.db, 'cus_1', 'wh_1', { active: false })
  release.resolve()
  await it.clock.advance(HOUR)

  expect(it.receiver.received).toHaveLength(2)
  const rows = ['dlv_1', 'dlv_2'].map((id) => it.row(id))
  expect(rows.toSorted((a, b) => (a.status < b.status ? -1 : 1))).toEqual([
    { status: 'delivered', attempts: 1, last_error: null },
    { status: 'failed', attempts: 1, last_error: 'webhook_paused' },
  ])
  expect(it.db.query('SELECT error FROM attempts WHERE error IS NOT NULL').all()).toEqual([
    { error: 'http_500' },
  ])
})

test('does not retry after another attempt received 410', async () => {
  await using it = await startDelivering()
  const release = Promise.withResolvers<void>()
  it.receiver.answers.push({ until: release.promise, status: 503 }, 410)
  await it.deliver('dlv_1')
  await it.deliver('dlv_2')
  release.resolve()
  await it.clock.advance(HOUR)

  expect(it.receiver.received).toHaveLength(2)
  expect(it.row('dlv_1')).toEqual({ status: 'failed', attempts: 1, last_error: 'webhook_paused' })
  expect(it.row('dlv_2')).toEqual({ status: 'failed', attempts: 1, last_error: 'http_410' })
})

test('if a name has several addresses, the next attempt starts with the next one', async () => {
  await using it = await startDelivering({ resolve: async () => ['127.0.0.1', '127.0.0.2'] })
  it.receiver.answers.push(500)
  await it.deliver('dlv_1')
  await it.clock.advance(MINUTE)

  // The second has no listener, so it continues with the first.
  const dialled = it.fetched.map((url) => new URL(url).hostname)
  expect(dialled).toEqual(['127.0.0.1', '127.0.0.2', '127.0.0.1'])
  expect(it.row('dlv_1')).toMatchObject({ status: 'delivered', attempts: 2 })
})

test('a body with a wrong checksum is never sent', async () => {
  await using it = await startDelivering()
  it.put('dlv_1')
  it.db.run("UPDATE messages SET body = CAST(replace(body, 'mon_1', 'mon_2') AS BLOB)")
  it.nudge()
  await it.clock.advance(0)

  expect(it.receiver.received).toHaveLength(0)
  expect(it.row('dlv_1')).toEqual({ status: 'failed', attempts: 0, last_error: 'body_damaged' })
})

test('what a transaction writes and claims is sent after its commit, and not after a rollback', async () => {
  await using it = await startDelivering()
  const claims = () => it.db.query("SELECT value FROM loop_state WHERE loop = 'claims'").values()
  const putAndClaim = (id: string) => {
    it.put(id)
    it.sender.claimWithin({ rows: new Set(), webhook_ids: ['wh_1'] })
    expect(claims()).toHaveLength(1)
  }
  const lost = () =>
    transact(it.db, () => {
      putAndClaim('dlv_lost')
      throw new Error('rolled back')
    })
  expect(lost).toThrow('rolled back')
  expect([claims(), it.sender.isInFlight('dlv_lost')]).toEqual([[], false])

  transact(it.db, () => {
    putAndClaim('dlv_1')
    expect(it.sender.isInFlight('dlv_1')).toBe(false)
  })
  expect(it.sender.isInFlight('dlv_1')).toBe(true)
  await it.sender.idle()

  expect(it.receiver.received).toHaveLength(1)
  expect(it.row('dlv_1')).toEqual({ status: 'delivered', attempts: 1, last_error: null })
})
