import { expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'

import { EVENTS_FORM } from '../../src/delivery/kinds.ts'
import { insertDelivery } from '../../src/store/delivery/deliveries.ts'
import { pauseFailing, recordFailure } from '../../src/store/delivery/webhooks.ts'
import { startTargets } from '../support/webhooks-fixture.ts'

const PLACES = ['/forum/monitor/webhook', '/api/forum/monitor/webhook']
const CREATE = `${PLACES[0]}/create`
const LIST = `${PLACES[0]}/list`
const TEST = `${PLACES[0]}/test`
const DELETE = `${PLACES[0]}/delete`
const DAY_MS = 86_400_000

test('a target is created with a secret that is shown once and stored sealed', async () => {
  await using it = await startTargets()
  const created = await it.call(CREATE, { kind: 'webhook', url: it.receiver.url })

  expect(created.status).toBe(200)
  expect(created.body).toEqual({
    id: expect.stringMatching(/^wh_[0-9a-f-]{36}$/),
    kind: 'webhook',
    url: it.receiver.url,
    secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
    created_at: '2026-01-01T00:00:00.000Z',
    active: true,
    paused_at: null,
    pause_reason: null,
    name: null,
    max_per_second: null,
    ordered: false,
    events: ['match'],
    kind_inferred_from: null,
  })
  const { secret, kind_inferred_from: _, ...rest } = created.body
  const listed = await it.call(LIST)
  expect(listed.body).toEqual({ webhooks: [{ ...rest, health: expect.any(Object) }] })
  const stored = Buffer.concat(
    it.db
      .query<{ secret: Uint8Array }, []>('SELECT secret FROM webhooks')
      .all()
      .map((row) => row.secret),
  )
  expect(stored.includes(secret)).toBe(false)
})

test.each(PLACES)('%s answers', async (place) => {
  await using it = await startTargets()
  const { body } = await it.call(`${place}/create`, { url: it.receiver.url })
  expect((await it.call(`${place}/list`)).body.webhooks).toHaveLength(1)
  expect((await it.call(`${place}/test`, { id: body.id })).body.ok).toBe(true)
  expect((await it.call(`${place}/delete`, { webhook_id: body.id })).body).toEqual({
    deleted: true,
    id: body.id,
  })
})

test.each([
  ['https://hooks.slack.com/services/T/B/X', 'slack', 'hooks.slack.com'],
  ['https://discord.com/api/webhooks/1/x', 'discord', 'discord.com'],
  ['https://hooks.slack.com/elsewhere', 'webhook', null],
])('%s has the kind %s', async (url, kind, kind_inferred_from) => {
  const hosts = { 'hooks.slack.com': ['3.68.175.98'], 'discord.com': ['162.159.128.233'] }
  await using it = await startTargets({ hosts })
  expect(await it.create({ url })).toMatchObject({ kind, kind_inferred_from })
})

test.each(['slack', 'discord', 'mattermost'])(
  'kind %s takes a service at another host that has its format',
  async (kind) => {
    await using it = await startTargets({})
    const created = await it.create({ kind, url: 'https://receiver.test/hooks/x' })

    expect(created).toMatchObject({ kind, url: 'https://receiver.test/hooks/x' })
  },
)

test.each([
  ['mattermost', 'https://hooks.slack.com/services/T/B/X'],
  ['discord', 'https://discord.com/api/v10/users/@me'],
  ['webhook', 'https://hooks.slack.com/services/T/B/X'],
])('kind %s does not fit %s', async (kind, url) => {
  const hosts = { 'hooks.slack.com': ['3.68.175.98'], 'discord.com': ['162.159.128.233'] }
  await using it = await startTargets({ hosts })
  const { status, body } = await it.call(CREATE, { kind, url })
  expect([status, body.error, body.code, body.field]).toEqual([
    400,
    'webhook_kind_mismatch',
    'webhook_kind_mismatch',
    'kind',
  ])
})

test.each([
  ['http://hooks.example.com/', 'not_https'],
  ['https://10.0.0.1/', 'not_public'],
  ['https://rebound.example.com/', 'not_public'],
  ['https://nowhere.example.com/', 'unresolved'],
  ['https://u:p@hooks.example.com/', 'userinfo'],
  ['https://0x7f.1/', 'spelling'],
  ['https://db.internal/', 'name'],
  ['', 'malformed'],
])('%p is rejected as a target: %s', async (url, reason) => {
  await using it = await startTargets({
    hosts: {
      'rebound.example.com': ['93.184.215.14', '169.254.169.254'],
      'db.internal': ['93.184.215.14'],
    },
  })
  const { status, body, text } = await it.call(CREATE, { url })
  expect([status, body.code, body.field, body.reason]).toEqual([
    400,
    'webhook_url_rejected',
    'url',
    reason,
  ])
  expect(text).not.toContain('169.254')
  expect(body.hint?.includes('\n[guard]\n') ?? false).toBe(
    url !== '' && ['not_https', 'name', 'not_public'].includes(reason),
  )
  expect((await it.call(LIST)).body.webhooks).toEqual([])
})

test.each([
  [{ kind: 'email', url: 'mailto:ann@example.com' }],
  [{ url: 'mailto:ann@example.com' }],
  [{ kind: 'email', url: 'https://hooks.example.com/' }],
])('mail is not configured: %j', async (body) => {
  await using it = await startTargets()
  expect(await it.call(CREATE, body)).toMatchObject({
    status: 400,
    body: { code: 'email_not_configured' },
  })
})

test.each([
  [CREATE, {}, 'url', 'url is required'],
  [CREATE, { url: 7 }, 'url', 'url must be text'],
  [
    CREATE,
    { url: 'https://x.example.com', kind: 'fax' },
    'kind',
    'kind must be one of webhook, slack, discord, email, ntfy, telegram, gotify, matrix, mqtt, mattermost',
  ],
  [
    CREATE,
    { url: 'https://x.example.com', secret: 'mine' },
    'secret',
    'secret is not a known field; allowed: kind, url, name, events, token, username, signatures',
  ],
  [CREATE, { url: 'https://x.example.com', events: ['item.deleted'] }, 'events', EVENTS_FORM],
  [CREATE, { url: 'https://x.example.com', events: ['match', 'gone'] }, 'events[1]', EVENTS_FORM],
  [
    CREATE,
    { url: 'https://hooks.slack.com/services/T/B/x', events: ['match', 'item.edited'] },
    'events',
    EVENTS_FORM,
  ],
  [TEST, {}, 'id', 'id is required'],
  [TEST, { id: 7 }, 'id', 'id must be text'],
  [DELETE, { id: 'a', webhook_id: 'b' }, 'webhook_id', 'webhook_id must equal id, or be left out'],
])('%s with %j: names %s', async (path, body, field, error) => {
  await using it = await startTargets()
  expect(await it.call(path, body)).toMatchObject({ status: 400, body: { field, error } })
})

test('a test is one signed delivery that is not listed', async () => {
  await using it = await startTargets()
  const { id, secret } = await it.create()
  it.receiver.answers.push({ body: 'ok' })
  const { body: report } = await it.call(TEST, { id })

  const [request] = it.receiver.received
  const sent = JSON.parse(request?.text ?? '')
  expect(report).toEqual({
    ok: true,
    status_code: 200,
    status: 200,
    delivery_id: sent.delivery_id,
    duration_ms: expect.any(Number),
    reason: null,
    hint: null,
    detail: 'the receiver answered 200',
    body_start: 'ok',
  })
  expect(sent).toMatchObject({ monitor_id: 'mon_test', count: 1, grouped: false, test: true })
  expect(sent.delivery_id).toMatch(/^dlv_[\w-]{22}$/)
  expect(sent.items[0]).toMatchObject({
    title: expect.any(String),
    subforum: expect.any(String),
    permalink: expect.any(String),
    enrichment: { relevance: { score: 1, method: 'no_keyword_criteria' } },
  })
  const stamp = request?.headers.get('x-service-timestamp')
  const mac = createHmac('sha256', secret).update(`${stamp}.${request?.text}`).digest('hex')
  expect(request?.headers.get('x-service-signature')).toBe(`t=${stamp},v1=${mac}`)
  expect((await it.call('/forum/monitor/deliveries')).body).toEqual({
    deliveries: [],
    next_before: null,
  })
})

test('a test uses the configured words', async () => {
  await using it = await startTargets({ community: 'board' })
  const { id } = await it.create()
  await it.call(TEST, { id })
  expect(JSON.parse(it.receiver.received[0]?.text ?? '').items[0]).toMatchObject({ board: 'test' })
})

test("a failed test reports the receiver's answer and a fix, and is not repeated", async () => {
  await using it = await startTargets()
  const { id } = await it.create()
  it.receiver.answers.push(503)
  const { status, body } = await it.call(TEST, { id })
  expect([status, body.ok, body.status_code, body.reason]).toEqual([200, false, 503, 'http_503'])
  expect(body.hint).toBe('the receiver failed; check its log')
  expect(it.receiver.received).toHaveLength(1)
})

test('a test to an address that has become private opens no connection', async () => {
  const hosts = { 'hooks.example.com': ['93.184.215.14'] }
  await using it = await startTargets({ hosts })
  const { id } = await it.create({ url: 'https://hooks.example.com/' })
  hosts['hooks.example.com'] = ['10.0.0.5']
  expect((await it.call(TEST, { id })).body).toMatchObject({
    ok: false,
    status_code: null,
    reason: 'target_not_public',
  })
})

test('a target can be created with its name', async () => {
  await using it = await startTargets()
  const { id } = await it.create({ url: it.receiver.url, name: ' On call ' })

  expect((await it.call(LIST)).body.webhooks).toMatchObject([{ id, name: 'On call' }])
})

test('a successful test resumes a paused target, a failed one does not', async () => {
  await using it = await startTargets()
  const { id } = await it.create()
  for (let day = 0; day < 3; day++) recordFailure(it.db, id, day * DAY_MS)
  expect(pauseFailing(it.db, 7 * DAY_MS, 8 * DAY_MS)).toEqual([id])
  const listedWebhook = async () => (await it.call(LIST)).body.webhooks[0]
  expect(await listedWebhook()).toMatchObject({
    active: false,
    paused_at: '1970-01-09T00:00:00.000Z',
    pause_reason: 'failing',
  })

  it.receiver.answers.push(500)
  await it.call(TEST, { id })
  expect(await listedWebhook()).toMatchObject({ pause_reason: 'failing' })
  await it.call(TEST, { id })
  expect(await listedWebhook()).toMatchObject({
    active: true,
    paused_at: null,
    pause_reason: null,
  })
})

test('tests are limited to ten a minute', async () => {
  await using it = await startTargets()
  const { id } = await it.create()
  for (let n = 0; n < 10; n++) expect((await it.call(TEST, { id })).status).toBe(200)
  expect(await it.call(TEST, { id })).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
  expect(it.receiver.received).toHaveLength(10)
})

test("another customer's target and an absent one are the same 404, byte for byte", async () => {
  await using it = await startTargets()
  const { id } = await it.create(undefined, 'cus_2')
  for (const path of [TEST, DELETE]) {
    const foreign = await it.call(path, { id })
    const absent = await it.call(path, { id: 'wh_none' })
    expect([foreign.status, foreign.text]).toEqual([404, absent.text])
  }
  expect((await it.call(LIST)).body.webhooks).toEqual([])
  expect((await it.call(LIST, undefined, 'cus_2')).body.webhooks).toHaveLength(1)
  expect(it.receiver.received).toHaveLength(0)
})

test('a deleted target is gone, its pending deliveries failed, and its id is in no list', async () => {
  await using it = await startTargets()
  const one = await it.create()
  const two = await it.create()
  it.addMonitor('mon_both', 'cus_1', [one.id, two.id])
  it.addMonitor('mon_only', 'cus_1', [one.id])
  it.addMonitor('mon_every', 'cus_1', null)
  for (const webhook_id of [one.id, two.id])
    insertDelivery(it.db, {
      id: `dlv_${webhook_id}`,
      customer_id: 'cus_1',
      monitor_id: 'mon_both',
      webhook_id,
      status: 'pending',
      body: new TextEncoder().encode('{"count":0,"grouped":false,"items":[]}'),
      now: it.clock.now(),
    })
  await it.call(DELETE, { id: one.id })

  expect((await it.call(LIST)).body.webhooks.map((row: { id: string }) => row.id)).toEqual([two.id])
  const { body } = await it.call('/forum/monitor/deliveries')
  expect(body.deliveries).toMatchObject([
    { webhook_id: two.id, status: 'pending', last_error: null },
    { webhook_id: one.id, status: 'failed', last_error: 'webhook_deleted' },
  ])
  const lists = it.db
    .query<{ id: string; webhook_ids: string | null }, []>('SELECT id, webhook_ids FROM monitors')
    .all()
  expect(Object.fromEntries(lists.map(({ id, webhook_ids }) => [id, webhook_ids]))).toEqual({
    mon_both: JSON.stringify([two.id]),
    mon_only: '[]',
    mon_every: null,
  })
  expect(it.nudges()).toBe(1)
  expect((await it.call(DELETE, { id: one.id })).status).toBe(404)
})
