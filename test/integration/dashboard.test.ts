import { expect, test } from 'bun:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'

import { insertCustomer } from '../../src/store/customers.ts'
import { insertKey, revokeKey } from '../../src/store/keys.ts'
import { json, startHouse } from '../support/http.ts'
import { LIMITS } from '../support/quiet-app.ts'
import { cookieOf, PAGE, page } from './dashboard-stage.ts'

const DAY_MS = 86_400_000
const OWN = { 'sec-fetch-site': 'same-origin', authorization: '' }

/** A daemon reached by its address, and what a browser does there. */
function start(over: Parameters<typeof startHouse>[0] = {}) {
  const house = startHouse({ page, ...over })
  const signIn = (key: string, headers: Record<string, string> = {}) =>
    house.call('/dashboard/session', json({ key }, { ...OWN, ...headers }))
  const ask = (path: string, cookie: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers)
    for (const [name, value] of Object.entries({ ...OWN, cookie })) headers.set(name, value)
    return house.call(path, { ...init, headers })
  }
  return { house, signIn, ask }
}

test('who signs in with a key is told who that is, and stays signed in by a cookie', async () => {
  const { house, signIn, ask } = start()
  await using _ = house
  const signed_in = await signIn(house.token)
  const who = {
    role: 'customer',
    customer: { id: 'cus_1', name: 'acme' },
    key: {
      id: expect.stringMatching(/^key_/),
      name: null,
      prefix: house.token.slice(0, 8),
      scopes: ['read', 'write', 'monitor'],
    },
    insecure: true,
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    words: { platform: 'forum', community: 'subforum', communities: 'subforums' },
    base_path: '/api/forum',
    monitor_path: '/forum/monitor',
  }

  expect([signed_in.status, signed_in.body]).toEqual([200, who])
  expect(signed_in.text).not.toContain(house.token)
  expect(signed_in.headers.get('set-cookie')).toMatch(
    /^forumd=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/,
  )
  const again = await ask('/dashboard/session', cookieOf(signed_in))
  expect([again.status, again.body]).toEqual([200, who])
})

test('an operator signs in the same way, and is no customer', async () => {
  const { house, signIn } = start()
  await using _ = house
  const { body } = await signIn(house.newKey({ operator: true }))

  expect(body).toMatchObject({
    role: 'operator',
    customer: null,
    key: { prefix: expect.stringMatching(/^fo_/) },
  })
})

test('over TLS the cookie is one that only this very host can set', async () => {
  const { house, signIn, ask } = start({ trusted_proxies: ['127.0.0.1'] })
  await using _ = house
  const https = { 'x-forwarded-proto': 'https' }
  const signed_in = await signIn(house.token, https)
  const cookie = cookieOf(signed_in)

  expect(signed_in.headers.get('set-cookie')).toMatch(
    /^__Host-forumd=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict; Secure$/,
  )
  expect(signed_in.body['insecure']).toBe(false)
  expect((await ask('/dashboard/session', cookie, { headers: https })).status).toBe(200)
  // One that was set without TLS says nothing there, and the other way round.
  const planted = cookie.replace('__Host-', '')
  expect((await ask('/dashboard/session', planted, { headers: https })).status).toBe(401)
  expect((await ask('/dashboard/session', cookie)).status).toBe(401)
})

test('a proxy that nobody trusts cannot say that there is TLS', async () => {
  const { house, signIn } = start()
  await using _ = house
  const { body } = await signIn(house.token, { 'x-forwarded-proto': 'https' })

  expect(body['insecure']).toBe(true)
})

test.each([
  ['a key nobody has', { key: `fk_${'0'.repeat(43)}` }, 403, 'invalid_token', undefined],
  ['no key', {}, 400, 'INVALID_REQUEST', 'key'],
  ['an empty key', { key: ' ' }, 400, 'INVALID_REQUEST', 'key'],
  ['a number', { key: 7 }, 400, 'INVALID_REQUEST', 'key'],
  ['a book', { key: 'x'.repeat(513) }, 400, 'INVALID_REQUEST', 'key'],
  ['something besides', { key: 'x', remember: true }, 400, 'INVALID_REQUEST', 'remember'],
])('signing in with %s opens nothing', async (_, body, status, code, field) => {
  const { house } = start()
  await using __ = house
  const answer = await house.call('/dashboard/session', json(body, OWN))

  expect([answer.status, answer.body['code'], answer.body['field']]).toEqual([status, code, field])
  expect(answer.headers.get('set-cookie')).toBeNull()
  expect(house.db.query('SELECT * FROM web_sessions').all()).toEqual([])
})

test('of a session only a hash is kept', async () => {
  const { house, signIn } = start()
  await using _ = house
  const token = cookieOf(await signIn(house.token)).slice('forumd='.length)
  const rows = house.db.query<{ hash: Uint8Array }, []>('SELECT hash FROM web_sessions').all()

  expect(rows.map(({ hash }) => Buffer.from(hash).toString('hex'))).toEqual([
    new Bun.CryptoHasher('sha256').update(token).digest('hex'),
  ])
  // Nor does the log say it, nor the key.
  const log = JSON.stringify(house.log)
  expect(log).toContain('dashboard.signed_in')
  expect(log).not.toContain(token)
  expect(log).not.toContain(house.token)
})

test('a call of the dashboard is counted once, whatever answers it', async () => {
  const { house, signIn, ask } = start()
  await using _ = house
  const cookie = cookieOf(await signIn(house.token))
  await ask('/dashboard/api/api/forum/search?q=cats', cookie)
  await ask('/dashboard/api/api/forum/search', cookie)
  const { text } = await house.call('/metrics', { headers: { authorization: '' } })
  const told = text.matchAll(/^forumd_http_request(?:s_total|_seconds_count)\{(.+)$/gm)

  expect([...told].map(([, it = '']) => it).toSorted()).toEqual([
    'method="GET",route="/dashboard/api/*",status="200"} 1',
    'method="GET",route="/dashboard/api/*",status="400"} 1',
    'method="GET",route="/dashboard/api/*"} 2',
    'method="POST",route="/dashboard/session",status="200"} 1',
    'method="POST",route="/dashboard/session"} 1',
  ])
})

test('a session is over when its key is revoked', async () => {
  const { house, signIn, ask } = start()
  await using _ = house
  const signed_in = await signIn(house.token)
  const cookie = cookieOf(signed_in)
  expect((await ask('/dashboard/api/account/me', cookie)).status).toBe(200)
  const { id } = house.db.query<{ id: string }, []>('SELECT id FROM api_keys').get() ?? { id: '' }
  revokeKey(house.db, id, house.clock.now())

  expect((await ask('/dashboard/session', cookie)).status).toBe(401)
  expect((await ask('/dashboard/api/account/me', cookie)).body).toMatchObject({
    code: 'missing_token',
  })
})

test('a session is over when its key expires', async () => {
  const { house, signIn, ask } = start()
  await using _ = house
  const key = house.newKey({ expires_at: house.clock.now() + 60_000 })
  const cookie = cookieOf(await signIn(key))
  await house.clock.advance(59_000)
  expect((await ask('/dashboard/session', cookie)).status).toBe(200)
  await house.clock.advance(1000)

  expect((await ask('/dashboard/session', cookie)).status).toBe(401)
})

test('a session is over when its customer is gone', async () => {
  const { house, signIn, ask } = start()
  await using _ = house
  const cookie = cookieOf(await signIn(house.token))
  house.db.run('UPDATE customers SET removed_at = 1')

  expect((await ask('/dashboard/session', cookie)).status).toBe(401)
})

test('a session that is used goes on, and ends after seven days without use', async () => {
  const { house, signIn, ask } = start()
  await using _ = house
  const cookie = cookieOf(await signIn(house.token))
  for (let n = 0; n < 3; n += 1) {
    await house.clock.advance(6 * DAY_MS)
    expect((await ask('/dashboard/session', cookie)).status).toBe(200)
  }
  await house.clock.advance(7 * DAY_MS)

  expect((await ask('/dashboard/session', cookie)).status).toBe(401)
})

test('signing out ends the session on the server, and only this one', async () => {
  const { house, signIn, ask } = start()
  await using _ = house
  const here = cookieOf(await signIn(house.token))
  const elsewhere = cookieOf(await signIn(house.token))
  const out = await ask('/dashboard/session', here, { method: 'DELETE' })

  expect([out.status, out.text]).toEqual([204, ''])
  expect(out.headers.get('set-cookie')).toBe(
    'forumd=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict',
  )
  expect((await ask('/dashboard/session', here)).status).toBe(401)
  expect((await ask('/dashboard/session', elsewhere)).status).toBe(200)
})

test('who signs in anew in the same browser leaves no session behind', async () => {
  const { house, signIn, ask } = start()
  await using _ = house
  const first = cookieOf(await signIn(house.token))
  const second = cookieOf(await signIn(house.newKey({ operator: true }), { cookie: first }))

  expect((await ask('/dashboard/session', first)).status).toBe(401)
  expect((await ask('/dashboard/session', second)).body['role']).toBe('operator')
})

test('a key is signed in on twenty devices at most: the longest unused makes room', async () => {
  const { house, signIn, ask } = start({ limits: { ...LIMITS, dashboard_per_minute: 0 } })
  await using _ = house
  const cookies: string[] = []
  for (let n = 0; n < 21; n += 1) {
    cookies.push(cookieOf(await signIn(house.token)))
    await house.clock.advance(1000)
  }
  const statuses = await Promise.all(
    cookies.map(async (cookie) => (await ask('/dashboard/session', cookie)).status),
  )

  expect(statuses).toEqual([401, ...Array.from({ length: 20 }, () => 200)])
})

test.each([
  ['two of its name, of which one may be planted', (it: string) => `${it}; forumd=other`],
  ['one that only begins like it', (it: string) => it.replace('forumd=', 'forumd2=')],
  ['none', () => 'theme=dark'],
  ['half of it', (it: string) => it.slice(0, -20)],
])('nobody is signed in by %s', async (_, change) => {
  const { house, signIn, ask } = start()
  await using __ = house
  const cookie = cookieOf(await signIn(house.token))

  expect((await ask('/dashboard/session', change(cookie))).status).toBe(401)
})

const from = (host: number) => ({ 'x-forwarded-for': `203.0.113.${host}` })

test('an address may try to sign in so often a minute, whatever it tries', async () => {
  const { house, signIn } = start({ trusted_proxies: ['127.0.0.1'] })
  await using _ = house
  const statuses = []
  for (let n = 0; n < 31; n += 1) statuses.push((await signIn(`fk_${n}`, from(9))).status)
  const over = await signIn(house.token, from(9))

  expect(statuses).toEqual([...Array.from({ length: 30 }, () => 403), 429])
  expect(over.body).toMatchObject({
    code: 'rate_limited',
    message: 'too many requests: attempts to sign in from this address, at most 30 a minute',
    retry_after: 2,
  })
  expect((await signIn(house.token, from(10))).status).toBe(200)
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
])('behind the cookie %s answers what it answers to the key', async (path, init: RequestInit) => {
  const { house, signIn, ask } = start()
  await using _ = house
  const cookie = cookieOf(await signIn(house.token))
  const direct = await house.call(path, init)
  const through = await ask(`/dashboard/api${path}`, cookie, init)

  expect([through.status, through.text]).toEqual([direct.status, direct.text])
  expect(through.headers.get('content-type')).toBe(direct.headers.get('content-type'))
  expect(through.headers.get('allow')).toBe(direct.headers.get('allow'))
  expect(through.headers.get('access-control-allow-origin')).toBeNull()
})

test('what costs something is billed behind the cookie as it is to the key', async () => {
  const { house, signIn, ask } = start()
  await using _ = house
  const cookie = cookieOf(await signIn(house.token))
  const answer = await ask('/dashboard/api/api/forum/search?q=cats', cookie)

  expect(answer.headers.get('x-credits-remaining')).toBe('0.498')
  expect((await ask('/dashboard/api/account/me', cookie)).body['credits_remaining']).toBe(0.498)
})

test('the limits of a key count what comes by cookie and what comes by key together', async () => {
  const { house, signIn, ask } = start()
  await using _ = house
  const cookie = cookieOf(await signIn(house.token))
  const statuses = []
  for (let n = 0; n < 15; n += 1) {
    statuses.push((await house.call('/account/me')).status)
    statuses.push((await ask('/dashboard/api/account/me', cookie)).status)
  }
  const over = await ask('/dashboard/api/account/me', cookie)

  expect(statuses).toEqual(Array.from({ length: 30 }, () => 200))
  expect([over.status, over.headers.get('retry-after')]).toEqual([429, '2'])
})

test('the scopes of a key bind its session', async () => {
  const { house, signIn, ask } = start()
  await using _ = house
  const cookie = cookieOf(await signIn(house.newKey({ scopes: ['read'] })))

  expect((await ask('/dashboard/api/forum/monitor/list', cookie)).body).toMatchObject({
    code: 'PERMISSION_DENIED',
    reason: 'scope',
  })
})

test('a key in the header changes nothing of who is signed in', async () => {
  const { house, signIn, ask } = start()
  await using _ = house
  insertCustomer(house.db, {
    id: 'cus_2',
    name: 'bob',
    plan: 'entry',
    created_at: 0,
    starting_credit_micros: 0,
    payment_id: 'pay_2',
  })
  const token = `fk_${'b'.repeat(43)}`
  const row = { id: 'key_2', customer_id: 'cus_2', token, name: null, scopes: [], created_at: 0 }
  insertKey(house.db, { ...row, expires_at: null })
  const cookie = cookieOf(await signIn(house.token))
  const headers = { authorization: `Bearer ${token}`, 'sec-fetch-site': 'same-origin' }

  const both = await house.call('/dashboard/api/account/me', { headers: { ...headers, cookie } })
  const alone = await house.call('/dashboard/api/account/me', { headers })

  expect(both.body['name']).toBe('acme')
  expect(alone.status).toBe(401)
  // And the other way round: a cookie opens nothing of the API itself.
  expect((await ask('/account/me', cookie)).status).toBe(401)
})

test.each(['/dashboard/session', '/dashboard', '/dashboard/api/account/me', '/', ''])(
  'the dashboard is not reached through itself: /dashboard/api%s',
  async (path) => {
    const { house, signIn, ask } = start()
    await using _ = house
    const cookie = cookieOf(await signIn(house.token))

    expect((await ask(`/dashboard/api${path}`, cookie)).status).toBe(404)
  },
)

test('what only this machine may read is not read through a cookie', async () => {
  const { house, signIn, ask } = start()
  await using _ = house
  const cookie = cookieOf(await signIn(house.token))

  expect((await ask('/dashboard/api/metrics', cookie)).status).toBe(404)
})

test('what the call is named by is the same on both sides of the cookie', async () => {
  const { house, signIn, ask } = start()
  await using _ = house
  const cookie = cookieOf(await signIn(house.token))
  const answer = await ask('/dashboard/api/account/me', cookie, {
    headers: { 'x-request-id': 'mine-1' },
  })

  expect(answer.headers.get('x-request-id')).toBe('mine-1')
})

test.each(['/dashboard', '/dashboard/', '/dashboard/monitors', '/dashboard/deliveries/dlv_1'])(
  'the page answers at %s, anew each time',
  async (path) => {
    const { house } = start()
    await using _ = house
    const answer = await house.call(path, { headers: { authorization: '' } })

    expect([answer.status, answer.text]).toEqual([200, PAGE.shell])
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(answer.headers.get('cache-control')).toBe('no-cache')
  },
)

test('a file of the page is kept for a year, and packed as the browser likes it', async () => {
  const { house } = start()
  await using _ = house
  const get = (wanted: string) =>
    fetch(`${house.url}/dashboard/assets/app-1a2b.js`, {
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
  'there is no file /dashboard/assets/%s',
  async (name) => {
    const { house } = start()
    await using _ = house

    expect((await house.call(`/dashboard/assets/${name}`)).status).toBe(404)
  },
)

test('the page is made at its first use, and again when that failed', async () => {
  let calls = 0
  const { house } = start({
    page: () => {
      calls += 1
      return calls === 1 ? Promise.reject(new Error('no room')) : page()
    },
  })
  await using _ = house
  await house.call('/health')
  expect(calls).toBe(0)
  const statuses = []
  for (let n = 0; n < 3; n += 1) statuses.push((await house.call('/dashboard')).status)

  expect([statuses, calls]).toEqual([[500, 200, 200], 2])
})

test('every answer of the house says what a browser may do with it', async () => {
  const { house, signIn, ask } = start()
  await using _ = house
  const cookie = cookieOf(await signIn(house.token))
  const answers = [
    await house.call('/dashboard'),
    await house.call('/dashboard/assets/app-1a2b.js'),
    await house.call('/dashboard/assets/none.js'),
    await house.call('/dashboard/session'),
    await ask('/dashboard/session', cookie),
    await ask('/dashboard/api/account/me', cookie),
    await ask('/dashboard/api/nothing', cookie),
    await house.call('/dashboard', { method: 'POST' }),
    await house.call('/operator/pool', { headers: { host: 'evil.example' } }),
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

test('the document for customers has no route of the dashboard', async () => {
  const { house } = start()
  await using _ = house

  const { text } = await house.call('/openapi.json')

  expect(text).toContain('"/account/me":')
  expect(text).not.toMatch(/"\/(?:dashboard|operator)[^"]*":/)
})
