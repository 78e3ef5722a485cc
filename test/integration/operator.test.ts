import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'

import { ACTIONS } from '../../src/api/operator/commands.ts'
import { recordProxyTest } from '../../src/store/accounts/proxies.ts'
import { addAccounts } from '../support/accounts.ts'
import { startDenseSite } from '../support/dense-site.ts'
import {
  addProxy,
  beside,
  type OperatorDaemon,
  operatorKey,
  pageOf,
  startOperated,
} from './operator-fixture.ts'

// Most tests start a daemon, and the machine may be busy.
setDefaultTimeout(30_000)

const SECOND = 1000
const MINUTE = 60 * SECOND
const READ = '/api/forum/posts?subforum=coffee&limit=1'
const ROUTES: [string, string][] = [
  ['GET', '/operator/pool'],
  ['POST', '/operator/pool/acc_main/pause'],
  ['GET', '/operator/proxies'],
  ['POST', '/operator/proxies/prx_1/remove'],
  ['POST', '/operator/pool/acc_main/resume'],
  ['POST', '/operator/pool/acc_main/test'],
  ['GET', '/operator/sources'],
  ['POST', '/operator/sources'],
  ['POST', '/operator/sources/discover'],
  ['POST', '/operator/sources/src_x/remove'],
  ['POST', '/operator/sources/src_x/test'],
  ['POST', '/operator/sources/src_x/account'],
  ['POST', '/operator/sources/src_x/account/begin'],
  ['POST', '/operator/sources/src_x/account/finish'],
  ['POST', '/operator/sources/src_x/account/remove'],
  ['GET', '/operator/customers'],
  ['GET', '/operator/customers/cus_1'],
  ['GET', '/operator/problems'],
  ['GET', '/operator/activity'],
  ['GET', '/operator/overview'],
  ['GET', '/operator/drafts'],
  ['GET', '/operator/drafts/drf_1'],
  ['POST', '/operator/drafts/drf_1/approve'],
  ['POST', '/operator/drafts/drf_1/decline'],
  ['GET', '/operator/plans'],
  ['GET', '/operator/audit'],
  ['GET', '/operator/monitors'],
  ['GET', '/operator/deliveries'],
  ['POST', '/operator/deliveries/redrive'],
  ['POST', '/operator/feedback/fb_1/answer'],
  ['POST', '/operator/accounts'],
  ['POST', '/operator/accounts/acc_none/login'],
  ['POST', '/operator/accounts/acc_none/remove'],
  ['POST', '/operator/customers'],
  ['POST', '/operator/customers/cus_1/plan'],
  ['POST', '/operator/customers/cus_1/rename'],
  ['POST', '/operator/customers/cus_1/remove'],
  ['POST', '/operator/customers/cus_1/credits'],
  ['POST', '/operator/proxies'],
  ['POST', '/operator/proxies/test'],
  ['GET', '/operator/keys'],
  ['POST', '/operator/keys'],
  ['POST', '/operator/keys/import'],
  ['POST', '/operator/keys/key_1/revoke'],
  ['POST', '/operator/sign-in-links'],
]

const accountsIn = ({ sandbox }: OperatorDaemon) =>
  sandbox
    .overview()
    .accounts.filter(({ totp_secret, flags }) => totp_secret === null && !flags.suspended)

/** A daemon with one account in its pool, already adopted. */
async function start() {
  const daemon = await startOperated()
  const [first] = accountsIn(daemon)
  const { username = '', cookies = {} } = first ?? {}
  addAccounts(daemon, [{ name: 'main', username, cookies }])
  const key = operatorKey(daemon)
  await daemon.clock.advance(2 * SECOND)
  const send = (path: string, init: RequestInit = {}) => daemon.call(path, init, key)
  const post = (path: string, body?: object) =>
    send(path, { method: 'POST', ...(body && { body: JSON.stringify(body) }) })
  const main = async () => (await send('/operator/pool')).body.accounts[0]
  return { house: daemon, key, ask: send, post, main, username, cookies }
}

// A refused call changes nothing, and needs no daemon of its own.
let shared: Awaited<ReturnType<typeof start>> | null = null
const sharing = async () => (shared ??= await start())
afterAll(() => shared?.house[Symbol.asyncDispose]())

test.each(ROUTES)('%s %s requires an operator’s key', async (method, path) => {
  const { house: daemon, key } = await sharing()
  const statusOf = async (authorization: string) => {
    const answer = await fetch(daemon.url() + path, {
      method,
      headers: { authorization, 'content-type': 'application/json' },
      ...(method === 'POST' && { body: '{"status":"new"}' }),
    })
    expect(answer.headers.get('access-control-allow-origin')).toBeNull()
    return answer.status
  }

  expect(await statusOf('')).toBe(401)
  expect(await statusOf(`Bearer fo_${'0'.repeat(43)}`)).toBe(403)
  expect(await statusOf(`Bearer ${daemon.key}`)).toBe(403)
  // Admitted: the body fits feedback, and a route of another body refuses it.
  expect([200, 400, 404]).toContain(await statusOf(`Bearer ${key}`))
})

test('the matrix has every operator route', async () => {
  const found = ACTIONS.map(({ route }) =>
    route.replace(' ', ' /operator').replaceAll(/:\w+/g, ':'),
  )
  const src = `${import.meta.dir}/../../src/api`
  for (const file of new Bun.Glob('**/*.ts').scanSync(src)) {
    const text = await Bun.file(`${src}/${file}`).text()
    const [, ...groups] = text.split("prefix: '/operator'")
    for (const [, method = '', path = ''] of groups
      .join('')
      .matchAll(/\.(get|post|put|delete|patch)\(\s*'([^']+)'/g))
      found.push(`${method.toUpperCase()} /operator${path.replaceAll(/:\w+/g, ':')}`)
  }
  const listed = ROUTES.map(
    ([method, path]) =>
      `${method} ${path.replaceAll(/\b(?:acc|prx|cus|key|fb|drf|src)_\w+/g, ':')}`,
  )

  expect(listed.toSorted()).toEqual(found.toSorted())
})

test("a customer's key is refused by an operator route, by header and by cookie", async () => {
  const { house: daemon } = await sharing()
  const headers = await pageOf(daemon, daemon.key)
  const by_header = await daemon.call('/operator/pool')
  const by_cookie = await fetch(`${daemon.url()}/dashboard/api/operator/pool`, { headers })

  expect([by_header.status, by_header.body]).toEqual([
    403,
    {
      error: 'PERMISSION_DENIED',
      code: 'PERMISSION_DENIED',
      message: "this call needs an operator's key (fo_ and 43 characters), or the scope operator",
      reason: 'operator_only',
    },
  ])
  expect([by_cookie.status, await by_cookie.json()]).toEqual([403, by_header.body])
})

test('an operator’s session has access to the operator’s routes, and to no customer’s', async () => {
  const { house: daemon, key, ask: send } = await start()
  await using _ = daemon
  const headers = await pageOf(daemon, key)
  const get = async (path: string) => {
    const answer = await fetch(`${daemon.url()}/dashboard/api${path}`, { headers })
    return { status: answer.status, body: await answer.json() }
  }

  expect((await get('/operator/customers')).body).toEqual((await send('/operator/customers')).body)
  expect((await get('/account/me')).status).toBe(403)
})

test('a preflight of another origin is refused for the operator’s routes', async () => {
  const { house: daemon } = await sharing()
  const answer = await fetch(`${daemon.url()}/operator/pool`, {
    method: 'OPTIONS',
    headers: { origin: 'https://evil.example', 'access-control-request-method': 'GET' },
  })

  expect(answer.status).toBe(401)
  expect([...answer.headers.keys()].filter((it) => it.startsWith('access-control'))).toEqual([])
})

test('the sources are listed with their lag, their open gaps and the last fault', async () => {
  await using stack = new AsyncDisposableStack()
  const time = { now: Date.now }
  const site = stack.use(startDenseSite(() => time.now()))
  const quiet = stack.use(startDenseSite(() => time.now()))
  const daemon = stack.use(
    await startOperated((config) => {
      const more = { user_agent: '', requests_per_minute: 600, api_key: '', ends_at: '' }
      config.source.push(
        { ...more, name: 'hn', kind: 'hackernews', base_url: site.url, ends_at: '2027-03-31' },
        { ...more, name: 'quiet', kind: 'hackernews', base_url: quiet.url },
      )
    }),
  )
  time.now = daemon.clock.now
  const key = operatorKey(daemon)
  const sources = async () => (await daemon.call('/operator/sources', {}, key)).body.sources
  expect(await sources()).toMatchObject([
    { name: 'forum', proof: 'time_listing', requests_per_minute: null, feeds: 0 },
    {
      name: 'hn',
      kind: 'hackernews',
      state: { status: 'never_tried', requests_last_minute: 0, requests_per_minute: 600 },
      requests_per_minute: 600,
      ends_at: '2027-03-31',
      feeds: 0,
      lag_s: null,
    },
    { name: 'quiet' },
  ])

  const watch = { filter_spec: { source: 'hn', include_any: ['rust'] } }
  expect((await daemon.send('/forum/monitor/add', watch)).status).toBe(200)
  await daemon.clock.advance(2 * MINUTE)
  const watched = (await sources())[1]
  expect(watched).toMatchObject({
    feeds: 1,
    open_gaps: 0,
    partial: null,
    state: { status: 'works', fault: null },
  })
  expect(watched.state.requests_last_minute).toBeGreaterThan(0)
  expect(watched.lag_s).toBeLessThan(2 * 60)

  site.state.status = 403
  await daemon.clock.advance(2 * MINUTE)
  quiet.state.status = 403
  await daemon.call('/api/forum/posts?source=quiet&subforum=show')
  const [main, failing, refused] = await sources()
  expect(main.state.status).toBe('never_tried')
  expect(failing.state).toMatchObject({ status: 'fails', fault: 'forbidden' })
  expect(failing.lag_s).toBeGreaterThan(watched.lag_s)
  expect(refused.state).toMatchObject({ status: 'works', fault: null })

  // A refusal of one row is not a fault of its source; a page in place of the API is.
  quiet.state.status = 401
  await daemon.call('/api/forum/posts?source=quiet&subforum=ask')
  expect((await sources())[2].state).toMatchObject({ status: 'fails', fault: 'login_required' })
})

test('an address is looked at with few requests, where an added source may be', async () => {
  const FEED = '<rss><channel><title>Loaves</title><item><title>a</title></item></channel></rss>'
  let requests = 0
  using site = Bun.serve({
    port: 0,
    fetch({ url }) {
      requests += 1
      return new URL(url).pathname === '/feed'
        ? new Response(FEED, { headers: { 'content-type': 'application/rss+xml' } })
        : new Response(
            '<html><link rel="alternate" type="application/rss+xml" href="/feed"></html>',
          )
    },
  })
  const address = `http://127.0.0.1:${site.port}/`
  const { post } = await sharing()
  const refused = await post('/operator/sources/discover', { address })
  expect(refused).toMatchObject({ status: 400, body: { field: 'address' } })
  expect(JSON.stringify(refused.body)).toContain('allow_targets')
  expect(requests).toBe(0)

  await using daemon = await startOperated((config) => {
    config.guard = { ...config.guard, allow_targets: ['127.0.0.1'], allow_http: true }
  })
  const key = operatorKey(daemon)
  const look = (text: string) =>
    daemon.call(
      '/operator/sources/discover',
      { method: 'POST', body: JSON.stringify({ address: text }) },
      key,
    )
  expect(await look(address)).toMatchObject({
    status: 200,
    body: { found: { kind: 'feed', base_url: `${address}feed` }, there: null },
  })
  expect(requests).toBe(2)
  expect(await look('no address')).toMatchObject({ status: 400, body: { field: 'address' } })
})

test('the pool lists the state of its accounts and proxies, and no secret', async () => {
  const { house: daemon, ask: send, username, cookies } = await start()
  await using _ = daemon
  addProxy(daemon, 'out', {
    scheme: 'socks5h',
    host: 'proxy.test',
    port: 1080,
    username: 'canary-user',
    password: 'canary-secret',
  })
  addProxy(daemon, 'broken', {
    scheme: 'http',
    host: 'gone.test',
    port: 8080,
    username: null,
    password: null,
  })
  beside(daemon, ({ db }) => {
    recordProxyTest(db, 'prx_broken', 'refused', daemon.clock.now())
    recordProxyTest(db, 'prx_out', null, daemon.clock.now())
  })
  const secrets = { kind: 'session', password: 'canary-password', totp_secret: null } as const
  addAccounts(daemon, [{ name: 'spare', secrets }])
  await daemon.call(READ)
  await daemon.call(READ)
  // Uses of an account are stored within a minute.
  await daemon.clock.advance(2 * MINUTE)
  const { status, body } = await send('/operator/pool')
  const [, spare] = body.accounts
  const requests_before = daemon.sandbox.requests.filter(({ user }) => user === username).length

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
        session_ends: null,
        created_at: expect.any(String),
        last_used_at: expect.any(String),
        last_ok_at: expect.any(String),
        last_error: null,
        requests_24h: requests_before,
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
        credentials: false,
        accounts: 0,
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
        credentials: true,
        accounts: 0,
        status: 'ok',
        last_tested_at: '2026-01-01T00:00:02.000Z',
        last_ok_at: '2026-01-01T00:00:02.000Z',
        last_error: null,
      },
    ],
    sources: [],
    anonymous: { allowed: true },
    counted_since: '2026-01-01T00:00:00.000Z',
  })
  // Its budget is that of its address, which anonymous reads use too.
  const budget = { remaining: expect.any(Number) }
  expect(spare).toMatchObject({ name: 'spare', needs_login: true, budget, requests_24h: 0 })
  expect(requests_before).toBeGreaterThan(2)
  const body_text = JSON.stringify(body)
  expect(body_text).not.toContain('canary')
  for (const value of Object.values(cookies)) expect(body_text).not.toContain(value)
})

test('block pages are counted separately', async () => {
  const { house: daemon, main } = await start()
  await using _ = daemon
  daemon.sandbox.addFault({ path: '/r/coffee/*', fault: 'block_403_html', times: 1 })
  await daemon.call(READ)

  expect(await main()).toMatchObject({ blocked_24h: 1, requests_24h: expect.any(Number) })
})

test('a paused account is not used until it is resumed', async () => {
  const { house: daemon, post, username } = await start()
  await using _ = daemon
  const identityCount = async () => {
    const since = daemon.sandbox.requests.length
    await daemon.call(READ)
    return new Set(daemon.sandbox.requests.slice(since).map(({ user }) => user))
  }
  expect(await identityCount()).toEqual(new Set([username]))

  const paused = await post('/operator/pool/acc_main/pause')
  expect([paused.status, paused.body]).toMatchObject([
    200,
    { id: 'acc_main', status: 'paused', paused: true, last_error: 'operator' },
  ])
  expect((await daemon.call(READ)).status).toBe(503)

  const resumed = await post('/operator/pool/acc_main/resume')
  expect(resumed.body).toMatchObject({ status: 'ready', paused: false, last_error: null })
  await daemon.clock.advance(SECOND)
  expect(await identityCount()).toEqual(new Set([username]))
  expect(
    daemon.events.filter(({ event }) => /^account\.(paused|resumed)$/.test(event)),
  ).toMatchObject([
    { event: 'account.paused', fields: { account: 'main', reason: 'operator' } },
    { event: 'account.resumed', fields: { account: 'main' } },
  ])
})

test('a resumed account that was never signed in waits for its sign-in', async () => {
  const { house: daemon, post } = await start()
  await using _ = daemon
  addAccounts(daemon, [{ name: 'new' }])
  await daemon.clock.advance(2 * SECOND)

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

test('a test runs a session check now, and returns its result', async () => {
  const { house: daemon, post, username } = await start()
  await using _ = daemon
  const alive = await post('/operator/pool/acc_main/test')
  daemon.sandbox.revoke({ username })
  const dead = await post('/operator/pool/acc_main/test')
  await post('/operator/pool/acc_main/pause')
  const since = daemon.sandbox.requests.length
  const paused = await post('/operator/pool/acc_main/test')

  expect(alive.body).toMatchObject({ ok: true, verdict: 'alive', account: { status: 'ready' } })
  expect(dead.body).toMatchObject({ ok: false, verdict: 'logged_out' })
  expect(paused.body).toMatchObject({ ok: false, verdict: 'paused' })
  expect(daemon.sandbox.requests.length).toBe(since)
})

test.each(['pause', 'resume', 'test'])('%s of an absent account is refused', async (verb) => {
  const { post } = await sharing()
  const answer = await post(`/operator/pool/acc_none/${verb}`)

  expect([answer.status, answer.body.code]).toEqual([404, 'NOT_FOUND'])
})

test('customers are listed with their balances and call counts', async () => {
  const { house: daemon, ask: send } = await start()
  await using _ = daemon
  daemon.mint('bob')
  await daemon.call(READ)
  await daemon.send('/forum/monitor/add', { filter_spec: { subforum: 'coffee', q: 'zebra' } })
  const { body } = await send('/operator/customers')

  expect(body).toEqual({
    customers: [
      {
        id: expect.stringMatching(/^cus_/),
        name: 'ann',
        plan: 'entry',
        credits_remaining: 99.998,
        unlimited: false,
        created_at: '2026-01-01T00:00:00.000Z',
        keys: 1,
        monitors: 1,
        monitors_paused: 0,
        webhooks: 0,
        webhooks_paused: 0,
        waiting: 0,
        retrying: 0,
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
  beside(daemon, ({ db }) =>
    db.run(`UPDATE usage_hours SET hour_at = hour_at - ${25 * 60 * MINUTE}`),
  )
  expect((await send('/operator/customers')).body.customers[0].requests_24h).toBe(0)
})

test('a monitor without a webhook is listed with its last match', async () => {
  const { house: daemon, ask: send } = await start()
  await using _ = daemon
  await daemon.send('/forum/monitor/add', { filter_spec: { subforum: 'coffee', q: 'zebra' } })
  await daemon.clock.advance(2 * MINUTE)
  daemon.sandbox.post({ subforum: 'coffee', title: 'a zebra' })
  await daemon.clock.advance(2 * MINUTE)
  const [own] = (await daemon.call('/forum/monitor/list')).body.monitors
  const [listed] = (await send('/operator/monitors')).body.monitors
  const [customer] = (await send('/operator/customers')).body.customers
  const detail = (await send(`/operator/customers/${customer.id}`)).body

  expect(own.last_match_at).toBeString()
  expect(listed.last_match_at).toBe(own.last_match_at)
  expect(detail.monitors[0].last_match_at).toBe(own.last_match_at)
})

test("the overview counts the daemon's objects, and reports the state of its storage", async () => {
  const { house: daemon, ask: send } = await start()
  await using _ = daemon
  await daemon.send('/forum/monitor/webhook/create', { url: daemon.receiver.url })
  const { body: monitor } = await daemon.send('/forum/monitor/add', {
    filter_spec: { subforum: 'coffee', q: 'zebra' },
  })
  await daemon.send('/forum/monitor/update', { id: monitor.id, active: false })
  await daemon.clock.advance(10 * MINUTE)
  const { body } = await send('/operator/overview')

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
      waiting: 0,
      retrying: 0,
    },
    storage: { trouble: null, schema: expect.any(Number), ballast: true },
  })
  expect(body.storage.db_bytes).toBeGreaterThan(0)
  expect(body.storage.free_bytes).toBeGreaterThan(0)
})

test("the operator’s routes are not in the customers' document", async () => {
  const { house: daemon } = await sharing()
  const { paths, tags } = (await daemon.call('/openapi.json')).body

  expect(Object.keys(paths).filter((path) => /operator|dashboard/.test(path))).toEqual([])
  expect(Object.keys(paths)).toContain('/feedback/{id}')
  expect(tags).toContainEqual(expect.objectContaining({ name: 'Feedback' }))
})
