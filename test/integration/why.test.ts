import { describe, expect, test } from 'bun:test'

import { startTestDaemon } from '../support/test-daemon.ts'

const SECOND_MS = 1000
const MINUTE_MS = 60_000
const SPEC = { subforum: 'cats', include_any: ['laser'] }

type TestDaemon = Awaited<ReturnType<typeof startTestDaemon>>

/** A webhook and a monitor of lasers after its first poll. */
async function watched(filter_spec: object = SPEC, change?: Parameters<typeof startTestDaemon>[0]) {
  const daemon = await startTestDaemon(change)
  daemon.sandbox.post({ subforum: 'cats', title: 'an old laser' })
  await daemon.clock.advance(MINUTE_MS)
  const webhook = (await daemon.send('/forum/monitor/webhook/create', { url: daemon.receiver.url }))
    .body
  const monitor = (await daemon.send('/forum/monitor/add', { filter_spec })).body
  await daemon.clock.advance(2 * MINUTE_MS)
  return { daemon, monitor: monitor.id as string, webhook: webhook.id as string }
}

const publish = (daemon: TestDaemon, title: string, fields: object = {}) =>
  daemon.sandbox.post({ subforum: 'cats', title, created_at: daemon.clock.now(), ...fields })

const why = (daemon: TestDaemon, query: string) => daemon.call(`/forum/monitor/why?${query}`)

test("a delivery is explained: its feed, its matched conditions, its receiver's answers", async () => {
  const { daemon, monitor, webhook } = await watched()
  await using _ = daemon
  const secret = 'A'.repeat(40)
  daemon.receiver.answers.push({
    status: 500,
    headers: { 'content-type': 'text/plain', 'set-cookie': 'a=b', 'x-request-id': 'r1' },
    body: `no room for ${secret}`,
  })
  const created_at = daemon.clock.now()
  const post = publish(daemon, 'I love this laser')
  await daemon.clock.advance(2 * MINUTE_MS)
  const [delivery] = (await daemon.call('/forum/monitor/deliveries')).body.deliveries

  const { status, body } = await why(daemon, `delivery_id=${delivery.delivery_id}`)

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

test('a monitor and an item name the same delivery, in any state of its target', async () => {
  const { daemon, monitor, webhook } = await watched()
  await using _ = daemon
  const post = publish(daemon, 'a laser')
  await daemon.clock.advance(2 * MINUTE_MS)
  await daemon.send('/forum/monitor/webhook/delete', { id: webhook })
  await daemon.send('/forum/monitor/remove', { id: monitor })

  const byName = (await why(daemon, `id=${monitor}&item_id=${post.name}`)).body
  const byId = (await why(daemon, `id=${monitor}&item_id=${post.id}`)).body

  expect(byName.deliveries).toMatchObject([{ webhook_id: webhook, status: 'delivered' }])
  expect(byName.items).toMatchObject([{ item_id: post.name, outcome: 'matched', as_of: 'match' }])
  expect(byId).toEqual(byName)
})

test('an item that did not match is explained by its conditions, in its current state', async () => {
  const { daemon, monitor } = await watched()
  await using _ = daemon
  const post = publish(daemon, 'a mouse')
  await daemon.clock.advance(2 * MINUTE_MS)
  const { body } = await why(daemon, `id=${monitor}&item_id=${post.id}`)

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

test('a stale item is explained with its age and the limit', async () => {
  const { daemon, monitor } = await watched()
  await using _ = daemon
  daemon.sandbox.addFault({ path: '/r/', fault: '5xx', seconds: 20 * 60 })
  const post = publish(daemon, 'an unobserved laser')
  await daemon.clock.advance(20 * MINUTE_MS)
  await daemon.clock.advance(10 * MINUTE_MS)
  const { body } = await why(daemon, `id=${monitor}&item_id=${post.id}`)

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

test('an item older than its monitor is reported as such', async () => {
  const { daemon, monitor } = await watched()
  await using _ = daemon
  const post = daemon.sandbox.post({
    subforum: 'cats',
    title: 'a laser of old',
    created_at: daemon.clock.now() - 60 * MINUTE_MS,
  })
  const { body } = await why(daemon, `id=${monitor}&item_id=${post.id}`)

  expect(body.items).toMatchObject([{ outcome: 'before_start', first_seen: null, as_of: 'now' }])
})

test('unobserved items and deleted items have different outcomes', async () => {
  const { daemon, monitor } = await watched()
  await using _ = daemon
  const unseen = publish(daemon, 'a laser, just now')
  const gone = await why(daemon, `id=${monitor}&item_id=zzzzzz`)
  const { body } = await why(daemon, `id=${monitor}&item_id=${unseen.id}`)

  expect(body.items).toMatchObject([{ outcome: 'not_seen', first_seen: null }])
  expect(gone.body.items).toMatchObject([
    { outcome: 'not_seen', first_seen: null, criteria: null, enrichment: null, as_of: null },
  ])
})

test('an observed item that is gone cannot be judged', async () => {
  const { daemon, monitor } = await watched()
  await using _ = daemon
  const post = publish(daemon, 'a mouse')
  await daemon.clock.advance(2 * MINUTE_MS)
  daemon.sandbox.remove({ name: post.name, by: 'platform' })
  const { body } = await why(daemon, `id=${monitor}&item_id=${post.id}`)

  expect(body.items[0].first_seen).not.toBeNull()
  expect(body.items).toMatchObject([{ outcome: 'gone', criteria: null }])
})

test('an item that waits for comments is reported with its deadline', async () => {
  const { daemon, monitor } = await watched({ ...SPEC, min_comments: 2 })
  await using _ = daemon
  const created_at = daemon.clock.now()
  const post = publish(daemon, 'a laser')
  await daemon.clock.advance(2 * MINUTE_MS)
  const waiting = (await why(daemon, `id=${monitor}&item_id=${post.id}`)).body

  expect(waiting.items).toMatchObject([
    {
      outcome: 'waiting',
      waiting_until: new Date(Math.floor(created_at / 1000) * 1000 + 900 * SECOND_MS).toISOString(),
      criteria: expect.arrayContaining([
        { criterion: 'min_comments', verdict: 'later', detail: '0, wanted 2' },
      ]),
    },
  ])

  for (const text of ['pew', 'pew pew']) daemon.sandbox.comment({ parent: post.name, text })
  await daemon.clock.advance(4 * MINUTE_MS)
  const matched = (await why(daemon, `id=${monitor}&item_id=${post.id}`)).body
  expect(matched.items).toMatchObject([{ outcome: 'matched', waiting_until: null }])
  expect(matched.deliveries).toMatchObject([{ status: 'delivered' }])
})

test('an item of a group is found during collection, and in its bundle', async () => {
  const { daemon, monitor } = await watched({ ...SPEC, group: 'pets', group_window_s: 600 })
  await using _ = daemon
  const posts = [publish(daemon, 'a laser'), publish(daemon, 'another laser')]
  await daemon.clock.advance(2 * MINUTE_MS)
  const collecting = (await why(daemon, `id=${monitor}&item_id=${posts[1]?.id}`)).body
  await daemon.clock.advance(15 * MINUTE_MS)
  const sent = (await why(daemon, `id=${monitor}&item_id=${posts[1]?.id}`)).body
  const [delivery] = (await daemon.call('/forum/monitor/deliveries')).body.deliveries
  const all = (await why(daemon, `delivery_id=${delivery.delivery_id}`)).body

  expect(collecting.items).toMatchObject([{ outcome: 'collecting' }])
  expect(collecting.items[0].collected_until).not.toBeNull()
  expect(collecting.deliveries).toEqual([])
  expect(sent.items).toMatchObject([{ outcome: 'matched', collected_until: null, as_of: 'match' }])
  expect(sent.deliveries).toMatchObject([{ delivery_id: delivery.delivery_id }])
  expect(new Set(all.items.map((it: any) => it.item_id))).toEqual(
    new Set(posts.map(({ name }) => name)),
  )
})

test('a filter edited since then is reported, because its conditions are the new ones', async () => {
  const { daemon, monitor } = await watched()
  await using _ = daemon
  const post = publish(daemon, 'a laser')
  await daemon.clock.advance(2 * MINUTE_MS)
  await daemon.send('/forum/monitor/update', {
    id: monitor,
    filter_spec: { subforum: 'cats', include_any: ['yarn'] },
  })
  const { body } = await why(daemon, `id=${monitor}&item_id=${post.id}`)

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

test('under other words the answer uses those, and stored bodies are read with them', async () => {
  const daemon = await startTestDaemon({
    change: (config) => {
      config.wire = { platform: 'club', community: 'board' }
    },
  })
  await using _ = daemon
  publish(daemon, 'an old one')
  await daemon.send('/club/monitor/webhook/create', { url: daemon.receiver.url })
  const { body: monitor } = await daemon.send('/club/monitor/add', {
    filter_spec: { board: 'cats', include_any: ['laser'] },
  })
  await daemon.clock.advance(2 * MINUTE_MS)
  const post = publish(daemon, 'a laser')
  await daemon.clock.advance(2 * MINUTE_MS)
  const { body } = await daemon.call(`/club/monitor/why?id=${monitor.id}&item_id=${post.id}`)

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
    await using daemon = await startTestDaemon()
    const answer = await why(daemon, query)

    expect(answer.status).toBe(status)
    expect(answer.body.field ?? null).toBe(field)
    expect(answer.body.message ?? answer.body.error).toMatch(sentence)
  })

  test('a monitor requires an item', async () => {
    const { daemon, monitor } = await watched()
    await using _ = daemon
    const answer = await why(daemon, `id=${monitor}`)

    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({ field: 'item_id', error: 'item_id is required beside id' })
  })
})
