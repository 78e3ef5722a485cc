import { createPrivateKey, createPublicKey, type KeyObject, sign as signWith } from 'node:crypto'

const PREFIX = 'whsec_'
const PRIVATE = 'whsk_'
const PUBLIC = 'whpk_'
const SECRET_BYTES = 32

/**
 * Encodes 32 random bytes as a webhook secret: `whsec_` and base64.
 * @throws {RangeError} if `bytes` is not 32 bytes long
 */
export function toSecret(bytes: Uint8Array): string {
  if (bytes.length !== SECRET_BYTES) throw new RangeError(`a secret is ${SECRET_BYTES} bytes`)
  return PREFIX + Buffer.from(bytes).toString('base64')
}

/** Kinds of signatures of a target: HMAC alone, or an Ed25519 signature beside it. */
export const SIGNATURES = ['v1', 'v1a'] as const
export type Signature = (typeof SIGNATURES)[number]

/** A new secret of a target. Stored, sealed, as one text: it is rotated, and overlaps, with its private key. */
export type TargetSecret = {
  /** The part that is shown once. */
  secret: string
  stored: string
  /** 32 bytes; null without an asymmetric signature. */
  public_key: Uint8Array | null
}

/**
 * A secret from random bytes of its own, with a private key if deliveries are to have an asymmetric signature. The key
 * belongs to one target: with a key of the whole instance, a customer could have any body signed for the receiver of another.
 */
export function newTargetSecret(
  random: { bytes(count: number): Uint8Array },
  is_asymmetric: boolean,
): TargetSecret {
  const secret = toSecret(random.bytes(SECRET_BYTES))
  return is_asymmetric
    ? withSigningKey(secret, random.bytes(SECRET_BYTES))
    : { secret, stored: secret, public_key: null }
}

/** Adds a private key to a stored secret, or removes the one that it has: `seed` null. */
export function withSigningKey(stored: string, seed: Uint8Array | null): TargetSecret {
  const [secret = ''] = stored.split(' ')
  if (seed === null) return { secret, stored: secret, public_key: null }
  const key = PRIVATE + Buffer.from(seed).toString('base64')
  return { secret, stored: `${secret} ${key}`, public_key: new Uint8Array(publicKeyOf(seed)) }
}

// ASN.1 in front of the 32 bytes of a key (RFC 8410).
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')
const SPKI = Buffer.from('302a300506032b6570032100', 'hex')

/** @throws {RangeError} if `seed` is not 32 bytes long */
function privateKeyOf(seed: Uint8Array): KeyObject {
  if (seed.length !== SECRET_BYTES) throw new RangeError(`a seed is ${SECRET_BYTES} bytes`)
  return createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: 'der', type: 'pkcs8' })
}

/** The 32 bytes of the Ed25519 public key of a seed. */
const publicKeyOf = (seed: Uint8Array): Buffer =>
  createPublicKey(privateKeyOf(seed)).export({ format: 'der', type: 'spki' }).subarray(SPKI.length)

/** Encodes a public key of 32 bytes as Standard Webhooks does: `whpk_` and base64. */
export const toPublicKey = (bytes: Uint8Array): string =>
  PUBLIC + Buffer.from(bytes).toString('base64')

/**
 * Header x-service-signature: `t=<unix seconds>,v1=<hex>`, an HMAC-SHA256 of the timestamp, a dot
 * and the body exactly as sent. The key is the whole secret as text.
 */
export function sign(secret: string, timestamp_s: number, body: Uint8Array): string {
  const hmac = new Bun.CryptoHasher('sha256', secret).update(`${timestamp_s}.`).update(body)
  return `t=${timestamp_s},v1=${hmac.digest('hex')}`
}

/**
 * Header webhook-signature of Standard Webhooks: `v1,<base64>` over the id, the timestamp and the
 * body, joined by dots. The key is the decoded secret.
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export function signStandard(
  secret: string,
  id: string,
  timestamp_s: number,
  body: Uint8Array,
): string {
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
  const hmac = new Bun.CryptoHasher('sha256', key).update(`${id}.${timestamp_s}.`).update(body)
  return `v1,${hmac.digest('base64')}`
}

/**
 * Asymmetric signature of Standard Webhooks: `v1a,<base64>`, Ed25519 over the same bytes as `v1`.
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
function signAsymmetric(key: string, id: string, timestamp_s: number, body: Uint8Array): string {
  const seed = Buffer.from(key.slice(PRIVATE.length), 'base64')
  const signed = Buffer.concat([Buffer.from(`${id}.${timestamp_s}.`), body])
  return `v1a,${signWith(null, signed, privateKeyOf(seed)).toString('base64')}`
}

/**
 * Headers that let a receiver verify sender, time and id of a body. With `old_secret` each
 * signature header has two values, the newer first, so that a receiver with either secret can
 * verify. A stored secret with a private key adds `v1a` to `webhook-signature`.
 */
export function signedHeaders(
  secret: string,
  id: string,
  timestamp_s: number,
  body: Uint8Array,
  old_secret: string | null = null,
): Record<string, string> {
  const stored = (old_secret === null ? [secret] : [secret, old_secret]).map((it) => it.split(' '))
  const secrets = stored.map(([text = '']) => text)
  const keys = stored.flatMap(([, key]) => key ?? [])
  const macs = secrets.map((it) => sign(it, timestamp_s, body).split(',')[1])
  return {
    'x-service-signature': [`t=${timestamp_s}`, ...macs].join(','),
    'x-service-timestamp': String(timestamp_s),
    'x-service-delivery-id': id,
    'webhook-id': id,
    'webhook-timestamp': String(timestamp_s),
    'webhook-signature': [
      ...secrets.map((it) => signStandard(it, id, timestamp_s, body)),
      ...keys.map((it) => signAsymmetric(it, id, timestamp_s, body)),
    ].join(' '),
  }
}

/** Sealed secrets of a target: the current one, and the one before the last rotation, which signs until `old_secret_until`. */
export type SealedSecrets = {
  webhook_id: string
  secret: Uint8Array
  old_secret?: Uint8Array | null
  old_secret_until?: number | null
}

/** Signed headers of a delivery to a target; `now`, epoch ms, decides if the old secret signs too. */
export function signDelivery(
  { openSecret }: { openSecret: (webhook_id: string, sealed: Uint8Array) => string },
  { webhook_id, secret, old_secret = null, old_secret_until }: SealedSecrets,
  {
    id,
    body,
    timestamp_s,
    now,
  }: { id: string; body: Uint8Array; timestamp_s: number; now: number },
): Record<string, string> {
  const over = old_secret === null || (old_secret_until ?? 0) <= now
  const old = over ? null : openSecret(webhook_id, old_secret)
  return signedHeaders(openSecret(webhook_id, secret), id, timestamp_s, body, old)
}
