// Goal: a page of another site can do nothing with the dashboard's cookie, and a foreign host name
// that resolves to this address gets no data. Method: every request that such a page can cause is
// sent as bytes, with the victim's cookie added, as if SameSite did not exist. Nothing may be
// answered, billed, started or ended.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'

import { startTestApi } from '../support/test-api.ts'
import { cookieOf, page, type RawRequest, sendRawTo } from './dashboard-fixture.ts'

const HOST = 'api.forum.example'
const OWN = `https://${HOST}`
const VERIFY = '/dashboard/api/api/forum/comments/verify'
const SEARCH = '/dashboard/api/api/forum/search?q=cats'
const JSON_BODY = '{"ids":["a"]}'

/** A daemon behind TLS with a signed-in session. */
async function signedIn() {
  const daemon = startTestApi({ page })
  const answer = await sendRawTo(daemon.url, {
    method: 'POST',
    path: '/dashboard/session',
    headers: {
      Host: HOST,
      Origin: OWN,
      'Sec-Fetch-Site': 'same-origin',
      'Content-Type': 'application/json',
    },
    body: JSON.stringify({ key: daemon.token }),
  })
  expect(answer.status).toBe(200)
  const state = () =>
    JSON.stringify([
      daemon.db.query('SELECT balance_micros FROM customers').all(),
      daemon.db.query('SELECT hex(hash) AS hash FROM web_sessions').all(),
      daemon.db.query('SELECT * FROM usage_hours').all(),
    ])
  return { daemon, cookie: cookieOf(answer), state }
}

const FORM = { 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document' }
const FETCH = { 'Sec-Fetch-Mode': 'no-cors', 'Sec-Fetch-Dest': 'empty' }
const EVIL = { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' }
const post = (headers: Record<string, string>, body = JSON_BODY): RawRequest => ({
  method: 'POST',
  path: VERIFY,
  headers,
  body,
})
const get = (headers: Record<string, string>, path = SEARCH): RawRequest => ({ path, headers })

const AS_JSON = { 'Content-Type': 'application/json' }
const AS_TEXT = { 'Content-Type': 'text/plain' }
const IMAGE = { 'Sec-Fetch-Mode': 'no-cors', 'Sec-Fetch-Dest': 'image' }
const from = (Origin: string, site?: string) => ({
  Origin,
  ...(site !== undefined && { 'Sec-Fetch-Site': site }),
  ...AS_JSON,
})

const ATTEMPTS: [string, RawRequest][] = [
  [
    'a form of text/plain that spells JSON',
    post({ ...EVIL, ...FORM, ...AS_TEXT }, '{"ids":["a"],"x":"="}'),
  ],
  [
    'a form, urlencoded',
    post({ ...EVIL, ...FORM, 'Content-Type': 'application/x-www-form-urlencoded' }, 'ids=a'),
  ],
  [
    'a form, multipart',
    post(
      { ...EVIL, ...FORM, 'Content-Type': 'multipart/form-data; boundary=x' },
      '--x\r\nContent-Disposition: form-data; name="ids"\r\n\r\na\r\n--x--\r\n',
    ),
  ],
  [
    'a form from a browser that knows no Sec-Fetch-Site',
    post({ Origin: 'https://evil.example', ...AS_TEXT }),
  ],
  [
    'fetch without CORS and with simple headers alone',
    post({ ...EVIL, ...FETCH, 'Content-Type': 'text/plain;charset=UTF-8' }),
  ],
  [
    'fetch with a JSON body, as if no preflight had been needed',
    post({ ...EVIL, 'Sec-Fetch-Mode': 'cors', ...AS_JSON }),
  ],
  ['a sandboxed frame, whose origin is null', post(from('null', 'cross-site'))],
  ['an origin of null from a browser that knows no Sec-Fetch-Site', post(from('null'))],
  ['a request that says nothing of where it is from', post({ ...AS_JSON })],
  ['a GET that says nothing of where it is from', get({})],
  ['a GET that comes from another page', get({ Referer: 'https://evil.example/dashboard' })],
  ['a GET whose Referer is no address', get({ Referer: 'about:blank' })],
  ['a page of a sibling name', post(from('https://evil.forum.example', 'same-site'))],
  [
    'a sibling name in a browser that knows no Sec-Fetch-Site',
    post(from('https://evil.forum.example')),
  ],
  ['our name without TLS, which can be impersonated on the network', post(from(`http://${HOST}`))],
  ['our name on another port', post(from(`${OWN}:8443`))],
  ['an origin that begins like ours', post(from(`${OWN}.evil.example`))],
  ['two origins, one of them ours', post(from(`${OWN}, https://evil.example`))],
  ['our own origin on a request that the browser calls cross-site', post(from(OWN, 'cross-site'))],
  [
    'a foreign origin on a request declared same-origin',
    post(from('https://evil.example', 'same-origin')),
  ],
  ['an image whose address costs a read', get({ 'Sec-Fetch-Site': 'cross-site', ...IMAGE })],
  [
    'an image on a sibling name or another port, which is of the same site',
    get({ 'Sec-Fetch-Site': 'same-site', ...IMAGE }),
  ],
  ['a link that costs a read', get({ ...FORM, 'Sec-Fetch-Site': 'cross-site' })],
  ['HEAD, which costs what GET costs', { ...get(EVIL), method: 'HEAD' }],
  [
    'an event source that would listen',
    get({ ...EVIL, 'Sec-Fetch-Mode': 'cors', Accept: 'text/event-stream' }, '/dashboard/live'),
  ],
  [
    'a WebSocket, which asks no preflight',
    get(
      {
        ...EVIL,
        Connection: 'Upgrade',
        Upgrade: 'websocket',
        'Sec-Fetch-Mode': 'websocket',
        'Sec-WebSocket-Version': '13',
        'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
      },
      '/dashboard/live',
    ),
  ],
  [
    'a form that would sign the victim in to another account',
    {
      ...post({ ...EVIL, ...FORM, ...AS_TEXT }, '{"key":"fk_0","x":"="}'),
      path: '/dashboard/session',
    },
  ],
  ['signing the victim out', { method: 'DELETE', path: '/dashboard/session', headers: EVIL }],
  ...['X-HTTP-Method-Override', 'X-Method-Override', 'X-HTTP-Method'].map(
    (name): [string, RawRequest] => [
      `a form that calls itself DELETE by ${name}`,
      {
        ...post({ ...EVIL, ...FORM, ...AS_TEXT, [name]: 'DELETE' }),
        path: '/dashboard/session?_method=DELETE',
      },
    ],
  ),
  [
    'the operator’s routes, by the cookie of an operator',
    get({ ...EVIL }, '/dashboard/api/operator/pool'),
  ],
]

describe('from another site', () => {
  let victim: Awaited<ReturnType<typeof signedIn>>
  beforeAll(async () => {
    victim = await signedIn()
  })
  afterAll(() => victim.daemon[Symbol.asyncDispose]())

  test.each(ATTEMPTS)('refused: %s', async (_, request) => {
    const { daemon, cookie, state } = victim
    const before = state()

    const answer = await sendRawTo(daemon.url, {
      ...request,
      headers: { Host: HOST, Cookie: cookie, ...request.headers },
    })

    expect(answer.status).toBe(403)
    if (request.method !== 'HEAD') expect(answer.body).toContain('"reason":"cross_site"')
    expect(answer.headers.get('set-cookie')).toBeNull()
    expect(answer.headers.get('access-control-allow-origin')).toBeNull()
    expect(state()).toBe(before)
  })
})

test("the attempts above succeed from the dashboard's own page", async () => {
  const { daemon, cookie, state } = await signedIn()
  await using _ = daemon
  const own = {
    Host: HOST,
    Cookie: cookie,
    Origin: OWN,
    'Sec-Fetch-Site': 'same-origin',
    'Content-Type': 'application/json',
  }
  for (const request of [post(own), get(own), { method: 'DELETE', path: '/dashboard/session' }]) {
    const before = state()
    const answer = await sendRawTo(daemon.url, { ...request, headers: own })
    expect(answer.status).toBeLessThan(300)
    expect(state()).not.toBe(before)
  }
})

test.each([
  ['a name that was rebound to this address', { Host: 'evil.example' }],
  ['a name that begins like ours', { Host: `${HOST}.evil.example` }],
  ['a name that ends like ours', { Host: `evil-${HOST}` }],
  ['localhost as a foreign subdomain', { Host: 'localhost.evil.example' }],
  ['a foreign name that a header calls ours', { Host: 'evil.example', 'X-Forwarded-Host': HOST }],
  ['a foreign name with a forged hop', { Host: 'evil.example', Forwarded: `host=${HOST}` }],
  ['no name at all', { Host: '' }],
  ['a name with a user before it', { Host: `${HOST}@evil.example` }],
  ['a number that is an address only to a browser', { Host: '2130706433' }],
])('421 for %s, on every system route', async (_, headers) => {
  const { daemon, cookie, state } = await signedIn()
  await using __ = daemon
  const before = state()
  const { Host } = headers
  // Request of a page under such a name: its browser considers it same-origin.
  const own = { Origin: `http://${Host}`, 'Sec-Fetch-Site': 'same-origin' }
  const as = {
    Authorization: `Bearer ${daemon.newKey({ operator: true })}`,
    'Content-Type': 'application/json',
  }

  for (const request of [
    get({}, '/dashboard'),
    get({}, '/dashboard/assets/app-1a2b.js'),
    get({}, '/dashboard/session'),
    get({}, SEARCH),
    get({}, '/dashboard/live'),
    post({}),
    get({}, '/operator/pool'),
    { method: 'POST', path: '/operator/pool/acc_1/pause' },
    { method: 'OPTIONS', path: '/operator/pool' },
  ]) {
    const answer = await sendRawTo(daemon.url, {
      ...request,
      headers: { ...own, ...as, Cookie: cookie, ...headers },
    })
    expect([request.path, answer.status]).toEqual([request.path, 421])
    expect(answer.headers.get('access-control-allow-origin')).toBeNull()
  }
  expect(state()).toBe(before)
})

test.each([
  ['its public name', HOST, OWN],
  ['its public name, with any port', `${HOST}:443`, OWN],
  ['its public name in capitals', HOST.toUpperCase(), OWN],
  ['a name of [server].hosts', 'forumd.lan:8080', 'http://forumd.lan:8080'],
  ['localhost', 'localhost:8080', 'http://localhost:8080'],
  ['an address', '192.168.1.5:8080', 'http://192.168.1.5:8080'],
  ['an IPv6 address', '[::1]:8080', 'http://[::1]:8080'],
])('the dashboard is reached by %s', async (_, Host, own) => {
  await using daemon = startTestApi({ page, hosts: ['forumd.lan'] })
  const key = { method: 'POST', path: '/dashboard/session', body: `{"key":"${daemon.token}"}` }
  const json = { Host, 'Content-Type': 'application/json' }
  const statuses = []
  for (const request of [
    { Origin: own },
    { Origin: own, 'Sec-Fetch-Site': 'same-origin' },
    { 'Sec-Fetch-Site': 'none' },
    // A GET of its own page over plain http has no other header.
    { Referer: `${own}/dashboard/monitors` },
  ])
    statuses.push(
      (await sendRawTo(daemon.url, { ...key, headers: { ...json, ...request } })).status,
    )

  expect((await sendRawTo(daemon.url, get({ Host }, '/dashboard'))).status).toBe(200)
  expect(statuses).toEqual([200, 200, 200, 200])
})

test('preflight requests to cookie routes and operator routes are not answered', async () => {
  await using daemon = startTestApi({ page })
  const options = {
    Host: HOST,
    Origin: 'https://evil.example',
    'Access-Control-Request-Method': 'POST',
    'Access-Control-Request-Headers': 'content-type, authorization',
  }
  const answers = await Promise.all(
    ['/dashboard', '/dashboard/session', VERIFY, '/operator/pool', '/api/forum/search'].map(
      (path) => sendRawTo(daemon.url, { method: 'OPTIONS', path, headers: options }),
    ),
  )

  expect(answers.map(({ status }) => status)).toEqual([405, 403, 403, 404, 204])
  expect(
    answers.map(({ headers }) => [...headers.keys()].some((it) => it.startsWith('access-control'))),
  ).toEqual([false, false, false, false, true])
})
