import { createHmac } from 'node:crypto'

/**
 * Validity of one code.
 * @see https://www.rfc-editor.org/rfc/rfc6238#section-5.2
 */
export const TOTP_STEP_MS = 30_000
const DIGITS = 6
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
/** RFC 4226 requires 16 bytes; sites issue as few as ten, and none as many as this. */
const SECRET_CHARS_MAX = 256

/**
 * Decodes a base32 secret; ignores blanks, dashes, case and padding. Null if malformed.
 * @see https://www.rfc-editor.org/rfc/rfc4648#section-6
 */
export function base32(text: string): Uint8Array | null {
  const letters = text.replace(/[\s-]/g, '').replace(/=+$/, '').toUpperCase()
  if (letters === '' || letters.length > SECRET_CHARS_MAX) return null
  const bytes: number[] = []
  let [bits, bit_buffer] = [0, 0]
  for (const letter of letters) {
    const five = ALPHABET.indexOf(letter)
    if (five === -1) return null
    bit_buffer = ((bit_buffer << 5) | five) & 0xfff
    bits += 5
    if (bits < 8) continue
    bits -= 8
    bytes.push((bit_buffer >> bits) & 0xff)
  }
  return bytes.length === 0 ? null : Uint8Array.from(bytes)
}

/**
 * Computes the six-digit code (SHA-1, 30 s) of a base32 secret at an instant (epoch ms); null if
 * the secret is malformed.
 * @see https://www.rfc-editor.org/rfc/rfc6238
 */
export function totp(secret: string, at_ms: number): string | null {
  const key = base32(secret)
  if (!key) return null
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.max(0, Math.floor(at_ms / TOTP_STEP_MS))))
  const mac = createHmac('sha1', key).update(counter).digest()
  const offset = (mac.at(-1) ?? 0) & 0xf
  const code = (mac.readUInt32BE(offset) & 0x7f_ff_ff_ff) % 10 ** DIGITS
  return String(code).padStart(DIGITS, '0')
}
