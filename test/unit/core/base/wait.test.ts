import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { httpDate, retryAfter, WAIT_MAX_S } from '../../../../src/core/base/wait.ts'

const NOW = Date.parse('2026-01-01T00:00:00Z')

const waitOf = (line: string | null, more: Record<string, string> = {}): number | null =>
  retryAfter(new Headers({ ...more, ...(line !== null && { 'retry-after': line }) }), NOW)

test.each([
  ['0', 0],
  ['120', 120],
  [' 120 ', 120],
  ['60.5', 61],
  ['32.5', 33],
  ['1.5', 2],
  ['3, 3', 3],
  ['3, 3, 3', 3],
  ['Thu, 01 Jan 2026 00:01:00 GMT', 60],
  ['Thursday, 01-Jan-26 00:01:00 GMT', 60],
  ['Thu Jan  1 00:01:00 2026', 60],
  ['Thu, 01 Jan 2026 00:01:00 GMT, Thu, 01 Jan 2026 00:01:00 GMT', 60],
  ['Wed, 31 Dec 2025 00:00:00 GMT', 0],
  ['99999999999', WAIT_MAX_S],
  ['9'.repeat(400), WAIT_MAX_S],
  ['Fri, 31 Dec 9999 00:00:00 GMT', WAIT_MAX_S],
])('Retry-After %p is %p seconds', (line, seconds) => {
  expect(waitOf(line)).toBe(seconds)
})

test.each([
  null,
  '',
  '-1',
  '+3',
  '1e3',
  '0x10',
  '.5',
  '5.',
  '3, 5',
  'soon',
  '1,2,',
  'Thu, 01 Jan 2026 00:01:00 CET',
  'Thu, 01 Jan 2026 25:01:00 GMT',
  '2026-01-01T00:01:00Z',
])('Retry-After %p is as no header', (line) => {
  expect(waitOf(line)).toBeNull()
})

test('a date is relative to the Date header of its answer', () => {
  const date = 'Thu, 01 Jan 2026 00:00:30 GMT'
  expect(waitOf('Thu, 01 Jan 2026 00:01:00 GMT', { date })).toBe(30)
})

test('a year of two digits lies at most 50 years in the future', () => {
  expect(httpDate('Thursday, 01-Jan-75 00:00:00 GMT', NOW)).toBe(Date.UTC(2075, 0, 1))
  expect(httpDate('Saturday, 01-Jan-77 00:00:00 GMT', NOW)).toBe(Date.UTC(1977, 0, 1))
})

test('a wait is whole, not below what was stated, and within its bound, for any text', () => {
  const line = fc.oneof(
    fc.string(),
    fc.double().map(String),
    fc.bigInt().map(String),
    fc.date({ noInvalidDate: true }).map((it) => it.toUTCString()),
  )
  fc.assert(
    fc.property(line, (text) => {
      const seconds = retryAfter({ get: (name) => (name === 'retry-after' ? text : null) }, NOW)
      if (seconds === null) return
      expect(Number.isSafeInteger(seconds) && seconds >= 0 && seconds <= WAIT_MAX_S).toBe(true)
      if (/^\d+(\.\d+)?$/.test(text))
        expect(seconds).toBeGreaterThanOrEqual(Math.min(Number(text), WAIT_MAX_S))
    }),
  )
})
