import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { isTooMuch, whereBroken } from '../../../src/api/json.ts'

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
])('%j breaks at %i', (text, at) => {
  expect(parses(text)).toBe(false)
  expect(whereBroken(text)).toBe(at)
})

test('what comes before the break is well formed: cut there, a text has nothing wrong but its end', () => {
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

test('a value of thirty-two levels is taken, one of thirty-three is too deep', () => {
  const nested = (levels: number): unknown => (levels === 1 ? {} : [nested(levels - 1)])
  expect(isTooMuch(JSON.stringify(nested(32)))).toBe(false)
  expect(isTooMuch(JSON.stringify(nested(33)))).toBe(true)
})

test('what closes makes room again', () => {
  expect(isTooMuch(`[${'[[]],'.repeat(5000)}[[]]]`)).toBe(false)
})

test('twenty thousand values are taken, one more is too many', () => {
  expect(isTooMuch(JSON.stringify(Array<number>(19_999).fill(0)))).toBe(false)
  expect(isTooMuch(JSON.stringify(Array<number>(20_000).fill(0)))).toBe(true)
})

/** Every value of a parsed text, itself included. */
const countOf = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? Object.values(value).reduce((sum: number, it) => sum + countOf(it), 1)
    : 1

test('values are counted as they come out, whatever stands in texts and between', () => {
  const values = fc.json({ maxDepth: 4 })
  fc.assert(
    fc.property(fc.array(values, { maxLength: 20 }), fc.nat({ max: 3 }), (texts, indent) => {
      const list: unknown[] = texts.map((it): unknown => JSON.parse(it))
      const filler = Array<number>(20_000 - 2 - countOf(list)).fill(0)
      expect(isTooMuch(JSON.stringify([list, ...filler, 0], null, indent))).toBe(false)
      expect(isTooMuch(JSON.stringify([list, ...filler, 0, 0], null, indent))).toBe(true)
    }),
    { numRuns: 20 },
  )
})

test.each(['["a,b,[{"]', '["\\",1]', '["\\"[[["]', '"\\', '["'])(
  '%s is no more than it is',
  (text) => {
    expect(isTooMuch(text)).toBe(false)
  },
)

test.each([
  ['a text', `["${'u'.repeat(1_000_000)}`, 1_000_002],
  ['a text of escapes', `["${'\\n'.repeat(400_000)}\\x"]`, 800_002],
])('%s that breaks after a million characters is found where it breaks', (_, text, at) => {
  expect(whereBroken(text)).toBe(at)
})
