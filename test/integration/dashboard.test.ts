import { expect, test } from 'bun:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'

import { removeCustomer } from '../../src/store/customers/customers.ts'
import { insertKey } from '../../src/store/customers/keys.ts'
import { LIMITS } from '../support/app-options.ts'
import { addCustomer } from '../support/customers.ts'
import { json, startTestApi } from '../support/test-api.ts'
import { cookieOf, PAGE, page } from './dashboard-fixture.ts'

const DAY_MS = 86_400_000
const OWN = { 'sec-fetch-site': 'same-origin', authorization: '' }

/** A daemon reached by its address, and requests of a browser. */
function start(over: Parameters<typeof startTestApi>[0] = {}) {
  const daemon = startTestApi({ page, ...over })
  const signIn = (key: string, headers: Record<string, string> = {}) =>
    daemon.call('/dashboard/session', json({ key }, { ...OWN, ...headers }))
  const send = (path: string, cookie: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers)
    for (const [name, value] of Object.entries({ ...OWN, cookie })) headers.set(name, value)
    return daemon.call(path, { ...init, headers })
  }
  return { house: daemon, signIn, ask: send }
}

test('a sign-in with a key returns its customer, and a cookie keeps the session', async () => {
  const { house: daemon, signIn, ask: send } = start()
  await using _ = daemon
  const signed_in = await signIn(daemon.token)
  const who = {
    role: 'customer',
    is_billing: true,
    is_alone: false,
    has_accounts: false,
    customer: { id: 'cus_1', name: 'acme' },
    key: {
      id: expect.stringMatching(/^key_/),
      name: null,
      prefix: daemon.token.slice(0, 8),
      scopes: ['read', 'write', 'monitor', 'webhook'],
    },
    insecure: true,
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    words: { platform: 'forum', community: 'subforum', communities: 'subforums' },
    base_path: '/api/forum',
    monitor_path: '/forum/monitor',
    filter_form: expect.arrayContaining([expect.objectContaining({ title: 'Where' })]),
    webhook_kinds: expect.arrayContaining([expect.objectContaining({ name: 'slack' })]),
    customer_actions: [],
    forms: {
      webhook: expect.any(Array),
      webhook_update: expect.any(Array),
      relevance: expect.any(Array),
    },
  }

  expect([signed_in.status, signed_in.body]).toEqual([200, who])
  expect(signed_in.text).not.toContain(daemon.token)
  expect(signed_in.headers.get('set-cookie')).toMatch(
    /^forumd=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/,
  )
  const again = await send('/dashboard/session', cookieOf(signed_in))
  expect([again.status, again.body]).toEqual([200, who])
})

test('an operator signs in with a key and has no customer', async () => {
  const { house: daemon, signIn } = start()
  await using _ = daemon
  const { body } = await signIn(daemon.newKey({ operator: true }))

  expect(body).toMatchObject({
    role: 'operator',
    customer: null,
    key: { prefix: expect.stringMatching(/^fo_/) },
  })
})

test('over TLS only this host can set the cookie', async () => {
  const { house: daemon, signIn, ask: send } = start({ trusted_proxies: ['127.0.0.1'] })
  await using _ = daemon
  const https = { 'x-forwarded-proto': 'https' }
  const signed_in = await signIn(daemon.token, https)
  const cookie = cookieOf(signed_in)

  expect(signed_in.headers.get('set-cookie')).toMatch(
    /^__Host-forumd=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict; Secure$/,
  )
  expect(signed_in.body['insecure']).toBe(false)
  expect((await send('/dashboard/session', cookie, { headers: https })).status).toBe(200)
  // A cookie set without TLS is not accepted there, and the reverse.
  const planted = cookie.replace('__Host-', '')
  expect((await send('/dashboard/session', planted, { headers: https })).status).toBe(401)
  expect((await send('/dashboard/session', cookie)).status).toBe(401)
})

test('an untrusted proxy cannot claim TLS', async () => {
  const { house: daemon, signIn } = start()
  await using _ = daemon
  const { body } = await signIn(daemon.token, { 'x-forwarded-proto': 'https' })

  expect(body['insecure']).toBe(true)
})

test.each([
  ['an unknown key', { key: `fk_${'0'.repeat(43)}` }, 403, 'invalid_token', undefined],
  ['no key', {}, 400, 'INVALID_REQUEST', 'key'],
  ['an empty key', { key: ' ' }, 400, 'INVALID_REQUEST', 'key'],
  ['a number', { key: 7 }, 400, 'INVALID_REQUEST', 'key'],
  ['a book', { key: 'x'.repeat(513) }, 400, 'INVALID_REQUEST', 'key'],
  ['a number as link', { link: 7 }, 400, 'INVALID_REQUEST', 'link'],
  ['a short link', { link: 'x'.repeat(21) }, 400, 'INVALID_REQUEST', 'link'],
  ['a key and a link', { key: 'x', link: 'x'.repeat(22) }, 400, 'INVALID_REQUEST', 'link'],
  ['something besides', { key: 'x', remember: true }, 400, 'INVALID_REQUEST', 'remember'],
])('signing in with %s is refused', async (_, body, status, code, field) => {
  const { house: daemon } = start()
  await using __ = daemon
  const answer = await daemon.call('/dashboard/session', json(body, OWN))

  expect([answer.status, answer.body['code'], answer.body['field']]).toEqual([status, code, field])
  expect(answer.headers.get('set-cookie')).toBeNull()
  expect(daemon.db.query('SELECT * FROM web_sessions').all()).toEqual([])
})

test('a session is stored as a hash only', async () => {
  const { house: daemon, signIn } = start()
  await using _ = daemon
  const token = cookieOf(await signIn(daemon.token)).slice('forumd='.length)
  const rows = daemon.db.query<{ hash: Uint8Array }, []>('SELECT hash FROM web_sessions').all()

  expect(rows.map(({ hash }) => Buffer.from(hash).toString('hex'))).toEqual([
    new Bun.CryptoHasher('sha256').update(token).digest('hex'),
  ])
  // The log contains neither the session nor the key.
  const log = JSON.stringify(daemon.log)
  expect(log).toContain('dashboard.signed_in')
  expect(log).not.toContain(token)
  expect(log).not.toContain(daemon.token)
})

test('a dashboard call is counted once, with all its internal requests', async () => {
  const { house: daemon, signIn, ask: send } = start()
  await using _ = daemon
  const cookie = cookieOf(await signIn(daemon.token))
  await send('/dashboard/api/api/forum/search?q=cats', cookie)
  await send('/dashboard/api/api/forum/search', cookie)
  const { text } = await daemon.call('/metrics', { headers: { authorization: '' } })
  const series = text.matchAll(/^forumd_http_request(?:s_total|_seconds_count)\{(.+)$/gm)

  expect([...series].map(([, it = '']) => it).toSorted()).toEqual([
    'method="GET",route="/dashboard/api/*",status="200"} 1',
    'method="GET",route="/dashboard/api/*",status="400"} 1',
    'method="GET",route="/dashboard/api/*"} 2',
    'method="POST",route="/dashboard/session",status="200"} 1',
    'method="POST",route="/dashboard/session"} 1',
  ])
})

test('a session is over when its key is revoked', async () => {
  const { house: daemon, signIn, ask: send } = start()
  await using _ = daemon
  const signed_in = await signIn(daemon.token)
  const cookie = cookieOf(signed_in)
  expect((await send('/dashboard/api/account/me', cookie)).status).toBe(200)
  daemon.revoke(daemon.token)

  expect((await send('/dashboard/session', cookie)).status).toBe(401)
  expect((await send('/dashboard/api/account/me', cookie)).body).toMatchObject({
    code: 'missing_token',
  })
})

test('a session is over when its key expires', async () => {
  const { house: daemon, signIn, ask: send } = start()
  await using _ = daemon
  const key = daemon.newKey({ expires_at: daemon.clock.now() + 60_000 })
  const cookie = cookieOf(await signIn(key))
  await daemon.clock.advance(59_000)
  expect((await send('/dashboard/session', cookie)).status).toBe(200)
  await daemon.clock.advance(1000)

  expect((await send('/dashboard/session', cookie)).status).toBe(401)
})

test('a session is over when its customer is gone', async () => {
  const { house: daemon, signIn, ask: send } = start()
  await using _ = daemon
  const cookie = cookieOf(await signIn(daemon.token))
  removeCustomer(daemon.db, 'cus_1', daemon.clock.now())

  expect((await send('/dashboard/session', cookie)).status).toBe(401)
})

test('a session expires after seven days without use', async () => {
  const { house: daemon, signIn, ask: send } = start()
  await using _ = daemon
  const cookie = cookieOf(await signIn(daemon.token))
  for (let n = 0; n < 3; n += 1) {
    await daemon.clock.advance(6 * DAY_MS)
    expect((await send('/dashboard/session', cookie)).status).toBe(200)
  }
  await daemon.clock.advance(7 * DAY_MS)

  expect((await send('/dashboard/session', cookie)).status).toBe(401)
})

test('signing out ends only the current session, on the server', async () => {
  const { house: daemon, signIn, ask: send } = start()
  await using _ = daemon
  const here = cookieOf(await signIn(daemon.token))
  const elsewhere = cookieOf(await signIn(daemon.token))
  const out = await send('/dashboard/session', here, { method: 'DELETE' })

  expect([out.status, out.text]).toEqual([204, ''])
  expect(out.headers.get('set-cookie')).toBe(
    'forumd=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict',
  )
  expect((await send('/dashboard/session', here)).status).toBe(401)
  expect((await send('/dashboard/session', elsewhere)).status).toBe(200)
})

test('a new sign-in in the same browser ends the previous session', async () => {
  const { house: daemon, signIn, ask: send } = start()
  await using _ = daemon
  const first = cookieOf(await signIn(daemon.token))
  const second = cookieOf(await signIn(daemon.newKey({ operator: true }), { cookie: first }))

  expect((await send('/dashboard/session', first)).status).toBe(401)
  expect((await send('/dashboard/session', second)).body['role']).toBe('operator')
})

test('a key is signed in on at most twenty devices: the least recently used is dropped', async () => {
  const {
    house: daemon,
    signIn,
    ask: send,
  } = start({ limits: { ...LIMITS, dashboard_per_minute: 0 } })
  await using _ = daemon
  const cookies: string[] = []
  for (let n = 0; n < 21; n += 1) {
    cookies.push(cookieOf(await signIn(daemon.token)))
    await daemon.clock.advance(1000)
  }
  const statuses = await Promise.all(
    cookies.map(async (cookie) => (await send('/dashboard/session', cookie)).status),
  )

  expect(statuses).toEqual([401, ...Array.from({ length: 20 }, () => 200)])
})

test.each([
  ['two of its name, of which one may be planted', (it: string) => `${it}; forumd=other`],
  ['one that only begins like it', (it: string) => it.replace('forumd=', 'forumd2=')],
  ['none', () => 'theme=dark'],
  ['half of it', (it: string) => it.slice(0, -20)],
])('a request with %s is not signed in', async (_, change) => {
  const { house: daemon, signIn, ask: send } = start()
  await using __ = daemon
  const cookie = cookieOf(await signIn(daemon.token))

  expect((await send('/dashboard/session', change(cookie))).status).toBe(401)
})

const from = (host: number) => ({ 'x-forwarded-for': `203.0.113.${host}` })

test('sign-in attempts of an address are limited per minute, valid or not', async () => {
  const { house: daemon, signIn } = start({ trusted_proxies: ['127.0.0.1'] })
  await using _ = daemon
  const statuses = []
  for (let n = 0; n < 31; n += 1) statuses.push((await signIn(`fk_${n}`, from(9))).status)
  const over = await signIn(daemon.token, from(9))

  expect(statuses).toEqual([...Array.from({ length: 30 }, () => 403), 429])
  expect(over.body).toMatchObject({
    code: 'rate_limited',
    message: 'too many requests: attempts to sign in from this address, at most 30 a minute',
    retry_after: 2,
  })
  expect((await signIn(daemon.token, from(10))).status).toBe(200)
})

test.each([
  ['/account/me', {}],
  ['/account/usage?bucket=hour', {}],
  ['/account/usage?bucket=week', {}],
  ['/forum/monitor/list', {}],
  ['/api/forum/search', {}],
  ['/api/forum/user/a%20b', {}],
  ['/api/forum/comments/verify', json({ ids: ['a'] })],
  ['/api/forum/comments/verify', json('{"ids":')],
  ['/api/forum/comments/verify', json({ ids: ['x'.repeat(2_000_000)] })],
  ['/api/forum/profile/avatar', json({ image_base64: 'x'.repeat(2_000_000) })],
  ['/account/me', json({})],
  ['/health', {}],
  ['/nothing/here', {}],
])('%s answers the same by cookie and by key', async (path, init: RequestInit) => {
  const { house: daemon, signIn, ask: send } = start()
  await using _ = daemon
  const cookie = cookieOf(await signIn(daemon.token))
  const direct = await daemon.call(path, init)
  const through = await send(`/dashboard/api${path}`, cookie, init)

  expect([through.status, through.text]).toEqual([direct.status, direct.text])
  expect(through.headers.get('content-type')).toBe(direct.headers.get('content-type'))
  expect(through.headers.get('allow')).toBe(direct.headers.get('allow'))
  expect(through.headers.get('access-control-allow-origin')).toBeNull()
})

test('paid calls are billed the same by cookie and by key', async () => {
  const { house: daemon, signIn, ask: send } = start()
  await using _ = daemon
  const cookie = cookieOf(await signIn(daemon.token))
  const answer = await send('/dashboard/api/api/forum/search?q=cats', cookie)

  expect(answer.headers.get('x-credits-remaining')).toBe('0.498')
  expect((await send('/dashboard/api/account/me', cookie)).body['credits_remaining']).toBe(0.498)
})

test('calls by cookie and by key share the limits of the key', async () => {
  const { house: daemon, signIn, ask: send } = start()
  await using _ = daemon
  const cookie = cookieOf(await signIn(daemon.token))
  const statuses = []
  for (let n = 0; n < 15; n += 1) {
    statuses.push((await daemon.call('/account/me')).status)
    statuses.push((await send('/dashboard/api/account/me', cookie)).status)
  }
  const over = await send('/dashboard/api/account/me', cookie)

  expect(statuses).toEqual(Array.from({ length: 30 }, () => 200))
  expect([over.status, over.headers.get('retry-after')]).toEqual([429, '2'])
})

test('the scopes of a key apply to its session', async () => {
  const { house: daemon, signIn, ask: send } = start()
  await using _ = daemon
  const cookie = cookieOf(await signIn(daemon.newKey({ scopes: ['read'] })))

  expect((await send('/dashboard/api/forum/monitor/list', cookie)).body).toMatchObject({
    code: 'PERMISSION_DENIED',
    reason: 'scope',
  })
})

test('a key in the header does not change the signed-in session', async () => {
  const { house: daemon, signIn, ask: send } = start()
  await using _ = daemon
  addCustomer(daemon.db, 'cus_2', { name: 'bob' })
  const token = `fk_${'b'.repeat(43)}`
  const row = { id: 'key_2', customer_id: 'cus_2', token, name: null, scopes: [], created_at: 0 }
  insertKey(daemon.db, { ...row, expires_at: null })
  const cookie = cookieOf(await signIn(daemon.token))
  const headers = { authorization: `Bearer ${token}`, 'sec-fetch-site': 'same-origin' }

  const both = await daemon.call('/dashboard/api/account/me', { headers: { ...headers, cookie } })
  const alone = await daemon.call('/dashboard/api/account/me', { headers })

  expect(both.body['name']).toBe('acme')
  expect(alone.status).toBe(401)
  // The reverse holds too: a cookie grants no access to the API itself.
  expect((await send('/account/me', cookie)).status).toBe(401)
})

test.each(['/dashboard/session', '/dashboard', '/dashboard/api/account/me', '/', ''])(
  'the dashboard is not reached through itself: /dashboard/api%s',
  async (path) => {
    const { house: daemon, signIn, ask: send } = start()
    await using _ = daemon
    const cookie = cookieOf(await signIn(daemon.token))

    expect((await send(`/dashboard/api${path}`, cookie)).status).toBe(404)
  },
)

test('routes for this machine only are not readable through a cookie', async () => {
  const { house: daemon, signIn, ask: send } = start()
  await using _ = daemon
  const cookie = cookieOf(await signIn(daemon.token))

  expect((await send('/dashboard/api/metrics', cookie)).status).toBe(404)
})

test('the id of a call is the same with and without the cookie', async () => {
  const { house: daemon, signIn, ask: send } = start()
  await using _ = daemon
  const cookie = cookieOf(await signIn(daemon.token))
  const answer = await send('/dashboard/api/account/me', cookie, {
    headers: { 'x-request-id': 'mine-1' },
  })

  expect(answer.headers.get('x-request-id')).toBe('mine-1')
})

test.each(['/dashboard', '/dashboard/', '/dashboard/monitors', '/dashboard/deliveries/dlv_1'])(
  'the page is served at %s, without caching',
  async (path) => {
    const { house: daemon } = start()
    await using _ = daemon
    const answer = await daemon.call(path, { headers: { authorization: '' } })

    expect([answer.status, answer.text]).toEqual([200, PAGE.shell])
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(answer.headers.get('cache-control')).toBe('no-cache')
  },
)

test('a file of the page is cached for a year, in the encoding that the browser prefers', async () => {
  const { house: daemon } = start()
  await using _ = daemon
  const get = (wanted: string) =>
    fetch(`${daemon.url}/dashboard/assets/app-1a2b.js`, {
      headers: { 'accept-encoding': wanted },
      decompress: false,
    })
  const plain = 'x'.repeat(4096)
  const bodies = await Promise.all(
    ['br, gzip', 'gzip', 'br;q=0, gzip', 'identity', ''].map(async (wanted) => {
      const answer = await get(wanted)
      return [answer.headers.get('content-encoding'), Buffer.from(await answer.arrayBuffer())]
    }),
  )
  const answer = await get('br')

  expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
  expect(answer.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
  expect(answer.headers.get('vary')).toBe('accept-encoding')
  expect(bodies.map(([packing]) => packing)).toEqual(['br', 'gzip', 'gzip', null, null])
  expect(
    bodies.map(([packing, body]) => {
      if (!(body instanceof Buffer)) return null
      if (packing === 'br') return brotliDecompressSync(body).toString()
      return packing === 'gzip' ? gunzipSync(body).toString() : body.toString()
    }),
  ).toEqual([plain, plain, plain, plain, plain])
})

test.each(['other.js', 'app-1a2b.js/more', '..%2f..%2fpackage.json', ''])(
  '/dashboard/assets/%s is 404',
  async (name) => {
    const { house: daemon } = start()
    await using _ = daemon

    expect((await daemon.call(`/dashboard/assets/${name}`)).status).toBe(404)
  },
)

test('the page is built at its first use, and again after a failure', async () => {
  let calls = 0
  const { house: daemon } = start({
    page: () => {
      calls += 1
      return calls === 1 ? Promise.reject(new Error('no room')) : page()
    },
  })
  await using _ = daemon
  await daemon.call('/health')
  expect(calls).toBe(0)
  const statuses = []
  for (let n = 0; n < 3; n += 1) statuses.push((await daemon.call('/dashboard')).status)

  expect([statuses, calls]).toEqual([[500, 200, 200], 2])
})

test('every answer of the dashboard has restrictive security headers', async () => {
  const { house: daemon, signIn, ask: send } = start()
  await using _ = daemon
  const cookie = cookieOf(await signIn(daemon.token))
  const answers = [
    await daemon.call('/dashboard'),
    await daemon.call('/dashboard/assets/app-1a2b.js'),
    await daemon.call('/dashboard/assets/none.js'),
    await daemon.call('/dashboard/session'),
    await send('/dashboard/session', cookie),
    await send('/dashboard/api/account/me', cookie),
    await send('/dashboard/api/nothing', cookie),
    await daemon.call('/dashboard', { method: 'POST' }),
    await daemon.call('/operator/pool', { headers: { host: 'evil.example' } }),
  ]

  expect(answers.map(({ status }) => status)).toEqual([200, 200, 404, 403, 200, 200, 404, 405, 421])
  for (const { headers } of answers) {
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; manifest-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    )
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('referrer-policy')).toBe('same-origin')
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin')
    expect(headers.get('access-control-allow-origin')).toBeNull()
    expect(headers.get('access-control-expose-headers')).toBeNull()
  }
  expect(answers.map(({ headers }) => headers.get('cache-control'))).toEqual([
    'no-cache',
    'public, max-age=31536000, immutable',
    ...Array.from({ length: 7 }, () => 'no-store'),
  ])
})

test('the OpenAPI document omits the dashboard routes', async () => {
  const { house: daemon } = start()
  await using _ = daemon

  const { text } = await daemon.call('/openapi.json')

  expect(text).toContain('"/account/me":')
  expect(text).not.toMatch(/"\/(?:dashboard|operator)[^"]*":/)
})
