import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { isBeyond, measureJson } from '../../src/core/json-bounds.ts'

const isTooMuch = (text: string) => isBeyond(text, { depth: 32, values: 20_000 })

test('a value of thirty-two levels is taken, one of thirty-three is too deep', () => {
  const nested = (levels: number): unknown => (levels === 1 ? {} : [nested(levels - 1)])
  expect(isTooMuch(JSON.stringify(nested(32)))).toBe(false)
  expect(isTooMuch(JSON.stringify(nested(33)))).toBe(true)
})

test('a text within its bounds tells how deep it goes and how many values it has', () => {
  const bounds = { depth: 4, values: 7 }
  expect(measureJson('{"a":[[1,"[[["],{}]}', bounds)).toEqual({ depth: 3, values: 6 })
  expect(measureJson('{"a":[[1,"\\\\"],[[]]]}', bounds)).toEqual({ depth: 4, values: 7 })
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
