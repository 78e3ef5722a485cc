import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import {
  createMayMatch,
  evaluateDirectly,
  NO_PATTERN,
  patternSetOf,
  requiredLiteral,
} from '../../../../src/core/pattern/evaluate.ts'
import { checkPattern } from '../../../../src/core/pattern/syntax.ts'
import { postOf } from '../../../support/items.ts'

const CASES: [string, string | null][] = [
  ['\\bHiring\\s+\\w+', 'hiring'],
  ['looking for', 'looking'],
  ['colou?r', 'colo'],
  ['abc+d', null],
  ['remot(e|ely) work', 'remot'],
  ['one|two', null],
  ['(one|two) three', 'three'],
  ['(?i)straße 12345', '12345'],
  ['x{100}', null],
  ['word{2}', 'wor'],
  ['word{|other}', null],
  ['[abc]def[^]x]ghij', 'ghij'],
  ['[^\\]]abc', 'abc'],
  ['[[:alpha:]]abc', 'abc'],
  ['\\Qa|b\\E', null],
  ['(\\Q)\\E)abc', null],
  ['\\x41bcd', null],
  ['\\pLetter', null],
  ['\\dabc', 'abc'],
  ['a.b.c', null],
  ['', null],
]

test.each(CASES)('%s needs %p', (pattern, literal) => {
  expect(requiredLiteral(pattern)).toBe(literal)
})

const part = fc.constantFrom(
  ...'abc|kst|s|k|ſ|K|A1b|.|a*|b+|c?|d{2}|{|}|(x|y)|(?:abc)|(?i)|[abc]|[^]a]|[\\]b]|\\b|\\d|\\w+|\\.| |é|ß|[[:digit:]]'.split(
    '|',
  ),
  '|',
  '(ab|cd)',
)
const patterns = fc.array(part, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(''))
const texts = fc
  .array(
    fc.constantFrom(...'abc kst S K ſ K A1b x y dd ] . 7 é e\u0301 ß SS | { }'.split(' '), ' '),
    {
      maxLength: 12,
    },
  )
  .map((parts) => parts.join(''))

test('a pattern that is ruled out by its word matches nothing', () => {
  let ruled_out = 0
  fc.assert(
    fc.property(
      patterns,
      texts,
      fc.boolean(),
      fc.boolean(),
      (pattern, text, case_sensitive, fold) => {
        fc.pre(checkPattern(pattern).ok)
        const item = postOf({ title: text, text: '' })
        const view = case_sensitive ? (fold ? 3 : 2) : fold ? 1 : 0
        const set = patternSetOf({ regex: [pattern], case_sensitive, search_in: ['title'] }, view)
        if (set === null || createMayMatch(set)(item)) return
        ruled_out += 1
        expect(evaluateDirectly(set, item)).toBe(NO_PATTERN)
      },
    ),
    { numRuns: Number(process.env['FORUMD_RUNS'] ?? 3000) },
  )
  expect(ruled_out).toBeGreaterThan(100)
})
