import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { compilePattern, READ_MAX } from '../../../../src/core/pattern/evaluate.ts'
import { checkPattern, PATTERN_STEPS_MAX } from '../../../../src/core/pattern/syntax.ts'

// Patterns that make backtracking engines hang, and some that expand to more steps than expected.
const EVIL = [
  '(a+)+$',
  '(a*)*b',
  '(a|a)*b',
  '(a|aa)+$',
  '(a|a?)+$',
  '(.*)*x',
  '(.*a){12}',
  '(x+x+)+y',
  '([a-z]+)*\\d',
  '(\\w+\\s*)+:',
  '([^"]+)+"',
  '(a?){50}a{50}',
  '.*.*.*.*.*=',
  '(\\d+|\\w+)+!',
  '^(([a-z])+.)+[A-Z]([a-z])+$',
  '(?i)(s|ß|ss){1,60}t',
  '((ab)*|(cd)*)*e',
  '[^,]+,[^,]+,[^,]+$',
  '[a-z]{1,500}\\d',
  '.{1,900}q',
  '\\pL{1,300}\\d',
  'a{0,1000}b',
  '(a{0,30}){0,30}b',
  '(((a{1,30}){1,20})){1,1}z',
  '(?:a?){200}',
  '[\\pL\\pN]{1,200}#',
  '(a{1,9}){1,9}$',
  '(?:x{9}){99}',
  '^(a?){100}$',
  '(?s).*(?s).*',
  '\\b(\\w+\\b\\s?)+$',
  '(\\s*\\w+\\s*)+;',
  '(0|1)*2',
  '(a+){10}b',
  '(([a-z])*)*$',
  '(a|b|ab)*c',
  '(?:.|\\n)*end',
  '[\\s\\S]*[\\s\\S]*!',
  '(\\S+\\s+){30}x',
  '(.+)+@',
  '([0-9]+)*[^0-9]',
  '(?:(?:a|b)+)+c',
  '(aa|aaa)*b',
  '(\\w*)*=',
  '(?:[^/]+/)*[^/]+\\?',
  '(.|.)*z',
  '(?:\\w+\\.)+\\w+@',
  '(-+)*>',
  '(a{1,5})*b',
  '^(\\w+ ?)*$',
  '(?i)(?:k|K|K)*!',
  '\\p{L}*\\p{L}*\\d',
  '(?:(\\w)(\\w))*#',
  '((a)|(b)|(c))*d',
  '(x*)*(y*)*(z*)*!',
  '(?:a*a*a*)*b',
  '[^\\n]*[^\\n]*[^\\n]*~',
  '(<[^>]*>)*$',
  '(?m)^(.*)*$x',
  '(\\(\\w*\\))*;',
]
const TEXTS = ['a'.repeat(20_000), 'aaaaaaaa bbbb, '.repeat(1400), 'éàß漢字かな'.repeat(3000)]

test('there are sixty of them', () => {
  expect(new Set(EVIL).size).toBeGreaterThanOrEqual(60)
})

// A backtracking engine would not return from the first of these.
test.each(EVIL)('%p is refused for its size, or answers', (pattern) => {
  const checked = checkPattern(pattern)

  if (!checked.ok) throw new Error(`${pattern} does not parse: ${checked.why}`)
  if (checked.steps > PATTERN_STEPS_MAX) return
  const answer = compilePattern(pattern, false)
  expect(TEXTS.map((text) => typeof answer(text))).toEqual(['boolean', 'boolean', 'boolean'])
})

test('a pattern that is too large is refused before it runs', () => {
  const large = EVIL.filter((it) => {
    const checked = checkPattern(it)
    return checked.ok && checked.steps > PATTERN_STEPS_MAX
  })

  expect(large).toContain('[a-z]{1,500}\\d')
  expect(large).toContain('.{1,900}q')
  expect(large.length).toBeLessThan(EVIL.length / 4)
})

test('only the first characters of a text are read', () => {
  const needle = compilePattern('needle', true)

  expect(needle('x'.repeat(READ_MAX - 6) + 'needle')).toBe(true)
  expect(needle('x'.repeat(READ_MAX - 5) + 'needle')).toBe(false)
})

test('any text is accepted as a pattern, or refused with a position', () => {
  const signs = fc.constantFrom(
    ...'()[]{}*+?|\\^$.-:=!<>aPpLd09,é🚀'.split(''),
    '(?',
    '\\p{',
    '{2,',
  )
  fc.assert(
    fc.property(fc.array(signs, { maxLength: 20 }), (fragments) => {
      const pattern = fragments.join('')
      const checked = checkPattern(pattern)
      if (checked.ok) return expect(checked.steps).toBeGreaterThan(0)
      expect(checked.why).not.toBe('')
      expect(checked.position).toBeGreaterThanOrEqual(1)
      expect(checked.position).toBeLessThanOrEqual(Math.max(1, Array.from(pattern).length))
    }),
    { numRuns: 1500 },
  )
})
