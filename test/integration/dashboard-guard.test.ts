// Goal: a page of another site can do nothing with what a browser holds for the dashboard, and a name that a stranger
// points at this address opens nothing. Method: whatever such a page can make a browser send is sent as bytes, with the
// victim's own cookie on top, as if SameSite had never been invented. Nothing may be answered, spent, begun or ended.

import { expect, test } from 'bun:test'

import { startHouse } from '../support/http.ts'
import { ask, cookieOf, page, type RawRequest } from './dashboard-stage.ts'

const HOST = 'api.forum.example'
const OWN = `https://${HOST}`
const VERIFY = '/dashboard/api/api/forum/comments/verify'
const SEARCH = '/dashboard/api/api/forum/search?q=cats'
const JSON_BODY = '{"ids":["a"]}'

/** A daemon behind TLS, and somebody signed in. */
async function signedIn() {
  const house = startHouse({ page })
  const answer = await ask(house.url, {
    method: 'POST',
    path: '/dashboard/session',
    headers: {
      Host: HOST,
      Origin: OWN,
      'Sec-Fetch-Site': 'same-origin',
      'Content-Type': 'application/json',
    },
    body: JSON.stringify({ key: house.token }),
  })
  expect(answer.status).toBe(200)
  const state = () =>
    JSON.stringify([
      house.db.query('SELECT balance_micros FROM customers').all(),
      house.db.query('SELECT hex(hash) AS hash FROM web_sessions').all(),
      house.db.query('SELECT * FROM usage_hours').all(),
    ])
  return { house, cookie: cookieOf(answer), state }
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

const ATTEMPTS: [string, RawRequest][] = [
  [
    'a form of text/plain that spells JSON',
    post({ ...EVIL, ...FORM, 'Content-Type': 'text/plain' }, '{"ids":["a"],"x":"="}'),
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
    post({ Origin: 'https://evil.example', 'Content-Type': 'text/plain' }),
  ],
  [
    'fetch without CORS and with simple headers alone',
    post({ ...EVIL, ...FETCH, 'Content-Type': 'text/plain;charset=UTF-8' }),
  ],
  [
    'fetch with a JSON body, as if no preflight had been needed',
    post({ ...EVIL, 'Sec-Fetch-Mode': 'cors', 'Content-Type': 'application/json' }),
  ],
  [
    'a sandboxed frame, whose origin is null',
    post({ Origin: 'null', 'Sec-Fetch-Site': 'cross-site', 'Content-Type': 'application/json' }),
  ],
  [
    'an origin of null from a browser that knows no Sec-Fetch-Site',
    post({ Origin: 'null', 'Content-Type': 'application/json' }),
  ],
  ['a request that says nothing of where it is from', post({ 'Content-Type': 'application/json' })],
  ['a GET that says nothing of where it is from', get({})],
  ['a GET that comes from another page', get({ Referer: 'https://evil.example/dashboard' })],
  ['a GET whose Referer is no address', get({ Referer: 'about:blank' })],
  [
    'a page of a sibling name',
    post({
      Origin: 'https://evil.forum.example',
      'Sec-Fetch-Site': 'same-site',
      'Content-Type': 'application/json',
    }),
  ],
  [
    'a sibling name in a browser that knows no Sec-Fetch-Site',
    post({ Origin: 'https://evil.forum.example', 'Content-Type': 'application/json' }),
  ],
  [
    'our name without TLS, which somebody on the wire can play',
    post({ Origin: `http://${HOST}`, 'Content-Type': 'application/json' }),
  ],
  ['our name on another port', post({ Origin: `${OWN}:8443`, 'Content-Type': 'application/json' })],
  [
    'an origin that begins like ours',
    post({ Origin: `${OWN}.evil.example`, 'Content-Type': 'application/json' }),
  ],
  [
    'two origins, one of them ours',
    post({ Origin: `${OWN}, https://evil.example`, 'Content-Type': 'application/json' }),
  ],
  [
    'our own origin on a request that the browser calls cross-site',
    post({ Origin: OWN, 'Sec-Fetch-Site': 'cross-site', 'Content-Type': 'application/json' }),
  ],
  [
    'a foreign origin on a request that is said to be of the same',
    post({
      Origin: 'https://evil.example',
      'Sec-Fetch-Site': 'same-origin',
      'Content-Type': 'application/json',
    }),
  ],
  [
    'an image whose address costs a read',
    get({ 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'no-cors', 'Sec-Fetch-Dest': 'image' }),
  ],
  [
    'an image on a sibling name or another port, which is of the same site',
    get({ 'Sec-Fetch-Site': 'same-site', 'Sec-Fetch-Mode': 'no-cors', 'Sec-Fetch-Dest': 'image' }),
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
    'a form that would sign the victim in as somebody else',
    {
      ...post({ ...EVIL, ...FORM, 'Content-Type': 'text/plain' }, '{"key":"fk_0","x":"="}'),
      path: '/dashboard/session',
    },
  ],
  ['signing the victim out', { method: 'DELETE', path: '/dashboard/session', headers: EVIL }],
  ...['X-HTTP-Method-Override', 'X-Method-Override', 'X-HTTP-Method'].map(
    (name): [string, RawRequest] => [
      `a form that calls itself DELETE by ${name}`,
      {
        ...post({ ...EVIL, ...FORM, 'Content-Type': 'text/plain', [name]: 'DELETE' }),
        path: '/dashboard/session?_method=DELETE',
      },
    ],
  ),
  [
    'the operator’s routes, by the cookie of an operator',
    get({ ...EVIL }, '/dashboard/api/operator/pool'),
  ],
]

test.each(ATTEMPTS)('refused from another site: %s', async (_, request) => {
  const { house, cookie, state } = await signedIn()
  await using __ = house
  const before = state()

  const answer = await ask(house.url, {
    ...request,
    headers: { Host: HOST, Cookie: cookie, ...request.headers },
  })

  expect(answer.status).toBe(403)
  if (request.method !== 'HEAD') expect(answer.body).toContain('"reason":"cross_site"')
  expect(answer.headers.get('set-cookie')).toBeNull()
  expect(answer.headers.get('access-control-allow-origin')).toBeNull()
  expect(state()).toBe(before)
})

test('the attempts above do what they would, once they come from our own page', async () => {
  const { house, cookie, state } = await signedIn()
  await using _ = house
  const own = {
    Host: HOST,
    Cookie: cookie,
    Origin: OWN,
    'Sec-Fetch-Site': 'same-origin',
    'Content-Type': 'application/json',
  }
  for (const request of [post(own), get(own), { method: 'DELETE', path: '/dashboard/session' }]) {
    const before = state()
    const answer = await ask(house.url, { ...request, headers: own })
    expect(answer.status).toBeLessThan(300)
    expect(state()).not.toBe(before)
  }
})

test.each([
  ['a name that was rebound to this address', { Host: 'evil.example' }],
  ['a name that begins like ours', { Host: `${HOST}.evil.example` }],
  ['a name that ends like ours', { Host: `evil-${HOST}` }],
  ['localhost as somebody’s subdomain', { Host: 'localhost.evil.example' }],
  ['a foreign name that a header calls ours', { Host: 'evil.example', 'X-Forwarded-Host': HOST }],
  ['a foreign name with a forged hop', { Host: 'evil.example', Forwarded: `host=${HOST}` }],
  ['no name at all', { Host: '' }],
  ['a name with a user before it', { Host: `${HOST}@evil.example` }],
  ['a number that is an address only to a browser', { Host: '2130706433' }],
])('421 for %s, on every route of the house', async (_, headers) => {
  const { house, cookie, state } = await signedIn()
  await using __ = house
  const before = state()
  const { Host } = headers
  // What the page of such a name would send: to its browser it is the same origin.
  const own = { Origin: `http://${Host}`, 'Sec-Fetch-Site': 'same-origin' }
  const as = {
    Authorization: `Bearer ${house.newKey({ operator: true })}`,
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
    const answer = await ask(house.url, {
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
  ['its public name, whatever the port', `${HOST}:443`, OWN],
  ['its public name in capitals', HOST.toUpperCase(), OWN],
  ['a name of [server].hosts', 'forumd.lan:8080', 'http://forumd.lan:8080'],
  ['localhost', 'localhost:8080', 'http://localhost:8080'],
  ['an address', '192.168.1.5:8080', 'http://192.168.1.5:8080'],
  ['an IPv6 address', '[::1]:8080', 'http://[::1]:8080'],
])('the dashboard is reached by %s', async (_, Host, own) => {
  await using house = startHouse({ page, hosts: ['forumd.lan'] })
  const key = { method: 'POST', path: '/dashboard/session', body: `{"key":"${house.token}"}` }
  const json = { Host, 'Content-Type': 'application/json' }
  const statuses = []
  for (const said of [
    { Origin: own },
    { Origin: own, 'Sec-Fetch-Site': 'same-origin' },
    { 'Sec-Fetch-Site': 'none' },
    // A GET of its own page, over plain http, has nothing else.
    { Referer: `${own}/dashboard/monitors` },
  ])
    statuses.push((await ask(house.url, { ...key, headers: { ...json, ...said } })).status)

  expect((await ask(house.url, get({ Host }, '/dashboard'))).status).toBe(200)
  expect(statuses).toEqual([200, 200, 200, 200])
})

test('a preflight is not answered where a cookie counts, nor for the operator', async () => {
  await using house = startHouse({ page })
  const asked = {
    Host: HOST,
    Origin: 'https://evil.example',
    'Access-Control-Request-Method': 'POST',
    'Access-Control-Request-Headers': 'content-type, authorization',
  }
  const answers = await Promise.all(
    ['/dashboard', '/dashboard/session', VERIFY, '/operator/pool', '/api/forum/search'].map(
      (path) => ask(house.url, { method: 'OPTIONS', path, headers: asked }),
    ),
  )

  expect(answers.map(({ status }) => status)).toEqual([405, 403, 403, 404, 204])
  expect(
    answers.map(({ headers }) => [...headers.keys()].some((it) => it.startsWith('access-control'))),
  ).toEqual([false, false, false, false, true])
})
