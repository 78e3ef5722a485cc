import { expect, test } from 'bun:test'
import { createHmac, createPublicKey, verify } from 'node:crypto'

import { insertDelivery } from '../../src/store/delivery/deliveries.ts'
import { retireWebhook } from '../../src/store/delivery/webhooks.ts'
import { startTargets } from '../support/webhooks-fixture.ts'

const PLACES = ['/forum/monitor/webhook', '/api/forum/monitor/webhook']
const UPDATE = `${PLACES[0]}/update`
const ROTATE = `${PLACES[0]}/rotate`
const TEST = `${PLACES[0]}/test`

test.each(PLACES)('%s/update changes the given fields and keeps the rest', async (place) => {
  await using it = await startTargets()
  const { id } = await it.create()
  const first = await it.call(`${place}/update`, { id, name: ' alerts ', max_per_second: 0.5 })
  expect(first.body).toMatchObject({
    id,
    name: 'alerts',
    active: true,
    max_per_second: 0.5,
    ordered: false,
  })
  const second = await it.call(`${place}/update`, { webhook_id: id, ordered: true, name: null })
  expect(second.body).toMatchObject({ name: null, max_per_second: 0.5, ordered: true })
  expect((await it.call(`${place}/list`)).body.webhooks).toEqual([
    { ...second.body, health: expect.any(Object) },
  ])
})

test('pending deliveries of a disabled target fail visibly', async () => {
  await using it = await startTargets()
  const { id } = await it.create()
  it.addMonitor('mon_1')
  insertDelivery(it.db, {
    id: 'dlv_1',
    customer_id: 'cus_1',
    monitor_id: 'mon_1',
    webhook_id: id,
    status: 'pending',
    body: new TextEncoder().encode('{"count":0,"grouped":false,"items":[]}'),
    now: it.clock.now(),
  })
  expect((await it.call(UPDATE, { id, active: false })).body.active).toBe(false)
  expect((await it.call('/forum/monitor/deliveries')).body.deliveries).toMatchObject([
    { status: 'failed', last_error: 'webhook_paused' },
  ])
})

test('a new address keeps id and secret, and its health begins again', async () => {
  await using it = await startTargets()
  const { id, secret } = await it.create()
  it.db.run('UPDATE webhooks SET refused_since = 1, failing_since = 1, last_failure_at = 1')
  it.db.run('INSERT INTO webhook_hours VALUES (?, ?, 0, 3, NULL)', [
    id,
    Math.floor(it.clock.now() / 3_600_000),
  ])
  const url = it.receiver.url.replace('/hook', '/v2')
  const edited = await it.call(UPDATE, { id, url })
  expect(edited.body).toMatchObject({ id, url, active: true })
  const [listed] = (await it.call(`${PLACES[0]}/list`)).body.webhooks
  expect(listed.health).toMatchObject({ state: 'unused', failing_since: null, failed_24h: 0 })

  await it.call(TEST, { id })
  expect(it.receiver.received.at(-1)?.path).toBe('/v2')
  const signed = signatures(it, [secret])
  expect(signed.found).toEqual(signed.expected)
})

test('a new address does not resume a paused target, which a test does', async () => {
  await using it = await startTargets()
  const { id } = await it.create()
  retireWebhook(it.db, id, it.clock.now())
  const state = async () => (await it.call(`${PLACES[0]}/list`)).body.webhooks[0].health.state
  await it.call(UPDATE, { id, url: `${it.receiver.url}?v=2` })
  expect(await state()).toBe('paused')
  await it.call(TEST, { id })
  expect(await state()).toBe('unused')
})

test.each([
  ['http://receiver.test/', 'webhook_url_rejected'],
  ['https://10.1.2.3/', 'webhook_url_rejected'],
  ['https://absent.test/', 'webhook_url_rejected'],
  ['no address', 'webhook_url_rejected'],
  ['https://hooks.slack.com/services/T1/B1/x', 'webhook_kind_mismatch'],
])('the new address %s is refused as %s, and nothing changes', async (url, code) => {
  await using it = await startTargets({ hosts: { 'hooks.slack.com': ['127.0.0.1'] } })
  const { id } = await it.create()
  const answer = await it.call(UPDATE, { id, url, name: 'changed' })
  expect(answer).toMatchObject({ status: 400, body: { code } })
  expect((await it.call(`${PLACES[0]}/list`)).body.webhooks).toMatchObject([
    { url: it.receiver.url, name: null },
  ])
})

test('a new address of a push service does not get the token of the former one', async () => {
  await using it = await startTargets()
  const url = it.receiver.url.replace('/hook', '/topic')
  const { id } = await it.create({ kind: 'ntfy', url, token: 'tk_first' })
  const list = async () => (await it.call(`${PLACES[0]}/list`)).body.webhooks[0]
  expect(await list()).toMatchObject({ url, has_credentials: true })
  await it.call(UPDATE, { id, url, name: 'same' })
  expect((await list()).has_credentials).toBe(true)

  const other = it.receiver.url.replace('/hook', '/other')
  await it.call(UPDATE, { id, url: other })
  expect(await list()).toMatchObject({ url: other, has_credentials: false })
  await it.call(UPDATE, { id, url, token: 'tk_second' })
  expect(await list()).toMatchObject({ url, has_credentials: true })
})

test('the address of a mail target cannot change', async () => {
  await using it = await startTargets()
  const { id } = await it.create()
  it.db.run("UPDATE webhooks SET kind = 'email', url = 'mailto:ann@example.com'")
  expect(await it.call(UPDATE, { id, url: 'mailto:bob@example.com' })).toMatchObject({
    status: 400,
    body: { field: 'url' },
  })
  // The form of the dashboard sends the address unchanged.
  expect((await it.call(UPDATE, { id, url: 'mailto:ann@example.com' })).status).toBe(200)
})

test('enabling does not resume a target paused after a 410', async () => {
  await using it = await startTargets()
  const { id } = await it.create()
  retireWebhook(it.db, id, it.clock.now())
  expect((await it.call(UPDATE, { id, active: true })).body).toMatchObject({
    active: false,
    pause_reason: 'gone',
  })
})

/** The v1 values of the last request, and those expected with these secrets. */
function signatures(
  { receiver }: Awaited<ReturnType<typeof startTargets>>,
  secrets: readonly string[],
) {
  const last = receiver.received.at(-1)
  const header = last?.headers.get('x-service-signature') ?? ''
  const [, timestamp = ''] = /^t=(\d+)/.exec(header) ?? []
  const standard = last?.headers.get('webhook-signature') ?? ''
  return {
    found: header.split(',').slice(1),
    standard: standard.split(' '),
    expected: secrets.map(
      (secret) =>
        `v1=${createHmac('sha256', secret).update(`${timestamp}.${last?.text}`).digest('hex')}`,
    ),
    expected_standard: secrets.map((secret) => {
      const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
      const id = last?.headers.get('webhook-id')
      const signed = `${id}.${timestamp}.${last?.text}`
      return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
    }),
  }
}

test('during the overlap both secrets sign, after it only the new one', async () => {
  await using it = await startTargets()
  const { id, secret: old } = await it.create()
  const { body } = await it.call(ROTATE, { id, overlap_s: 60 })
  expect(body).toEqual({
    id,
    secret: expect.stringMatching(/^whsec_/),
    old_secret_until: '2026-01-01T00:01:00.000Z',
  })
  expect(body.secret).not.toBe(old)

  await it.call(TEST, { id })
  const both = signatures(it, [body.secret, old])
  expect(both.found).toEqual(both.expected)
  expect(both.standard).toEqual(both.expected_standard)

  await it.clock.advance(60_000)
  await it.call(TEST, { id })
  const one = signatures(it, [body.secret])
  expect(one.found).toEqual(one.expected)
  expect(one.standard).toEqual(one.expected_standard)
})

test('without an overlap the old secret is invalid at once; secrets are not stored in plain text', async () => {
  await using it = await startTargets()
  const { id, secret: old } = await it.create()
  const { body } = await it.call(ROTATE, { id })
  expect(body.old_secret_until).toBeNull()
  await it.call(TEST, { id })
  const one = signatures(it, [body.secret])
  expect(one.found).toEqual(one.expected)
  await it.call(ROTATE, { id, overlap_s: 60 })
  const row = it.db
    .query<{ secret: Uint8Array; old_secret: Uint8Array }, []>(
      'SELECT secret, old_secret FROM webhooks',
    )
    .get()
  const stored = Buffer.concat([row?.secret ?? Buffer.of(), row?.old_secret ?? Buffer.of()])
  for (const secret of [old, body.secret]) expect(stored.includes(secret)).toBe(false)
})

test.each([
  [UPDATE, { name: '' }, 'name', 'name must be text of 1 to 100 characters, or null'],
  [
    UPDATE,
    { max_per_second: 0 },
    'max_per_second',
    'max_per_second must be a number from 0.01 to 1000, or null for no bound',
  ],
  [UPDATE, { url: 7 }, 'url', 'url must be text'],
  [UPDATE, { ordered: 'yes' }, 'ordered', 'ordered must be true or false'],
  [UPDATE, { active: 1 }, 'active', 'active must be true or false'],
  [ROTATE, { overlap_s: 86_401 }, 'overlap_s', 'overlap_s must be a whole number from 0 to 86400'],
  [ROTATE, { overlap_s: 1.5 }, 'overlap_s', 'overlap_s must be a whole number from 0 to 86400'],
])('%s with %j: names %s', async (path, body, field, error) => {
  await using it = await startTargets()
  const { id } = await it.create()
  expect(await it.call(path, { id, ...body })).toMatchObject({
    status: 400,
    body: { field, error },
  })
})

test("another customer's target cannot be edited, and is the same 404 as an absent one", async () => {
  await using it = await startTargets()
  const { id } = await it.create(undefined, 'cus_2')
  for (const path of [UPDATE, ROTATE]) {
    const foreign = await it.call(path, { id })
    const absent = await it.call(path, { id: 'wh_none' })
    expect([foreign.status, foreign.text]).toEqual([404, absent.text])
  }
})

/** True if the last received request has a v1a signature that this public key verifies. */
function hasAsymmetric({ receiver }: Awaited<ReturnType<typeof startTargets>>, public_key: string) {
  const last = receiver.received.at(-1)
  const x = Buffer.from(public_key.replace('whpk_', ''), 'base64').toString('base64url')
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  const field = (name: string) => last?.headers.get(name) ?? ''
  const bytes = Buffer.from(`${field('webhook-id')}.${field('webhook-timestamp')}.${last?.text}`)
  return field('webhook-signature')
    .split(' ')
    .filter((it) => it.startsWith('v1a,'))
    .some((it) => verify(null, bytes, key, Buffer.from(it.slice(4), 'base64')))
}

test('v1a is turned on, rotated with an overlap, and turned off; its private key is stored sealed', async () => {
  await using it = await startTargets()
  const { id, secret, ...created } = await it.create()
  expect(created).not.toHaveProperty('public_key')

  const on = (await it.call(UPDATE, { id, signatures: ['v1', 'v1a'] })).body
  expect(on.signatures).toEqual(['v1', 'v1a'])
  await it.call(TEST, { id })
  expect(hasAsymmetric(it, on.public_key)).toBe(true)
  // The secret is the same, and a repeat keeps the key.
  const signed = signatures(it, [secret])
  expect(signed.found).toEqual(signed.expected)
  expect((await it.call(UPDATE, { id, signatures: ['v1', 'v1a'] })).body.public_key).toBe(
    on.public_key,
  )

  const rotated = (await it.call(ROTATE, { id, overlap_s: 60 })).body
  expect(rotated.public_key).not.toBe(on.public_key)
  expect(rotated.secret).not.toContain('whsk_')
  await it.call(TEST, { id })
  expect([hasAsymmetric(it, on.public_key), hasAsymmetric(it, rotated.public_key)]).toEqual([
    true,
    true,
  ])
  const stored = it.db.query<{ secret: Uint8Array }, []>('SELECT secret FROM webhooks').all()
  expect(Buffer.from(stored[0]?.secret ?? []).includes('whsk_')).toBe(false)
  expect((await it.call(`${PLACES[0]}/list`)).text).not.toContain('whsk_')

  const off = (await it.call(UPDATE, { id, signatures: ['v1'] })).body
  expect(off).not.toHaveProperty('public_key')
  await it.call(ROTATE, { id })
  await it.call(TEST, { id })
  expect(it.receiver.received.at(-1)?.headers.get('webhook-signature')).toMatch(/^v1,[^ ]+$/)
})

test.each([
  [{ signatures: [] }],
  [{ signatures: ['v1a'] }],
  [{ signatures: ['v1', 'v1'] }],
  [{ signatures: ['v1', 'v2'] }],
  [{ signatures: 'v1' }],
])('refused: %j', async (fields) => {
  await using it = await startTargets()
  const { id } = await it.create()
  expect(await it.call(UPDATE, { id, ...fields })).toMatchObject({
    status: 400,
    body: {
      field: expect.stringContaining('signatures'),
      error: 'signatures must be ["v1"] or ["v1", "v1a"]',
    },
  })
})

test('a chat cannot have signatures', async () => {
  await using it = await startTargets({ hosts: { 'hooks.slack.com': ['127.0.0.1'] } })
  const url = 'https://hooks.slack.com/services/T/B/X'
  expect(await it.call(`${PLACES[0]}/create`, { url, signatures: ['v1', 'v1a'] })).toMatchObject({
    status: 400,
    body: { error: 'signatures is for kind webhook, and this is slack' },
  })
})
