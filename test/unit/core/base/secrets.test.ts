import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { createRing, SealBroken } from '../../../../src/core/base/secrets.ts'

const bytes = (count: number) => crypto.getRandomValues(new Uint8Array(count))
const ring = createRing(bytes(32), bytes)

test('any sealed text opens again', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (text, place) => {
      expect(ring.unseal(place, ring.seal(place, text))).toBe(text)
    }),
  )
})

test('the same text sealed twice differs and does not contain the text', () => {
  const [one, two] = [ring.seal('a', 'a secret of mine'), ring.seal('a', 'a secret of mine')]

  expect(one).not.toEqual(two)
  expect(Buffer.from(one).toString('latin1')).not.toContain('secret')
})

test('a secret moved to another row does not open', () => {
  const sealed = ring.seal('webhooks.secret:wh_1', 'hush')
  expect(() => ring.unseal('webhooks.secret:wh_2', sealed)).toThrow(SealBroken)
})

test('a secret with any byte changed, or truncated, does not open', () => {
  const sealed = ring.seal('a', 'hush')
  for (let at = 0; at < sealed.length; at += 1) {
    const changed = sealed.slice()
    changed[at] = (changed[at] ?? 0) ^ 1
    expect(() => ring.unseal('a', changed)).toThrow(SealBroken)
    expect(() => ring.unseal('a', sealed.slice(0, at))).toThrow(SealBroken)
  }
})

test('a secret does not open with another key', () => {
  const sealed = ring.seal('a', 'hush')
  expect(() => createRing(bytes(32), bytes).unseal('a', sealed)).toThrow(SealBroken)
})

test('a ring with an added newer key opens secrets of the older one', () => {
  const old = bytes(32)
  const sealed = createRing(old, bytes).seal('a', 'hush')
  const grown = createRing(Buffer.concat([old, bytes(32)]), bytes)

  expect(grown.unseal('a', sealed)).toBe('hush')
  expect(grown.unseal('a', grown.seal('a', 'new'))).toBe('new')
  expect(() => createRing(old, bytes).unseal('a', grown.seal('a', 'new'))).toThrow(SealBroken)
  expect(grown.fingerprint).toBe(createRing(old, bytes).fingerprint)
})

test.each([0, 31, 33, 256 * 32])('a key file of %i bytes is refused', (length) => {
  expect(() => createRing(new Uint8Array(length), bytes)).toThrow(RangeError)
})
