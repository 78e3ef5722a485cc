import { expect, test } from 'bun:test'

import { createClockOffset } from '../../../src/platforms/clock-offset.ts'

const at = { now: 0 }
const create = () => createClockOffset({ now: () => at.now, mono: () => at.now })
const KEPT = { 'cache-control': 'public, max-age=60' }

test.each([
  [{}, 0],
  [KEPT, 60],
  [{ 'cache-control': 'max-age=45' }, 45],
  [{ 'cache-control': 'public, s-maxage=20, max-age=60' }, 20],
  [{ 'cache-control': 'public, max-age=86400' }, 300],
  [{ 'cache-control': 'public, max-age=0' }, 0],
  [{ 'cache-control': 'private, max-age=60' }, 0],
  [{ 'cache-control': 'no-cache, max-age=60' }, 0],
  [{ ...KEPT, age: '0' }, 0],
  [{ ...KEPT, age: '7' }, 7],
  [{ ...KEPT, 'x-cache': 'MISS' }, 0],
  [{ ...KEPT, 'x-cache': 'Miss from cloudfront' }, 0],
  [{ ...KEPT, 'x-cache': 'MISS, HIT' }, 60],
  [{ ...KEPT, 'cf-cache-status': 'DYNAMIC' }, 0],
  [{ ...KEPT, 'cf-cache-status': 'BYPASS' }, 0],
  [{ ...KEPT, 'cf-cache-status': 'HIT' }, 60],
  [{ ...KEPT, 'cf-cache-status': 'MISS', 'x-cache': 'HIT' }, 60],
])('an answer with %j may be %d s old', (headers, age_s) => {
  const offset = create()
  expect(offset.observe(new Headers(headers))).toBe(age_s * 1000)
  expect(offset.copy_ms()).toBe(age_s * 1000)
})

test('an answer whose rate headers go on from the last one is no copy', () => {
  const offset = create()
  const rate = (left: number, reset_s: number) =>
    offset.observe(
      new Headers({
        ...KEPT,
        'x-ratelimit-remaining': String(left),
        'x-ratelimit-reset': String(reset_s),
      }),
    )
  expect(rate(179, 60)).toBe(60_000)
  at.now += 10_000
  expect(rate(178, 50)).toBe(0)
  // The same answer a second time, and one of an earlier time.
  expect(rate(178, 50)).toBe(60_000)
  expect(rate(120, 50)).toBe(60_000)
  at.now += 10_000
  expect(rate(117, 20)).toBe(60_000)
})
