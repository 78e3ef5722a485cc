const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const KEY_BYTES = 32
/** 62 to the power of 43 is just above 2 to the power of 256. */
const KEY_DIGITS = 43

/** What an API key begins with: a customer's, or an operator's. */
const KEY_KINDS = { customer: 'fk_', operator: 'fo_' } as const
export type KeyKind = keyof typeof KEY_KINDS

/** Bytes as a base62 number of `length` digits, padded with zeros. */
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

/** A new API key made of 32 random bytes: `fk_` or `fo_`, then 43 base62 digits. */
export function apiKey(kind: KeyKind, bytes: Uint8Array): string {
  if (bytes.length !== KEY_BYTES) throw new RangeError(`an API key is made of ${KEY_BYTES} bytes`)
  return KEY_KINDS[kind] + base62(bytes, KEY_DIGITS)
}

/** Which kind of key a token claims to be; null when it begins like neither. */
export function kindOfKey(token: string): KeyKind | null {
  if (token.startsWith(KEY_KINDS.customer)) return 'customer'
  if (token.startsWith(KEY_KINDS.operator)) return 'operator'
  return null
}
