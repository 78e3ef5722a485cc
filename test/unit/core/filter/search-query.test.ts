import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { visibleText } from '../../../../src/core/enrichment/markdown.ts'
import { parseSearch, viewerTermIn } from '../../../../src/core/filter/search-query.ts'

test.each([
  ['rust', '**Rust**!'],
  ['c++', 'I use C++, mostly'],
  ['.NET', 'the .NET way'],
  ['"rate limit"', 'the rate\n limit of it'],
  ['limit rate', 'the rate has a limit'],
  ['(tea OR coffee) cup', 'a cup of coffee'],
  ['foo*', 'foobar'],
  ['猫', '黒猫です'],
  ['docs', 'see [the docs](https://x.test/y)'],
  ['snake_case', 'a snake_case name'],
  ['word', 'an _emphasised word_ here'],
  ["don't", 'please don’t'],
  ['secret', '>!a secret!<'],
  ['r&d', 'our R&amp;D team'],
  ['straße', 'in der STRASSE'],
  ['bun NOT hiring', 'bun is quick'],
  ['bun AND quick', 'bun is quick'],
  ['author:ada quick', 'bun is quick'],
  [') quick', 'bun is quick'],
  ['"quick', 'bun is quick'],
  ['which grinder?', 'which of the grinders, or any grinder at all'],
  ['coffee, tea', 'tea and coffee'],
  ['¿café?', 'un café'],
  ['“rate limit”', 'the limit of a rate'],
  ['note: hot', 'a hot note'],
  ['grind*, hot', 'hot grinders'],
  ['e.g. C++, .NET', 'C++ and .NET, e.g. here'],
  ['bun -paid?', 'bun is free'],
])('%p is found in %p', (q, text) => {
  expect(parseSearch(q)?.(text)).toBe(true)
})

test.each([
  ['rust', 'I trust you'],
  ['limit rate', 'a limit'],
  ['"rate limit"', 'limit the rate'],
  ['(tea OR coffee) cup', 'some coffee'],
  ['y', 'see [the docs](https://x.test/y)'],
  ['case', 'a snake_case name'],
  ['bun -hiring', 'bun is hiring'],
  ['bun NOT hiring', 'bun is hiring'],
  ['bun -(hiring OR paid)', 'bun is paid'],
  ['bun -"is hiring"', 'bun is hiring'],
  ['bun -paid?', 'bun is paid'],
  ['"coffee, tea"', 'coffee tea'],
])('%p is not found in %p', (q, text) => {
  expect(parseSearch(q)?.(text)).toBe(false)
})

test.each(['-hiring', 'NOT x', 'author:ada', '"', '()', '-', '***', 'OR', '?', '...'])(
  'a search of only %p has no word',
  (q) => {
    expect(parseSearch(q)).toBeNull()
  },
)

test('any search of any text ends without throwing', () => {
  const q = fc.array(
    fc.constantFrom('a', '"', '(', ')', '-', 'OR', 'NOT', 'AND', ':', '*', ' ', '[', '\\', '猫'),
  )
  fc.assert(
    fc.property(q, fc.string(), fc.string(), (parts, tail, text) => {
      const found = parseSearch(parts.join('') + tail)?.(text)
      expect([true, false, undefined]).toContain(found)
    }),
  )
})

test('plain text is visible unchanged', () => {
  expect(visibleText('Five 5 * 3 things, and snake_case; a_b. [1] (2) #3')).toBe(
    'Five 5 * 3 things, and snake_case; a_b. [1] (2) #3',
  )
})

test('markdown is visible as its words', () => {
  expect(
    visibleText('# Head\n> **bold** ~~gone~~ `code`\n[a (b)](https://x.test/(y)) \\*no\\*'),
  ).toBe('Head\nbold gone code\na (b) *no*')
})

test.each([
  ['author:me', 'me'],
  ['kettle -author:"Me"', 'Me'],
  ['subforum:(cats OR (friends))', 'friends'],
  ['author:(me', 'me'],
  ['author:"me', 'me'],
  ['username:me,', 'me'],
  ['user:@me', '@me'],
  ['author:-me', '-me'],
  ['author :me', 'me'],
  ['ａｕｔｈｏｒ：ｍｅ', 'me'],
  ['site:/r/mod/', '/r/mod/'],
  ['"kettle author:me', 'me'],
  ['\\" author:me \\"', 'me'],
])('%p refers to the requesting account', (q, name) => {
  expect(viewerTermIn(q)).toBe(name)
})

test.each([
  'me',
  'author:meg',
  '"author:me"',
  'coauthor:me',
  'self:yes me',
  'title:me',
  'author: OR',
])('%p refers to no account', (q) => {
  expect(viewerTermIn(q)).toBeNull()
})

test('a long search full of fields is read in linear time', () => {
  // In quadratic time this would take hours, and the test would exceed its timeout.
  expect(viewerTermIn('author:( '.repeat(1_000_000))).toBeNull()
  expect(viewerTermIn('author: '.repeat(1_000_000))).toBeNull()
})
