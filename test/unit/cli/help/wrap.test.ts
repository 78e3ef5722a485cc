import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { wrap } from '../../../../src/cli/help/help.ts'

test.each([
  ['one two three', 7, ['one two', 'three']],
  ['one two three', 8, ['one two', 'three']],
  ['one', 1, ['one']],
  ['a longword b', 3, ['a', 'longword', 'b']],
  ['', 5, ['']],
])('%j in lines of %i', (text, width, lines) => {
  expect(wrap(text, width)).toEqual(lines)
})

test('a list of parts is wrapped between the parts only', () => {
  expect(wrap(['a', '[--b C]', '[--d E F]'], 10)).toEqual(['a [--b C]', '[--d E F]'])
})

test('no word is lost, and every line that can be wrapped fits', () => {
  const word = fc.stringMatching(/^[a-z.]{1,12}$/)
  fc.assert(
    fc.property(
      fc.array(word, { minLength: 1 }),
      fc.integer({ min: 1, max: 40 }),
      (words, width) => {
        const lines = wrap(words.join(' '), width)

        expect(lines.join(' ')).toBe(words.join(' '))
        for (const line of lines) expect(line.length <= width || !line.includes(' ')).toBe(true)
      },
    ),
  )
})
