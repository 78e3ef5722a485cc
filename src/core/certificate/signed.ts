import { createPrivateKey, createPublicKey, hash, type KeyObject, sign, verify } from 'node:crypto'

/** A JSON value. */
export type Json =
  string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json }

/**
 * JSON in its canonical form: names in order of their UTF-16 code units, no spaces, numbers and text as ECMAScript
 * writes them.
 * @throws {RangeError} for a number that JSON cannot express, and for text with a lone surrogate
 * @see https://www.rfc-editor.org/rfc/rfc8785
 */
export function canonicalJson(value: Json): string {
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new RangeError('JSON has no such number')
  if (typeof value === 'string' && !value.isWellFormed())
    throw new RangeError('text with a lone surrogate has no canonical form')
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (isList(value)) return `[${value.map(canonicalJson).join(',')}]`
  const names = Object.keys(value).toSorted((a, b) => (a < b ? -1 : 1))
  const members = names.map(
    (name) => `${canonicalJson(name)}:${canonicalJson(value[name] ?? null)}`,
  )
  return `{${members.join(',')}}`
}

const isList = (value: Json): value is readonly Json[] => Array.isArray(value)

/** SHA-256 of the canonical form, as `sha256:` and hex. */
export const digestOfJson = (value: Json): string =>
  `sha256:${hash('sha256', canonicalJson(value))}`

const SEED_BYTES = 32
const SIGNATURE_BYTES = 64
// ASN.1 in front of the 32 bytes of a key (RFC 8410).
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')
const SPKI = Buffer.from('302a300506032b6570032100', 'hex')

/**
 * The Ed25519 private key of a seed of 32 bytes.
 * @throws {RangeError} if `seed` is not 32 bytes long
 * @see https://www.rfc-editor.org/rfc/rfc8032
 */
function privateKeyOf(seed: Uint8Array): KeyObject {
  if (seed.length !== SEED_BYTES) throw new RangeError(`a seed is ${SEED_BYTES} bytes`)
  return createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: 'der', type: 'pkcs8' })
}

/** The 32 bytes of the public key of a seed. */
export const publicKeyOf = (seed: Uint8Array): Buffer =>
  createPublicKey(privateKeyOf(seed)).export({ format: 'der', type: 'spki' }).subarray(SPKI.length)

/** Signs bytes with Ed25519: 64 bytes. */
export const signBytes = (seed: Uint8Array, bytes: Uint8Array): Buffer =>
  sign(null, bytes, privateKeyOf(seed))

/** Thumbprint of a public key of 32 bytes, base64url (RFC 7638, RFC 8037 section 2). */
export const thumbprintOf = (public_key: Uint8Array): string =>
  hash(
    'sha256',
    canonicalJson({ crv: 'Ed25519', kty: 'OKP', x: base64url(public_key) }),
    'base64url',
  )

const base64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url')

/** A statement with the signature of the instance that makes it. */
export type Certificate = {
  statement: { readonly [name: string]: Json }
  /** Ed25519 over the canonical form of `statement`, base64url. */
  signature: string
  /** Thumbprint of the public key. */
  key_id: string
  /** 32 bytes, base64url. */
  public_key: string
}

/** Signs a statement, which gets the id of its key first. */
export function certify(
  seed: Uint8Array,
  statement: { readonly [name: string]: Json },
): Certificate {
  const public_key = publicKeyOf(seed)
  const key_id = thumbprintOf(public_key)
  const signed = { ...statement, key_id }
  const signature = base64url(signBytes(seed, Buffer.from(canonicalJson(signed))))
  return { statement: signed, signature, key_id, public_key: base64url(public_key) }
}

/** A public key that the reader of a certificate trusts. Instants in epoch ms; null: no limit. */
export type TrustedKey = {
  key_id: string
  /** 32 bytes, base64url. */
  x: string
  created_at: number | null
  /** It signed nothing later. */
  retired_at: number | null
  is_revoked: boolean
}

/** Result of a check. `untrusted`: the signature is valid, and nothing was named that the key could be compared with. */
export type Verification =
  | { kind: 'valid' | 'untrusted'; certificate: Certificate; issued_at: number }
  | { kind: 'invalid'; reason: string }

const invalid = (reason: string): Verification => ({ kind: 'invalid', reason })

/** Size of a certificate's text, and of a set of keys. */
export const CERTIFICATE_BYTES_MAX = 8 * 1024 * 1024
/** A clock that is this much ahead is no forgery. */
const SKEW_MS = 300_000

/**
 * Checks the text of a certificate. Every byte counts: it has to be exactly what JSON writes for its value, compact or
 * indented by two spaces, so that nothing can be added that a reader sees and the signature does not cover.
 * `trusted`: null to check the signature alone.
 */
export function checkCertificate(
  text: string,
  trusted: readonly TrustedKey[] | null,
  now: number,
): Verification {
  const read = readCertificate(text)
  if (typeof read === 'string') return invalid(read)
  const { statement, signature, key_id, public_key } = read
  const key = bytesOf(public_key, SEED_BYTES)
  const mac = bytesOf(signature, SIGNATURE_BYTES)
  if (key === null) return invalid('public_key is not 32 bytes in base64url')
  if (mac === null) return invalid('signature is not 64 bytes in base64url')
  if (thumbprintOf(key) !== key_id) return invalid('key_id is not the thumbprint of public_key')
  if (statement['key_id'] !== key_id) return invalid('the statement names another key')
  if (!isSignedBy(key, Buffer.from(canonicalJson(statement)), mac))
    return invalid('the signature does not belong to this statement and this key')
  const issued = statement['issued_at']
  const issued_at = typeof issued === 'string' ? Date.parse(issued) : Number.NaN
  if (Number.isNaN(issued_at)) return invalid('issued_at is not an instant')
  if (issued_at > now + SKEW_MS) return invalid('issued_at is in the future')
  if (trusted === null) return { kind: 'untrusted', certificate: read, issued_at }
  const known = trusted.find((it) => it.key_id === key_id && it.x === public_key)
  if (known === undefined) return invalid(`the key ${key_id} is not among the trusted ones`)
  if (known.is_revoked) return invalid(`the key ${key_id} was revoked`)
  if (known.created_at !== null && issued_at < known.created_at - SKEW_MS)
    return invalid('it was issued before its key was created')
  if (known.retired_at !== null && issued_at > known.retired_at + SKEW_MS)
    return invalid('it was issued after its key was retired')
  return { kind: 'valid', certificate: read, issued_at }
}

const isSignedBy = (key: Uint8Array, bytes: Uint8Array, mac: Uint8Array): boolean => {
  try {
    const spki = Buffer.concat([SPKI, key])
    return verify(null, bytes, createPublicKey({ key: spki, format: 'der', type: 'spki' }), mac)
  } catch {
    return false
  }
}

// Base64 has several spellings of the same bytes, of which one is canonical.
function bytesOf(text: string, count: number): Buffer | null {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.length === count && base64url(bytes) === text ? bytes : null
}

const NAMES = 'key_id,public_key,signature,statement'

/** The certificate of a text, or why it is none. */
function readCertificate(text: string): Certificate | string {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return 'the file is not JSON'
  }
  const body = text.endsWith('\n') ? text.slice(0, -1) : text
  if (body !== JSON.stringify(value) && body !== JSON.stringify(value, null, 2))
    return 'the file is not in the form in which it was issued'
  if (!isRecord(value) || Object.keys(value).toSorted().join(',') !== NAMES)
    return 'the file is not a certificate: it must have statement, signature, key_id and public_key'
  const { statement, signature, key_id, public_key } = value
  if (!isStatement(statement) || !isText(signature) || !isText(key_id) || !isText(public_key))
    return 'the file is not a certificate: statement must be an object, and the other fields text'
  try {
    canonicalJson(statement)
    return { statement, signature, key_id, public_key }
  } catch {
    return 'the statement has no canonical form'
  }
}

const isStatement = (value: unknown): value is Certificate['statement'] => isRecord(value)
const isText = (value: unknown): value is string => typeof value === 'string'
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A public key as a JSON Web Key. Instants in epoch seconds; absent: not retired, not revoked. */
export type Jwk = {
  kty: 'OKP'
  crv: 'Ed25519'
  x: string
  kid: string
  use: 'sig'
  alg: 'EdDSA'
  iat: number
  retired_at?: number
  revoked_at?: number
}

/**
 * Reads keys that a person trusts: a JSON Web Key Set, one JSON Web Key, or 32 bytes in base64url. Null: none of them.
 * @see https://www.rfc-editor.org/rfc/rfc8037
 */
export function readTrustedKeys(text: string): TrustedKey[] | null {
  const bytes = bytesOf(text.trim(), SEED_BYTES)
  if (bytes !== null) return [keyFrom(bytes, {})]
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  if (!isRecord(value)) return null
  const listed = Array.isArray(value['keys']) ? (value['keys'] as unknown[]) : [value]
  const keys: TrustedKey[] = []
  for (const it of listed) {
    if (!isRecord(it) || it['kty'] !== 'OKP' || it['crv'] !== 'Ed25519' || !isText(it['x']))
      return null
    const x = bytesOf(it['x'], SEED_BYTES)
    if (x === null) return null
    keys.push(keyFrom(x, it))
  }
  return keys.length === 0 ? null : keys
}

function keyFrom(x: Buffer, jwk: Record<string, unknown>): TrustedKey {
  const instant = (name: string) => {
    const value = jwk[name]
    return typeof value === 'number' ? value * 1000 : null
  }
  return {
    key_id: thumbprintOf(x),
    x: base64url(x),
    created_at: instant('iat'),
    retired_at: instant('retired_at'),
    is_revoked: jwk['revoked_at'] !== undefined,
  }
}
