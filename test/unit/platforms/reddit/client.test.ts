import { describe, expect, test } from 'bun:test'
import { gzipSync } from 'node:zlib'

import type { Outcome } from '../../../../src/core/base/result.ts'
import { BODY_MAX } from '../../../../src/net/read-body.ts'
import { ANONYMOUS } from '../../../../src/platforms/port.ts'
import { createForumFixture, listing, post } from './fixture.ts'

const newest = { limit: 25, after: null, subforums: ['cats'], sort: 'new', t: null }
const JSON_TYPE = { 'content-type': 'application/json' }
const good = () => Response.json(listing([post()]))
const status = (code: number, headers: Record<string, string> = {}) =>
  Response.json({ message: 'x', error: code }, { status: code, headers })
const rate = (remaining: number, reset: number, used = 10) =>
  Response.json(listing([]), {
    headers: {
      'x-ratelimit-remaining': remaining.toFixed(1),
      'x-ratelimit-used': String(used),
      'x-ratelimit-reset': String(reset),
    },
  })
const redirect = (location: string, code = 302) =>
  new Response('', { status: code, headers: { location } })

const kindOf = (outcome: Outcome<unknown>) => (outcome.ok ? 'ok' : outcome.fault.kind)

/** The value of a promise, or undefined while it is pending. */
function watch<T>(promise: Promise<T>): { value?: T } {
  const seen: { value?: T } = {}
  void promise.then((value) => {
    seen.value = value
  })
  return seen
}

describe('a retry', () => {
  test.each([500, 502, 503, 504, 520, 522])('follows a %i', async (code) => {
    await using it = createForumFixture([status(code), good()])

    const outcome = watch(it.forum.posts(newest, it.call()))
    await it.clock.advance(10_000)

    expect(outcome.value?.ok).toBe(true)
    expect(it.requests.length).toBe(2)
  })

  test.each([400, 401, 403, 404, 414, 451])('does not follow a %i', async (code) => {
    await using it = createForumFixture([status(code), good()])

    const outcome = watch(it.forum.posts(newest, it.call()))
    await it.clock.advance(10_000)

    expect(outcome.value?.ok).toBe(false)
    expect(it.requests.length).toBe(1)
  })

  test('follows a truncated answer', async () => {
    await using it = createForumFixture([
      new Response('{"kind":"Listing","da', { headers: JSON_TYPE }),
      good(),
    ])

    const outcome = watch(it.forum.posts(newest, it.call()))
    await it.clock.advance(10_000)

    expect(outcome.value?.ok).toBe(true)
  })

  test('does not follow a block page', async () => {
    await using it = createForumFixture([
      new Response('<html>', { status: 403, headers: { 'content-type': 'text/html' } }),
    ])

    const outcome = watch(it.forum.posts(newest, it.call()))
    await it.clock.advance(10_000)

    expect(outcome.value).toEqual({ ok: false, fault: { kind: 'blocked' } })
    expect(it.requests.length).toBe(1)
  })

  test('ends after the configured attempts, each pause up to twice as long as the last', async () => {
    await using it = createForumFixture([status(500)], { retries: 3 })
    const started = it.clock.mono()
    let took = 0

    const outcome = it.forum.posts(newest, it.call()).finally(() => {
      took = it.clock.mono() - started
    })
    await it.clock.advance(20_000)

    expect(await outcome).toEqual({
      ok: false,
      fault: { kind: 'unavailable', status: 500, retry_after_s: null },
    })
    expect(it.requests.length).toBe(4)
    // Half of 250, 500 and 1000 ms: the fixture's jitter is always one half.
    expect(took).toBe(125 + 250 + 500)
  })

  test('ends with unavailable if nothing answers', async () => {
    await using it = createForumFixture([good()], { base_url: 'http://127.0.0.1:1', retries: 1 })

    const outcome = watch(it.forum.posts(newest, it.call()))
    await it.clock.advance(10_000)

    expect(outcome.value).toEqual({
      ok: false,
      fault: { kind: 'unavailable', status: null, retry_after_s: null },
    })
    expect(it.events.map((event) => event.status)).toEqual([null, null])
  })
})

describe('a deadline', () => {
  test('that has passed sends no request', async () => {
    await using it = createForumFixture([good()])

    expect(kindOf(await it.forum.posts(newest, it.call(0)))).toBe('timeout')
    expect(it.requests).toEqual([])
  })

  test('before the next pause ends returns the fault at once', async () => {
    await using it = createForumFixture([status(500)])

    expect(kindOf(await it.forum.posts(newest, it.call(100)))).toBe('unavailable')
    expect(it.requests.length).toBe(1)
  })

  test('ends a hanging request', async () => {
    const arrived = Promise.withResolvers<void>()
    const never = new Promise<Response>(() => {})
    await using it = createForumFixture([() => (arrived.resolve(), never)], { retries: 0, fetch })

    const outcome = it.forum.posts(newest, it.call(5_000))
    await arrived.promise
    await it.clock.advance(4_999)
    expect(watch(outcome).value).toBeUndefined()
    await it.clock.advance(1)

    expect(kindOf(await outcome)).toBe('timeout')
  })

  test('ends an endless body', async () => {
    const arrived = Promise.withResolvers<void>()
    const drip = () => {
      arrived.resolve()
      return new Response(
        new ReadableStream({ start: (it) => it.enqueue(new TextEncoder().encode('{"kind"')) }),
        { headers: JSON_TYPE },
      )
    }
    await using it = createForumFixture([drip], { retries: 0, fetch, timeout_ms: 3_000 })

    const outcome = it.forum.posts(newest, it.call())
    await arrived.promise
    await it.clock.advance(3_000)

    expect(kindOf(await outcome)).toBe('timeout')
  })

  test('is not awaited after the caller aborts', async () => {
    const arrived = Promise.withResolvers<void>()
    const never = new Promise<Response>(() => {})
    await using it = createForumFixture([() => (arrived.resolve(), never)], { fetch })
    const given = new AbortController()

    const outcome = it.forum.posts(newest, { ...it.call(), signal: given.signal })
    await arrived.promise
    given.abort()

    expect(kindOf(await outcome)).toBe('timeout')
    expect(it.requests.length).toBe(1)
  })
})

describe('a body', () => {
  const huge = `{"kind":"Listing","data":{"children":[],"x":"${'x'.repeat(BODY_MAX)}"}}`

  test.each([
    ['with a Content-Length', () => new Response(huge, { headers: JSON_TYPE })],
    [
      'that is compressed',
      () => new Response(gzipSync(huge), { headers: { ...JSON_TYPE, 'content-encoding': 'gzip' } }),
    ],
  ])('above 8 MiB %s is unreadable', async (_what, reply) => {
    await using it = createForumFixture([reply], { fetch })

    expect(await it.forum.posts(newest, it.call())).toEqual({
      ok: false,
      fault: { kind: 'unreadable', path: 'body' },
    })
  })

  test('that is compressed is decompressed', async () => {
    const packed = gzipSync(JSON.stringify(listing([post()])))
    const headers = { ...JSON_TYPE, 'content-encoding': 'gzip' }
    await using it = createForumFixture([() => new Response(packed, { headers })], { fetch })

    expect(await it.forum.posts(newest, it.call())).toMatchObject({ ok: true })
  })

  test('with four million brackets is unreadable', async () => {
    const body = '['.repeat(2_000_000) + ']'.repeat(2_000_000)
    await using it = createForumFixture([new Response(body, { headers: JSON_TYPE })])
    const tree = { post_id: 'a', sort: 'top', depth: null, limit: null }

    expect(kindOf(await it.forum.tree(tree, it.call()))).toBe('unreadable')
    expect(kindOf(await it.forum.posts(newest, it.call()))).toBe('unreadable')
  })
})

describe('a redirect', () => {
  test('to the canonical path is followed once, with the query', async () => {
    await using it = createForumFixture([redirect('/r/Cats/new/?raw_json=1', 301), good()])

    expect(kindOf(await it.forum.posts(newest, it.call()))).toBe('ok')
    expect(it.paths()[1]).toBe('/r/Cats/new.json?raw_json=1&limit=25')
  })

  test('after a redirect is not followed', async () => {
    await using it = createForumFixture([
      redirect('/r/Cats/new.json'),
      redirect('/r/CATS/new.json'),
      good(),
    ])

    expect(await it.forum.posts(newest, it.call())).toEqual({
      ok: false,
      fault: { kind: 'unreadable', path: 'location' },
    })
    expect(it.requests.length).toBe(2)
  })

  test('to another host is not followed, and the cookies are not sent there', async () => {
    await using other = createForumFixture([good()])
    await using it = createForumFixture([redirect(`${other.base}/r/cats/new.json`)])

    expect(kindOf(await it.forum.posts(newest, it.call(1_000, 'acc', 'secret=1')))).toBe(
      'unreadable',
    )
    expect(other.requests).toEqual([])
  })

  test('to the search means that the subforum does not exist', async () => {
    await using it = createForumFixture([
      redirect('/subreddits/search?q=cats'),
      Response.json(listing([])),
    ])

    expect(await it.forum.posts(newest, it.call())).toEqual({
      ok: false,
      fault: { kind: 'not_found', reason: 'absent' },
    })
    expect(it.requests.length).toBe(1)
  })
})

describe("the platform's rate limit", () => {
  test('is waited for within the deadline', async () => {
    await using it = createForumFixture([rate(2, 20), good()])
    await it.forum.posts(newest, it.call())

    const second = watch(it.forum.posts(newest, it.call(30_000)))
    await it.clock.advance(19_999)
    expect(it.requests.length).toBe(1)
    await it.clock.advance(1)

    expect(second.value?.ok).toBe(true)
  })

  test('is a throttling beyond the deadline, and nothing is sent', async () => {
    await using it = createForumFixture([rate(2, 400), good()])
    await it.forum.posts(newest, it.call())

    expect(await it.forum.posts(newest, it.call(30_000))).toEqual({
      ok: false,
      fault: { kind: 'throttled', retry_after_s: 400, not_requested: true },
    })
    expect(it.requests.length).toBe(1)
  })

  test('applies to all sessions at one address', async () => {
    await using it = createForumFixture([rate(0, 400), good()])
    await it.forum.posts(newest, it.call(1_000, 'acc_1', 'session=a'))

    expect(kindOf(await it.forum.posts(newest, it.call(1_000, 'acc_2', 'session=b')))).toBe(
      'throttled',
    )
    expect(kindOf(await it.forum.posts(newest, it.call(1_000)))).toBe('throttled')
    expect(it.requests.length).toBe(1)
  })

  test('counts requests in flight', async () => {
    await using it = createForumFixture([rate(5, 400), () => rate(4, 400)])
    await it.forum.posts(newest, it.call())

    const rest = await Promise.all([1, 2, 3, 4, 5].map(() => it.forum.posts(newest, it.call())))

    expect(rest.map(kindOf)).toEqual(['ok', 'ok', 'ok', 'throttled', 'throttled'])
    expect(it.requests.length).toBe(4)
  })

  test('applies after a refusal too', async () => {
    const headers = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '90' }
    await using it = createForumFixture([status(403, headers), good()])
    await it.forum.posts(newest, it.call())

    expect(await it.forum.posts(newest, it.call())).toEqual({
      ok: false,
      fault: { kind: 'throttled', retry_after_s: 90, not_requested: true },
    })
  })
})

const cats = { ...newest, subforum: null, q: 'cats', sort: 'new', t: 'all', nsfw: false }
const limited = (headers: Record<string, string> = {}) =>
  status(429, { 'retry-after': '600', ...headers })
const limitedFixture = (refusal: () => Response) =>
  createForumFixture(
    [
      (request) =>
        request.url.includes('search') || request.headers.get('cookie') === 'session=caller'
          ? refusal()
          : good(),
    ],
    { retries: 0 },
  )

describe('a limit that leaves the budget of its address', () => {
  test.each([{}, { 'x-ratelimit-remaining': '200', 'x-ratelimit-reset': '500' }])(
    'of a search holds searches of that address, and no other request: %j',
    async (headers) => {
      await using it = limitedFixture(() => limited(headers))
      const refused = await it.forum.search(cats, it.call())
      const again = await it.forum.search(cats, it.call(1_000, 'acc_2', 'session=b'))

      expect(refused).toEqual({
        ok: false,
        fault: { kind: 'throttled', retry_after_s: 600, searches_only: true },
      })
      expect(again).toMatchObject({ fault: { not_requested: true, searches_only: true } })
      expect(kindOf(await it.forum.posts(newest, it.call()))).toBe('ok')
      expect(it.requests.length).toBe(2)
      await it.clock.advance(600_000)
      await it.forum.search(cats, it.call())
      expect(it.requests.length).toBe(3)
    },
  )

  test('of a search without a time is awaited by searches alone', async () => {
    await using it = limitedFixture(() => status(429))
    await it.forum.search(cats, it.call())

    expect(await it.forum.search(cats, it.call(500))).toMatchObject({
      fault: { not_requested: true, searches_only: true },
    })
    expect(kindOf(await it.forum.posts(newest, it.call(500)))).toBe('ok')
  })

  test("of a caller's session holds that session", async () => {
    await using it = limitedFixture(limited)
    const own = () => it.as({ id: 'caller:1', whose: 'caller', cookie: 'session=caller' })
    const other = () => it.as({ id: 'caller:2', whose: 'caller', cookie: 'session=other' })
    await it.forum.posts(newest, own())

    expect(await it.forum.posts(newest, own())).toMatchObject({ fault: { not_requested: true } })
    expect(kindOf(await it.forum.posts(newest, other()))).toBe('ok')
    expect(kindOf(await it.forum.posts(newest, it.as()))).toBe('ok')
  })

  test('is one of the address once nothing is left of it', async () => {
    await using it = limitedFixture(() =>
      limited({ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '600' }),
    )
    await it.forum.search(cats, it.call())

    expect(await it.forum.posts(newest, it.call())).toMatchObject({
      fault: { kind: 'throttled', not_requested: true },
    })
  })
})

const BUDGET_LEFT = {
  'x-ratelimit-remaining': '5000.0',
  'x-ratelimit-used': '10',
  'x-ratelimit-reset': '500',
}
const blank = (headers: Record<string, string> = {}) =>
  new Response('', { headers: { ...JSON_TYPE, ...headers } })

describe('a throttling without a time', () => {
  test.each([
    ['a blank answer', () => blank(BUDGET_LEFT)],
    ['a blank answer without rate headers', () => blank()],
    ['a 429', () => status(429, BUDGET_LEFT)],
    ['a 429 without rate headers', () => status(429)],
  ])('%s pauses for seconds while budget remains', async (_, bad) => {
    await using it = createForumFixture([rate(5_000, 500), bad(), good()])
    await it.forum.posts(newest, it.call())

    const outcome = watch(it.forum.posts(newest, it.call(20_000)))
    await it.clock.advance(1_000)
    expect(it.requests.length).toBe(2)
    await it.clock.advance(3_000)

    expect(it.requests.length).toBe(3)
    expect(outcome.value?.ok).toBe(true)
  })

  test('doubles its pause in a row, up to a minute, and starts again with seconds after an answer', async () => {
    await using it = createForumFixture(
      [...Array.from({ length: 8 }, () => blank(BUDGET_LEFT)), good(), blank(BUDGET_LEFT)],
      { retries: 0 },
    )
    const pauses: number[] = []
    for (let n = 0; n < 10; n++) {
      const outcome = await it.forum.posts(newest, it.call())
      const pause_s = !outcome.ok && 'retry_after_s' in outcome.fault && outcome.fault.retry_after_s
      pauses.push(Number(pause_s))
      await it.clock.advance(Number(pause_s) * 1000)
    }

    expect(pauses).toEqual([2, 4, 8, 16, 32, 60, 60, 60, 0, 2])
  })

  test('counts once for concurrent requests', async () => {
    await using it = createForumFixture([blank(BUDGET_LEFT)], { retries: 0 })

    const outcomes = await Promise.all([1, 2, 3, 4].map(() => it.forum.posts(newest, it.call())))

    expect(outcomes.map((one) => !one.ok && one.fault)).toEqual(
      Array.from({ length: 4 }, () => ({ kind: 'throttled', retry_after_s: 2, estimated: true })),
    )
  })

  test('waits for the reset of a used-up budget', async () => {
    const used_up = { ...BUDGET_LEFT, 'x-ratelimit-remaining': '0' }
    await using it = createForumFixture([blank(used_up), good()])

    expect(await it.forum.posts(newest, it.call())).toEqual({
      ok: false,
      fault: { kind: 'throttled', retry_after_s: 500 },
    })
  })

  test('without rate headers leaves the known window unchanged', async () => {
    await using it = createForumFixture([rate(5_000, 500), blank()], { retries: 0 })
    await it.forum.posts(newest, it.call())
    await it.forum.posts(newest, it.call())
    await it.clock.advance(10_000)

    expect(it.forum.budget(ANONYMOUS)).toMatchObject({ remaining: 4_999, resets_in_ms: 490_000 })
  })
})

const down = (code: string) => {
  let requests = 0
  return {
    requests: () => requests,
    fetch: () => {
      requests += 1
      return Promise.reject(Object.assign(new Error('no answer'), { code }))
    },
  }
}

describe('an unreachable platform', () => {
  test('costs no budget if nothing was sent', async () => {
    const { fetch } = down('ECONNREFUSED')
    await using it = createForumFixture([], { fetch, retries: 0, requests_per_minute: 10 })
    for (let n = 0; n < 3; n++) {
      await it.forum.posts(newest, it.call())
      await it.clock.advance(1)
    }

    expect(it.forum.budget(ANONYMOUS)).toMatchObject({ remaining: 10 })
  })

  test('costs budget if a request may have been sent', async () => {
    const { fetch } = down('ECONNRESET')
    await using it = createForumFixture([], { fetch, retries: 0, requests_per_minute: 10 })
    await it.forum.posts(newest, it.call())

    expect(it.forum.budget(ANONYMOUS)).toMatchObject({ remaining: 9 })
  })

  test.each(['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND'])(
    'gets at most twenty requests a minute from many calls (%s)',
    async (code) => {
      const platform = down(code)
      await using it = createForumFixture([], { fetch: platform.fetch })
      for (let second = 0; second < 60; second++) {
        for (let n = 0; n < 4; n++) void it.forum.posts(newest, it.call(20_000))
        await it.clock.advance(1_000)
      }

      expect(it.forum.isDown()).toBe(true)
      expect(platform.requests()).toBeLessThanOrEqual(20)
      expect(await it.forum.posts(newest, it.call())).toEqual({
        ok: false,
        fault: { kind: 'unavailable', status: null, retry_after_s: null, not_requested: true },
      })
    },
  )

  test('refuses a write as not sent', async () => {
    const { fetch } = down('ECONNREFUSED')
    await using it = createForumFixture([], { fetch })
    // The first request ends with the platform down, the second is a probe: the next one is due in
    // two seconds.
    for (let n = 0; n < 2; n++) {
      void it.forum.posts(newest, it.call(5_000))
      await it.clock.advance(n === 0 ? 5_000 : 100)
    }
    const requests_before = it.events.length

    const vote = watch(it.forum.acts.vote({ id: 't3_1', direction: 'up' }, it.as()))
    await it.clock.advance(1_000)

    expect(vote.value?.ok).toBe(false)
    expect(it.events.length).toBe(requests_before)
  })
})

describe('a throttling', () => {
  test('is waited for within the deadline', async () => {
    await using it = createForumFixture([status(429, { 'retry-after': '7' }), good()])

    const outcome = watch(it.forum.posts(newest, it.call(30_000)))
    await it.clock.advance(6_999)
    expect(it.requests.length).toBe(1)
    await it.clock.advance(1_000)

    expect(outcome.value?.ok).toBe(true)
  })

  test('is returned at once beyond the deadline, and delays later requests', async () => {
    await using it = createForumFixture([status(429, { 'retry-after': '60' }), good()])

    const first = await it.forum.posts(newest, it.call(30_000))
    const second = await it.forum.posts(newest, it.call(30_000))

    expect(first).toEqual({ ok: false, fault: { kind: 'throttled', retry_after_s: 60 } })
    expect(second).toEqual({
      ok: false,
      fault: { kind: 'throttled', retry_after_s: 60, not_requested: true, resting: true },
    })
    expect(it.requests.length).toBe(1)
  })
})

test('without rate headers, the configured rate per minute applies', async () => {
  await using it = createForumFixture([good()], { requests_per_minute: 3 })
  const calls = [1, 2, 3, 4, 5].map(() => watch(it.forum.posts(newest, it.call(60_000))))

  await it.clock.advance(0)
  expect(it.requests.length).toBe(3)
  await it.clock.advance(20_000)
  expect(it.requests.length).toBe(4)
  await it.clock.advance(20_000)

  expect(calls.map(({ value }) => value?.ok)).toEqual([true, true, true, true, true])
})

test('every request is reported with its result', async () => {
  await using it = createForumFixture([status(500), redirect('/r/Cats/new.json'), good()])

  const outcome = watch(it.forum.posts(newest, it.call(30_000, 'acc_1')))
  await it.clock.advance(10_000)

  expect(outcome.value?.ok).toBe(true)
  expect(it.events).toEqual([
    {
      identity: 'acc_1',
      path_kind: 'posts',
      status: 500,
      fault: { kind: 'unavailable', status: 500, retry_after_s: null },
      duration_ms: 0,
    },
    { identity: 'acc_1', path_kind: 'posts', status: 302, fault: null, duration_ms: 0 },
    { identity: 'acc_1', path_kind: 'posts', status: 200, fault: null, duration_ms: 0 },
  ])
})

test("the platform's clock offset is known after three answers", async () => {
  const headers = { date: 'Thu, 01 Jan 2026 01:00:00 GMT' }
  await using it = createForumFixture([Response.json(listing([]), { headers })])

  await it.forum.posts(newest, it.call())
  await it.forum.posts(newest, it.call())
  expect(it.forum.clock_offset_ms()).toBe(0)
  await it.forum.posts(newest, it.call())

  expect(it.forum.clock_offset_ms()).toBe(3_600_500)
})
