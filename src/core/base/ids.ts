const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const KEY_BYTES = 32
/** 62^43 is just above 2^256. */
const KEY_DIGITS = 43

const KEY_KINDS = { customer: 'fk_', operator: 'fo_' } as const
type KeyKind = keyof typeof KEY_KINDS

/** Encodes bytes as a base62 number of `length` digits, padded with zeros. */
export function base62(bytes: Uint8Array, length: number): string {
  let rest = 0n
  for (const byte of bytes) rest = rest * 256n + BigInt(byte)
  let text = ''
  while (rest > 0n) {
    text = (DIGITS[Number(rest % 62n)] ?? '') + text
    rest /= 62n
  }
  return text.padStart(length, '0')
}

/**
 * Encodes 32 random bytes as an API key: `fk_` or `fo_`, then 43 base62 digits.
 * @throws {RangeError} if `bytes` is not 32 bytes long
 */
export function apiKey(kind: KeyKind, bytes: Uint8Array): string {
  if (bytes.length !== KEY_BYTES) throw new RangeError(`an API key needs ${KEY_BYTES} random bytes`)
  return KEY_KINDS[kind] + base62(bytes, KEY_DIGITS)
}
