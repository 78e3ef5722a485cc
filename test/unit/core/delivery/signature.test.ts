import { expect, test } from 'bun:test'
import { createPublicKey, verify } from 'node:crypto'

import * as fc from 'fast-check'

import {
  newTargetSecret,
  sign,
  signedHeaders,
  signStandard,
  toPublicKey,
  toSecret,
} from '../../../../src/core/delivery/signature.ts'
import { standardTakes, stripeTakes } from '../../../support/verifiers.ts'

const KEY = Uint8Array.from({ length: 32 }, (_, n) => n * 7)
const SECRET = toSecret(KEY)
const AT_S = 1_767_225_600
const BODY = new TextEncoder().encode(
  '{"delivery_id":"dlv_1","items":[{"title":"Grüße, 世界 \\ud83d"}]}',
)

const accepts = (body: Uint8Array, header: string, at_s = AT_S) =>
  stripeTakes({ headers: { 'x-service-signature': header }, body, at: at_s * 1000 }, SECRET)

test('a secret is whsec_ and the base64 of its bytes', () => {
  expect(SECRET).toBe(`whsec_${Buffer.from(KEY).toString('base64')}`)
  expect(() => toSecret(new Uint8Array(31))).toThrow('32 bytes')
})

test("an independent verifier, Stripe's, accepts the header with the body", async () => {
  expect(await accepts(BODY, sign(SECRET, AT_S, BODY))).toBe(true)
})

const flipped = (bytes: Uint8Array, bit: number) =>
  bytes.map((byte, at) => (at === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte))

test("Stripe's verifier refuses every single changed bit of body and signature", async () => {
  const header = sign(SECRET, AT_S, BODY)
  for (let bit = 0; bit < BODY.length * 8; bit += 5)
    expect(await accepts(flipped(BODY, bit), header)).toBe(false)

  const hex = header.slice(header.indexOf('v1=') + 3)
  for (let at = 0; at < hex.length; at++) {
    const other = hex[at] === '0' ? '1' : '0'
    expect(
      await accepts(BODY, `t=${AT_S},v1=${hex.slice(0, at)}${other}${hex.slice(at + 1)}`),
    ).toBe(false)
  }
})

test('a timestamp more than 300 seconds old is refused', async () => {
  expect(await accepts(BODY, sign(SECRET, AT_S, BODY), AT_S + 301)).toBe(false)
})

/**
 * Implements the Standard Webhooks page over the Web Crypto API, independent of the code under
 * test.
 */
async function standard(secret: string, id: string, at_s: number, body: Uint8Array) {
  const raw = Uint8Array.from(atob(secret.replace('whsec_', '')), (c) => c.charCodeAt(0))
  const key = await crypto.subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-256' }, false, [
    'sign',
  ])
  const signed = new Blob([`${id}.${at_s}.`, new Uint8Array(body)])
  const mac = await crypto.subtle.sign('HMAC', key, await signed.arrayBuffer())
  return `v1,${btoa(String.fromCharCode(...new Uint8Array(mac)))}`
}

test('the Standard Webhooks signature equals an independent computation, for any bytes', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ minLength: 32, maxLength: 32 }),
      fc.uint8Array({ maxLength: 500 }),
      async (key, body) => {
        const secret = toSecret(key)
        expect(signStandard(secret, 'dlv_1', AT_S, body)).toBe(
          await standard(secret, 'dlv_1', AT_S, body),
        )
      },
    ),
  )
})

test('the headers of both schemes agree on id and time', () => {
  expect(signedHeaders(SECRET, 'dlv_1', AT_S, BODY)).toEqual({
    'x-service-signature': sign(SECRET, AT_S, BODY),
    'x-service-timestamp': String(AT_S),
    'x-service-delivery-id': 'dlv_1',
    'webhook-id': 'dlv_1',
    'webhook-timestamp': String(AT_S),
    'webhook-signature': signStandard(SECRET, 'dlv_1', AT_S, BODY),
  })
  expect(sign(SECRET, AT_S, BODY)).toMatch(/^t=1767225600,v1=[0-9a-f]{64}$/)
})

test('the Standard Webhooks verifier accepts our headers, and no changed bit of body, id or signature', () => {
  const headers = signedHeaders(SECRET, 'dlv_1', AT_S, BODY)
  const takes = (it: { body?: Uint8Array; headers?: Record<string, string>; at_s?: number }) =>
    standardTakes(
      {
        headers: { ...headers, ...it.headers },
        body: it.body ?? BODY,
        at: (it.at_s ?? AT_S) * 1000,
      },
      SECRET,
    )
  expect(takes({})).toBe(true)
  expect(takes({ at_s: AT_S + 301 })).toBe(false)
  expect(takes({ at_s: AT_S - 301 })).toBe(false)
  expect(takes({ headers: { 'webhook-id': 'dlv_2' } })).toBe(false)
  for (let bit = 0; bit < BODY.length * 8; bit += 5)
    expect(takes({ body: flipped(BODY, bit) })).toBe(false)
  const mac = Buffer.from(headers['webhook-signature'] ?? '')
  for (let bit = 'v1,'.length * 8; bit < mac.length * 8; bit++) {
    const other = Buffer.from(flipped(mac, bit)).toString('latin1')
    expect(takes({ headers: { 'webhook-signature': other } })).toBe(false)
  }
})

test('with two active secrets, a receiver with either one accepts the headers of both schemes', async () => {
  const old = toSecret(KEY.map((byte) => byte ^ 1))
  const headers = signedHeaders(SECRET, 'dlv_1', AT_S, BODY, old)
  const request = { headers, body: BODY, at: AT_S * 1000 }
  for (const [secret, taken] of [
    [SECRET, true],
    [old, true],
    [toSecret(new Uint8Array(32)), false],
  ] as const) {
    expect(standardTakes(request, secret)).toBe(taken)
    expect(await stripeTakes(request, secret)).toBe(taken)
  }
})

test('v1a is an Ed25519 signature that the public key alone verifies, beside the same v1', () => {
  const random = { bytes: (count: number) => KEY.slice(0, count) }
  const { secret, stored, public_key } = newTargetSecret(random, true)
  const { secret: plain, stored: bare, public_key: none } = newTargetSecret(random, false)
  const headers = signedHeaders(stored, 'dlv_1', AT_S, BODY)
  const [v1, v1a = '', ...rest] = headers['webhook-signature']?.split(' ') ?? []

  expect([secret, bare, none, rest]).toEqual([plain, plain, null, []])
  const before = signedHeaders(bare, 'dlv_1', AT_S, BODY)
  const without: Record<string, string> = { ...headers, 'webhook-signature': v1 ?? '' }
  expect(without).toEqual(before)
  const text = toPublicKey(public_key ?? new Uint8Array())
  expect(text).toMatch(/^whpk_[A-Za-z0-9+/]{43}=$/)
  const takes = (signature: string, body: Uint8Array, id = 'dlv_1') => {
    const x = Buffer.from(text.slice(5), 'base64').toString('base64url')
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
    const signed = Buffer.concat([Buffer.from(`${id}.${AT_S}.`), body])
    return verify(null, signed, key, Buffer.from(signature.replace('v1a,', ''), 'base64'))
  }
  expect(v1a).toMatch(/^v1a,[A-Za-z0-9+/]{86}==$/)
  expect(takes(v1a, BODY)).toBe(true)
  expect(takes(v1a, BODY, 'dlv_2')).toBe(false)
  for (let bit = 0; bit < BODY.length * 8; bit += 5)
    expect(takes(v1a, flipped(BODY, bit))).toBe(false)
  // Libraries that know only v1 pass over it.
  expect(standardTakes({ headers, body: BODY, at: AT_S * 1000 }, secret)).toBe(true)
})

const of = (fill: number) => ({ bytes: (count: number) => new Uint8Array(count).fill(fill) })
const signatures = (stored: string, old: string | null = null) =>
  signedHeaders(stored, 'dlv_1', AT_S, BODY, old)['webhook-signature']?.split(' ') ?? []

test('while a secret is rotated, the old and the new private key sign', () => {
  const [older, newer] = [newTargetSecret(of(1), true), newTargetSecret(of(2), true)]
  const both = signatures(newer.stored, older.stored)

  expect(both).toHaveLength(4)
  expect(both).toEqual(
    expect.arrayContaining([...signatures(newer.stored), ...signatures(older.stored)]),
  )
})
