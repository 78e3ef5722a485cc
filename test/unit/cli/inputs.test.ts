import { expect, test } from 'bun:test'

import {
  formatDollars,
  parseDollars,
  parseExpiry,
  parseName,
  parseScopes,
  parseToken,
  parseWhole,
} from '../../../src/cli/inputs.ts'
import { nearest } from '../../../src/core/base/text.ts'
import { toUsd } from '../../../src/core/limits/price.ts'

test.each([
  ['5', 5_000_000],
  ['0.25', 250_000],
  ['0.000001', 1],
  ['1.1', 1_100_000],
  ['2.675', 2_675_000],
  ['1000000000', 1_000_000_000_000_000],
])('%s dollars are %i micro-dollars, exactly', (text, micros) => {
  expect(parseDollars(text)).toBe(micros)
  expect(toUsd(micros)).toBe(Number(text))
})

test.each([
  '',
  '0',
  '0.0',
  '-1',
  '+1',
  '1.',
  '.5',
  '1,5',
  '1e3',
  '0x10',
  '1.0000001',
  ' 1',
  '1000000000.000001',
  'NaN',
])('%j is rejected as an amount', (text) => {
  expect(() => parseDollars(text)).toThrow('is not an amount: allowed are US dollars')
})

test.each([
  [0, '0.00 USD'],
  [500_000, '0.50 USD'],
  [1, '0.000001 USD'],
  [1_234_500_000, '1234.50 USD'],
])('%i micro-dollars are shown as %s', (micros, text) => {
  expect(formatDollars(micros)).toBe(text)
})

const now = Date.parse('2026-06-01T00:00:00Z')

test.each([
  ['2026-06-02', '2026-06-02T00:00:00.000Z'],
  ['2026-06-01T12:00Z', '2026-06-01T12:00:00.000Z'],
  ['2026-06-01T12:00:00+02:00', '2026-06-01T10:00:00.000Z'],
])('%s is a future instant', (text, instant) => {
  expect(parseExpiry(text, now)).toBe(Date.parse(instant))
})

test.each([
  ['tomorrow', 'is not a time'],
  ['2026-06-31T00:00:00', 'is not a time'],
  ['2026-13-01', 'is not a time'],
  ['2027-02-30', 'is not a time'],
  ['2027-02-29T12:00:00Z', 'is not a time'],
  ['12', 'is not a time'],
  ['2026-05-31', 'is in the past'],
])('%s is rejected as an expiry: it %s', (text, reason) => {
  expect(() => parseExpiry(text, now)).toThrow(reason)
})

test('scopes keep their order, and all are meant when none is named', () => {
  expect(parseScopes(undefined)).toEqual(['read', 'write', 'monitor', 'webhook'])
  expect(parseScopes('monitor, read')).toEqual(['read', 'monitor'])
  expect(() => parseScopes('read,admin')).toThrow(
    '"admin" is not a scope: allowed are read, write, monitor, webhook, approve',
  )
  expect(() => parseScopes('')).toThrow('"" is not a scope')
})

test.each(['', ' a', 'a ', 'a\nb', 'x'.repeat(65), '\u200b'])(
  '%j is rejected as a name',
  (text) => {
    expect(() => parseName(text)).toThrow('allowed are 1 to 64 printable characters')
  },
)

test('a name may be of any script', () => {
  expect(parseName('Größe & Söhne 猫')).toBe('Größe & Söhne 猫')
})

test('an imported key is trimmed of its newline and is not repeated in an error', () => {
  expect(parseToken('0123456789abcdef\r\n')).toBe('0123456789abcdef')
  expect(() => parseToken('hunter22')).toThrow(/^(?!.*hunter22).*16 to 256/s)
  expect(() => parseToken('two words of a key')).toThrow('16 to 256')
  expect(() => parseToken('k'.repeat(257))).toThrow('16 to 256')
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
