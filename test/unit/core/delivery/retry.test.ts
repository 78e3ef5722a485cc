import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { type Attempt, judgeAttempt, limitWait } from '../../../../src/core/delivery/retry.ts'

const RETRY_SCHEDULE = { retry_delays_s: [0, 5, 30, 120, 300, 780], jitter: 0.2 }

const answered = (status: number, retry_after_s: number | null = null): Attempt => ({
  kind: 'answered',
  status,
  accepted: status >= 200 && status < 300,
  retry_after_s,
})

test.each([200, 201, 202, 204, 299])('a %i is delivered', (status) => {
  expect(judgeAttempt(answered(status), 0, RETRY_SCHEDULE, 0.5)).toEqual({ status: 'delivered' })
})

test.each([500, 503, 599, 429, 101])('a %i follows the retry schedule', (status) => {
  expect(judgeAttempt(answered(status), 0, RETRY_SCHEDULE, 0.5)).toEqual({
    status: 'pending',
    delay_ms: 5_000,
    error: `http_${status}`,
  })
})

test.each([300, 301, 302, 303, 304, 307, 308, 399])(
  'a redirect (%i) is never followed, so it is rejected without a retry',
  (status) => {
    expect(judgeAttempt(answered(status), 0, RETRY_SCHEDULE, 0.5)).toEqual({
      status: 'failed',
      error: `http_${status}`,
      gone: false,
    })
  },
)

test.each([400, 401, 403, 404, 408, 418, 425, 499])(
  'a %i is rejected without a retry',
  (status) => {
    expect(judgeAttempt(answered(status), 0, RETRY_SCHEDULE, 0.5)).toEqual({
      status: 'failed',
      error: `http_${status}`,
      gone: false,
    })
  },
)

test('a 410 is rejected without a retry and marks the target as gone', () => {
  expect(judgeAttempt(answered(410), 3, RETRY_SCHEDULE, 0.5)).toEqual({
    status: 'failed',
    error: 'http_410',
    gone: true,
  })
})

test.each([
  'timeout',
  'dns_failed',
  'connect_failed',
  'connection_closed',
  'tls_failed',
  'target_not_public',
  'bad_answer',
] as const)('%s follows the retry schedule and is dead after the sixth attempt', (error) => {
  expect(judgeAttempt({ kind: 'failed', error }, 4, RETRY_SCHEDULE, 0.5)).toMatchObject({
    status: 'pending',
    error,
  })
  expect(judgeAttempt({ kind: 'failed', error }, 5, RETRY_SCHEDULE, 0.5)).toEqual({
    status: 'dead',
    error,
  })
})

test('a 2xx without the expected body is a bad answer and is retried', () => {
  const page: Attempt = { kind: 'answered', status: 200, accepted: false, retry_after_s: null }
  expect(judgeAttempt(page, 0, RETRY_SCHEDULE, 0.5)).toMatchObject({
    status: 'pending',
    error: 'bad_answer',
  })
})

test('without jitter, six attempts take 1,235 seconds', () => {
  const delays = [0, 1, 2, 3, 4].map((failures) => {
    const verdict = judgeAttempt(answered(500), failures, RETRY_SCHEDULE, 0.5)
    return verdict.status === 'pending' ? verdict.delay_ms : Number.NaN
  })
  expect(delays).toEqual([5_000, 30_000, 120_000, 300_000, 780_000])
})

test('jitter keeps every wait within a fifth of its delay, and reaches both ends', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 4 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (failures, fraction) => {
        const verdict = judgeAttempt(answered(500), failures, RETRY_SCHEDULE, fraction)
        const retry_delay_ms = (RETRY_SCHEDULE.retry_delays_s[failures + 1] ?? 0) * 1000
        return (
          verdict.status === 'pending' &&
          verdict.delay_ms >= retry_delay_ms * 0.8 &&
          verdict.delay_ms <= retry_delay_ms * 1.2
        )
      },
    ),
  )
  expect(judgeAttempt(answered(500), 0, RETRY_SCHEDULE, 0)).toMatchObject({ delay_ms: 4_000 })
  expect(judgeAttempt(answered(500), 0, RETRY_SCHEDULE, 1)).toMatchObject({ delay_ms: 6_000 })
})

test.each([
  [1, 5_000],
  [5, 5_000],
  [60, 60_000],
  [780, 780_000],
])('Retry-After %i waits %i ms after the first attempt', (retry_after_s, delay_ms) => {
  expect(judgeAttempt(answered(503, retry_after_s), 0, RETRY_SCHEDULE, 0.5)).toMatchObject({
    delay_ms,
  })
})

test('a wait is never shorter than Retry-After, for any jitter', () => {
  expect(judgeAttempt(answered(429, 5), 0, RETRY_SCHEDULE, 0)).toMatchObject({ delay_ms: 5_000 })
})

test('other deliveries to a receiver wait after 429, and after 503 if it says for how long', () => {
  const waits = [
    [429, null],
    [429, 60],
    [503, null],
    [503, 60],
    [500, 60],
    [504, 60],
  ] as const

  expect(waits.map(([status, after_s]) => limitWait(answered(status, after_s))?.wait_s)).toEqual([
    5,
    60,
    undefined,
    60,
    undefined,
    undefined,
  ])
})
