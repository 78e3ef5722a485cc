import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { type Attempt, judge, retryAfter } from '../../src/core/ladder.ts'

const LADDER = { retry_delays_s: [0, 5, 30, 120, 300, 780], jitter: 0.2 }
const NOW = Date.parse('2026-01-01T00:00:00Z')

const answered = (status: number, retry_after_s: number | null = null): Attempt => ({
  kind: 'answered',
  status,
  accepted: status >= 200 && status < 300,
  retry_after_s,
})

test.each([200, 201, 202, 204, 299])('a %i is delivered', (status) => {
  expect(judge(answered(status), 0, LADDER, 0.5)).toEqual({ status: 'delivered' })
})

test.each([500, 503, 599, 429, 301, 302, 304, 307, 101])('a %i climbs the ladder', (status) => {
  expect(judge(answered(status), 0, LADDER, 0.5)).toEqual({
    status: 'pending',
    delay_ms: 5_000,
    error: `http_${status}`,
  })
})

test.each([400, 401, 403, 404, 408, 418, 425, 499])('a %i is refused for good', (status) => {
  expect(judge(answered(status), 0, LADDER, 0.5)).toEqual({
    status: 'failed',
    error: `http_${status}`,
    gone: false,
  })
})

test('a 410 is refused for good and says that the target is gone', () => {
  expect(judge(answered(410), 3, LADDER, 0.5)).toEqual({
    status: 'failed',
    error: 'http_410',
    gone: true,
  })
})

test.each([
  'timeout',
  'dns_failed',
  'connect_failed',
  'tls_failed',
  'target_not_public',
  'bad_answer',
] as const)('%s climbs the ladder, and after the sixth attempt is dead', (error) => {
  expect(judge({ kind: 'failed', error }, 4, LADDER, 0.5)).toMatchObject({
    status: 'pending',
    error,
  })
  expect(judge({ kind: 'failed', error }, 5, LADDER, 0.5)).toEqual({ status: 'dead', error })
})

test('a 2xx that the target means as no is a bad answer, and is retried', () => {
  const page: Attempt = { kind: 'answered', status: 200, accepted: false, retry_after_s: null }
  expect(judge(page, 0, LADDER, 0.5)).toMatchObject({ status: 'pending', error: 'bad_answer' })
})

test('six attempts take 1,235 seconds when chance is even', () => {
  const delays = [0, 1, 2, 3, 4].map((failures) => {
    const verdict = judge(answered(500), failures, LADDER, 0.5)
    return verdict.status === 'pending' ? verdict.delay_ms : Number.NaN
  })
  expect(delays).toEqual([5_000, 30_000, 120_000, 300_000, 780_000])
})

test('jitter keeps every wait within a fifth of its rung, and reaches both ends', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 4 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (failures, fraction) => {
        const verdict = judge(answered(500), failures, LADDER, fraction)
        const rung_ms = (LADDER.retry_delays_s[failures + 1] ?? 0) * 1000
        return (
          verdict.status === 'pending' &&
          verdict.delay_ms >= rung_ms * 0.8 &&
          verdict.delay_ms <= rung_ms * 1.2
        )
      },
    ),
  )
  expect(judge(answered(500), 0, LADDER, 0)).toMatchObject({ delay_ms: 4_000 })
  expect(judge(answered(500), 0, LADDER, 1)).toMatchObject({ delay_ms: 6_000 })
})

test.each([
  [1, 5_000],
  [5, 5_000],
  [60, 60_000],
  [780, 780_000],
  [86_400, 780_000],
])('Retry-After %i waits %i ms on the first rung', (retry_after_s, delay_ms) => {
  expect(judge(answered(503, retry_after_s), 0, LADDER, 0.5)).toMatchObject({ delay_ms })
})

test('a wait is never shorter than Retry-After asks, whatever chance says', () => {
  expect(judge(answered(429, 5), 0, LADDER, 0)).toMatchObject({ delay_ms: 5_000 })
})

test.each([
  ['120', 120],
  [' 0 ', 0],
  ['Thu, 01 Jan 2026 00:01:30 GMT', 90],
  ['Wed, 31 Dec 2025 23:00:00 GMT', 0],
  ['soon', null],
  ['-5', null],
  ['1.5', null],
  ['9'.repeat(40), null],
  ['2026', 2026],
  ['', null],
])('Retry-After %p is %p seconds', (header, seconds) => {
  expect(retryAfter(header, NOW)).toBe(seconds)
})

test('a missing Retry-After asks for nothing', () => {
  expect(retryAfter(null, NOW)).toBeNull()
})
