import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { excerptAround, findTerms } from '../../../../src/core/inbox/excerpt.ts'

const shown = (text: string, terms: string[]) =>
  findTerms(text, terms).map(({ start, end }) => text.slice(start, end))

test.each<[string, string, string[], string[]]>([
  ['a word, in any case', 'Grinder or GRINDER', ['grinder'], ['Grinder', 'GRINDER']],
  ['no part of a word', 'grinders grind', ['grind'], ['grind']],
  ['parts of words where no whole word is', 'grinders', ['grind'], ['grind']],
  ['the beginning of a word', 'grinders grind', ['grind*'], ['grind', 'grind']],
  ['a phrase over a line break', 'burr\nset', ['burr set'], ['burr\nset']],
  ['letters with accents', 'Eine MÜHLE', ['muhle'], ['MÜHLE']],
  ['accents of their own', 'Bohne\u0301 x', ['bohné'], ['Bohne\u0301']],
  ['a ligature', 'The o\ufb03ce', ['office'], ['o\ufb03ce']],
  ['a script without spaces', '東京都に住む', ['京都'], ['京都']],
  ['after an emoji', '👍 grinder', ['grinder'], ['grinder']],
  ['terms that overlap', 'burr grinder', ['burr grinder', 'grinder'], ['burr grinder']],
  ['a term of signs', 'c++ and c#', ['c++', 'c#'], ['c++', 'c#']],
  ['no empty term', 'anything', ['', '*', ' '], []],
])('terms are found: %s', (_, text, terms, expected) => {
  expect(shown(text, terms)).toEqual(expected)
})

test('a long text is cut around its first term, at words', () => {
  const text = `${'before it '.repeat(60)}the grinder ${'after it '.repeat(60)}`

  const excerpt = excerptAround(text, ['grinder'])

  expect(excerpt).toMatch(
    /^…[a-z].*\bthe grinder after.*it…$|^…[a-z].*\bthe grinder after.*after…$/,
  )
  expect(excerpt.length).toBeLessThanOrEqual(300)
})

test('a short text is shown whole, in one line', () => {
  expect(excerptAround('  one\n\ntwo\tthree ', ['two'])).toBe('one two three')
})

const anyText = fc.string({ unit: 'grapheme', maxLength: 700 })

test('ranges are sorted, within the text, and do not overlap; an excerpt has at most 300 units', () => {
  fc.assert(
    fc.property(
      anyText,
      fc.array(fc.string({ unit: 'grapheme', maxLength: 6 }), { maxLength: 5 }),
      (text, terms) => {
        const excerpt = excerptAround(text, terms)
        expect(excerpt.length).toBeLessThanOrEqual(300)
        expect(excerpt.isWellFormed()).toBe(true)
        for (const of of [text, excerpt]) {
          let last = -1
          for (const { start, end } of findTerms(of, terms)) {
            expect(start).toBeGreaterThan(last)
            expect(end).toBeGreaterThanOrEqual(start)
            expect(end).toBeLessThanOrEqual(of.length)
            last = end
          }
        }
      },
    ),
  )
})
