import { expect, test } from 'bun:test'
import { createHash, createPublicKey, verify } from 'node:crypto'

import * as fc from 'fast-check'

import {
  canonicalJson,
  certify,
  checkCertificate,
  type Json,
  publicKeyOf,
  readTrustedKeys,
  thumbprintOf,
  type TrustedKey,
} from '../../../../src/core/certificate/signed.ts'

const SEED = Uint8Array.from({ length: 32 }, (_, n) => n)
const ISSUED = '2026-05-01T12:00:00.000Z'
const NOW = Date.parse(ISSUED) + 60_000
const CERTIFICATE = certify(SEED, {
  type: 'coverage',
  issued_at: ISSUED,
  monitor: { name: 'Grüße "世界" \u2028', id: 'mon_1' },
  coverage: { status: 'complete', complete_s: 86_400 },
  days: [{ polls: 1440, gaps: null, is_final: true }],
})
const TEXT = JSON.stringify(CERTIFICATE)
const KEY: TrustedKey = {
  key_id: CERTIFICATE.key_id,
  x: CERTIFICATE.public_key,
  created_at: Date.parse(ISSUED) - 86_400_000,
  retired_at: null,
  is_revoked: false,
}

test('the canonical form is that of the examples of RFC 8785', () => {
  // Section 3.2.3 orders names by UTF-16 code units, section 3.2.2 has literals and numbers.
  const names = {
    '\u20ac': 'Euro Sign',
    '\r': 'Carriage Return',
    '\ufb33': 'Hebrew Letter Dalet With Dagesh',
    '1': 'One',
    '\ud83d\ude00': 'Emoji: Grinning Face',
    '\u0080': 'Control',
    '\u00f6': 'Latin Small Letter O With Diaeresis',
  }
  expect(canonicalJson(names)).toBe(
    '{"\\r":"Carriage Return","1":"One","\u0080":"Control","ö":"Latin Small Letter O With Diaeresis","€":"Euro Sign","😀":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
  )
  const values = {
    numbers: [333_333_333.333_333_3, 1e30, 4.5, 2e-3, 1e-27],
    string: '\u20ac$\u000f\u000aA\'\u0042\u0022\u005c\\"/',
    literals: [null, true, false],
  }
  expect(canonicalJson(values)).toBe(
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  )
  expect(() => canonicalJson(Number.NaN)).toThrow(RangeError)
  expect(() => canonicalJson('\ud800')).toThrow(RangeError)
})

test('the order of names does not change the canonical form', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: 'grapheme' }), fc.integer()), (value) => {
      const backwards = Object.fromEntries(Object.entries(value).toReversed())
      expect(canonicalJson(backwards)).toBe(canonicalJson(value))
      expect(JSON.parse(canonicalJson(value))).toEqual(value)
    }),
  )
})

test('another implementation verifies a certificate from its public key alone', () => {
  const { statement, signature, key_id, public_key } = CERTIFICATE
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: public_key }
  const key = createPublicKey({ key: jwk, format: 'jwk' })
  const ordered = (value: Json): Json =>
    Array.isArray(value)
      ? value.map(ordered)
      : typeof value === 'object' && value !== null
        ? Object.fromEntries(
            Object.entries(value)
              .toSorted(([a], [b]) => (a < b ? -1 : 1))
              .map(([name, it]) => [name, ordered(it)]),
          )
        : value
  const bytes = Buffer.from(JSON.stringify(ordered(statement)))

  expect(verify(null, bytes, key, Buffer.from(signature, 'base64url'))).toBe(true)
  // RFC 7638: the required members in order, without spaces.
  const members = `{"crv":"Ed25519","kty":"OKP","x":"${public_key}"}`
  expect(createHash('sha256').update(members).digest('base64url')).toBe(key_id)
})

test('a certificate of a trusted key is valid, compact and indented, and untrusted without a key', () => {
  for (const text of [TEXT, `${TEXT}\n`, JSON.stringify(CERTIFICATE, null, 2)]) {
    expect(checkCertificate(text, [KEY], NOW).kind).toBe('valid')
    expect(checkCertificate(text, null, NOW).kind).toBe('untrusted')
  }
})

const isFound = (changed: Uint8Array) =>
  checkCertificate(Buffer.from(changed).toString('utf8'), [KEY], NOW).kind === 'invalid'

test('every changed bit, lost byte and doubled byte is found', () => {
  const bytes = Buffer.from(TEXT)
  const unnoticed: string[] = []
  for (let at = 0; at < bytes.length; at++) {
    for (let bit = 0; bit < 8; bit++) {
      const changed = Uint8Array.from(bytes)
      changed[at] = (changed[at] ?? 0) ^ (1 << bit)
      if (!isFound(changed)) unnoticed.push(`bit ${bit} of ${at}`)
    }
    if (!isFound(Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)])))
      unnoticed.push(`without ${at}`)
    if (!isFound(Buffer.concat([bytes.subarray(0, at + 1), bytes.subarray(at)])))
      unnoticed.push(`twice ${at}`)
  }
  expect(unnoticed).toEqual([])
})

const other = certify(new Uint8Array(32).fill(9), { ...CERTIFICATE.statement })
const later = (ms: number) => (KEY.created_at ?? 0) + ms

test.each<[string, string, TrustedKey[], string]>([
  [
    'a field beside the signature',
    JSON.stringify({ ...CERTIFICATE, note: 'x' }),
    [KEY],
    'not a certificate',
  ],
  ['a name twice', TEXT.replace('{', '{"key_id":"x",'), [KEY], 'not in the form'],
  ['a key of its own', JSON.stringify(other), [KEY], 'not among the trusted ones'],
  [
    'the signature of another key',
    JSON.stringify({ ...CERTIFICATE, signature: other.signature }),
    [KEY],
    'does not belong',
  ],
  [
    'a key id of another key',
    JSON.stringify({ ...other, key_id: CERTIFICATE.key_id }),
    [KEY],
    'not the thumbprint',
  ],
  ['a revoked key', TEXT, [{ ...KEY, retired_at: NOW, is_revoked: true }], 'revoked'],
  [
    'a key retired before',
    TEXT,
    [{ ...KEY, retired_at: later(1000) }],
    'after its key was retired',
  ],
  [
    'a key created later',
    TEXT,
    [{ ...KEY, created_at: NOW + 400_000 }],
    'before its key was created',
  ],
  ['text that is no JSON', 'forumd', [KEY], 'not JSON'],
  ['null', 'null', [KEY], 'not a certificate'],
])('refused: %s', (_, text, keys, reason) => {
  expect(checkCertificate(text, keys, NOW)).toMatchObject({
    kind: 'invalid',
    reason: expect.stringContaining(reason),
  })
})

test('a certificate of the future is refused', () => {
  expect(checkCertificate(TEXT, [KEY], NOW - 400_000)).toMatchObject({
    kind: 'invalid',
    reason: 'issued_at is in the future',
  })
})

test('trusted keys are read as text, as a key and as a set', () => {
  const x = Buffer.from(publicKeyOf(SEED)).toString('base64url')
  const jwk = { kty: 'OKP', crv: 'Ed25519', x, iat: 100, retired_at: 200, revoked_at: 200 }
  const key_id = thumbprintOf(publicKeyOf(SEED))

  expect(readTrustedKeys(`${x}\n`)).toMatchObject([{ key_id, x, is_revoked: false }])
  expect(readTrustedKeys(JSON.stringify({ keys: [jwk] }))).toEqual([
    { key_id, x, created_at: 100_000, retired_at: 200_000, is_revoked: true },
  ])
  expect(readTrustedKeys(JSON.stringify(jwk))).toHaveLength(1)
  for (const text of [
    '',
    '{}',
    '{"keys":[]}',
    '{"keys":[{"kty":"RSA"}]}',
    'AAAA',
    JSON.stringify({ ...jwk, x: `${x}=` }),
  ])
    expect(readTrustedKeys(text)).toBeNull()
})
