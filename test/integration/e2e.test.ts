import { expect, test } from 'bun:test'

import { Stripe } from 'stripe'

import { startTestDaemon } from '../support/test-daemon.ts'

const SECOND = 1000
const MINUTE = 60_000

type TestDaemon = Awaited<ReturnType<typeof startTestDaemon>>

const deliveries = async (daemon: TestDaemon) =>
  (await daemon.call('/forum/monitor/deliveries')).body.deliveries

/** Sixty old posts, a webhook, and a monitor of cats after its first poll. */
async function watched() {
  const daemon = await startTestDaemon()
  for (let n = 0; n < 60; n++)
    daemon.sandbox.post({ subforum: 'cats', title: `an old cat, number ${n}` })
  await daemon.clock.advance(MINUTE)
  const { url } = daemon.receiver
  const webhook = await daemon.send('/forum/monitor/webhook/create', { kind: 'webhook', url })
  const monitor = await daemon.send('/forum/monitor/add', {
    filter_spec: { subforum: 'cats', include_any: ['cat'] },
  })
  expect([webhook.status, monitor.status]).toEqual([200, 200])
  await daemon.clock.advance(2 * MINUTE)
  return { daemon, secret: webhook.body.secret as string }
}

test('two matching posts of four new ones are delivered once each, and none of the sixty old ones', async () => {
  const { daemon, secret } = await watched()
  await using _ = daemon
  expect(daemon.receiver.received).toEqual([])

  for (const title of ['a new cat', 'a new dog', 'Two CATS? no: one cat', 'a category of things'])
    daemon.sandbox.post({ subforum: 'cats', title })
  await daemon.clock.advance(2 * MINUTE)

  const { received } = daemon.receiver
  const bodies = received.map(({ text }) => JSON.parse(text))
  expect(new Set(bodies.map((body) => body.items[0].title))).toEqual(
    new Set(['a new cat', 'Two CATS? no: one cat']),
  )
  expect(bodies.length).toBe(2)
  for (const { headers, text } of received) {
    const event = await Stripe.webhooks.constructEventAsync(
      text,
      headers.get('x-service-signature') ?? '',
      secret,
      300,
      undefined,
      daemon.clock.now(),
    )
    expect(event).toMatchObject({ delivery_id: headers.get('x-service-delivery-id') })
  }
  expect(await deliveries(daemon)).toMatchObject([
    { status: 'delivered', attempts: 1, last_error: null },
    { status: 'delivered', attempts: 1, last_error: null },
  ])
})

test('a receiver that first answers 503 gets the same bytes again five seconds later', async () => {
  const { daemon } = await watched()
  await using _ = daemon
  daemon.receiver.answers.push(503)
  daemon.sandbox.post({ subforum: 'cats', title: 'a new cat' })
  await daemon.clock.advance(2 * MINUTE)

  const [first, second, ...more] = daemon.receiver.received
  expect(more).toEqual([])
  expect(second?.text).toBe(first?.text ?? 'nothing came')
  const at = (headers: Headers | undefined) => Number(headers?.get('x-service-timestamp')) * SECOND
  expect(at(second?.headers) - at(first?.headers)).toBeGreaterThanOrEqual(4 * SECOND)
  expect(await deliveries(daemon)).toMatchObject([{ status: 'delivered', attempts: 2 }])
})

test('a receiver that never recovers leaves the delivery dead-lettered after six attempts', async () => {
  const { daemon } = await watched()
  await using _ = daemon
  daemon.receiver.answers.push(500, 503, 429, 500, 500, 500)
  daemon.sandbox.post({ subforum: 'cats', title: 'a new cat' })
  await daemon.clock.advance(26 * MINUTE)

  expect(daemon.receiver.received.length).toBe(6)
  expect(await deliveries(daemon)).toMatchObject([
    { status: 'dead', attempts: 6, last_error: 'http_500' },
  ])
})

test('a post hidden by an outage for half an hour is suppressed as stale, with its age', async () => {
  const { daemon } = await watched()
  await using _ = daemon
  daemon.sandbox.addFault({ path: '/r/', fault: '5xx', status: 503 })
  daemon.sandbox.post({ subforum: 'cats', title: 'a late cat' })
  await daemon.clock.advance(30 * MINUTE)
  daemon.sandbox.clearFaults()
  await daemon.clock.advance(6 * MINUTE)

  expect(daemon.receiver.received).toEqual([])
  const [row] = await deliveries(daemon)
  expect(row).toMatchObject({
    status: 'suppressed',
    payload: { suppressed: { reason: 'stale_item', threshold_s: 900 } },
  })
  expect(row.payload.suppressed.oldest_age_s).toBeGreaterThan(1500)
})

test('a restart between match and delivery loses nothing and sends nothing twice', async () => {
  const { daemon } = await watched()
  await using _ = daemon
  daemon.receiver.answers.push(503)
  daemon.sandbox.post({ subforum: 'cats', title: 'a new cat' })
  for (let n = 0; n < 70 && daemon.receiver.received.length === 0; n++)
    await daemon.clock.advance(SECOND)
  expect(daemon.receiver.received.length).toBe(1)

  await daemon.restart()
  await daemon.clock.advance(MINUTE)
  const ids = daemon.receiver.received.map(({ headers }) => headers.get('x-service-delivery-id'))
  expect(ids.length).toBe(2)
  expect(new Set(ids).size).toBe(1)
  expect(await deliveries(daemon)).toMatchObject([{ status: 'delivered', attempts: 2 }])
})

test('a read is billed to the micro-dollar and reports the remaining balance', async () => {
  await using daemon = await startTestDaemon({ world: 'seeded' })
  const { status, headers, body } = await daemon.call('/api/forum/posts?subforum=coffee&limit=5')
  expect(status).toBe(200)
  expect(body.posts.length).toBe(5)
  expect(headers.get('x-credits-remaining')).toBe('99.998')
  expect((await daemon.call('/account/me')).body).toMatchObject({
    credits_remaining: 99.998,
    credits_used: 0.002,
    total_requests: 1,
  })
})
