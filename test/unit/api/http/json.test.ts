import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { whereBroken } from '../../../../src/api/http/body.ts'

const parses = (text: string) => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

test.each([
  ['', 0],
  ['  ', 2],
  ['{', 1],
  ['{"a"}', 4],
  ['{"a":}', 5],
  ['{"a":1,}', 7],
  ['{a:1}', 1],
  ['[1,]', 3],
  ['[1 2]', 3],
  ['01', 0],
  ['1.', 0],
  ['tru', 0],
  ['nullx', 0],
  ['"a\nb"', 2],
  ['"\\x"', 1],
  ['"never ends', 11],
  ['1]', 1],
  ['[1}', 2],
])('%j has a syntax error at %i', (text, at) => {
  expect(parses(text)).toBe(false)
  expect(whereBroken(text)).toBe(at)
})

test('the text before the error is a valid prefix', () => {
  fc.assert(
    fc.property(fc.json(), fc.nat(), fc.string({ maxLength: 3 }), (text, where, noise) => {
      const at = where % (text.length + 1)
      const broken = text.slice(0, at) + noise + text.slice(at)
      if (parses(broken)) return
      const found = whereBroken(broken)
      expect(found).toBeGreaterThanOrEqual(0)
      expect(found).toBeLessThanOrEqual(broken.length)
      expect(whereBroken(broken.slice(0, found))).toBe(found)
    }),
  )
})

test.each([
  ['a text', `["${'u'.repeat(1_000_000)}`, 1_000_002],
  ['a text of escapes', `["${'\\n'.repeat(400_000)}\\x"]`, 800_002],
])('%s with an error after a million characters is located at the error', (_, text, at) => {
  expect(whereBroken(text)).toBe(at)
})
