// Goal: credentials of push services and brokers go in and never come out: not in answers, lists, exports, errors, the
// audit, or the database file in clear. Method: the API and the command line, with the services of their documentation.
import { expect, test } from 'bun:test'

import { type Push, startPushServices, TOKENS } from '../support/push-services.ts'
import { startTargets } from '../support/webhooks-fixture.ts'

const KINDS = Object.keys(TOKENS) as Push[]
const [CREATE, UPDATE, TEST, LIST] = ['create', 'update', 'test', 'list'].map(
  (name) => `/forum/monitor/webhook/${name}`,
) as [string, string, string, string]

test.each(KINDS)('%s: created, listed without its token, and tested', async (kind) => {
  await using services = await startPushServices()
  await using it = await startTargets()
  const url = services.urls[kind]
  const created = await it.call(CREATE, { kind, url, token: TOKENS[kind] })
  expect(created.body).toMatchObject({ kind, url, has_credentials: true, kind_inferred_from: null })
  const listed = await it.call(LIST)
  const tested = await it.call(TEST, { id: created.body.id })
  expect(tested.body).toMatchObject({ ok: true, status_code: 200, reason: null })
  expect(JSON.stringify(services.shown(kind)[0])).toMatch(/Test delivery|test delivery/)
  for (const { text } of [created, listed, tested]) expect(text).not.toContain(TOKENS[kind])

  const [row] = it.db
    .query<{ url: string; credentials: Uint8Array }, []>('SELECT url, credentials FROM webhooks')
    .all()
  expect(row?.url).toBe(url)
  expect(Buffer.from(row?.credentials ?? []).includes(TOKENS[kind])).toBe(false)
})

test('a token within the address is taken out of it', async () => {
  await using services = await startPushServices()
  await using it = await startTargets()
  const url = services.urls.telegram.replace('***', TOKENS.telegram)
  const created = await it.call(CREATE, { kind: 'telegram', url })
  expect(created.body).toMatchObject({ url: services.urls.telegram, has_credentials: true })
  expect(created.text + (await it.call(LIST)).text).not.toContain(TOKENS.telegram)
  expect((await it.call(TEST, { id: created.body.id })).body.ok).toBe(true)
})

test('a token is replaced, and the audit says that a secret changed, not which', async () => {
  await using services = await startPushServices()
  await using it = await startTargets()
  const { body } = await it.call(CREATE, {
    kind: 'ntfy',
    url: services.urls.ntfy,
    token: 'tk_old',
  })
  const refused = await it.call(TEST, { id: body.id })
  expect(refused.body).toMatchObject({ ok: false, reason: 'http_401' })
  const updated = await it.call(UPDATE, { id: body.id, token: TOKENS.ntfy })
  expect([updated.status, updated.body.has_credentials]).toEqual([200, true])
  expect((await it.call(TEST, { id: body.id })).body.ok).toBe(true)
  expect((await it.call(UPDATE, { id: body.id, name: 'phone' })).body.has_credentials).toBe(true)
  expect((await it.call(TEST, { id: body.id })).body.ok).toBe(true)
  expect((await it.call(UPDATE, { id: body.id, token: null })).body.has_credentials).toBe(false)
  expect((await it.call(TEST, { id: body.id })).body.reason).toBe('http_403')

  const audit = it.db
    .query<{ detail: string }, []>("SELECT detail FROM audit WHERE kind = 'webhook.changed'")
    .all()
    .map(({ detail }) => detail)
  expect(audit.filter((detail) => JSON.parse(detail).new_secret === 1)).toHaveLength(2)
  expect(audit.join()).not.toContain(TOKENS.ntfy)
})

const HOSTS = { 'api.telegram.org': ['149.154.167.220'], 'broker.example.com': ['93.184.216.34'] }
const BOT = `https://api.telegram.org/bot${TOKENS.telegram}/sendMessage?chat_id=1`

test.each([
  [BOT, 'telegram', 'api.telegram.org'],
  ['mqtts://ann:secret-pass@broker.example.com/a', 'mqtt', 'broker.example.com'],
])('%s needs no kind', async (url, kind, kind_inferred_from) => {
  await using it = await startTargets({ hosts: HOSTS })
  const { text, body } = await it.call(CREATE, { url })
  expect(body).toMatchObject({ kind, kind_inferred_from, has_credentials: true })
  expect(text).not.toMatch(/secret-pass|AAHdqTcv/)
})

const CODES = {
  token: 'INVALID_REQUEST',
  url: 'webhook_url_rejected',
  kind: 'webhook_kind_mismatch',
}

test.each<[string, object, keyof typeof CODES, string]>([
  [
    'no token',
    { kind: 'gotify', url: 'https://receiver.test/message' },
    'token',
    'token of an application',
  ],
  [
    'a name of half a megabyte of marks',
    { url: `https://${'\u0316\u0301'.repeat(120_000)}.example/` },
    'url',
    'absolute address',
  ],
  ['another form', { kind: 'ntfy', url: 'https://receiver.test/' }, 'url', 'a topic'],
  ['a private address', { kind: 'ntfy', url: 'https://10.0.0.1/topic' }, 'url', 'public addresses'],
  ['a broker in a private network', { url: 'mqtts://10.0.0.1/topic' }, 'url', 'public addresses'],
  ['a broker without TLS', { url: 'mqtt://broker.example.com/topic' }, 'url', 'mqtts://'],
  ['a broker that does not resolve', { url: 'mqtts://nowhere.example.com/t' }, 'url', 'resolves'],
  [
    'a token for a webhook',
    { url: 'https://receiver.test/', token: 'secret-pass' },
    'token',
    'is for kinds ntfy',
  ],
  ['another kind for a bot', { kind: 'slack', url: BOT }, 'kind', 'hooks.slack.com'],
  [
    'a token that is not text',
    { kind: 'ntfy', url: 'https://receiver.test/t', token: 5 },
    'token',
    '1 to 1024',
  ],
  [
    'a token that is too long',
    { kind: 'ntfy', url: 'https://receiver.test/t', token: 'x'.repeat(1025) },
    'token',
    '1 to 1024',
  ],
])('%s is refused by its field', async (_what, request, field, sentence) => {
  await using it = await startTargets({ hosts: HOSTS })
  const { status, body, text } = await it.call(CREATE, request)
  expect([status, body.code, body.field]).toEqual([400, CODES[field], field])
  expect(text).toContain(sentence)
  expect(text).not.toMatch(/secret-pass|AAHdqTcv/)
})

test('an update checks credentials by the kind', async () => {
  await using it = await startTargets()
  const { id } = await it.create()
  const refused = await it.call(UPDATE, { id, token: 'x' })
  expect([refused.status, refused.body.field]).toEqual([400, 'token'])
})
