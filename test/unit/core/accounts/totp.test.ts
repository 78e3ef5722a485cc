import { describe, expect, test } from 'bun:test'

import { base32, totp } from '../../../../src/core/accounts/totp.ts'

// RFC 6238, appendix B, SHA-1: the secret is the ASCII text 12345678901234567890; the last six of
// its eight digits.
const SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'

test.each([
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
  [20_000_000_000, '353130'],
])('at second %i the code is %s', (seconds, code) => {
  expect(totp(SECRET, seconds * 1000)).toBe(code)
})

test('a code is valid for thirty seconds', () => {
  expect(totp(SECRET, 59_999)).toBe(totp(SECRET, 30_000))
  expect(totp(SECRET, 60_000)).not.toBe(totp(SECRET, 59_999))
})

describe('a secret', () => {
  test.each([
    ['in lower case', SECRET.toLowerCase()],
    ['in groups of four', SECRET.replace(/.{4}/g, '$& ')],
    ['with dashes', SECRET.replace(/.{8}/g, '$&-')],
    ['with padding', `${SECRET}====`],
    ['between blanks', `\t ${SECRET}\n`],
  ])('%s is the same', (_how, secret) => {
    expect(totp(secret, 59_000)).toBe('287082')
  })

  test.each([
    ['is empty', ''],
    ['is nothing but padding', '===='],
    ['has a digit that base32 lacks', 'GEZDGNB1'],
    ['has a letter of no alphabet', 'GEZDGNBÄ'],
    ['is too short for a byte', 'G'],
    ['is endless', 'A'.repeat(257)],
  ])('a secret that %s is refused', (_why, secret) => {
    expect(base32(secret)).toBeNull()
    expect(totp(secret, 0)).toBeNull()
  })

  test('a secret may have any whole number of bytes', () => {
    for (const [text, bytes] of [
      ['MY', 'f'],
      ['MZXQ', 'fo'],
      ['MZXW6', 'foo'],
      ['MZXW6YQ', 'foob'],
      ['MZXW6YTB', 'fooba'],
      ['MZXW6YTBOI', 'foobar'],
    ] as const)
      expect(Buffer.from(base32(text) ?? []).toString()).toBe(bytes)
  })
})
