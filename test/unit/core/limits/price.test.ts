import { expect, test } from 'bun:test'

import { formatUsd, parseUsd, toUsd } from '../../../../src/core/limits/price.ts'

test.each([
  ['5', 5_000_000],
  ['0.25', 250_000],
  ['0.000001', 1],
  ['1.1', 1_100_000],
  ['2.675', 2_675_000],
  ['1000000000', 1_000_000_000_000_000],
])('%s dollars are %i micro-dollars, exactly', (text, micros) => {
  expect(parseUsd(text)).toBe(micros)
  expect(toUsd(micros)).toBe(Number(text))
})

test.each([
  '',
  '0',
  '0.0',
  '-1',
  '+1',
  '1.',
  '.5',
  '1,5',
  '1e3',
  '0x10',
  '1.0000001',
  ' 1',
  '1000000000.000001',
  'NaN',
])('%j is rejected as an amount', (text) => {
  expect(parseUsd(text)).toBeNull()
})

test.each([
  [0, '0.00 USD'],
  [500_000, '0.50 USD'],
  [1, '0.000001 USD'],
  [1_234_500_000, '1234.50 USD'],
])('%i micro-dollars are shown as %s', (micros, text) => {
  expect(formatUsd(toUsd(micros))).toBe(text)
})
