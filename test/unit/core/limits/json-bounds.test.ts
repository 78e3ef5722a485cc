import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { isBeyond, measureJson } from '../../../../src/core/limits/json-bounds.ts'

const isTooMuch = (text: string) => isBeyond(text, { depth: 32, values: 20_000 })

test('thirty-two levels are accepted, thirty-three are too deep', () => {
  const nested = (levels: number): unknown => (levels === 1 ? {} : [nested(levels - 1)])
  expect(isTooMuch(JSON.stringify(nested(32)))).toBe(false)
  expect(isTooMuch(JSON.stringify(nested(33)))).toBe(true)
})

test('a text within its bounds is measured in depth and values', () => {
  const bounds = { depth: 4, values: 7 }
  expect(measureJson('{"a":[[1,"[[["],{}]}', bounds)).toEqual({ depth: 3, values: 6 })
  expect(measureJson('{"a":[[1,"\\\\"],[[]]]}', bounds)).toEqual({ depth: 4, values: 7 })
})

test('closed levels do not count', () => {
  expect(isTooMuch(`[${'[[]],'.repeat(5000)}[[]]]`)).toBe(false)
})

test('twenty thousand values are accepted, one more is too many', () => {
  expect(isTooMuch(JSON.stringify(Array<number>(19_999).fill(0)))).toBe(false)
  expect(isTooMuch(JSON.stringify(Array<number>(20_000).fill(0)))).toBe(true)
})

/** Counts every value of a parsed text, itself included. */
const countOf = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? Object.values(value).reduce((sum: number, it) => sum + countOf(it), 1)
    : 1

test('brackets and commas in strings do not count', () => {
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

/** Counts the levels of a parsed text. */
const levelsOf = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? 1 + Math.max(0, ...Object.values(value).map(levelsOf))
    : 0

test('the measure of any text equals that of its parsed value', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), fc.nat({ max: 2 }), (json, indent) => {
      const value: unknown = JSON.parse(json)
      const bounds = { depth: levelsOf(value), values: countOf(value) }
      const text = JSON.stringify(value, null, indent)
      expect(measureJson(text, bounds)).toEqual(bounds)
      expect(isBeyond(text, { ...bounds, values: bounds.values - 1 })).toBe(true)
      expect(isBeyond(text, { ...bounds, depth: bounds.depth - 1 })).toBe(bounds.depth > 0)
    }),
    { numRuns: 500 },
  )
})

test.each([
  '{"a":true,"b":false,"c":null,"d":-1.5e3,"e":"x\\\\","f":"\\"[","g":[true],"h":{}}',
  '{"a":"","b":[],"c":[""],"d":[null,{"e":[false]}]}',
])('the literals and strings of %s are skipped', (text) => {
  const value: unknown = JSON.parse(text)
  const bounds = { depth: levelsOf(value), values: countOf(value) }
  expect(measureJson(text, bounds)).toEqual(bounds)
})

test.each(['{"a":t[[[[', '{"a":n', '{"a":fals[[[[', '{"a":', '{"a":"'])(
  '%s, malformed in a value, is measured to its end',
  (text) => {
    expect(() => JSON.parse(text)).toThrow()
    expect(isTooMuch(text)).toBe(false)
  },
)

test.each(['["a,b,[{"]', '["\\",1]', '["\\"[[["]', '"\\', '["'])(
  '%s has its exact measure',
  (text) => {
    expect(isTooMuch(text)).toBe(false)
  },
)
