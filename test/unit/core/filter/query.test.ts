import { describe, expect, test } from 'bun:test'

import { parseQuery, type Query } from '../../../../src/core/filter/query.ts'

/** A query as an S-expression, which shows precedence. */
function shape(query: Query): string {
  switch (query.kind) {
    case 'term': {
      const field = query.field === null ? '' : `${query.field}:`
      return `${field}${query.written.replaceAll(' ', '_')}${query.prefix ? '*' : ''}`
    }
    case 'not':
      return `(not ${shape(query.part)})`
    case 'and':
    case 'or':
      return `(${query.kind} ${query.parts.map(shape).join(' ')})`
  }
}

const nested = (levels: number): string => `${'('.repeat(levels)}a${')'.repeat(levels)}`

describe('parsing q', () => {
  test.each([
    ['rate limit', 'rate_limit'],
    ['  bun and deno or not  ', 'bun_and_deno_or_not'],
    ['state-of-the-art - really', 'state-of-the-art_-_really'],
    ['--watch mode', '--watch_mode'],
    ['see https://x.test/a:b', 'see_https://x.test/a:b'],
    ['std::vector', 'std::vector'],
  ])('without operators %p is one phrase', (q, expected) => {
    expect(shape(parseQuery(q))).toBe(expected)
  })

  test.each([
    ['a AND b', '(and a b)'],
    ['"a" b c', '(and a b c)'],
    ['a OR b c', '(or a (and b c))'],
    ['(a OR b) c', '(and (or a b) c)'],
    ['a AND NOT b', '(and a (not b))'],
    ['a -b -"c d"', '(and a (not b) (not c_d))'],
    ['NOT (a OR b)', '(not (or a b))'],
    ['-(a b)', '(not (and a b))'],
    ['throttl*', 'throttl*'],
    ['"rate lim"*', 'rate_lim*'],
    ['Title:Bun', 'title:Bun'],
    ['flair:"big news" -author:bot*', '(and flair:big_news (not author:bot*))'],
    ['(title:a)', 'title:a'],
    ['“rate limit” OR x', '(or rate_limit x)'],
    ['and OR or', '(or and or)'],
    ['"AND" OR "-x"', '(or AND -x)'],
    ['C++ OR .NET', '(or C++ .NET)'],
    [
      '( "rate limit" OR throttl* ) AND -hiring title:bun',
      '(and (or rate_limit throttl*) (not hiring) title:bun)',
    ],
  ])('%p means %s', (q, expected) => {
    expect(shape(parseQuery(q))).toBe(expected)
  })

  test.each([
    ['"a b', 1, 'never closed'],
    ['a "', 3, 'never closed'],
    ['a ""', 3, 'expected a phrase between the quotes'],
    ['(a', 3, 'expected ) for the ( at position 1 but found the end'],
    ['(a OR b', 8, 'expected ) for the ( at position 1'],
    ['a) b', 2, 'expected AND, OR, a term or the end but found )'],
    ['()', 2, 'found )'],
    ['a AND', 6, 'expected a term, a quoted phrase, NOT or ( but found the end'],
    ['OR a', 1, 'found OR'],
    ['a AND AND b', 7, 'found AND'],
    ['a NOT', 6, 'found the end'],
    ['-(', 3, 'found the end'],
    ['a*b', 2, 'has a * that does not end a term'],
    ['"x" *', 5, 'has a * that does not end a term'],
    ['title:', 7, 'right after title:'],
    ['title: bun', 7, 'right after title:'],
    ['title:(a OR b)', 7, 'right after title:'],
    ['"a" - b', 5, 'expected a term'],
    ['🚀🚀 AND', 7, 'found the end'],
  ])('%p is refused at position %i', (q, position, sentence) => {
    expect(() => parseQuery(q)).toThrow(`filter_spec.q, position ${position}: `)
    expect(() => parseQuery(q)).toThrow(sentence)
  })

  test('quoted punctuation is searched for, as the refusal advises', () => {
    expect(() => parseQuery('a OR --')).toThrow('quote it to look for signs alone')
    expect(shape(parseQuery('a OR "--"'))).toBe('(or a --)')
  })

  test('sixteen levels are accepted and the seventeenth is refused', () => {
    expect(shape(parseQuery(nested(16)))).toBe('a')
    expect(() => parseQuery(nested(17))).toThrow('position 17: is nested deeper than 16 levels')
    expect(() => parseQuery('NOT '.repeat(17) + 'a')).toThrow('nested deeper')
  })
})
