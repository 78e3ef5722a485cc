import { expect, test } from 'bun:test'

import { parseName, parseWhole } from '../../../src/cli/inputs.ts'
import { nearest } from '../../../src/core/base/text.ts'

test.each(['', ' a', 'a ', 'a\nb', 'x'.repeat(65), '\u200b'])(
  '%j is rejected as a name',
  (text) => {
    expect(() => parseName(text)).toThrow('allowed are 1 to 64 printable characters')
  },
)

test('a name may be of any script', () => {
  expect(parseName('Größe & Söhne 猫')).toBe('Größe & Söhne 猫')
})

test('a number out of range is refused with its option and range', () => {
  expect(parseWhole('port', '0', 0, 65_535)).toBe(0)
  expect(() => parseWhole('port', '65536', 0, 65_535)).toThrow(
    '--port is "65536": allowed is a whole number from 0 to 65535',
  )
  expect(() => parseWhole('port', '1.5', 0, 65_535)).toThrow('--port is "1.5"')
})

test.each([
  ['prot', 'port'],
  ['baseurl', 'base_url'],
  ['Base-Url', 'base_url'],
  ['hots', 'host'],
  ['pubic_url', 'public_url'],
  ['x', null],
  ['completely_else', null],
  ['x'.repeat(100_000), null],
])('%s is probably %s', (typed, meant) => {
  expect(nearest(typed, ['host', 'port', 'base_url', 'public_url'])).toBe(meant)
})
