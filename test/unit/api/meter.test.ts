import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { dollars } from '../../../src/api/meter.ts'

test.each([
  [0, '0'],
  [500_000, '0.5'],
  [498_000, '0.498'],
  [1_000_000, '1'],
  [10_000_000, '10'],
  [1, '0.000001'],
  [-2_000, '-0.002'],
])('%i micro-dollars are shown as %s', (micros, text) => {
  expect(dollars(micros)).toBe(text)
})

test('no micro-dollar is lost on the way out', () => {
  fc.assert(
    fc.property(fc.integer({ min: -1e12, max: 1e12 }), (micros) => {
      expect(Math.round(Number(dollars(micros)) * 1e6)).toBe(micros)
    }),
  )
})
