import { describe, expect, test } from 'bun:test'

import { createSchedule } from '../../../src/monitor/scheduler.ts'

const at = Date.parse

describe('in UTC', () => {
  // Under another name of UTC the time zone calendar is used.
  test.each([
    '* * * * * *',
    '*/7 * * * * *',
    '0 0 * * * *',
    '0 30 4 * * 1-5',
    '0 0 0 29 2 *',
    '0 15,45 2 L * *',
    '0 0 12 * * 5#2',
    '0 0 0 31 12 *',
  ])('%s is due when the time zone calendar says so', (pattern) => {
    const plain = createSchedule(pattern, 'UTC')
    const schedule = createSchedule(pattern, 'Etc/UTC')
    for (const now of [
      at('2026-01-01T00:00:00Z'),
      at('2026-03-29T00:59:59.999Z'),
      at('2026-10-25T01:30:00.001Z'),
      at('2027-12-31T23:59:59Z'),
      at('2028-02-28T23:59:59.5Z'),
    ])
      expect(plain(now)).toBe(schedule(now))
  })
})

test('a zone is followed in winter and summer', () => {
  const schedule = createSchedule('0 0 9 * * *', 'Europe/Berlin')

  expect(schedule(at('2026-01-10T00:00:00Z'))).toBe(at('2026-01-10T08:00:00Z'))
  expect(schedule(at('2026-07-10T00:00:00Z'))).toBe(at('2026-07-10T07:00:00Z'))
})

test('a pattern without further dates is never due', () => {
  expect(createSchedule('0 0 0 1 1 * 2020', 'UTC')(at('2026-01-01T00:00:00Z'))).toBe(Infinity)
})
