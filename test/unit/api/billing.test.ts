import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { formatMicroUsd } from '../../../src/api/billing.ts'

test.each([
  [0, '0'],
  [500_000, '0.5'],
  [498_000, '0.498'],
  [1_000_000, '1'],
  [10_000_000, '10'],
  [1, '0.000001'],
  [-2_000, '-0.002'],
])('%i micro-dollars are shown as %s', (micros, text) => {
  expect(formatMicroUsd(micros)).toBe(text)
})

test('formatting loses no micro-dollar', () => {
  fc.assert(
    fc.property(fc.integer({ min: -1e12, max: 1e12 }), (micros) => {
      expect(Math.round(Number(formatMicroUsd(micros)) * 1e6)).toBe(micros)
    }),
  )
})
