import { expect, test } from 'bun:test'

import { normalise } from '../../../../src/core/base/form.ts'

test.each([
  ['Weiß', 'WEISS'],
  ['fußball', 'fu\u00dfball'],
  ['Γιώργος', 'ΓΙΏΡΓΟΣ'],
  ['José', 'Jose\u0301'],
  ['İstanbul', 'i\u0307stanbul'],
])('the name %p equals %p', (one, other) => {
  expect(normalise(one)).toBe(normalise(other))
})

test('a dotless ı is no i, but without accents', () => {
  expect(normalise('sık')).not.toBe(normalise('sik'))
  expect(normalise('sık', 1)).toBe(normalise('sik', 1))
})

test.each([
  ['مُحَمَّد', 'محمد'],
  ['محـــمد', 'محمد'],
  ['שָׁלוֹם', 'שלום'],
  ['café', 'cafe'],
])('without accents %p equals %p', (marked, plain) => {
  expect(normalise(marked, 1)).toBe(normalise(plain, 1))
  expect(normalise(marked)).not.toBe(normalise(plain))
})

test('vowel signs of Indic scripts stay', () => {
  expect(normalise('की', 1)).not.toBe(normalise('क', 1))
})
