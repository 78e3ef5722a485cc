import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { createTails } from '../../../../src/core/filter/term-trie.ts'

test('a tail occurs in a text exactly where all of its letters do', () => {
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
      const tail_ids = words.map((it) => tails.keep(it, 0))

      expect(tail_ids.map((it, i) => tails.behind(words[i] ?? '', 0, it))).toEqual(
        words.map((it) => it.length),
      )
      const lettersOf = (tail: number): string => {
        const first = tails.firstOf(tail)
        return first === -1 ? '' : String.fromCharCode(first) + lettersOf(tails.shorten(tail))
      }
      expect(tail_ids.map(lettersOf)).toEqual(words)
    }),
  )
})

test('shortening a tail leaves its neighbours unchanged', () => {
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

test('a tail takes its letters and two numbers', () => {
  const tails = createTails()
  const tail_ids = Array.from({ length: 100 }, (_, n) => tails.keep('tail', n % 3))

  expect(tails.keep('', 0)).toBe(tail_ids.reduce((sum, _, n) => sum + 2 + 4 - (n % 3), 0))
})
