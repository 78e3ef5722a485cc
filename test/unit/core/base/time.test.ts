import { expect, test } from 'bun:test'

import { iso, parseInstant } from '../../../../src/core/base/time.ts'

test.each([
  ['2026-01-31', '2026-01-31T00:00:00.000Z'],
  ['2028-02-29', '2028-02-29T00:00:00.000Z'],
  ['2026-01-31T12:00Z', '2026-01-31T12:00:00.000Z'],
  ['2026-01-31T12:00:00.123456Z', '2026-01-31T12:00:00.123Z'],
  ['2026-01-31T23:30:00-02:00', '2026-02-01T01:30:00.000Z'],
])('%s is the instant %s', (text, instant) => {
  expect(parseInstant(text)).toBe(Date.parse(instant))
})

test.each([
  '',
  '2026',
  '2026-1-31',
  '2026-02-30',
  '2026-02-29T12:00:00Z',
  '2026-13-01',
  '2026-01-31T25:00:00Z',
  '2026-01-31T12:00:00',
  '2026-01-31 12:00:00Z',
  '1769860800',
  ' 2026-01-31',
])('%j is not an instant', (text) => {
  expect(parseInstant(text)).toBeNull()
})

test('an instant is formatted in UTC with milliseconds, and null stays null', () => {
  expect([iso(1_795_159_800_007), iso(null)]).toEqual(['2026-11-20T07:30:00.007Z', null])
})
