import { expect, test } from 'bun:test'

import { Stripe } from 'stripe'

import { startHouse } from '../support/house.ts'

const SECOND = 1000
const MINUTE = 60_000

type House = Awaited<ReturnType<typeof startHouse>>

const deliveries = async (house: House) =>
  (await house.call('/forum/monitor/deliveries')).body.deliveries

/** Sixty old posts, a webhook, and a monitor of cats that has had its first look. */
async function watched() {
  const house = await startHouse()
  for (let n = 0; n < 60; n++)
    house.sandbox.post({ subforum: 'cats', title: `an old cat, number ${n}` })
  await house.clock.advance(MINUTE)
  const { url } = house.receiver
  const webhook = await house.send('/forum/monitor/webhook/create', { kind: 'webhook', url })
  const monitor = await house.send('/forum/monitor/add', {
    filter_spec: { subforum: 'cats', include_any: ['cat'] },
  })
  expect([webhook.status, monitor.status]).toEqual([200, 200])
  await house.clock.advance(2 * MINUTE)
  return { house, secret: webhook.body.secret as string }
}

test('of four new posts the two that match arrive once each, and none of the sixty old ones', async () => {
  const { house, secret } = await watched()
  await using _ = house
  expect(house.receiver.received).toEqual([])

  for (const title of ['a new cat', 'a new dog', 'Two CATS? no: one cat', 'a category of things'])
    house.sandbox.post({ subforum: 'cats', title })
  await house.clock.advance(2 * MINUTE)

  const { received } = house.receiver
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
      house.clock.now(),
    )
    expect(event).toMatchObject({ delivery_id: headers.get('x-service-delivery-id') })
  }
  expect(await deliveries(house)).toMatchObject([
    { status: 'delivered', attempts: 1, last_error: null },
    { status: 'delivered', attempts: 1, last_error: null },
  ])
})

test('a receiver that says 503 first gets the same bytes again five seconds later', async () => {
  const { house } = await watched()
  await using _ = house
  house.receiver.answers.push(503)
  house.sandbox.post({ subforum: 'cats', title: 'a new cat' })
  await house.clock.advance(2 * MINUTE)

  const [first, second, ...more] = house.receiver.received
  expect(more).toEqual([])
  expect(second?.text).toBe(first?.text ?? 'nothing came')
  const at = (headers: Headers | undefined) => Number(headers?.get('x-service-timestamp')) * SECOND
  expect(at(second?.headers) - at(first?.headers)).toBeGreaterThanOrEqual(4 * SECOND)
  expect(await deliveries(house)).toMatchObject([{ status: 'delivered', attempts: 2 }])
})

test('a receiver that never recovers leaves the delivery dead after six attempts', async () => {
  const { house } = await watched()
  await using _ = house
  house.receiver.answers.push(500, 503, 429, 500, 500, 500)
  house.sandbox.post({ subforum: 'cats', title: 'a new cat' })
  await house.clock.advance(26 * MINUTE)

  expect(house.receiver.received.length).toBe(6)
  expect(await deliveries(house)).toMatchObject([
    { status: 'dead', attempts: 6, last_error: 'http_500' },
  ])
})

test('a post that an outage hid for half an hour is withheld as stale, with its age', async () => {
  const { house } = await watched()
  await using _ = house
  house.sandbox.weather({ path: '/r/', fault: '5xx', status: 503 })
  house.sandbox.post({ subforum: 'cats', title: 'a late cat' })
  await house.clock.advance(30 * MINUTE)
  house.sandbox.clearWeather()
  await house.clock.advance(6 * MINUTE)

  expect(house.receiver.received).toEqual([])
  const [row] = await deliveries(house)
  expect(row).toMatchObject({
    status: 'suppressed',
    payload: { suppressed: { reason: 'stale_item', threshold_s: 900 } },
  })
  expect(row.payload.suppressed.oldest_age_s).toBeGreaterThan(1500)
})

test('a restart between match and delivery loses nothing and sends nothing twice', async () => {
  const { house } = await watched()
  await using _ = house
  house.receiver.answers.push(503)
  house.sandbox.post({ subforum: 'cats', title: 'a new cat' })
  for (let n = 0; n < 70 && house.receiver.received.length === 0; n++)
    await house.clock.advance(SECOND)
  expect(house.receiver.received.length).toBe(1)

  await house.restart()
  await house.clock.advance(MINUTE)
  const ids = house.receiver.received.map(({ headers }) => headers.get('x-service-delivery-id'))
  expect(ids.length).toBe(2)
  expect(new Set(ids).size).toBe(1)
  expect(await deliveries(house)).toMatchObject([{ status: 'delivered', attempts: 2 }])
})

test('a read is billed to the micro-dollar and says what remains', async () => {
  await using house = await startHouse({ world: 'seeded' })
  const { status, headers, body } = await house.call('/api/forum/posts?subforum=coffee&limit=5')
  expect(status).toBe(200)
  expect(body.posts.length).toBe(5)
  expect(headers.get('x-credits-remaining')).toBe('99.998')
  expect((await house.call('/account/me')).body).toMatchObject({
    credits_remaining: 99.998,
    credits_used: 0.002,
    total_requests: 1,
  })
})
