import { createPrivateKey, createPublicKey, sign } from 'node:crypto'

/** An Ed25519 signature (RFC 8032) of a text, and the public key in PEM that verifies it. */
export type Signed = { signature: Buffer; public_key: string }

/**
 * Signs a text with a private key in PEM. `openssl pkeyutl -verify -rawin` verifies it.
 *
 * @throws {Error} if the key is not one of Ed25519
 */
export function signed(text: string, private_key: string): Signed {
  const key = createPrivateKey(private_key)
  if (key.asymmetricKeyType !== 'ed25519')
    throw new Error(`the key must be ed25519, not ${key.asymmetricKeyType ?? 'unknown'}`)
  return {
    signature: sign(null, Buffer.from(text), key),
    public_key: createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString(),
  }
}
