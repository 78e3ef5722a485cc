import { expect, test } from 'bun:test'

import { createHttpClient } from '../../../src/platforms/http.ts'
import { createLoopbackEgress } from '../../support/loopback-egress.ts'

/** A client of a server on the loopback. Its clock counts and skips the waits. */
function createFixture(
  answer: (request: Request, count: number) => Response | Promise<Response>,
  requests_per_minute = 60_000,
  base_url?: string,
) {
  const began_at = Date.now()
  // Time passes by waits alone.
  let skipped = 0
  let count = 0
  const waits: number[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request) => answer(request, ++count),
  })
  const clock = {
    now: () => began_at + skipped,
    mono: () => skipped,
    async sleep(ms: number) {
      waits.push(Math.round(ms))
      skipped += ms
    },
  }
  const egress = createLoopbackEgress()
  const client = createHttpClient({
    egress,
    clock,
    log: () => {},
    random: { fraction: () => 0.5 },
    base_url: base_url ?? `http://127.0.0.1:${server.port}`,
    user_agent: 'forumd-test/1.0',
    requests_per_minute,
    timeout_ms: 5000,
  })
  return {
    client,
    waits,
    requests: () => count,
    get: (path: string, deadline_ms = 60_000) =>
      client.get(path, { deadline_at: clock.now() + deadline_ms }),
    async [Symbol.asyncDispose]() {
      egress.close()
      await server.stop(true)
    },
  }
}

const json = (value: unknown, init: ResponseInit = {}) => Response.json(value, init)
const page = (status = 200) =>
  new Response('<!doctype html><title>Just a moment</title>', {
    status,
    headers: { 'content-type': 'text/html' },
  })

test('a request names the program as configured', async () => {
  await using fixture = createFixture(({ headers }) => json(headers.get('user-agent')))
  expect(await fixture.get('/a')).toEqual({ ok: true, value: 'forumd-test/1.0' })
})

test.each([
  [() => page(), 'blocked'],
  [() => page(403), 'blocked'],
  [
    () => new Response('{"half":', { headers: { 'content-type': 'application/json' } }),
    'unreadable',
  ],
  [() => json({ errors: [] }, { status: 403 }), 'forbidden'],
  [() => json({}, { status: 404 }), 'not_found'],
  [() => json({}, { status: 422 }), 'rejected'],
  [() => new Response('', { status: 302, headers: { location: '/login' } }), 'login_required'],
])('an answer that is no JSON of the source is a fault (%#)', async (answer, kind) => {
  await using fixture = createFixture(answer)
  expect(await fixture.get('/a')).toMatchObject({ ok: false, fault: { kind } })
  expect(fixture.requests()).toBe(1)
})

test('a limit is waited out as long as the source says, and holds for every request', async () => {
  await using fixture = createFixture((_, count) =>
    count === 1 ? json({}, { status: 429, headers: { 'retry-after': '7' } }) : json('fine'),
  )
  expect(await fixture.get('/a')).toEqual({ ok: true, value: 'fine' })
  expect(fixture.waits).toContain(7000)

  await using refused = createFixture(() =>
    json({}, { status: 429, headers: { 'retry-after': '90' } }),
  )
  await refused.get('/a', 10_000)
  const other = await refused.get('/b', 10_000)
  expect(other).toMatchObject({ ok: false, fault: { kind: 'throttled', not_requested: true } })
  expect(refused.requests()).toBe(1)
})

test('a failure of the source is retried within the deadline', async () => {
  await using fixture = createFixture((_, count) =>
    count < 3 ? new Response('', { status: 503 }) : json('fine'),
  )
  expect(await fixture.get('/a')).toEqual({ ok: true, value: 'fine' })
  expect(fixture.requests()).toBe(3)
})

const WRITE = { path: '/a', method: 'POST', body: { raw: 'x' } } as const

test.each([
  [() => new Response('', { status: 503 }), 'unavailable'],
  [() => page(502), 'unknown'],
  [() => page(), 'unknown'],
  [() => page(403), 'blocked'],
  [() => new Response('', { status: 302, headers: { location: '/login' } }), 'login_required'],
  [() => new Response('Slow down.', { status: 429 }), 'throttled'],
])('a write without a verdict is sent once, and is a fault (%#)', async (answer, kind) => {
  await using fixture = createFixture(answer)
  const outcome = await fixture.client.write(WRITE, { deadline_at: Date.now() + 60_000 })
  expect(outcome).toMatchObject({ ok: false, fault: { kind } })
  expect(fixture.requests()).toBe(1)
})

test('a refused write is an answer, and a limit of it holds no read up', async () => {
  await using fixture = createFixture(({ method }) =>
    method === 'POST' ? json({ errors: ['later'] }, { status: 429 }) : json('fine'),
  )
  const outcome = await fixture.client.write(WRITE, { deadline_at: Date.now() + 60_000 })
  expect(outcome).toMatchObject({ ok: true, value: { status: 429, value: { errors: ['later'] } } })
  expect(await fixture.get('/b')).toEqual({ ok: true, value: 'fine' })
  expect(fixture.waits).toEqual([])
})

test('a write whose answer is lost is unknown', async () => {
  const server = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(socket) {
        socket.terminate()
      },
    },
  })
  await using fixture = createFixture(() => json({}), 60_000, `http://127.0.0.1:${server.port}`)
  const outcome = await fixture.client.write(WRITE, { deadline_at: Date.now() + 60_000 })
  server.stop(true)
  expect(outcome).toEqual({ ok: false, fault: { kind: 'unknown' } })
  const again = await fixture.client.write(WRITE, { deadline_at: Date.now() + 60_000 })
  expect(again).toMatchObject({ ok: false, fault: { kind: 'unavailable' } })
})

test('requests keep to the configured pace after a burst', async () => {
  await using fixture = createFixture(() => json(1), 60)
  for (let i = 0; i < 15; i++) await fixture.get('/a')
  const waited = fixture.waits.reduce((sum, ms) => sum + ms, 0)
  expect(waited).toBeGreaterThan(3500)
  expect(waited).toBeLessThan(6500)
})

test('an unchanged answer is not sent again', async () => {
  const sent: (string | null)[] = []
  await using fixture = createFixture(({ headers }) => {
    sent.push(headers.get('if-none-match'))
    return headers.get('if-none-match') === '"1"'
      ? new Response(null, { status: 304 })
      : json({ rows: [1] }, { headers: { etag: '"1"' } })
  })
  const first = await fixture.get('/a')
  expect(await fixture.get('/a')).toEqual(first)
  expect(sent).toEqual([null, '"1"'])
})

test("answers to a caller's account are not kept, and its limits hold for no other request", async () => {
  const sent: (string | null)[] = []
  await using fixture = createFixture(({ headers }) => {
    sent.push(headers.get('if-none-match'))
    return headers.get('key') === null
      ? json({ rows: [1] }, { headers: { etag: '"1"' } })
      : json(
          {},
          { status: sent.length > 2 ? 429 : 200, headers: { etag: '"2"', 'retry-after': '600' } },
        )
  })
  const caller = fixture.client.as({ key: 'k' })
  const call = { deadline_at: Date.now() + 60_000 }
  await caller.get('/a', call)
  await fixture.get('/a')
  const limited = await caller.get('/a', call)
  expect(limited).toMatchObject({ ok: false, fault: { kind: 'throttled' } })
  expect(fixture.client.wait_ms()).toBe(0)
  expect(sent.slice(0, 3)).toEqual([null, null, null])
})

test('a large answer is not kept, and is requested whole again', async () => {
  const sent: (string | null)[] = []
  await using fixture = createFixture(({ headers }) => {
    sent.push(headers.get('if-none-match'))
    return json('x'.repeat(3 * 1024 * 1024), { headers: { etag: '"1"' } })
  })
  await fixture.get('/a')
  await fixture.get('/a')
  expect(sent).toEqual([null, null])
})
