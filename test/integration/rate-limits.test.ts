// Goal: every route and every kind of refusal is rate limited, and refused calls cost no lookup.
import { describe, expect, test } from 'bun:test'

import { createMetrics } from '../../src/api/metrics/registry.ts'
import { parseConfig } from '../../src/config/load.ts'
import { createRing } from '../../src/core/base/secrets.ts'
import { createRuntime } from '../../src/runtime/runtime.ts'
import { assemble } from '../../src/wiring/build.ts'
import { LIMITS } from '../support/app-options.ts'
import { addCustomer, addKey } from '../support/customers.ts'
import { postOf } from '../support/items.ts'
import { memoryDb } from '../support/memory-db.ts'
import { json, startTestApi } from '../support/test-api.ts'
import { startTestDaemon } from '../support/test-daemon.ts'
import { startReaders } from './email-fixture.ts'

const NO_KEY = { headers: { authorization: '' } }
const withKey = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
const wrongKey = (n: number) => withKey(`fk_${String(n).padStart(43, 'x')}`)

/** The number of answers by status. */
const count = (statuses: readonly number[]): Record<string, number> =>
  Object.fromEntries(
    [...Map.groupBy(statuses, String)].map(([status, all]) => [status, all.length]),
  )

async function repeat(times: number, call: (n: number) => Promise<{ status: number }>) {
  const statuses: number[] = []
  for (let n = 0; n < times; n += 1) statuses.push((await call(n)).status)
  return count(statuses)
}

/** All routes of a daemon, with a rate limit that permits no call. */
function assembled() {
  const runtime = createRuntime(() => {})
  const db = memoryDb()
  const config = parseConfig(
    'source = [{ name = "forum", kind = "reddit", base_url = "http://127.0.0.1:1", session_cookie = "s" }]',
  )
  for (const name of Object.keys(config.limits))
    if (/_per_minute$|^key_(rate|burst)$/.test(name)) Object.assign(config.limits, { [name]: 0.5 })
  config.limits.key_max_wait_s = 0
  // It would refuse the keys of this test before their routes.
  config.limits.failed_auth_per_minute = 0
  const random = runtime.random
  const { app } = assemble({
    config,
    runtime,
    instance: {
      db,
      path: '',
      run_id: '',
      instance_id: '',
      ring: createRing(random.bytes(32), random.bytes),
    },
    signal: AbortSignal.abort(),
    wake: () => {},
    expect: (_, __, work) => work,
    url: () => 'http://localhost',
    lost: () => {},
    failing_loops: () => [],
  })
  const customer = addCustomer(db, 'cus_1', { name: 'ann' })
  for (const [token, customer_id] of [
    ['fk_all', customer.id],
    ['fo_operator', null],
  ] as const)
    addKey(db, customer_id, {
      token,
      scopes: ['read', 'write', 'monitor', 'webhook'],
      id: `key_${token}`,
    })
  return app
}

describe('every route', () => {
  test('answers 429 with Retry-After once its rate limit is used up, with either kind of key', async () => {
    const app = assembled()
    const unpaced: string[] = []
    const routes = app.routes.map(({ method, path }) => ({
      method,
      path: path.replace(/:\w+\??/g, 'x').replace('*', 'x'),
    }))
    for (const { method, path } of [...routes, { method: 'GET', path: '/nowhere' }])
      for (const token of ['fk_all', 'fo_operator']) {
        const headers = { authorization: `Bearer ${token}` }
        const answer = await app.handle(new Request(`http://localhost${path}`, { method, headers }))
        const is_paced = answer.status === 429 && Number(answer.headers.get('retry-after')) > 0
        if (!is_paced) unpaced.push(`${method} ${path} as ${token}: ${answer.status}`)
      }

    expect(routes.length).toBeGreaterThan(100)
    expect(unpaced).toEqual([])
  })

  test('and so do preflights, other methods, and calls from another site', async () => {
    const app = assembled()
    const ask = (path: string, init: RequestInit) =>
      app.handle(new Request(`http://localhost${path}`, init)).then(({ status }) => status)

    expect(await ask('/api/forum/posts', { method: 'OPTIONS' })).toBe(429)
    expect(await ask('/health', { method: 'DELETE' })).toBe(429)
    expect(await ask('/dashboard', { headers: { host: 'evil.example' } })).toBe(429)
    expect(await ask('/mcp', { method: 'POST', headers: { origin: 'http://evil.example' } })).toBe(
      429,
    )
  })
})

describe('an invalid key', () => {
  test('is looked up thirty times a minute from one address: 570 of 600 are refused unread', async () => {
    await using daemon = startTestApi()
    expect(await repeat(30, (n) => daemon.call('/account/me', wrongKey(n)))).toEqual({ 403: 30 })
    // From here on a lookup fails with 500.
    daemon.db.run('ALTER TABLE api_keys RENAME TO gone')

    expect(await repeat(570, (n) => daemon.call('/account/me', wrongKey(30 + n)))).toEqual({
      429: 570,
    })
    const last = await daemon.call('/account/me', wrongKey(600))
    expect(last.headers.get('retry-after')).toBe('2')
    expect(last.body).toMatchObject({
      code: 'rate_limited',
      message:
        'too many requests: calls without a valid key from this address, at most 30 a minute',
    })
    await daemon.clock.advance(2_000)
    expect((await daemon.call('/account/me', wrongKey(601))).status).toBe(500)
  })

  test('applies to every route that accepts a key, a token or a session', async () => {
    await using daemon = startTestApi({
      limits: { ...LIMITS, failed_auth_per_minute: 4 },
      metrics_token: 'a-token',
      page: () => Promise.resolve({ shell: '', files: new Map() }),
    })
    const own = { origin: daemon.url, 'sec-fetch-site': 'same-origin' }
    const cookie = { ...own, cookie: 'forumd=wrong' }

    expect((await daemon.call('/account/me', NO_KEY)).status).toBe(401)
    expect((await daemon.call('/metrics', wrongKey(1))).status).toBe(403)
    expect((await daemon.call('/dashboard/session', json({ key: 'fk_x' }, own))).status).toBe(403)
    expect((await daemon.call('/dashboard/session', { headers: cookie })).status).toBe(401)
    expect((await daemon.call('/account/me', NO_KEY)).status).toBe(429)
    expect((await daemon.call('/metrics', wrongKey(2))).status).toBe(429)
    expect((await daemon.call('/nowhere', wrongKey(3))).status).toBe(429)
    expect((await daemon.call('/dashboard/session', json({ key: 'fk_x' }, own))).status).toBe(429)
    expect((await daemon.call('/dashboard/session', { headers: cookie })).status).toBe(429)
  })

  test('does not delay a client behind the same address with a recently valid key, until it is revoked', async () => {
    await using daemon = startTestApi()
    const unused = daemon.newKey()
    expect((await daemon.call('/account/me')).status).toBe(200)
    await repeat(40, (n) => daemon.call('/account/me', wrongKey(n)))

    expect((await daemon.call('/account/me')).status).toBe(200)
    expect((await daemon.call('/account/me', withKey(unused))).status).toBe(429)
    daemon.revoke(daemon.token)
    expect((await daemon.call('/account/me')).status).toBe(403)
    expect((await daemon.call('/account/me')).status).toBe(429)
  })

  test('is counted by metrics, and logged once a minute', async () => {
    const metrics = createMetrics()
    await using daemon = startTestApi({ metrics })
    const forwarded = { authorization: 'Bearer fk_x', 'x-forwarded-for': '203.0.113.9' }
    const lines = () => daemon.log.filter(([, event]) => event === 'auth.failed')
    await repeat(600, (n) => daemon.call('/account/me', wrongKey(n)))
    await daemon.call('/account/me', { headers: forwarded })
    await daemon.call('/account/me', NO_KEY)

    expect(lines()).toEqual([
      ['warn', 'auth.failed', { count: 1, address: '127.0.0.1', addresses: 1 }],
    ])
    await daemon.clock.advance(60_000)
    await daemon.call('/health', NO_KEY)
    expect(lines().slice(1)).toEqual([
      ['warn', 'auth.failed', { count: 601, address: '127.0.0.1', addresses: 2 }],
    ])
    await daemon.clock.advance(60_000)
    await daemon.call('/health', NO_KEY)
    expect(lines()).toHaveLength(2)
    const text = await metrics.render()
    expect(text).toContain('forumd_auth_failures_total{reason="invalid"} 31\n')
    expect(text).toContain('forumd_auth_failures_total{reason="rate_limited"} 571\n')
  })
})

describe('calls without a key', () => {
  test('are counted by address: 2,500 for the document are 300 a minute', async () => {
    await using daemon = startTestApi()

    expect(await repeat(2_500, () => daemon.call('/openapi.json', NO_KEY))).toEqual({
      200: 300,
      429: 2_200,
    })
    expect((await daemon.call('/docs/start.js', NO_KEY)).status).toBe(429)
    expect((await daemon.call('/account/me')).status).toBe(200)
  }, 30_000)

  test('by the caller named by a trusted proxy; two addresses of one /64 are one', async () => {
    await using daemon = startTestApi({
      limits: { ...LIMITS, open_per_minute: 1 },
      trusted_proxies: ['127.0.0.1'],
    })
    const from = (address: string) =>
      daemon.call('/docs/start.js', { headers: { authorization: '', 'x-forwarded-for': address } })

    expect((await from('2001:db8::1')).status).toBe(200)
    expect((await from('2001:db8::ffff:2')).status).toBe(429)
    expect((await from('2001:db8:0:1::1')).status).toBe(200)
    expect((await from('203.0.113.1')).status).toBe(200)
    expect((await from('6.6.6.6, 203.0.113.1')).status).toBe(429)
  })

  test('do not starve health probes of this machine, which are counted separately', async () => {
    await using daemon = startTestApi()
    const headers = { authorization: '', 'x-forwarded-for': '203.0.113.1' }
    const stranger = (path: string) => daemon.call(path, { headers })

    expect(await repeat(700, () => stranger('/health/ready'))).toEqual({ 200: 600, 429: 100 })
    expect(await repeat(301, () => daemon.call('/openapi.json', NO_KEY))).toEqual({
      200: 300,
      429: 1,
    })
    // Ten a second exceed the needs of any monitoring.
    expect(await repeat(100, () => daemon.call('/health/ready', NO_KEY))).toEqual({ 200: 100 })
  }, 30_000)
})

describe('feeds', () => {
  test('are counted by address: 300 requests are 120 a minute', async () => {
    await using daemon = await startTestDaemon()
    const { body } = await daemon.send('/forum/monitor/add', { filter_spec: { q: 'cats' } })
    const { feed_url } = (await daemon.call(`/forum/monitor/get?id=${body.id}`)).body
    const url = String(feed_url ?? body.feed_url)

    expect(await repeat(300, () => fetch(url))).toEqual({ 200: 120, 429: 180 })
  })

  test('are rendered once: bodies are read again only for a new match', async () => {
    await using it = await startReaders()
    const match = (n: number) =>
      it.match(postOf({ id: `p${n}`, name: `t3_p${n}`, title: `no. ${n}` }))
    match(1)
    const link = it.links.feed('mon_1', 1)
    const first = await (await fetch(link)).text()
    // The length stays, so that only a read of the bodies notices the change.
    it.db.run(
      "UPDATE messages SET body = CAST(replace(CAST(body AS TEXT), 'no. 1', 'no. 9') AS BLOB)",
    )

    expect(await (await fetch(link)).text()).toBe(first)
    match(2)
    const second = await (await fetch(link)).text()
    expect([second.includes('no. 9'), second.includes('no. 2')]).toEqual([true, true])
  })

  test('are rendered again when the monitor has another name, and are revalidated by their bytes', async () => {
    await using it = await startReaders()
    const link = it.links.feed('mon_1', 1)
    const before = await fetch(link)
    const etag = before.headers.get('etag') ?? ''
    const again = () => fetch(link, { headers: { 'if-none-match': `"x", W/${etag}` } })

    expect((await again()).status).toBe(304)
    it.db.run("UPDATE monitors SET name = 'renamed' WHERE id = 'mon_1'")
    expect(await (await again()).text()).toContain('<title>renamed</title>')
  })
})

const batch = (size: number) =>
  JSON.stringify(Array.from({ length: size }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' })))
const postMessages = (url: string, key: string, body: string) =>
  fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body,
  })

describe('a batch of MCP', () => {
  test('counts each message: twenty at once count as twenty reads', async () => {
    await using daemon = await startTestDaemon()
    const left = { count: 20 }
    const answers = Array.from({ length: 20 }, async () => {
      const answer = await postMessages(daemon.url(), daemon.key, batch(20))
      left.count -= 1
      await answer.arrayBuffer()
      return answer.status
    })
    let seconds = 0
    for (; left.count > 0; seconds += 1) {
      await Bun.sleep(20)
      await daemon.clock.advance(1_000)
    }
    const { 200: answered = 0, 429: refused = 0 } = count(await Promise.all(answers))

    expect(answered + refused).toBe(20)
    expect(answered).toBeGreaterThan(0)
    expect(answered * 20).toBeLessThanOrEqual(20 + 10 * seconds)
  }, 20_000)

  test('that is larger than the limit is refused with the maximum', async () => {
    await using daemon = await startTestDaemon({
      change: ({ limits }) => {
        limits.key_burst = 5
        limits.key_rate = 1
      },
    })
    const answer = await postMessages(daemon.url(), daemon.key, batch(20))

    expect([answer.status, await answer.json()]).toEqual([
      400,
      expect.objectContaining({
        code: 'INVALID_REQUEST',
        field: 'body',
        error:
          'body must hold at most 15 messages: MCP messages by this key, 1 a second after a burst of 5, each counted',
      }),
    ])
  })
})

describe('writes', () => {
  test('are 120 a minute by key, refused ones too', async () => {
    await using daemon = await startTestDaemon()

    expect(await repeat(200, () => daemon.send('/api/forum/vote', {}))).toEqual({
      400: 120,
      429: 80,
    })
  })

  test('with an image are limited to ten a minute: of 30 concurrent large bodies 20 are refused unread', async () => {
    await using daemon = startTestApi()
    const send = () =>
      daemon.call('/api/forum/profile/avatar', json({ image: 'x'.repeat(7.9 * 1024 * 1024) }))
    const answers = await Promise.all(Array.from({ length: 30 }, send))

    expect(count(answers.map(({ status }) => status))).toEqual({ 400: 10, 429: 20 })
  }, 20_000)
})
