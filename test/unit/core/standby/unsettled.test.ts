import { expect, test } from 'bun:test'

import { isDoubled, mayBeRepeat, unsettledError } from '../../../../src/core/standby/unsettled.ts'

const SINCE = Date.parse('2027-03-01T12:00:00Z')
/** A UUID of a version that was made at an instant. */
const uuid = (at: number, version = 7) => {
  const hex = at.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-${version}abc-8abc-0123456789ab`
}

test.each([
  ['any text', 'reply-1', true],
  ['a UUID of another version', uuid(SINCE + 3_600_000, 4), true],
  ['a UUID from before the takeover', uuid(SINCE - 1), true],
  ['a UUID of a caller whose clock may be ahead', uuid(SINCE + 5 * 60_000), true],
  ['a later UUID', uuid(SINCE + 5 * 60_000 + 1), false],
  ['a later UUID in capitals', uuid(SINCE + 3_600_000).toUpperCase(), false],
])('%s as Idempotency-Key: a repeat of an earlier write is possible: %#', (_, key, may) => {
  expect(mayBeRepeat(key, { since: SINCE })).toBe(may)
})

test('only acts whose repeat is a second one are concerned', () => {
  expect(['comment', 'message', 'dm'].map(isDoubled)).toEqual([true, true, true])
  expect(['vote', 'profile', 'login', 'read messages'].map(isDoubled)).not.toContain(true)
})

test('the refusal says since when, and when to come back', () => {
  const error = unsettledError('this draft', { since: SINCE, until: SINCE + 90_500 }, SINCE)

  expect([error.status, error.billed, error.details.retry_after_s]).toEqual([409, false, 91])
  expect(error.message).toContain('2027-03-01T12:00:00')
  expect(error.details.extra).toEqual({ unsettled_until: '2027-03-01T12:01:30.500Z' })
})
