import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { createTails } from '../../src/core/tails.ts'

test('a tail stands in a text where all of its letters do, and nowhere else', () => {
  const tails = createTails()
  const [dle, none] = [tails.keep('bundle', 3), tails.keep('bun', 3)]

  expect(tails.behind('bundled', 3, dle)).toBe(6)
  expect(tails.behind('bundle', 3, dle)).toBe(6)
  expect(['bundxe', 'bundl', 'bun'].map((it) => tails.behind(it, 3, dle))).toEqual([0, 0, 0])
  expect(tails.behind('bun', 3, none)).toBe(3)
  expect(tails.behind('bun', 4, none)).toBe(0)
})

test('tails of every script and length can be shortened letter by letter', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'é', 'ÿ', 'Ā', '漢', '\0'), maxLength: 9 })
  const long = letters.map((it) => it.repeat(60))
  fc.assert(
    fc.property(fc.array(fc.oneof(letters, long), { maxLength: 12 }), (words) => {
      const tails = createTails()
      const kept = words.map((it) => tails.keep(it, 0))

      expect(kept.map((it, i) => tails.behind(words[i] ?? '', 0, it))).toEqual(
        words.map((it) => it.length),
      )
      const lettersOf = (tail: number): string => {
        const first = tails.firstOf(tail)
        return first === -1 ? '' : String.fromCharCode(first) + lettersOf(tails.shorten(tail))
      }
      expect(kept.map(lettersOf)).toEqual(words)
    }),
  )
})

test('a tail that is shortened leaves those beside it as they are', () => {
  const tails = createTails()
  const [first, second, third] = [
    tails.keep('bundle', 3),
    tails.keep('bunny', 3),
    tails.keep('ж', 0),
  ]

  const shorter = tails.shorten(tails.shorten(second))
  expect(tails.firstOf(shorter)).toBe(-1)
  expect(tails.behind('bundle', 3, first)).toBe(6)
  expect(tails.behind('ж', 0, third)).toBe(1)
})

test('tails take their letters and two numbers each, and no more', () => {
  const tails = createTails()
  const kept = Array.from({ length: 100 }, (_, n) => tails.keep('tail', n % 3))

  expect(tails.keep('', 0)).toBe(kept.reduce((sum, _, n) => sum + 2 + 4 - (n % 3), 0))
})
