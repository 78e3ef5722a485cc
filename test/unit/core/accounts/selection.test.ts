import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import {
  type AccountCandidate,
  nextLoginAt,
  pickAccount,
} from '../../../../src/core/accounts/selection.ts'

const MINUTE = 60_000
const one = (
  id: string,
  requests: number,
  rest: Partial<AccountCandidate> = {},
): AccountCandidate => ({
  id,
  requests,
  free_at: 0,
  used_at: 0,
  ...rest,
})

test('the account with the most headroom is next', () => {
  expect(pickAccount([one('a', 3), one('b', 9), one('c', 5)])?.id).toBe('b')
})

test('the least recently used of equal accounts is next', () => {
  const candidates = [one('a', 5, { used_at: 7 }), one('b', 5, { used_at: 2 })]

  expect(pickAccount(candidates)?.id).toBe('b')
})

test('without headroom, the account that is free first is next', () => {
  const candidates = [one('a', 0, { free_at: 90 }), one('b', 0, { free_at: 30 })]

  expect(pickAccount(candidates)?.id).toBe('b')
  expect(pickAccount([...candidates, one('c', 1, { free_at: 99 })])?.id).toBe('c')
})

test('an account to avoid is never next, even if it is the only one', () => {
  expect(pickAccount([one('a', 9), one('b', 1)], ['a'])?.id).toBe('b')
  expect(pickAccount([one('a', 9)], ['a'])).toBeNull()
  expect(pickAccount([])).toBeNull()
})

test('an account is never signed in more than three times in an hour, with any results', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { minLength: 1, maxLength: 40 }), (outcomes) => {
      const tries: number[] = []
      let [at, failures] = [0, 0]
      for (const well of outcomes) {
        tries.push(at)
        failures = well ? 0 : failures + 1
        at = nextLoginAt(failures, at)
      }
      for (const from of tries)
        expect(
          tries.filter((it) => it >= from && it < from + 60 * MINUTE).length,
        ).toBeLessThanOrEqual(3)
    }),
  )
})

test('failed logins become rarer, down to one in about five hours', () => {
  expect([1, 2, 3, 4, 5, 6, 60].map((failures) => nextLoginAt(failures, 0) / MINUTE)).toEqual([
    20, 40, 80, 160, 320, 320, 320,
  ])
})
