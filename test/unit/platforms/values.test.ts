import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { parseJson, wrongField } from '../../../src/platforms/values.ts'

const SITE = 'https://forum.example'

/** The address of a row after its check; null: the row is wrong. */
function checked(url: string): string | null {
  const row = { url }
  return wrongField(row, 0) === null ? row.url : null
}

test.each([
  `${SITE}/t/가든-토마토/12`,
  `${SITE}/wiki/Ñandú?q=');print('`,
  'https://example.com',
  'https://bücher.example/straße?q=ä',
  'http://NEWS.example:80/a//b?',
  `${SITE}/t/%EA%B0%80/12#reply`,
])('%s stays as its author spells it', (url) => {
  expect(checked(url)).toBe(url)
})

test.each([
  [`${SITE}/t/"><img src=x>`, `${SITE}/t/%22%3E%3Cimg%20src=x%3E`],
  [`${SITE}/t/a\r\nX: y`, `${SITE}/t/aX:%20y`],
  [`${SITE}/a/../b`, `${SITE}/b`],
  [`https:\\\\forum.example\\x`, `${SITE}/x`],
  [`${SITE}/\u202egpj`, `${SITE}/%E2%80%AEgpj`],
  [`${SITE}/?q=\\\`#\\\``, `${SITE}/?q=%5C%60#%5C%60`],
  ['https://forum.example@evil.example/x', 'https://forum.example@evil.example/x'],
  ['https:///evil.example', 'https://evil.example/'],
  ['http://evil%2eexample/', 'http://evil.example/'],
  ['javascript:alert(1)', null],
])('%j has the form of WHATWG, or none', (url, expected) => {
  expect(checked(url)).toBe(expected)
})

const unit = fc.oneof(
  fc.string({ minLength: 1, maxLength: 1, unit: 'binary' }),
  fc.constantFrom(...Array.from('?#/\\`"<> \'{|}^')),
)

test('no address has a character that ends it in a page or a header', () => {
  fc.assert(
    fc.property(fc.string({ unit }), (path) => {
      expect(checked(`${SITE}/${path}`) ?? '').not.toMatch(/[\p{C}\p{Z}"<>\\`]/u)
    }),
  )
})

const DAY_S = 86_400

test.each([
  [3 * DAY_S, null],
  [300 * DAY_S, null],
  [400 * DAY_S, 'created_utc'],
])('a row that its server dates %d s ahead has the wrong field %p', (created_utc, expected) => {
  expect(wrongField({ created_utc }, 0)).toBe(expected)
})

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
const flat = (values: number) => `[${Array.from({ length: values }, () => '{}').join()}]`

test('a text that nests too deeply, or has too many values, is not parsed', () => {
  expect([nested(2000), flat(249_999)].map(parseJson)).not.toContain(undefined)
  expect([nested(2001), flat(250_000)].map(parseJson)).toEqual([undefined, undefined])
})
