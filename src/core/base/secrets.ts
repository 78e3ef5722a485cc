import { createCipheriv, createDecipheriv, createHmac, hash } from 'node:crypto'

const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const KEYS_MAX = 255

/**
 * Seals secrets before they are stored. The newest key seals; a secret opens with the key that
 * sealed it while that key is in the ring.
 */
export type Ring = {
  /** Public name of the ring: 16 hex digits of its first key's hash. */
  fingerprint: string
  /** `place` is `table.column:rowid`: a secret sealed for one place does not open in another. */
  seal(place: string, text: string): Uint8Array
  /**
   * @throws {SealBroken} if the bytes were changed, moved, or sealed by a key that is not in the
   * ring
   */
  unseal(place: string, sealed: Uint8Array): string
  /**
   * Proofs, in base64url, that this ring produced a text: the newest key's first, then each older
   * key's.
   */
  proofs(text: string): string[]
}

/** Sealed secret that cannot be opened: wrong key file, or modified bytes. */
export class SealBroken extends Error {
  override name = 'SealBroken'
}

/**
 * Ring of one or more keys of 32 bytes each, oldest first, as in the key file.
 * @throws {RangeError} if `bytes` is not a whole number of keys within the limits
 */
export function createRing(bytes: Uint8Array, random_bytes: (count: number) => Uint8Array): Ring {
  const count = bytes.length / KEY_BYTES
  if (!Number.isInteger(count) || count < 1 || count > KEYS_MAX)
    throw new RangeError(`a key file holds 1 to ${KEYS_MAX} keys of ${KEY_BYTES} bytes`)
  const keyOf = (id: number) => bytes.subarray(id * KEY_BYTES, (id + 1) * KEY_BYTES)
  const newest = count - 1

  return {
    fingerprint: hash('sha256', keyOf(0), 'hex').slice(0, 16),

    // One byte for the key number, then nonce, ciphertext and tag.
    seal(place, text) {
      const nonce = random_bytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', keyOf(newest), nonce)
      cipher.setAAD(boundTo(place, newest))
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return new Uint8Array(
        Buffer.concat([Uint8Array.of(newest), nonce, body, cipher.getAuthTag()]),
      )
    },

    unseal(place, sealed) {
      const [id = 0] = sealed
      if (id > newest || sealed.length < 1 + NONCE_BYTES + TAG_BYTES) throw broken(place)
      const body_at = 1 + NONCE_BYTES
      const tag_at = sealed.length - TAG_BYTES
      const decipher = createDecipheriv('aes-256-gcm', keyOf(id), sealed.subarray(1, body_at), {
        authTagLength: TAG_BYTES,
      })
      decipher.setAAD(boundTo(place, id))
      decipher.setAuthTag(sealed.subarray(tag_at))
      try {
        const text = Buffer.concat([
          decipher.update(sealed.subarray(body_at, tag_at)),
          decipher.final(),
        ])
        return text.toString('utf8')
      } catch {
        throw broken(place)
      }
    },

    // Derived, so that proofs and sealing never share a key.
    proofs: (text) =>
      Array.from({ length: count }, (_, at) => {
        const key = createHmac('sha256', keyOf(newest - at))
          .update('proofs')
          .digest()
        return createHmac('sha256', key).update(text).digest('base64url')
      }),
  }
}

const boundTo = (place: string, id: number) => Buffer.from(`${place}:${id}`)

const broken = (place: string) =>
  new SealBroken(`the secret sealed at ${place} does not open; check that this is its key file`)
