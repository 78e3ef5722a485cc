// Run: node verify.mjs PUBLIC_KEY ID TIMESTAMP SIGNATURE < body
import { createPublicKey, verify as verifyBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** Verifies that the raw `body` (a Buffer) was signed with the private key of `public_key`, at most 300 s from `now_s`. */
function verify(public_key, { id, timestamp, signature }, body, now_s) {
  const fresh = /^[0-9]{1,12}$/.test(timestamp) && Math.abs(now_s - Number(timestamp)) <= 300
  if (!fresh || !public_key.startsWith('whpk_')) return false
  const x = Buffer.from(public_key.slice(5), 'base64').toString('base64url')
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  const signed = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body])
  return signature.split(' ').some((part) => {
    const [version, value = ''] = part.split(',')
    return version === 'v1a' && verifyBytes(null, signed, key, Buffer.from(value, 'base64'))
  })
}

const [public_key, id, timestamp, signature] = process.argv.slice(2)
const valid = verify(public_key, { id, timestamp, signature }, readFileSync(0), Date.now() / 1000)
process.exit(valid ? 0 : 1)
