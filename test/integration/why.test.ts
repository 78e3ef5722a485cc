import { describe, expect, test } from 'bun:test'

import { startHouse } from '../support/house.ts'

const SECOND_MS = 1000
const MINUTE_MS = 60_000
const SPEC = { subforum: 'cats', include_any: ['laser'] }

type House = Awaited<ReturnType<typeof startHouse>>

/** A webhook and a monitor of lasers that has had its first look. */
async function watched(filter_spec: object = SPEC, change?: Parameters<typeof startHouse>[0]) {
  const house = await startHouse(change)
  house.sandbox.post({ subforum: 'cats', title: 'an old laser' })
  await house.clock.advance(MINUTE_MS)
  const webhook = (await house.send('/forum/monitor/webhook/create', { url: house.receiver.url }))
    .body
  const monitor = (await house.send('/forum/monitor/add', { filter_spec })).body
  await house.clock.advance(2 * MINUTE_MS)
  return { house, monitor: monitor.id as string, webhook: webhook.id as string }
}

const publish = (house: House, title: string, fields: object = {}) =>
  house.sandbox.post({ subforum: 'cats', title, created_at: house.clock.now(), ...fields })

const why = (house: House, query: string) => house.call(`/forum/monitor/why?${query}`)

test('a delivery is explained: where it was seen, what it matched, what its receiver answered', async () => {
  const { house, monitor, webhook } = await watched()
  await using _ = house
  const secret = 'A'.repeat(40)
  house.receiver.answers.push({
    status: 500,
    headers: { 'content-type': 'text/plain', 'set-cookie': 'a=b', 'x-request-id': 'r1' },
    body: `no room for ${secret}`,
  })
  const created_at = house.clock.now()
  const post = publish(house, 'I love this laser')
  await house.clock.advance(2 * MINUTE_MS)
  const [delivery] = (await house.call('/forum/monitor/deliveries')).body.deliveries

  const { status, body } = await why(house, `delivery_id=${delivery.delivery_id}`)

  expect(status).toBe(200)
  expect(body).toMatchObject({
    monitor_id: monitor,
    items: [
      {
        item_id: post.name,
        outcome: 'matched',
        created_at: new Date(created_at).toISOString(),
        first_seen: {
          fresh: true,
          freshness_s: 900,
          streams: [{ id: 'posts:cats', kind: 'posts', subforum: 'cats' }],
        },
        filter_edited_since: false,
        as_of: 'match',
        criteria: [
          { criterion: 'kind', verdict: 'met', detail: 'post' },
          { criterion: 'subforum', verdict: 'met', detail: 'cats' },
          { criterion: 'include_any', verdict: 'met', detail: 'laser' },
        ],
        enrichment: { relevance: { matched_terms: ['laser'] }, sentiment: { label: 'positive' } },
      },
    ],
    deliveries: [
      {
        delivery_id: delivery.delivery_id,
        webhook_id: webhook,
        status: 'delivered',
        gate: { verdict: 'let_through', reason: null, figures: null },
        attempts: [
          {
            n: 1,
            status_code: 500,
            headers: { 'content-type': 'text/plain', 'x-request-id': 'r1' },
            body_start: 'no room for …',
          },
          { n: 2, status_code: 200 },
        ],
      },
    ],
  })
  const [item] = body.items
  expect(item.first_seen.age_s).toBeLessThanOrEqual(60)
  expect(item.first_seen.at >= item.created_at && item.matched_at >= item.first_seen.at).toBe(true)
  expect(JSON.stringify(body)).not.toContain('set-cookie')
  expect(JSON.stringify(body)).not.toContain(secret)
})

test('a monitor and an item name the same delivery, whatever became of its target', async () => {
  const { house, monitor, webhook } = await watched()
  await using _ = house
  const post = publish(house, 'a laser')
  await house.clock.advance(2 * MINUTE_MS)
  await house.send('/forum/monitor/webhook/delete', { id: webhook })
  await house.send('/forum/monitor/remove', { id: monitor })

  const byName = (await why(house, `id=${monitor}&item_id=${post.name}`)).body
  const byId = (await why(house, `id=${monitor}&item_id=${post.id}`)).body

  expect(byName.deliveries).toMatchObject([{ webhook_id: webhook, status: 'delivered' }])
  expect(byName.items).toMatchObject([{ item_id: post.name, outcome: 'matched', as_of: 'match' }])
  expect(byId).toEqual(byName)
})

test('what did not match is told by its conditions, as it is now', async () => {
  const { house, monitor } = await watched()
  await using _ = house
  const post = publish(house, 'a mouse')
  await house.clock.advance(2 * MINUTE_MS)
  const { body } = await why(house, `id=${monitor}&item_id=${post.id}`)

  expect(body.deliveries).toEqual([])
  expect(body.items).toMatchObject([
    {
      outcome: 'does_not_match',
      matched_at: null,
      as_of: 'now',
      first_seen: { streams: [{ id: 'posts:cats' }] },
      criteria: [
        { criterion: 'kind', verdict: 'met' },
        { criterion: 'subforum', verdict: 'met' },
        { criterion: 'include_any', verdict: 'not_met', detail: 'none of its terms' },
      ],
    },
  ])
})

test('what was withheld as too old is told with its age and the limit', async () => {
  const { house, monitor } = await watched()
  await using _ = house
  house.sandbox.weather({ path: '/r/', fault: '5xx', seconds: 20 * 60 })
  const post = publish(house, 'a laser nobody saw')
  await house.clock.advance(20 * MINUTE_MS)
  await house.clock.advance(10 * MINUTE_MS)
  const { body } = await why(house, `id=${monitor}&item_id=${post.id}`)

  expect(body.items).toMatchObject([{ outcome: 'matched', first_seen: { fresh: false } }])
  expect(body.deliveries).toMatchObject([
    {
      status: 'suppressed',
      gate: { verdict: 'suppressed', reason: 'stale_item', figures: { threshold_s: 900 } },
      attempts: [],
    },
  ])
  const { figures } = body.deliveries[0].gate
  expect(figures.oldest_age_s).toBeGreaterThan(900)
  expect(body.items[0].first_seen.age_s).toBe(figures.oldest_age_s)
})

test('what is older than its monitor is told to be', async () => {
  const { house, monitor } = await watched()
  await using _ = house
  const post = house.sandbox.post({
    subforum: 'cats',
    title: 'a laser of old',
    created_at: house.clock.now() - 60 * MINUTE_MS,
  })
  const { body } = await why(house, `id=${monitor}&item_id=${post.id}`)

  expect(body.items).toMatchObject([{ outcome: 'before_start', first_seen: null, as_of: 'now' }])
})

test('what no feed has shown, and what is gone, are told apart', async () => {
  const { house, monitor } = await watched()
  await using _ = house
  const unseen = publish(house, 'a laser, just now')
  const gone = await why(house, `id=${monitor}&item_id=zzzzzz`)
  const { body } = await why(house, `id=${monitor}&item_id=${unseen.id}`)

  expect(body.items).toMatchObject([{ outcome: 'not_seen', first_seen: null }])
  expect(gone.body.items).toMatchObject([
    { outcome: 'not_seen', first_seen: null, criteria: null, enrichment: null, as_of: null },
  ])
})

test('what was seen and is gone by now cannot be judged', async () => {
  const { house, monitor } = await watched()
  await using _ = house
  const post = publish(house, 'a mouse')
  await house.clock.advance(2 * MINUTE_MS)
  house.sandbox.remove({ name: post.name, by: 'platform' })
  const { body } = await why(house, `id=${monitor}&item_id=${post.id}`)

  expect(body.items[0].first_seen).not.toBeNull()
  expect(body.items).toMatchObject([{ outcome: 'gone', criteria: null }])
})

test('what waits for comments is told until when', async () => {
  const { house, monitor } = await watched({ ...SPEC, min_comments: 2 })
  await using _ = house
  const created_at = house.clock.now()
  const post = publish(house, 'a laser')
  await house.clock.advance(2 * MINUTE_MS)
  const waiting = (await why(house, `id=${monitor}&item_id=${post.id}`)).body

  expect(waiting.items).toMatchObject([
    {
      outcome: 'waiting',
      waiting_until: new Date(Math.floor(created_at / 1000) * 1000 + 900 * SECOND_MS).toISOString(),
      criteria: expect.arrayContaining([
        { criterion: 'min_comments', verdict: 'later', detail: '0, wanted 2' },
      ]),
    },
  ])

  for (const text of ['pew', 'pew pew']) house.sandbox.comment({ parent: post.name, text })
  await house.clock.advance(4 * MINUTE_MS)
  const matched = (await why(house, `id=${monitor}&item_id=${post.id}`)).body
  expect(matched.items).toMatchObject([{ outcome: 'matched', waiting_until: null }])
  expect(matched.deliveries).toMatchObject([{ status: 'delivered' }])
})

test('an item of a group is found while it is collected, and in its bundle', async () => {
  const { house, monitor } = await watched({ ...SPEC, group: 'pets', group_window_s: 600 })
  await using _ = house
  const posts = [publish(house, 'a laser'), publish(house, 'another laser')]
  await house.clock.advance(2 * MINUTE_MS)
  const collecting = (await why(house, `id=${monitor}&item_id=${posts[1]?.id}`)).body
  await house.clock.advance(15 * MINUTE_MS)
  const sent = (await why(house, `id=${monitor}&item_id=${posts[1]?.id}`)).body
  const [delivery] = (await house.call('/forum/monitor/deliveries')).body.deliveries
  const all = (await why(house, `delivery_id=${delivery.delivery_id}`)).body

  expect(collecting.items).toMatchObject([{ outcome: 'collecting' }])
  expect(collecting.items[0].collected_until).not.toBeNull()
  expect(collecting.deliveries).toEqual([])
  expect(sent.items).toMatchObject([{ outcome: 'matched', collected_until: null, as_of: 'match' }])
  expect(sent.deliveries).toMatchObject([{ delivery_id: delivery.delivery_id }])
  expect(new Set(all.items.map((it: any) => it.item_id))).toEqual(
    new Set(posts.map(({ name }) => name)),
  )
})

test('a filter that was edited since is told, for its conditions are the new ones', async () => {
  const { house, monitor } = await watched()
  await using _ = house
  const post = publish(house, 'a laser')
  await house.clock.advance(2 * MINUTE_MS)
  await house.send('/forum/monitor/update', {
    id: monitor,
    filter_spec: { subforum: 'cats', include_any: ['yarn'] },
  })
  const { body } = await why(house, `id=${monitor}&item_id=${post.id}`)

  expect(body.items).toMatchObject([
    {
      outcome: 'matched',
      filter_edited_since: true,
      criteria: expect.arrayContaining([
        { criterion: 'include_any', verdict: 'not_met', detail: 'none of its terms' },
      ]),
    },
  ])
})

test('in other words of the wire the answer speaks them, and a body is read back in them', async () => {
  const house = await startHouse({
    change: (config) => {
      config.wire = { platform: 'club', community: 'board' }
    },
  })
  await using _ = house
  publish(house, 'an old one')
  await house.send('/club/monitor/webhook/create', { url: house.receiver.url })
  const { body: monitor } = await house.send('/club/monitor/add', {
    filter_spec: { board: 'cats', include_any: ['laser'] },
  })
  await house.clock.advance(2 * MINUTE_MS)
  const post = publish(house, 'a laser')
  await house.clock.advance(2 * MINUTE_MS)
  const { body } = await house.call(`/club/monitor/why?id=${monitor.id}&item_id=${post.id}`)

  expect(body.items).toMatchObject([{ as_of: 'match', outcome: 'matched' }])
  expect(body.items[0].criteria).toContainEqual({
    criterion: 'board',
    verdict: 'met',
    detail: 'cats',
  })
  expect(body.items[0].first_seen.streams[0].board).toBe('cats')
  expect(JSON.stringify(body)).not.toContain('subforum')
})

describe('refusals', () => {
  test.each<[string, string, number, string | null, RegExp]>([
    ['nothing named', '', 400, 'id', /id is required, or delivery_id/],
    ['both named', 'delivery_id=dlv_x&id=mon_x', 400, 'delivery_id', /stands alone/],
    ['an unknown delivery', 'delivery_id=dlv_x', 404, null, /no such delivery/],
    ['an unknown monitor', 'id=mon_x&item_id=abc', 404, null, /no such monitor/],
    ['no id of an item', 'id=mon_x&item_id=t5_abc', 400, 'item_id', /t3_abc123/],
  ])('%s', async (_, query, status, field, sentence) => {
    await using house = await startHouse()
    const answer = await why(house, query)

    expect(answer.status).toBe(status)
    expect(answer.body.field ?? null).toBe(field)
    expect(answer.body.message ?? answer.body.error).toMatch(sentence)
  })

  test('an item has to be named beside a monitor', async () => {
    const { house, monitor } = await watched()
    await using _ = house
    const answer = await why(house, `id=${monitor}`)

    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({ field: 'item_id', error: 'item_id is required beside id' })
  })
})
