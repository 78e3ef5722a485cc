import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { ApiError } from '../../../../src/core/base/errors.ts'
import {
  bodyHash,
  judgeRepeat,
  readIdempotencyKey,
} from '../../../../src/core/limits/idempotency.ts'

const hex = (body: unknown) => Buffer.from(bodyHash(body)).toString('hex')

test('the hash of a body ignores the order of its fields, at any depth', () => {
  expect(hex({ a: 1, b: { c: [1, 2], d: null } })).toBe(hex({ b: { d: null, c: [1, 2] }, a: 1 }))
})

test.each([
  [{ a: 1 }, { a: 2 }],
  [{ a: 1 }, { b: 1 }],
  [{ a: [1, 2] }, { a: [2, 1] }],
  [{ a: '1' }, { a: 1 }],
  [{ a: {} }, { a: [] }],
  [{ a: { b: 1 } }, { a: [['b', 1]] }],
  [{}, { a: null }],
])('%j has another hash than %j', (one, other) => {
  expect(hex(one)).not.toBe(hex(other))
})

test('a JSON round trip keeps the hash', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      const value: unknown = JSON.parse(text)
      expect(hex(JSON.parse(JSON.stringify(value)))).toBe(hex(value))
    }),
  )
})

test.each(['a', ' ', '8c6b-41', 'x'.repeat(128), '"quoted"'])('%j is a valid key', (header) => {
  expect(readIdempotencyKey(header)).toBe(header)
})

test('a call without the header has no key', () => {
  expect(readIdempotencyKey(null)).toBeNull()
})

test.each(['', 'x'.repeat(129), 'tab\there', 'caf\u00e9', '\u0000'])('%j is refused', (header) => {
  const read = () => readIdempotencyKey(header)

  expect(read).toThrow(ApiError)
  expect(read).toThrow('idempotency-key must be 1 to 128 printable ASCII characters')
})

const [one, other] = [bodyHash({ a: 1 }), bodyHash({ a: 2 })]

test.each([
  [{ answered: true, running: false }, one, 'replay'],
  // The answer is stored before the claim ends.
  [{ answered: true, running: true }, one, 'replay'],
  [{ answered: false, running: true }, one, 'in_progress'],
  [{ answered: false, running: false }, one, 'unknown'],
  [{ answered: true, running: false }, other, 'mismatch'],
  [{ answered: false, running: true }, other, 'mismatch'],
  [{ answered: false, running: false }, other, 'mismatch'],
] as const)('a repeat of the claim %j is answered %s', (claim, body, judged) => {
  expect(judgeRepeat({ body_hash: one, ...claim }, body)).toBe(judged)
})
