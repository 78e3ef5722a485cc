import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { nextLoginAt } from '../../../../src/core/accounts/selection.ts'

const MINUTE = 60_000
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
