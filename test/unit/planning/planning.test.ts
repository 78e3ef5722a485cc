import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { type Candidate, choose, nextLoginAt } from '../../../src/core/planning.ts'

const MINUTE = 60_000
const one = (id: string, requests: number, rest: Partial<Candidate> = {}): Candidate => ({
  id,
  requests,
  free_at: 0,
  used_at: 0,
  ...rest,
})

test('the account with the most headroom is next', () => {
  expect(choose([one('a', 3), one('b', 9), one('c', 5)])?.id).toBe('b')
})

test('among equals the least recently used is next', () => {
  const candidates = [one('a', 5, { used_at: 7 }), one('b', 5, { used_at: 2 })]

  expect(choose(candidates)?.id).toBe('b')
})

test('when none has any left, the one that is free first is next', () => {
  const candidates = [one('a', 0, { free_at: 90 }), one('b', 0, { free_at: 30 })]

  expect(choose(candidates)?.id).toBe('b')
  expect(choose([...candidates, one('c', 1, { free_at: 99 })])?.id).toBe('c')
})

test('an account to avoid is not next, even when there is no other', () => {
  expect(choose([one('a', 9), one('b', 1)], ['a'])?.id).toBe('b')
  expect(choose([one('a', 9)], ['a'])).toBeNull()
  expect(choose([])).toBeNull()
})

test('an account is never signed in more than three times in an hour, whatever becomes of it', () => {
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

test('sign-ins that fail become rarer, down to one in some five hours', () => {
  expect([1, 2, 3, 4, 5, 6, 60].map((failures) => nextLoginAt(failures, 0) / MINUTE)).toEqual([
    20, 40, 80, 160, 320, 320, 320,
  ])
})
