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

test('what grows and grows takes a few times its own room, not that of all it has been', () => {
  const tails = createTails()
  let last = 0
  for (let length = 1; length <= 1800; length++) {
    const tail = tails.keep('ж'.repeat(length), 0)
    last = Math.max(last, tail)
    tails.drop(tail)
  }

  expect(last).toBeLessThan(3 * 1800)
})

test('who comes takes the place of who went, if it is as long', () => {
  const tails = createTails()
  const [first, second] = [tails.keep('bundle', 3), tails.keep('bunny', 3)]

  tails.drop(first)
  expect(tails.keep('bunked', 3)).toBe(first)
  expect(tails.keep('bunkum', 3)).not.toBe(first)
  expect(tails.behind('bunny', 3, second)).toBe(5)
  const shorter = tails.shorten(second)
  expect(tails.keep('bunte', 3)).toBe(second)
  expect(tails.behind('bunny', 4, shorter)).toBe(5)
})

test('all who went make room for as many who come, also once letters have become wide', () => {
  const tails = createTails()
  const kept = Array.from({ length: 300 }, (_, n) => tails.keep(`tail${n % 2}`, 0))
  for (const tail of kept) tails.drop(tail)
  const wide = tails.keep('ж', 0)
  const again = Array.from({ length: 300 }, (_, n) => tails.keep(`more${n % 2}`, 0))

  expect(new Set(again)).toEqual(new Set(kept))
  expect(tails.behind('ж', 0, wide)).toBe(1)
})
