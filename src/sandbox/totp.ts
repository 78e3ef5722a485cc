import { createHmac } from 'node:crypto'

const STEP_S = 30
const DIGITS = 6
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** The bytes of a base32 secret; spaces, case and padding mean nothing. */
function bytesOf(secret: string): Buffer {
  const bits = Array.from(secret.toUpperCase())
    .flatMap((letter) => {
      const value = BASE32.indexOf(letter)
      return value < 0 ? [] : [value.toString(2).padStart(5, '0')]
    })
    .join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
}

/** The code of RFC 6238 (SHA-1, six digits, thirty seconds) at an instant, in epoch seconds. */
export function codeAt(secret: string, at_s: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(at_s / STEP_S)))
  const hash = createHmac('sha1', bytesOf(secret)).update(counter).digest()
  const offset = (hash.at(-1) ?? 0) & 0xf
  const number = hash.readUInt32BE(offset) & 0x7fff_ffff
  return String(number % 10 ** DIGITS).padStart(DIGITS, '0')
}

/** Whether a code is right now, or was or will be within one step: clocks differ. */
export const codeHolds = (secret: string, code: string, at_s: number): boolean =>
  [-STEP_S, 0, STEP_S].some((drift_s) => codeAt(secret, at_s + drift_s) === code.trim())
