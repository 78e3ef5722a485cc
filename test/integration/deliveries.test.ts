import { expect, test } from 'bun:test'

import { deliveryId, envelope } from '../../src/core/delivery/envelope.ts'
import { insertDelivery } from '../../src/store/delivery/deliveries.ts'
import { removeMonitorOf } from '../../src/store/monitoring/monitors.ts'
import { startTestDaemon } from '../support/test-daemon.ts'
import { startTargets } from '../support/webhooks-fixture.ts'

const PLACES = ['/forum/monitor/deliveries', '/api/forum/monitor/deliveries']
const DELIVERIES = '/forum/monitor/deliveries'
const MINUTE = 60_000

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

test.each(PLACES)('%s shows the outcome of a match, with the stored payload', async (place) => {
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
        retrying: false,
        next_attempt_at: null,
        redeliver_refusal: 'no_webhook',
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
    next_before: null,
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
  removeMonitorOf(it.db, 'cus_1', 'mon_2', it.clock.now())

  expect(ids(await it.call(`${DELIVERIES}?id=mon_2`))).toEqual(['dlv_2'])
  expect(ids(await it.call(`${DELIVERIES}?status=suppressed`))).toEqual(['dlv_2', 'dlv_1'])
  expect(ids(await it.call(`${DELIVERIES}?status=delivered`))).toEqual([])
})

/** Commits deliveries to a target, each with an item of this title. */
function send(
  it: Targets,
  titles: string[],
  webhook_id: string,
  { monitor_id = 'mon_1', text = '' } = {},
) {
  return titles.map((title) => {
    const items = [{ id: title, title, text, score: 4711 }]
    const id = deliveryId('ins_1', monitor_id, webhook_id, [title])
    const body = envelope({ delivery_id: id, monitor_id, items, grouped: false })
    const now = it.clock.now()
    insertDelivery(it.db, {
      id,
      customer_id: 'cus_1',
      monitor_id,
      webhook_id,
      status: 'pending',
      body,
      now,
    })
    return id
  })
}

test('filters by target, time, and retries apart from waiting deliveries; filters combine', async () => {
  await using it = await startTargets()
  it.addMonitor('mon_1')
  it.addMonitor('mon_2')
  const [one, two] = [(await it.create()).id, (await it.create()).id]
  const [a = '', b = ''] = send(it, ['a', 'b'], one)
  await it.clock.advance(60_000)
  const [c = '', d = ''] = [
    ...send(it, ['c'], two),
    ...send(it, ['d'], one, { monitor_id: 'mon_2' }),
  ]
  it.db.run('UPDATE deliveries SET retry_index = 1, next_attempt_at = 1767225900000 WHERE id = ?', [
    b,
  ])
  const found = async (query: string) => ids(await it.call(`${DELIVERIES}?${query}`))

  expect(await found(`webhook_id=${one}`)).toEqual([d, b, a])
  expect(await found(`webhook_id=${one}&id=mon_2`)).toEqual([d])
  expect(await found('since=2026-01-01T00:01:00Z')).toEqual([d, c])
  expect(await found(`webhook_id=${one}&before=2026-01-01T00:01:00Z`)).toEqual([b, a])
  expect(await found('status=pending')).toEqual([d, c, b, a])
  expect(await found('retrying=true')).toEqual([b])
  expect(await found(`retrying=false&webhook_id=${one}`)).toEqual([d, a])
  expect(await found('status=delivered&retrying=true')).toEqual([])
  expect((await it.call(`${DELIVERIES}?retrying=true`)).body.deliveries).toMatchObject([
    { retrying: true, next_attempt_at: '2026-01-01T00:05:00.000Z', redeliver_refusal: 'pending' },
  ])
})

test('q finds a delivery by the beginning of its id, or by text of its items in any case', async () => {
  await using it = await startTargets()
  it.addMonitor('mon_1')
  const { id } = await it.create()
  const [first = '', second = ''] = send(it, ['Grüße aus "Wien"', 'Sourdough'], id)
  const found = async (q: string) => ids(await it.call(`${DELIVERIES}?q=${encodeURIComponent(q)}`))

  expect(await found(first)).toEqual([first])
  expect(await found(second.slice(0, 8))).toEqual([second])
  expect(await found('GRÜSSE')).toEqual([])
  expect(await found('grüße AUS "w')).toEqual([first])
  expect(await found('sourd')).toEqual([second])
  // Neither field names nor the envelope are content.
  expect(await found('grouped')).toEqual([])
  expect(await found('score')).toEqual([])
  expect(ids(await it.call(`${DELIVERIES}?q=${first}`, undefined, 'cus_2'))).toEqual([])
})

test('a search by text reads a bounded number of deliveries, and next_before continues it', async () => {
  await using it = await startTargets()
  it.addMonitor('mon_1')
  const { id } = await it.create()
  const titles = Array.from({ length: 1300 }, (_, n) => (n === 0 ? 'the needle' : `hay ${n}`))
  const [needle = ''] = send(it, titles, id)

  const page = await it.call(`${DELIVERIES}?q=needle`)
  expect(ids(page)).toEqual([])
  const next = await it.call(`${DELIVERIES}?q=needle&before=${page.body.next_before}`)
  expect([ids(next), next.body.next_before]).toEqual([[needle], null])
  const some = await it.call(`${DELIVERIES}?q=hay&limit=10`)
  expect(ids(some)).toHaveLength(10)
  expect(some.body.next_before).toBe(some.body.deliveries.at(-1).created_at)
})

test('a search by text reads a bounded number of bytes', async () => {
  await using it = await startTargets()
  it.addMonitor('mon_1')
  const { id } = await it.create()
  const titles = Array.from({ length: 60 }, (_, n) => (n === 0 ? 'the needle' : `hay ${n}`))
  const [needle = ''] = send(it, titles, id, { text: 'x'.repeat(200_000) })

  const page = await it.call(`${DELIVERIES}?q=needle`)
  expect([ids(page), page.body.next_before]).toEqual([[], expect.any(String)])
  const next = await it.call(`${DELIVERIES}?q=needle&before=${page.body.next_before}`)
  expect(ids(next)).toEqual([needle])
})

test('next_before leads through all pages and is null at the end', async () => {
  await using it = await startTargets()
  it.addMonitor('mon_1')
  const all = Array.from({ length: 20 }, (_, n) => `dlv_${String(n).padStart(3, '0')}`)
  put(it, all)
  const seen: string[] = []
  let next = ''
  do {
    const page = await it.call(`${DELIVERIES}?limit=10${next && `&before=${next}`}`)
    seen.push(...ids(page))
    next = page.body.next_before ?? ''
  } while (next !== '')
  expect(seen).toEqual(all.toReversed())
})

test('redeliver_refusal says why a delivery cannot be sent again, as redelivery does', async () => {
  await using it = await startTestDaemon({
    change: (config) => void (config.delivery.retry_delays_s = [0, 600]),
  })
  const { send: post, receiver, clock, sandbox } = it
  sandbox.subforum({ name: 'bread' })
  const { id } = (await post('/forum/monitor/webhook/create', { url: receiver.url })).body
  await post('/forum/monitor/add', { filter_spec: { subforum: 'bread' } })
  await clock.advance(MINUTE)
  const matched = async (...answers: number[]) => {
    receiver.answers.push(...answers)
    sandbox.post({ subforum: 'bread', title: 'A loaf' })
    await clock.advance(2 * MINUTE)
  }
  await matched(500, 500)
  const [delivery_id = ''] = ids(await it.call(DELIVERIES))
  const refusal = async () => {
    const { deliveries } = (await it.call(`${DELIVERIES}?q=${delivery_id}`)).body
    const { queued } = (await post(`${DELIVERIES}/redeliver`, { delivery_id, dry_run: true })).body
    expect(queued).toBe(deliveries[0].redeliver_refusal === null ? 1 : 0)
    return deliveries[0].redeliver_refusal
  }
  expect(await refusal()).toBe('pending')
  await clock.advance(10 * MINUTE)
  expect(await refusal()).toBeNull()
  await post('/forum/monitor/webhook/update', { id, active: false })
  expect(await refusal()).toBe('webhook_disabled')
  await post('/forum/monitor/webhook/update', { id, active: true })
  await matched(410)
  expect(await refusal()).toBe('webhook_paused')
  await post('/forum/monitor/webhook/delete', { id })
  expect(await refusal()).toBe('webhook_deleted')
  expect(ids(await it.call(`${DELIVERIES}?webhook_id=${id}`))).toContain(delivery_id)
})

test.each([
  ['UPDATE messages SET body = NULL', 'content_erased'],
  [`UPDATE webhooks SET unsubscribed = '["mon_1"]'`, 'unsubscribed'],
  ['UPDATE webhooks SET awaits_confirmation = 1', 'unconfirmed'],
])('after %s a delivery is refused as %s', async (change, reason) => {
  await using it = await startTargets()
  it.addMonitor('mon_1')
  const { id } = await it.create()
  const [delivery_id = ''] = send(it, ['a'], id)
  it.db.run("UPDATE deliveries SET status = 'dead', next_attempt_at = NULL")
  it.db.run(change)

  expect((await it.call(DELIVERIES)).body.deliveries).toMatchObject([{ redeliver_refusal: reason }])
  const again = await it.call(`${DELIVERIES}/redeliver`, { delivery_id, dry_run: true })
  expect(again.body.queued).toBe(0)
})

test("another customer's deliveries are hidden, and its monitor is the same 404 as an absent one", async () => {
  await using it = await startTargets()
  it.addMonitor('mon_1')
  put(it, ['dlv_1'])
  expect(ids(await it.call(DELIVERIES, undefined, 'cus_2'))).toEqual([])
  const foreign = await it.call(`${DELIVERIES}?id=mon_1`, undefined, 'cus_2')
  const absent = await it.call(`${DELIVERIES}?id=mon_none`, undefined, 'cus_2')
  expect([foreign.status, foreign.text]).toEqual([404, absent.text])
  const { id } = await it.create()
  const target = await it.call(`${DELIVERIES}?webhook_id=${id}`, undefined, 'cus_2')
  const none = await it.call(`${DELIVERIES}?webhook_id=wh_none`, undefined, 'cus_2')
  expect([target.status, target.text]).toEqual([404, none.text])
})

test.each([
  ['limit=0', 'limit', 'limit must be a whole number from 1 to 200'],
  ['limit=201', 'limit', 'limit must be a whole number from 1 to 200'],
  ['retrying=often', 'retrying', 'retrying must be true or false'],
  [`q=${'x'.repeat(201)}`, 'q', 'q must be at most 200 characters'],
  ['since=now', 'since', 'since must be an ISO 8601 timestamp such as 2026-01-31T12:00:00Z'],
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
