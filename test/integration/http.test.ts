import { afterAll, beforeAll, expect, test } from 'bun:test'

import { REMOVED } from '../../src/core/base/removed.ts'
import { ok } from '../../src/core/base/result.ts'
import { createNaming } from '../../src/core/forum/naming.ts'
import { sumUsage } from '../../src/store/customers/ledger.ts'
import { NO_LIMITS } from '../support/app-options.ts'
import { json, startTestApi, type TestApi } from '../support/test-api.ts'

const SEARCH = '/api/forum/search?q=cats'
const VERIFY = '/api/forum/comments/verify'
const NO_KEY = { headers: { authorization: '' } }
const refused = (statuses: number[]) => statuses.filter((status) => status === 429).length
const withKey = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

let unlimited: TestApi
beforeAll(() => void (unlimited = startTestApi({ limits: NO_LIMITS })))
afterAll(() => unlimited[Symbol.asyncDispose]())

test.each([
  ['no header', '', 401, 'Missing Bearer token', 'missing_token'],
  ['another scheme', 'Basic abc', 401, 'Missing Bearer token', 'missing_token'],
  ['Bearer and nothing', 'Bearer ', 401, 'Missing Bearer token', 'missing_token'],
  ['an unknown key', `Bearer fk_${'0'.repeat(43)}`, 403, 'Invalid token', 'invalid_token'],
])('%s is refused before any other check', async (_, authorization, ...expected) => {
  await using daemon = startTestApi()
  const [status, error, code] = expected
  for (const path of [
    '/api/forum/search',
    `${SEARCH}&limit=9999`,
    '/account/me',
    '/forum/monitor/list',
  ]) {
    const answer = await daemon.call(path, { headers: { authorization } })
    expect([answer.status, answer.body['error'], answer.body['code']]).toEqual([
      status,
      error,
      code,
    ])
    expect(answer.headers.get('www-authenticate')).toBe(
      status === 401 ? 'Bearer realm="forumd"' : null,
    )
  }
})

test('a revoked or expired key, or an operator’s, is refused', async () => {
  await using daemon = startTestApi()
  const expiring = daemon.newKey({ expires_at: daemon.clock.now() + 1000 })
  expect((await daemon.call(SEARCH, withKey(expiring))).status).toBe(200)
  await daemon.clock.advance(1000)
  daemon.revoke(daemon.token)

  for (const token of [expiring, daemon.token, daemon.newKey({ operator: true })])
    expect((await daemon.call(SEARCH, withKey(token))).body).toMatchObject({
      code: 'invalid_token',
    })
})

test('a key without the required scope gets an error that names it', async () => {
  await using daemon = startTestApi()
  const reader = daemon.newKey({ scopes: ['read'] })
  const answer = await daemon.call('/forum/monitor/list', withKey(reader))

  expect(answer.status).toBe(403)
  expect(answer.body).toMatchObject({ code: 'PERMISSION_DENIED', reason: 'scope' })
  expect((await daemon.call(SEARCH, withKey(reader))).status).toBe(200)
  expect(
    (await daemon.call(VERIFY, { ...json({ ids: [] }, withKey(reader).headers) })).status,
  ).toBe(200)
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
])('search%s is refused by field', async (wrong, field, error) => {
  const { status, body } = await unlimited.call(`/api/forum/search${wrong}`)

  expect(status).toBe(400)
  expect(body).toEqual({ error, code: 'INVALID_REQUEST', field })
})

test('unknown fields of a query are ignored', async () => {
  await using daemon = startTestApi()
  expect((await daemon.call(`${SEARCH}&utm_source=x`)).status).toBe(200)
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
  ['{"ids":[', 'body', /^body is not valid JSON$/],
  ['{"ids":[}', 'body', /^body is not valid JSON$/],
  ["{'ids':[]}", 'body', /^body is not valid JSON$/],
  ['{"ids":[]} x', 'body', /^body is not valid JSON$/],
  ['{"ids":[hunter2]}', 'body', /^body is not valid JSON$/],
  ['{"ids":[],"__proto__":{}}', '__proto__', /__proto__ is not a known field/],
  [`{"ids":${'['.repeat(40)}${']'.repeat(40)}}`, 'body', /too deeply/],
  [`{"ids":[${'0,'.repeat(20_001)}0]}`, 'body', /too many/],
])('a body of %j is refused by field', async (text, field, sentence) => {
  const { status, body } = await unlimited.call(VERIFY, json(text))

  expect([status, body['code']]).toEqual([400, 'INVALID_REQUEST'])
  expect(body['error']).toMatch(sentence)
  expect(body['field']).toBe(field)
})

test('a body that is not UTF-8 is refused', async () => {
  await using daemon = startTestApi()
  const body = Uint8Array.of(0x22, 0xff, 0x22)
  const answer = await daemon.call(VERIFY, { ...json(''), body })

  expect(answer.body).toMatchObject({ error: 'body must be UTF-8', field: 'body' })
})

test.each([
  [{ 'content-type': 'application/x-www-form-urlencoded' }, 'content-type'],
  [{ 'content-type': 'text/plain' }, 'content-type'],
  [{ 'content-type': 'application/jsonp' }, 'content-type'],
  [{ 'content-encoding': 'gzip' }, 'content-encoding'],
])('a body sent with %j is refused by header name', async (headers, field) => {
  const answer = await unlimited.call(VERIFY, json({ ids: [] }, headers))

  expect(answer.body).toMatchObject({ code: 'INVALID_REQUEST', field })
})

test('a content type with a charset is accepted as JSON', async () => {
  await using daemon = startTestApi()
  const headers = { 'content-type': 'Application/JSON; charset=utf-8' }
  expect((await daemon.call(VERIFY, json({ ids: [] }, headers))).status).toBe(200)
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

test('a body above one MiB is refused, with or without Content-Length', async () => {
  await using daemon = startTestApi()
  for (const init of [json({ ids: ['a'.repeat(MIB)] }), chunked(MIB)]) {
    const answer = await daemon.call(VERIFY, init)
    expect(answer.status).toBe(413)
    expect(answer.body).toMatchObject({
      error: 'BODY_TOO_LARGE',
      code: 'BODY_TOO_LARGE',
      message: 'the body must be at most 1 MiB',
    })
  }
  expect((await daemon.call(VERIFY, chunked(MIB / 2))).status).toBe(200)
})

test('the size of a body is checked before its type', async () => {
  await using daemon = startTestApi()
  const headers = { 'content-type': 'text/plain' }
  expect((await daemon.call(VERIFY, json('a'.repeat(MIB + 1), headers))).status).toBe(413)
})

const picture = (bytes: number) => json({ image_base64: 'a'.repeat(bytes) })

test('an image may be larger', async () => {
  await using daemon = startTestApi()

  expect((await daemon.call('/api/forum/profile/avatar', picture(2 * MIB))).status).toBe(200)
  expect((await daemon.call('/api/forum/profile/avatar', picture(8 * MIB))).status).toBe(413)
})

test('an unknown route is 404 with a key and without one', async () => {
  await using daemon = startTestApi()
  for (const init of [{}, NO_KEY]) {
    const answer = await daemon.call('/api/forum/nothing', init)
    expect([answer.status, answer.body['code']]).toEqual([404, 'NOT_FOUND'])
  }
  expect((await daemon.call('/api/forum/user/', {})).status).toBe(404)
  expect((await daemon.call('//', {})).status).toBe(404)
})

test.each(Object.entries(REMOVED.paths))(
  'the removed %s and what was below it are 404, and say what replaces them',
  async (path, message) => {
    await using daemon = startTestApi()
    for (const it of [path, `${path}?id=1`, `${path}/1`]) {
      const answer = await daemon.call(it)
      expect([answer.status, answer.body]).toMatchObject([404, { code: 'NOT_FOUND', message }])
    }
    expect((await daemon.call(`${path}s`)).body['message']).toBe('there is no such route')
  },
)

test('unknown routes are limited per key, else per address, and free', async () => {
  await using daemon = startTestApi()
  const statuses = async (init: RequestInit) =>
    Promise.all(
      Array.from({ length: 61 }, async () => (await daemon.call('/nothing', init)).status),
    )

  expect(refused(await statuses({}))).toBe(1)
  expect(refused(await statuses(NO_KEY))).toBe(1)
  const again = await daemon.call('/nothing')
  expect(again.body).toMatchObject({ code: 'rate_limited', retry_after: 1 })
  expect(again.headers.get('retry-after')).toBe('1')
  await daemon.clock.advance(1000)
  expect((await daemon.call('/nothing')).status).toBe(404)
})

test('an unsupported method is 405, and lists the supported ones', async () => {
  await using daemon = startTestApi()
  const answer = await daemon.call('/api/forum/search', { method: 'DELETE' })

  expect([answer.status, answer.body['code']]).toEqual([405, 'METHOD_NOT_ALLOWED'])
  expect(answer.headers.get('allow')).toBe('GET, HEAD')
  expect((await daemon.call(VERIFY)).headers.get('allow')).toBe('POST')
  expect((await daemon.call(VERIFY, NO_KEY)).status).toBe(401)
})

test('reads of a key run in bursts of twenty and then wait for the rate limit, up to ten seconds', async () => {
  await using daemon = startTestApi()
  const answers = Array.from({ length: 121 }, () => daemon.call(SEARCH))
  const done: number[] = []
  for (const answer of answers) void answer.then(({ status }) => done.push(status))
  while (done.length < 21) await Bun.sleep(1)

  // Twenty at once and one refused; a hundred wait.
  expect(done.filter((status) => status === 200)).toHaveLength(20)
  expect(done.filter((status) => status === 429)).toHaveLength(1)
  await daemon.clock.advance(10_000)
  const all = await Promise.all(answers)
  expect(all.filter(({ status }) => status === 200)).toHaveLength(120)
  expect(all.find(({ status }) => status === 429)?.body).toMatchObject({
    error: 'rate_limited',
    code: 'rate_limited',
    retry_after: 1,
  })
})

test('a caller that disconnects while waiting causes no request, and is not billed', async () => {
  await using daemon = startTestApi()
  await Promise.all(Array.from({ length: 20 }, () => daemon.call(SEARCH)))
  const requested_paths: string[] = []
  daemon.script.push(() => {
    requested_paths.push('asked')
    return Promise.resolve(ok({ posts: [] }))
  })
  const leaving = new AbortController()
  const left = daemon.call(SEARCH, { signal: leaving.signal }).catch(() => null)
  while (daemon.clock.waiting() === 0) await Bun.sleep(1)
  leaving.abort()
  expect(await left).toBeNull()
  while (daemon.clock.waiting() > 0) await Bun.sleep(1)
  await Bun.sleep(50)

  expect(requested_paths).toEqual([])
  expect(sumUsage(daemon.db, 'cus_1').calls).toBe(20)
  // Its place in the rate limit is not given to another call early.
  await daemon.clock.advance(200)
  expect((await daemon.call(SEARCH)).status).toBe(200)
})

test('rate limits are separate for each key and kind of call', async () => {
  await using daemon = startTestApi()
  const many = (count: number, path: string, init: RequestInit = {}) =>
    Promise.all(Array.from({ length: count }, async () => (await daemon.call(path, init)).status))

  expect(refused(await many(61, '/forum/monitor/list'))).toBe(1)
  expect(refused(await many(11, '/forum/monitor/webhook/test', { method: 'POST' }))).toBe(1)
  expect(refused(await many(31, '/account/me'))).toBe(1)
  expect(refused(await many(31, '/account/usage'))).toBe(1)
  expect((await daemon.call('/account/me', withKey(daemon.newKey()))).status).toBe(200)
})

test('every answer has a request id, and a valid given id is used', async () => {
  await using daemon = startTestApi()
  const idOf = async (path: string, id?: string) =>
    (
      await daemon.call(path, id === undefined ? {} : { headers: { 'x-request-id': id } })
    ).headers.get('x-request-id')

  expect(await idOf(SEARCH, 'mine-1')).toBe('mine-1')
  expect(await idOf('/nothing', 'mine-2')).toBe('mine-2')
  expect(await idOf('/health', 'no spaces, please')).toMatch(/^[0-9a-f-]{36}$/)
  expect(await idOf('/health', 'x'.repeat(129))).toMatch(/^[0-9a-f-]{36}$/)
  expect(await idOf(SEARCH)).not.toBe(await idOf(SEARCH))
})

test('a page of another origin may call, and read the documented headers', async () => {
  await using daemon = startTestApi()
  for (const path of [SEARCH, '/nothing', '/health']) {
    const { headers } = await daemon.call(path)
    expect(headers.get('access-control-allow-origin')).toBe('*')
    expect(headers.get('access-control-allow-credentials')).toBeNull()
    expect(headers.get('access-control-expose-headers')).toMatch(/X-Credits-Remaining.*Retry-After/)
    expect(headers.get('x-content-type-options')).toBe('nosniff')
  }
})

test('a preflight is answered without a key and free', async () => {
  await using daemon = startTestApi()
  const answer = await daemon.call(SEARCH, { method: 'OPTIONS', ...NO_KEY })

  expect([answer.status, answer.text]).toEqual([204, ''])
  expect(answer.headers.get('access-control-allow-origin')).toBe('*')
  expect(answer.headers.get('access-control-allow-methods')).toBe('GET, HEAD, POST, OPTIONS')
  const allowed = answer.headers.get('access-control-allow-headers')?.toLowerCase()
  for (const name of [
    'authorization',
    'content-type',
    // A reader of a stream with a key resumes with this header: EventSource of browsers sends no
    // key.
    'last-event-id',
    'x-forum-session',
    'x-forum-token-v2',
    'x-forum-proxy',
  ])
    expect(allowed).toContain(name)
})

test('HEAD is GET without the body, and free', async () => {
  await using daemon = startTestApi()
  const answer = await daemon.call(SEARCH, { method: 'HEAD' })

  expect([answer.status, answer.text]).toEqual([200, ''])
  expect(answer.headers.get('x-credits-remaining')).toBeNull()
  expect((await daemon.call('/account/me')).body).toMatchObject({
    credits_remaining: 0.5,
    credits_used: 0,
    total_requests: 1,
  })
})

test('other words for the platform change paths and headers', async () => {
  await using daemon = startTestApi({
    words: createNaming({ platform: 'board', community: 'room' }),
  })
  const preflight = await daemon.call('/', { method: 'OPTIONS' })

  expect((await daemon.call('/api/board/search?q=cats')).status).toBe(200)
  expect((await daemon.call(SEARCH)).status).toBe(404)
  expect(preflight.headers.get('access-control-allow-headers')).toContain('x-board-session')
})

test('a key’s last use is recorded, at most once a minute', async () => {
  await using daemon = startTestApi()
  const noted = () =>
    daemon.db.query<{ last_used_at: number }, []>('SELECT last_used_at FROM api_keys').get()
      ?.last_used_at
  const start = daemon.clock.now()
  await daemon.call('/account/me')
  await daemon.clock.advance(30_000)
  await daemon.call('/account/me')
  expect(noted()).toBe(start)
  await daemon.clock.advance(40_000)
  await daemon.call('/account/me')

  expect(noted()).toBe(start + 70_000)
})

test('an uncaught error is not answered with a page of the stack and the source', async () => {
  await using daemon = startTestApi()
  expect(daemon.app.server?.development).toBe(false)
})
