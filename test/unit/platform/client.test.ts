import { describe, expect, test } from 'bun:test'
import { gzipSync } from 'node:zlib'

import type { Outcome } from '../../../src/core/outcome.ts'
import { BODY_MAX } from '../../../src/net/whole.ts'
import { listing, post, stage } from './stage.ts'

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

/** What a promise came to, or undefined while it has come to nothing. */
function watch<T>(promise: Promise<T>): { value?: T } {
  const seen: { value?: T } = {}
  void promise.then((value) => {
    seen.value = value
  })
  return seen
}

describe('what can be mended by asking again', () => {
  test.each([500, 502, 503, 504, 520, 522])('a %i is asked again', async (code) => {
    await using it = stage([status(code), good()])

    const outcome = watch(it.forum.posts(newest, it.call()))
    await it.clock.advance(10_000)

    expect(outcome.value?.ok).toBe(true)
    expect(it.requests.length).toBe(2)
  })

  test.each([400, 401, 403, 404, 414, 451])('a %i is not', async (code) => {
    await using it = stage([status(code), good()])

    const outcome = watch(it.forum.posts(newest, it.call()))
    await it.clock.advance(10_000)

    expect(outcome.value?.ok).toBe(false)
    expect(it.requests.length).toBe(1)
  })

  test('an answer cut off in the middle is asked again', async () => {
    await using it = stage([new Response('{"kind":"Listing","da', { headers: JSON_TYPE }), good()])

    const outcome = watch(it.forum.posts(newest, it.call()))
    await it.clock.advance(10_000)

    expect(outcome.value?.ok).toBe(true)
  })

  test('a block page is not', async () => {
    await using it = stage([
      new Response('<html>', { status: 403, headers: { 'content-type': 'text/html' } }),
    ])

    const outcome = watch(it.forum.posts(newest, it.call()))
    await it.clock.advance(10_000)

    expect(outcome.value).toEqual({ ok: false, fault: { kind: 'blocked' } })
    expect(it.requests.length).toBe(1)
  })

  test('the tries end, each pause up to twice as long as the last', async () => {
    await using it = stage([status(500)], { retries: 3 })
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
    // Half of 250, 500 and 1000 ms: the jitter of the stage is always one half.
    expect(took).toBe(125 + 250 + 500)
  })

  test('nobody at the other end is an outcome', async () => {
    await using it = stage([good()], { base_url: 'http://127.0.0.1:1', retries: 1 })

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
  test('that has passed asks nothing', async () => {
    await using it = stage([good()])

    expect(kindOf(await it.forum.posts(newest, it.call(0)))).toBe('timeout')
    expect(it.requests).toEqual([])
  })

  test('that the next pause would miss tells what happened at once', async () => {
    await using it = stage([status(500)])

    expect(kindOf(await it.forum.posts(newest, it.call(100)))).toBe('unavailable')
    expect(it.requests.length).toBe(1)
  })

  test('cuts off a request that hangs', async () => {
    const arrived = Promise.withResolvers<void>()
    const never = new Promise<Response>(() => {})
    await using it = stage([() => (arrived.resolve(), never)], { retries: 0, fetch })

    const outcome = it.forum.posts(newest, it.call(5_000))
    await arrived.promise
    await it.clock.advance(4_999)
    expect(watch(outcome).value).toBeUndefined()
    await it.clock.advance(1)

    expect(kindOf(await outcome)).toBe('timeout')
  })

  test('cuts off a body that never ends', async () => {
    const arrived = Promise.withResolvers<void>()
    const drip = () => {
      arrived.resolve()
      return new Response(
        new ReadableStream({ start: (it) => it.enqueue(new TextEncoder().encode('{"kind"')) }),
        { headers: JSON_TYPE },
      )
    }
    await using it = stage([drip], { retries: 0, fetch, timeout_ms: 3_000 })

    const outcome = it.forum.posts(newest, it.call())
    await arrived.promise
    await it.clock.advance(3_000)

    expect(kindOf(await outcome)).toBe('timeout')
  })

  test('does not hold a request that the caller has given up', async () => {
    const arrived = Promise.withResolvers<void>()
    const never = new Promise<Response>(() => {})
    await using it = stage([() => (arrived.resolve(), never)], { fetch })
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
    ['of a told length', () => new Response(huge, { headers: JSON_TYPE })],
    [
      'that is packed small',
      () => new Response(gzipSync(huge), { headers: { ...JSON_TYPE, 'content-encoding': 'gzip' } }),
    ],
  ])('of more than 8 MiB %s is unreadable', async (_what, reply) => {
    await using it = stage([reply], { fetch })

    expect(await it.forum.posts(newest, it.call())).toEqual({
      ok: false,
      fault: { kind: 'unreadable', path: 'body' },
    })
  })

  test('that is packed is unpacked', async () => {
    const packed = gzipSync(JSON.stringify(listing([post()])))
    const headers = { ...JSON_TYPE, 'content-encoding': 'gzip' }
    await using it = stage([() => new Response(packed, { headers })], { fetch })

    expect(await it.forum.posts(newest, it.call())).toMatchObject({ ok: true })
  })

  test('of four million brackets is unreadable where it would be passed on', async () => {
    const body = '['.repeat(2_000_000) + ']'.repeat(2_000_000)
    await using it = stage([new Response(body, { headers: JSON_TYPE })])
    const tree = { post_id: 'a', sort: 'top', depth: null, limit: null }

    expect(kindOf(await it.forum.tree(tree, it.call()))).toBe('unreadable')
    expect(kindOf(await it.forum.posts(newest, it.call()))).toBe('unreadable')
  })
})

describe('a redirect', () => {
  test('to the canonical path is followed once, with what we asked', async () => {
    await using it = stage([redirect('/r/Cats/new/?raw_json=1', 301), good()])

    expect(kindOf(await it.forum.posts(newest, it.call()))).toBe('ok')
    expect(it.paths()[1]).toBe('/r/Cats/new.json?raw_json=1&limit=25')
  })

  test('after a redirect is not followed', async () => {
    await using it = stage([redirect('/r/Cats/new.json'), redirect('/r/CATS/new.json'), good()])

    expect(await it.forum.posts(newest, it.call())).toEqual({
      ok: false,
      fault: { kind: 'unreadable', path: 'location' },
    })
    expect(it.requests.length).toBe(2)
  })

  test("to somebody else's host is not followed, and our cookies stay at home", async () => {
    await using other = stage([good()])
    await using it = stage([redirect(`${other.base}/r/cats/new.json`)])

    expect(kindOf(await it.forum.posts(newest, it.call(1_000, 'acc', 'secret=1')))).toBe(
      'unreadable',
    )
    expect(other.requests).toEqual([])
  })

  test('to the search says that there is no such place, whatever the search would answer', async () => {
    await using it = stage([redirect('/subreddits/search?q=cats'), Response.json(listing([]))])

    expect(await it.forum.posts(newest, it.call())).toEqual({
      ok: false,
      fault: { kind: 'not_found', reason: 'absent' },
    })
    expect(it.requests.length).toBe(1)
  })
})

describe('the rate that the platform tells', () => {
  test('is waited for where that is in time', async () => {
    await using it = stage([rate(2, 20), good()])
    await it.forum.posts(newest, it.call())

    const second = watch(it.forum.posts(newest, it.call(30_000)))
    await it.clock.advance(19_999)
    expect(it.requests.length).toBe(1)
    await it.clock.advance(1)

    expect(second.value?.ok).toBe(true)
  })

  test('is a throttling where it is not, and nothing is sent', async () => {
    await using it = stage([rate(2, 400), good()])
    await it.forum.posts(newest, it.call())

    expect(await it.forum.posts(newest, it.call(30_000))).toEqual({
      ok: false,
      fault: { kind: 'throttled', retry_after_s: 400, unasked: true },
    })
    expect(it.requests.length).toBe(1)
  })

  test("is each account's own", async () => {
    await using it = stage([rate(0, 400), good()])
    await it.forum.posts(newest, it.call(1_000, 'acc_1'))

    expect(kindOf(await it.forum.posts(newest, it.call(1_000, 'acc_2')))).toBe('ok')
  })

  test('counts what is still on its way', async () => {
    await using it = stage([rate(5, 400), () => rate(4, 400)])
    await it.forum.posts(newest, it.call())

    const rest = await Promise.all([1, 2, 3, 4, 5].map(() => it.forum.posts(newest, it.call())))

    expect(rest.map(kindOf)).toEqual(['ok', 'ok', 'ok', 'throttled', 'throttled'])
    expect(it.requests.length).toBe(4)
  })

  test('of a refusal is kept to as well', async () => {
    const headers = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '90' }
    await using it = stage([status(403, headers), good()])
    await it.forum.posts(newest, it.call())

    expect(await it.forum.posts(newest, it.call())).toEqual({
      ok: false,
      fault: { kind: 'throttled', retry_after_s: 90, unasked: true },
    })
  })
})

describe('a throttling', () => {
  test('is waited out where that is in time', async () => {
    await using it = stage([status(429, { 'retry-after': '7' }), good()])

    const outcome = watch(it.forum.posts(newest, it.call(30_000)))
    await it.clock.advance(6_999)
    expect(it.requests.length).toBe(1)
    await it.clock.advance(1_000)

    expect(outcome.value?.ok).toBe(true)
  })

  test('is told at once where it is not, and holds back what comes after it', async () => {
    await using it = stage([status(429, { 'retry-after': '60' }), good()])

    const first = await it.forum.posts(newest, it.call(30_000))
    const second = await it.forum.posts(newest, it.call(30_000))

    expect(first).toEqual({ ok: false, fault: { kind: 'throttled', retry_after_s: 60 } })
    expect(second).toEqual({
      ok: false,
      fault: { kind: 'throttled', retry_after_s: 60, unasked: true },
    })
    expect(it.requests.length).toBe(1)
  })
})

test('where the platform tells nothing, our own rate a minute is kept to', async () => {
  await using it = stage([good()], { requests_per_minute: 3 })
  const calls = [1, 2, 3, 4, 5].map(() => watch(it.forum.posts(newest, it.call(60_000))))

  await it.clock.advance(0)
  expect(it.requests.length).toBe(3)
  await it.clock.advance(20_000)
  expect(it.requests.length).toBe(4)
  await it.clock.advance(20_000)

  expect(calls.map(({ value }) => value?.ok)).toEqual([true, true, true, true, true])
})

test('every request is told of, with what became of it', async () => {
  await using it = stage([status(500), redirect('/r/Cats/new.json'), good()])

  const outcome = watch(it.forum.posts(newest, it.call(30_000, 'acc_1')))
  await it.clock.advance(10_000)

  expect(outcome.value?.ok).toBe(true)
  expect(it.events).toEqual([
    {
      eyes: 'acc_1',
      path_kind: 'posts',
      status: 500,
      fault: { kind: 'unavailable', status: 500, retry_after_s: null },
      duration_ms: 0,
    },
    { eyes: 'acc_1', path_kind: 'posts', status: 302, fault: null, duration_ms: 0 },
    { eyes: 'acc_1', path_kind: 'posts', status: 200, fault: null, duration_ms: 0 },
  ])
})

test("the platform's clock is known after three answers", async () => {
  const headers = { date: 'Thu, 01 Jan 2026 01:00:00 GMT' }
  await using it = stage([Response.json(listing([]), { headers })])

  await it.forum.posts(newest, it.call())
  await it.forum.posts(newest, it.call())
  expect(it.forum.clock_offset_ms()).toBe(0)
  await it.forum.posts(newest, it.call())

  expect(it.forum.clock_offset_ms()).toBe(3_600_500)
})
