import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'

import { recordProxyTest } from '../../src/store/proxies.ts'
import { addAccounts } from '../support/accounts.ts'
import {
  addProxy,
  beside,
  type House,
  operatorKey,
  pageOf,
  startOperated,
} from './operator-stage.ts'

// A daemon for nearly each of them, and the machine may be busy.
setDefaultTimeout(30_000)

const SECOND = 1000
const MINUTE = 60 * SECOND
const READ = '/api/forum/posts?subforum=coffee&limit=1'
const ROUTES: [string, string][] = [
  ['GET', '/operator/pool'],
  ['POST', '/operator/pool/acc_main/pause'],
  ['POST', '/operator/pool/acc_main/resume'],
  ['POST', '/operator/pool/acc_main/test'],
  ['GET', '/operator/customers'],
  ['GET', '/operator/overview'],
  ['GET', '/operator/feedback'],
  ['POST', '/operator/feedback/fb_1'],
]

const accountsIn = ({ sandbox }: House) =>
  sandbox
    .overview()
    .accounts.filter(({ totp_secret, flags }) => totp_secret === null && !flags.suspended)

/** A daemon with one account in its pool, which has been taken over. */
async function start() {
  const house = await startOperated()
  const [first] = accountsIn(house)
  const { username = '', cookies = {} } = first ?? {}
  addAccounts(house, [{ name: 'main', username, cookies }])
  const key = operatorKey(house)
  await house.clock.advance(2 * SECOND)
  const ask = (path: string, init: RequestInit = {}) => house.call(path, init, key)
  const post = (path: string, body?: object) =>
    ask(path, { method: 'POST', ...(body && { body: JSON.stringify(body) }) })
  const main = async () => (await ask('/operator/pool')).body.accounts[0]
  return { house, key, ask, post, main, username, cookies }
}

// Whoever is refused changes nothing, and needs no daemon of its own.
let shared: Awaited<ReturnType<typeof start>> | null = null
const sharing = async () => (shared ??= await start())
afterAll(() => shared?.house[Symbol.asyncDispose]())

test.each(ROUTES)('%s %s is for an operator’s key alone', async (method, path) => {
  const { house, key } = await sharing()
  const statusOf = async (authorization: string) => {
    const answer = await fetch(house.url() + path, {
      method,
      headers: { authorization, 'content-type': 'application/json' },
      ...(method === 'POST' && { body: '{"status":"new"}' }),
    })
    expect(answer.headers.get('access-control-allow-origin')).toBeNull()
    return answer.status
  }

  expect(await statusOf('')).toBe(401)
  expect(await statusOf(`Bearer fo_${'0'.repeat(43)}`)).toBe(403)
  expect(await statusOf(`Bearer ${house.key}`)).toBe(403)
  expect([200, 404]).toContain(await statusOf(`Bearer ${key}`))
})

test('a customer is told that a route is not for its key, by header and by cookie', async () => {
  const { house } = await sharing()
  const headers = await pageOf(house, house.key)
  const by_header = await house.call('/operator/pool')
  const by_cookie = await fetch(`${house.url()}/dashboard/api/operator/pool`, { headers })

  expect([by_header.status, by_header.body]).toEqual([
    403,
    {
      error: 'PERMISSION_DENIED',
      code: 'PERMISSION_DENIED',
      message: "this is for an operator's key, fo_ and 43 characters",
      reason: 'operator_only',
    },
  ])
  expect([by_cookie.status, await by_cookie.json()]).toEqual([403, by_header.body])
})

test('an operator’s session opens the operator’s routes, and no customer’s', async () => {
  const { house, key, ask } = await start()
  await using _ = house
  const headers = await pageOf(house, key)
  const get = async (path: string) => {
    const answer = await fetch(`${house.url()}/dashboard/api${path}`, { headers })
    return { status: answer.status, body: await answer.json() }
  }

  expect((await get('/operator/customers')).body).toEqual((await ask('/operator/customers')).body)
  expect((await get('/account/me')).status).toBe(403)
})

test('a preflight from elsewhere gets no leave for the operator’s routes', async () => {
  const { house } = await sharing()
  const answer = await fetch(`${house.url()}/operator/pool`, {
    method: 'OPTIONS',
    headers: { origin: 'https://evil.example', 'access-control-request-method': 'GET' },
  })

  expect(answer.status).toBe(401)
  expect([...answer.headers.keys()].filter((it) => it.startsWith('access-control'))).toEqual([])
})

test('the pool shows how its accounts and ways out stand, and no secret', async () => {
  const { house, ask, username, cookies } = await start()
  await using _ = house
  addProxy(house, 'out', {
    scheme: 'socks5h',
    host: 'proxy.test',
    port: 1080,
    username: 'canary-user',
    password: 'canary-secret',
  })
  addProxy(house, 'broken', {
    scheme: 'http',
    host: 'gone.test',
    port: 8080,
    username: null,
    password: null,
  })
  beside(house, ({ db }) => {
    recordProxyTest(db, 'prx_broken', 'refused', house.clock.now())
    recordProxyTest(db, 'prx_out', null, house.clock.now())
  })
  const secrets = { kind: 'session', password: 'canary-password', totp_secret: null } as const
  addAccounts(house, [{ name: 'spare', secrets }])
  await house.call(READ)
  await house.call(READ)
  // What an account was used for is written down within a minute.
  await house.clock.advance(2 * MINUTE)
  const { status, body } = await ask('/operator/pool')
  const [, spare] = body.accounts
  const asked = house.sandbox.requests.filter(({ user }) => user === username).length

  expect(status).toBe(200)
  expect(body).toEqual({
    accounts: [
      {
        id: 'acc_main',
        name: 'main',
        kind: 'session',
        username,
        status: 'ready',
        since: expect.any(String),
        paused: false,
        needs_login: false,
        proxy: null,
        budget: {
          limit_per_minute: expect.any(Number),
          remaining: expect.any(Number),
          resets_at: expect.any(String),
        },
        cooling_until: null,
        last_used_at: expect.any(String),
        last_ok_at: expect.any(String),
        last_error: null,
        requests_24h: asked,
        blocked_24h: 0,
      },
      spare,
    ],
    proxies: [
      {
        id: 'prx_broken',
        name: 'broken',
        scheme: 'http',
        host: 'gone.test:8080',
        status: 'failing',
        last_tested_at: null,
        last_ok_at: null,
        last_error: 'refused',
      },
      {
        id: 'prx_out',
        name: 'out',
        scheme: 'socks5h',
        host: 'proxy.test:1080',
        status: 'ok',
        last_tested_at: '2026-01-01T00:00:02.000Z',
        last_ok_at: '2026-01-01T00:00:02.000Z',
        last_error: null,
      },
    ],
    anonymous: { allowed: true },
    counted_since: '2026-01-01T00:00:00.000Z',
  })
  expect(spare).toMatchObject({ name: 'spare', needs_login: true, budget: null, requests_24h: 0 })
  expect(asked).toBeGreaterThan(2)
  const shown = JSON.stringify(body)
  expect(shown).not.toContain('canary')
  for (const value of Object.values(cookies)) expect(shown).not.toContain(value)
})

test('block pages are counted apart', async () => {
  const { house, main } = await start()
  await using _ = house
  house.sandbox.weather({ path: '/r/coffee/*', fault: 'block_403_html', times: 1 })
  await house.call(READ)

  expect(await main()).toMatchObject({ blocked_24h: 1, requests_24h: expect.any(Number) })
})

test('a paused account is left alone at once, and is used again once it is resumed', async () => {
  const { house, post, username } = await start()
  await using _ = house
  const eyes = async () => {
    const since = house.sandbox.requests.length
    await house.call(READ)
    return new Set(house.sandbox.requests.slice(since).map(({ user }) => user))
  }
  expect(await eyes()).toEqual(new Set([username]))

  const paused = await post('/operator/pool/acc_main/pause')
  expect([paused.status, paused.body]).toMatchObject([
    200,
    { id: 'acc_main', status: 'paused', paused: true, last_error: 'operator' },
  ])
  expect((await house.call(READ)).status).toBe(503)

  const resumed = await post('/operator/pool/acc_main/resume')
  expect(resumed.body).toMatchObject({ status: 'ready', paused: false, last_error: null })
  await house.clock.advance(SECOND)
  expect(await eyes()).toEqual(new Set([username]))
  expect(
    house.events.filter(({ event }) => /^account\.(paused|resumed)$/.test(event)),
  ).toMatchObject([
    { event: 'account.paused', fields: { account: 'main', reason: 'operator' } },
    { event: 'account.resumed', fields: { account: 'main' } },
  ])
})

test('an account that was never signed in waits for its sign-in when it is resumed', async () => {
  const { house, post } = await start()
  await using _ = house
  addAccounts(house, [{ name: 'new' }])
  await house.clock.advance(2 * SECOND)

  expect((await post('/operator/pool/acc_new/pause')).body.status).toBe('paused')
  expect((await post('/operator/pool/acc_new/resume')).body).toMatchObject({
    status: 'needs_login',
    needs_login: true,
    last_error: 'never_signed_in',
  })
  expect((await post('/operator/pool/acc_new/test')).body).toMatchObject({
    ok: false,
    verdict: 'no_session',
  })
})

test('a test asks the platform now, and says what that has shown', async () => {
  const { house, post, username } = await start()
  await using _ = house
  const alive = await post('/operator/pool/acc_main/test')
  house.sandbox.revoke({ username })
  const dead = await post('/operator/pool/acc_main/test')
  await post('/operator/pool/acc_main/pause')
  const since = house.sandbox.requests.length
  const paused = await post('/operator/pool/acc_main/test')

  expect(alive.body).toMatchObject({ ok: true, verdict: 'alive', account: { status: 'ready' } })
  expect(dead.body).toMatchObject({ ok: false, verdict: 'nobody' })
  expect(paused.body).toMatchObject({ ok: false, verdict: 'paused' })
  expect(house.sandbox.requests.length).toBe(since)
})

test.each(['pause', 'resume', 'test'])(
  'there is nothing to %s where there is no account',
  async (verb) => {
    const { post } = await sharing()
    const answer = await post(`/operator/pool/acc_none/${verb}`)

    expect([answer.status, answer.body.code]).toEqual([404, 'NOT_FOUND'])
  },
)

test('customers are listed with what they have and how much they called', async () => {
  const { house, ask } = await start()
  await using _ = house
  house.mint('bob')
  await house.call(READ)
  await house.send('/forum/monitor/add', { filter_spec: { subforum: 'coffee', q: 'zebra' } })
  const { body } = await ask('/operator/customers')

  expect(body).toEqual({
    customers: [
      {
        id: expect.stringMatching(/^cus_/),
        name: 'ann',
        plan: 'entry',
        credits_remaining: 99.998,
        unlimited: false,
        created_at: '2026-01-01T00:00:00.000Z',
        monitors: 1,
        requests_24h: 1,
      },
      expect.objectContaining({
        name: 'bob',
        monitors: 0,
        requests_24h: 0,
        credits_remaining: 100,
      }),
    ],
    truncated: false,
  })
  beside(house, ({ db }) =>
    db.run(`UPDATE usage_hours SET hour_at = hour_at - ${25 * 60 * MINUTE}`),
  )
  expect((await ask('/operator/customers')).body.customers[0].requests_24h).toBe(0)
})

test('the overview counts the house, and says how its storage is', async () => {
  const { house, ask } = await start()
  await using _ = house
  await house.send('/forum/monitor/webhook/create', { url: house.receiver.url })
  const { body: monitor } = await house.send('/forum/monitor/add', {
    filter_spec: { subforum: 'coffee', q: 'zebra' },
  })
  await house.send('/forum/monitor/update', { id: monitor.id, active: false })
  await house.send('/feedback', { type: 'bug', title: 'it broke', details: 'it did' })
  await house.clock.advance(10 * MINUTE)
  const { body } = await ask('/operator/overview')

  expect(body).toMatchObject({
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    started_at: '2026-01-01T00:00:00.000Z',
    uptime_s: 602,
    reads: expect.stringMatching(/^(ok|unknown)$/),
    counts: {
      customers: 1,
      keys: 2,
      monitors: 1,
      monitors_paused: 1,
      webhooks: 1,
      webhooks_paused: 0,
      pending: 0,
      feedback_new: 1,
    },
    storage: { trouble: null, schema: expect.any(Number), ballast: true },
    auditor: { last_run_at: expect.any(String), findings: [] },
  })
  expect(body.storage.db_bytes).toBeGreaterThan(0)
  expect(body.storage.free_bytes).toBeGreaterThan(0)
})

test('what the auditor finds is shown', async () => {
  const { house, ask } = await start()
  await using _ = house
  beside(house, ({ db }) => db.run('UPDATE customers SET balance_micros = balance_micros + 1'))
  await house.clock.advance(6 * MINUTE)
  const { body } = await ask('/operator/overview')

  expect(body.storage.trouble).toBe('invariant_broken')
  expect(body.auditor.findings).toEqual([
    { invariant: 'unbalanced', subject: expect.stringMatching(/^cus_/) },
  ])
})

test('feedback of every customer is answered, and its customer reads the answer', async () => {
  const { house, ask, post } = await start()
  await using _ = house
  const bob = house.mint('bob')
  const idea = { type: 'idea', title: 'Dark mode', details: 'My eyes.' }
  const { id } = (await house.send('/feedback', idea)).body
  const init = { method: 'POST', body: JSON.stringify({ ...idea, type: 'bug' }) }
  await house.call('/feedback', init, bob)
  const listed = (await ask('/operator/feedback?status=new')).body
  await house.clock.advance(MINUTE)
  const answered = await post(`/operator/feedback/${id}`, {
    status: 'shipped',
    response: 'In 1.1.',
  })

  expect(listed.feedback.map((it: { customer: { name: string } }) => it.customer.name)).toEqual([
    'bob',
    'ann',
  ])
  expect(answered.body).toMatchObject({
    id,
    status: 'shipped',
    response: 'In 1.1.',
    updated_at: '2026-01-01T00:01:02.000Z',
    customer: { name: 'ann' },
  })
  expect((await house.call(`/feedback/${id}`)).body).toEqual({
    id,
    ...idea,
    area: null,
    evidence: null,
    status: 'shipped',
    response: 'In 1.1.',
    created_at: '2026-01-01T00:00:02.000Z',
    updated_at: '2026-01-01T00:01:02.000Z',
  })
  // What is left out stays; null takes it away.
  expect((await post(`/operator/feedback/${id}`, { status: 'declined' })).body.response).toBe(
    'In 1.1.',
  )
  expect((await post(`/operator/feedback/${id}`, { response: null })).body).toMatchObject({
    status: 'declined',
    response: null,
  })
  expect((await ask('/operator/feedback?type=bug&status=shipped')).body.count).toBe(0)
})

test.each([
  [{}, 'status', 'status or response is required'],
  [{ status: 'done' }, 'status', 'status must be one of new, triaged, shipped, declined'],
  [{ response: '' }, 'response', 'response must be text of 1 to 8000 characters, or null'],
  [
    { response: 'x'.repeat(8001) },
    'response',
    'response must be text of 1 to 8000 characters, or null',
  ],
  [{ title: 'x' }, 'title', 'title is not a known field; allowed: status, response'],
])('an answer of %j is refused by name', async (body, field, error) => {
  const { post } = await sharing()
  const answer = await post('/operator/feedback/fb_1', body)

  expect([answer.status, answer.body]).toEqual([400, { error, code: 'INVALID_REQUEST', field }])
})

test('the operator’s routes are no part of the document that customers read', async () => {
  const { house } = await sharing()
  const { paths, tags } = (await house.call('/openapi.json')).body

  expect(Object.keys(paths).filter((path) => /operator|dashboard/.test(path))).toEqual([])
  expect(Object.keys(paths)).toContain('/feedback/{id}')
  expect(tags).toContainEqual(expect.objectContaining({ name: 'Feedback' }))
})
