import { expect, test } from 'bun:test'

import { ok } from '../../src/core/outcome.ts'
import { createWords } from '../../src/core/wire.ts'
import { revokeKey } from '../../src/store/keys.ts'
import { sumUsage } from '../../src/store/usage.ts'
import { json, startHouse } from '../support/http.ts'

const SEARCH = '/api/forum/search?q=cats'
const VERIFY = '/api/forum/comments/verify'
const NO_KEY = { headers: { authorization: '' } }
const refused = (statuses: number[]) => statuses.filter((status) => status === 429).length
const withKey = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

test.each([
  ['no header', '', 401, 'Missing Bearer token', 'missing_token'],
  ['another scheme', 'Basic abc', 401, 'Missing Bearer token', 'missing_token'],
  ['Bearer and nothing', 'Bearer ', 401, 'Missing Bearer token', 'missing_token'],
  ['a key nobody has', `Bearer fk_${'0'.repeat(43)}`, 403, 'Invalid token', 'invalid_token'],
])('%s is refused before anything else is looked at', async (_, authorization, ...expected) => {
  await using house = startHouse()
  const [status, error, code] = expected
  for (const path of [
    '/api/forum/search',
    `${SEARCH}&limit=9999`,
    '/account/me',
    '/forum/monitor/list',
  ]) {
    const answer = await house.call(path, { headers: { authorization } })
    expect([answer.status, answer.body['error'], answer.body['code']]).toEqual([
      status,
      error,
      code,
    ])
  }
})

test('a key that was revoked, has expired, or is an operator’s opens nothing', async () => {
  await using house = startHouse()
  const expiring = house.newKey({ expires_at: house.clock.now() + 1000 })
  expect((await house.call(SEARCH, withKey(expiring))).status).toBe(200)
  await house.clock.advance(1000)
  revokeKey(
    house.db,
    house.db.query<{ id: string }, []>('SELECT id FROM api_keys').all()[0]?.id ?? '',
    0,
  )

  for (const token of [expiring, house.token, house.newKey({ operator: true })])
    expect((await house.call(SEARCH, withKey(token))).body).toMatchObject({ code: 'invalid_token' })
})

test('a key without the scope of a call is told so', async () => {
  await using house = startHouse()
  const reader = house.newKey({ scopes: ['read'] })
  const answer = await house.call('/forum/monitor/list', withKey(reader))

  expect(answer.status).toBe(403)
  expect(answer.body).toMatchObject({ code: 'PERMISSION_DENIED', reason: 'scope' })
  expect((await house.call(SEARCH, withKey(reader))).status).toBe(200)
  expect((await house.call(VERIFY, { ...json({ ids: [] }, withKey(reader).headers) })).status).toBe(
    200,
  )
})

test.each([
  ['', 'q', 'q is required'],
  ['?q=', 'q', 'q is required'],
  ['?q=%20', 'q', 'q is required'],
  ['?q=a&q=b', 'q', 'q must be given once, as text'],
  [`?q=${'x'.repeat(513)}`, 'q', 'q must be at most 512 characters'],
  ['?q=a&sort=old', 'sort', 'sort must be one of relevance, new'],
  ['?q=a&sort=', 'sort', 'sort must be one of relevance, new'],
  ...['0', '101', '-1', '1.5', 'ten', '1e1', '', '9'.repeat(40), '+5', '0x10'].map(
    (wrong) =>
      [
        `?q=a&limit=${encodeURIComponent(wrong)}`,
        'limit',
        'limit must be a whole number from 1 to 100',
      ] as const,
  ),
])('search%s is refused by the name of its field', async (wrong, field, error) => {
  await using house = startHouse()
  const { status, body } = await house.call(`/api/forum/search${wrong}`)

  expect(status).toBe(400)
  expect(body).toEqual({ error, code: 'INVALID_REQUEST', field })
})

test('unknown fields of a query are ignored', async () => {
  await using house = startHouse()
  expect((await house.call(`${SEARCH}&utm_source=x`)).status).toBe(200)
})

test.each([
  ['{}', 'ids', 'ids is required'],
  ['{"ids":"a"}', 'ids', /^ids: /],
  ['{"ids":["a",7]}', 'ids[1]', /ids must hold texts/],
  ['{"ids":[],"more":1}', 'more', 'more is not a known field; allowed: ids'],
  ['[]', 'body', 'body must be a JSON object'],
  ['null', 'body', 'body must be a JSON object'],
  ['"text"', 'body', 'body must be a JSON object'],
  ['', 'body', /empty/],
  ['{"ids":[', 'body', 'body is not valid JSON at position 8: it ends too early'],
  ['{"ids":[}', 'body', 'body is not valid JSON at position 8: found "}"'],
  ["{'ids':[]}", 'body', `body is not valid JSON at position 1: found "'"`],
  ['{"ids":[]} x', 'body', 'body is not valid JSON at position 11: found "x"'],
  ['{"ids":[],"__proto__":{}}', '__proto__', /__proto__ is not a known field/],
  [`{"ids":${'['.repeat(40)}${']'.repeat(40)}}`, 'body', /too deeply/],
  [`{"ids":[${'0,'.repeat(20_001)}0]}`, 'body', /too many/],
])('a body of %j is refused by name', async (text, field, sentence) => {
  await using house = startHouse()
  const { status, body } = await house.call(VERIFY, json(text))

  expect([status, body['code']]).toEqual([400, 'INVALID_REQUEST'])
  expect(body['error']).toMatch(sentence)
  expect(body['field']).toBe(field)
})

test('a body that is not UTF-8 is refused', async () => {
  await using house = startHouse()
  const body = Uint8Array.of(0x22, 0xff, 0x22)
  const answer = await house.call(VERIFY, { ...json(''), body })

  expect(answer.body).toMatchObject({ error: 'body must be UTF-8', field: 'body' })
})

test.each([
  [{ 'content-type': 'application/x-www-form-urlencoded' }, 'content-type'],
  [{ 'content-type': 'text/plain' }, 'content-type'],
  [{ 'content-type': 'application/jsonp' }, 'content-type'],
  [{ 'content-encoding': 'gzip' }, 'content-encoding'],
])('a body sent with %j is refused by the name of the header', async (headers, field) => {
  await using house = startHouse()
  const answer = await house.call(VERIFY, json({ ids: [] }, headers))

  expect(answer.body).toMatchObject({ code: 'INVALID_REQUEST', field })
})

test('a content type with a charset is JSON all the same', async () => {
  await using house = startHouse()
  const headers = { 'content-type': 'Application/JSON; charset=utf-8' }
  expect((await house.call(VERIFY, json({ ids: [] }, headers))).status).toBe(200)
})

const MIB = 1024 * 1024
const chunked = (bytes: number): RequestInit => ({
  ...json(''),
  body: new ReadableStream({
    start(stream) {
      stream.enqueue(new TextEncoder().encode('{"ids":["'))
      for (let left = bytes; left > 0; left -= 65_536)
        stream.enqueue(new Uint8Array(65_536).fill(97))
      stream.enqueue(new TextEncoder().encode('"]}'))
      stream.close()
    },
  }),
})

test('a body above one MiB is refused, whether its length was told or not', async () => {
  await using house = startHouse()
  for (const init of [json({ ids: ['a'.repeat(MIB)] }), chunked(MIB)]) {
    const answer = await house.call(VERIFY, init)
    expect(answer.status).toBe(413)
    expect(answer.body).toMatchObject({
      error: 'BODY_TOO_LARGE',
      code: 'BODY_TOO_LARGE',
      message: 'the body must be at most 1 MiB',
    })
  }
  expect((await house.call(VERIFY, chunked(MIB / 2))).status).toBe(200)
})

test('the size of a body is looked at before its type', async () => {
  await using house = startHouse()
  const headers = { 'content-type': 'text/plain' }
  expect((await house.call(VERIFY, json('a'.repeat(MIB + 1), headers))).status).toBe(413)
})

const picture = (bytes: number) => json({ image_base64: 'a'.repeat(bytes) })

test('a picture may be larger', async () => {
  await using house = startHouse()

  expect((await house.call('/api/forum/profile/avatar', picture(2 * MIB))).status).toBe(200)
  expect((await house.call('/api/forum/profile/avatar', picture(8 * MIB))).status).toBe(413)
})

test('an unknown route is 404 with a key and without one', async () => {
  await using house = startHouse()
  for (const init of [{}, NO_KEY]) {
    const answer = await house.call('/api/forum/nothing', init)
    expect([answer.status, answer.body['code']]).toEqual([404, 'NOT_FOUND'])
  }
  expect((await house.call('/api/forum/user/', {})).status).toBe(404)
  expect((await house.call('//', {})).status).toBe(404)
})

test('unknown routes are limited for each key, else for each address, and cost nothing', async () => {
  await using house = startHouse()
  const statuses = async (init: RequestInit) =>
    Promise.all(Array.from({ length: 61 }, async () => (await house.call('/nothing', init)).status))

  expect(refused(await statuses({}))).toBe(1)
  expect(refused(await statuses(NO_KEY))).toBe(1)
  const again = await house.call('/nothing')
  expect(again.body).toMatchObject({ code: 'rate_limited', retry_after: 1 })
  expect(again.headers.get('retry-after')).toBe('1')
  await house.clock.advance(1000)
  expect((await house.call('/nothing')).status).toBe(404)
})

test('a method that a route does not have is 405, and says which it has', async () => {
  await using house = startHouse()
  const answer = await house.call('/api/forum/search', { method: 'DELETE' })

  expect([answer.status, answer.body['code']]).toEqual([405, 'METHOD_NOT_ALLOWED'])
  expect(answer.headers.get('allow')).toBe('GET, HEAD')
  expect((await house.call(VERIFY)).headers.get('allow')).toBe('POST')
  expect((await house.call(VERIFY, NO_KEY)).status).toBe(401)
})

test('the reads of a key go twenty at once and then wait their turn, up to ten seconds', async () => {
  await using house = startHouse()
  const answers = Array.from({ length: 121 }, () => house.call(SEARCH))
  const done: number[] = []
  for (const answer of answers) void answer.then(({ status }) => done.push(status))
  while (done.length < 21) await Bun.sleep(1)

  // Twenty at once and one refused; a hundred wait.
  expect(done.filter((status) => status === 200)).toHaveLength(20)
  expect(done.filter((status) => status === 429)).toHaveLength(1)
  await house.clock.advance(10_000)
  const all = await Promise.all(answers)
  expect(all.filter(({ status }) => status === 200)).toHaveLength(120)
  expect(all.find(({ status }) => status === 429)?.body).toMatchObject({
    error: 'rate_limited',
    code: 'rate_limited',
    retry_after: 1,
  })
})

test('who leaves while waiting for a turn has asked for nothing, and pays for nothing', async () => {
  await using house = startHouse()
  await Promise.all(Array.from({ length: 20 }, () => house.call(SEARCH)))
  const asked: string[] = []
  house.script.push(() => {
    asked.push('asked')
    return Promise.resolve(ok({ posts: [] }))
  })
  const leaving = new AbortController()
  const left = house.call(SEARCH, { signal: leaving.signal }).catch(() => null)
  while (house.clock.waiting() === 0) await Bun.sleep(1)
  leaving.abort()
  expect(await left).toBeNull()
  while (house.clock.waiting() > 0) await Bun.sleep(1)
  await Bun.sleep(50)

  expect(asked).toEqual([])
  expect(sumUsage(house.db, 'cus_1').calls).toBe(20)
  // The turn it took is given to nobody else before its time.
  await house.clock.advance(200)
  expect((await house.call(SEARCH)).status).toBe(200)
})

test('paces are kept for each key and each kind of call apart', async () => {
  await using house = startHouse()
  const many = (count: number, path: string, init: RequestInit = {}) =>
    Promise.all(Array.from({ length: count }, async () => (await house.call(path, init)).status))

  expect(refused(await many(61, '/forum/monitor/list'))).toBe(1)
  expect(refused(await many(11, '/forum/monitor/webhook/test', { method: 'POST' }))).toBe(1)
  expect(refused(await many(31, '/account/me'))).toBe(1)
  expect(refused(await many(31, '/account/usage'))).toBe(1)
  expect((await house.call('/account/me', withKey(house.newKey()))).status).toBe(200)
})

test('every answer carries a request id, and one that makes sense is kept', async () => {
  await using house = startHouse()
  const idOf = async (path: string, id?: string) =>
    (
      await house.call(path, id === undefined ? {} : { headers: { 'x-request-id': id } })
    ).headers.get('x-request-id')

  expect(await idOf(SEARCH, 'mine-1')).toBe('mine-1')
  expect(await idOf('/nothing', 'mine-2')).toBe('mine-2')
  expect(await idOf('/health', 'no spaces, please')).toMatch(/^[0-9a-f-]{36}$/)
  expect(await idOf('/health', 'x'.repeat(129))).toMatch(/^[0-9a-f-]{36}$/)
  expect(await idOf(SEARCH)).not.toBe(await idOf(SEARCH))
})

test('a page of another origin may call, and read what it needs of the head', async () => {
  await using house = startHouse()
  for (const path of [SEARCH, '/nothing', '/health']) {
    const { headers } = await house.call(path)
    expect(headers.get('access-control-allow-origin')).toBe('*')
    expect(headers.get('access-control-allow-credentials')).toBeNull()
    expect(headers.get('access-control-expose-headers')).toMatch(/X-Credits-Remaining.*Retry-After/)
    expect(headers.get('x-content-type-options')).toBe('nosniff')
  }
})

test('a preflight is answered without a key and without a charge', async () => {
  await using house = startHouse()
  const answer = await house.call(SEARCH, { method: 'OPTIONS', ...NO_KEY })

  expect([answer.status, answer.text]).toEqual([204, ''])
  expect(answer.headers.get('access-control-allow-origin')).toBe('*')
  expect(answer.headers.get('access-control-allow-methods')).toBe('GET, HEAD, POST, OPTIONS')
  const allowed = answer.headers.get('access-control-allow-headers')?.toLowerCase()
  for (const name of [
    'authorization',
    'content-type',
    // Whoever reads a stream with a key goes on where it stopped: a browser's own reader of events sends no key.
    'last-event-id',
    'x-forum-session',
    'x-forum-token-v2',
    'x-forum-proxy',
  ])
    expect(allowed).toContain(name)
})

test('HEAD is GET without the body', async () => {
  await using house = startHouse()
  const answer = await house.call(SEARCH, { method: 'HEAD' })

  expect([answer.status, answer.text]).toEqual([200, ''])
  expect(answer.headers.get('x-credits-remaining')).toBe('0.498')
})

test('other words for the platform change paths and headers', async () => {
  await using house = startHouse({ words: createWords({ platform: 'board', community: 'room' }) })
  const preflight = await house.call('/', { method: 'OPTIONS' })

  expect((await house.call('/api/board/search?q=cats')).status).toBe(200)
  expect((await house.call(SEARCH)).status).toBe(404)
  expect(preflight.headers.get('access-control-allow-headers')).toContain('x-board-session')
})

test('a key’s last use is noted, and no more than once a minute', async () => {
  await using house = startHouse()
  const noted = () =>
    house.db.query<{ last_used_at: number }, []>('SELECT last_used_at FROM api_keys').get()
      ?.last_used_at
  const start = house.clock.now()
  await house.call('/account/me')
  await house.clock.advance(30_000)
  await house.call('/account/me')
  expect(noted()).toBe(start)
  await house.clock.advance(40_000)
  await house.call('/account/me')

  expect(noted()).toBe(start + 70_000)
})

test('what nobody catches is not answered with a page of the stack and the source', async () => {
  await using house = startHouse()
  expect(house.app.server?.development).toBe(false)
})
