import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { inForm, normalise, type View } from '../../../../src/core/base/form.ts'
import { cases } from '../../../support/long-form.ts'

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

const VIEWS: readonly View[] = [0, 1, 2, 3]
/** Marks of several classes, what becomes marks, and what disappears between marks. */
const MARKED = Array.from(
  '\u0316\u0301\u0345\u0344\u0f71\u0f74\u05b0\u064b\uff9e\uff9f\u200d\u00ad\u034f\u0640aéİŉ가ﷺ',
)

test('marks beyond thirty of one letter are left out of the compared form, in any order and with anything between them', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...MARKED), { minLength: 1, maxLength: 6 }),
      fc.constantFrom(1, 40, 20_000),
      fc.array(fc.constantFrom(...MARKED), { maxLength: 4 }),
      (unit, times, rest) => {
        const text = unit.join('').repeat(times) + rest.join('').repeat(times)
        for (const view of VIEWS) {
          const form = normalise(text, view)
          expect(/\p{M}{31}/u.test(form)).toBe(false)
          expect(normalise(form, view)).toBe(form)
        }
      },
    ),
    { numRuns: cases({ short: 30, long: 1000 }) },
  )
})

test('up to thirty marks of a letter stay', () => {
  for (const form of ['NFC', 'NFD', 'NFKC'] as const) {
    const text = `x${'\u0316\u0301'.repeat(15)} क्षि กำ`
    expect(inForm(text, form)).toBe(text.normalize(form))
  }
})
