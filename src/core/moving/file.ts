import { createCipheriv, createDecipheriv, createHash, hash } from 'node:crypto'

import * as z from 'zod'

import { once } from '../base/lazy.ts'

// The file that moves a customer: one line of JSON in clear text, then encrypted frames, each after its length, then a length
// of 0 and the SHA-256 of everything before. The header tells an operator which file it is; everything of the customer is
// encrypted. The digest finds damage without the key, the tags of the frames find changes on purpose.

/** Clear text at the beginning of a file. */
export type MoveHeader = {
  forumd: 'customer'
  format: 1
  /** Digest of the schema of the database that it was written from, see {@link schemaDigest}. */
  schema: string
  /** The instance that wrote it. */
  instance_id: string
  customer_id: string
  /** Epoch ms. */
  exported_at: number
  /** Rows in the file. */
  rows: number
}

/** Longest header, bytes. */
export const HEADER_MAX = 4096
/** Longest frame, bytes: it is decrypted as a whole. */
export const FRAME_MAX = 64 * 1024 * 1024
/** Bytes of a frame's length. */
export const LENGTH_BYTES = 4
/** Bytes after the last frame: a length of 0 and the digest. */
export const END_BYTES = LENGTH_BYTES + 32

const NONCE_BYTES = 12
const TAG_BYTES = 16

/** A file that moves a customer cannot be used. The message gives the reason. */
export class UnusableFile extends Error {
  override name = 'UnusableFile'
}

/** A digest of all migrations: the columns of two builds with the same one are the same. */
export const schemaDigest = (migrations: readonly string[]): string =>
  hash('sha256', migrations.join('\0'), 'hex').slice(0, 16)

/** The header as the first line of a file. */
export const writeHeader = (header: MoveHeader): Uint8Array =>
  new TextEncoder().encode(`${JSON.stringify(header)}\n`)

const headerShape = once(() =>
  z.object({
    forumd: z.literal('customer'),
    format: z.literal(1),
    schema: z.string(),
    instance_id: z.string(),
    customer_id: z.string(),
    exported_at: z.int(),
    rows: z.int(),
  }),
)

/** The header of a file; null if it is no file of this kind. */
export function readHeader(line: string): MoveHeader | null {
  try {
    return headerShape().safeParse(JSON.parse(line)).data ?? null
  } catch {
    return null
  }
}

/** Encrypts and decrypts the frames of one file. A key is used for one file, so that counted nonces never repeat. */
export type Frames = {
  /** Encrypts the next frame. `last`: none follows, so that a file without it is refused. */
  seal(frame: Uint8Array, last: boolean): Uint8Array
  /**
   * Decrypts the next frame.
   * @throws {UnusableFile} the key is another, or the frame was changed
   */
  open(sealed: Uint8Array, last: boolean): Uint8Array
}

/** Frames of the file with this key and first line. */
export function createFrames(key: Uint8Array, header: Uint8Array): Frames {
  let count = 0
  const next = (last: boolean) => {
    const nonce = Buffer.alloc(NONCE_BYTES)
    nonce.writeUInt32BE(count++, NONCE_BYTES - 4)
    const bound = createHash('sha256')
      .update(header)
      .update(last ? 'last' : 'more')
      .digest()
    return { nonce, bound }
  }
  return {
    seal(frame, last) {
      const { nonce, bound } = next(last)
      const cipher = createCipheriv('aes-256-gcm', key, nonce)
      cipher.setAAD(bound)
      return Buffer.concat([cipher.update(frame), cipher.final(), cipher.getAuthTag()])
    },
    open(sealed, last) {
      const { nonce, bound } = next(last)
      const tag_at = sealed.length - TAG_BYTES
      const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
      decipher.setAAD(bound)
      try {
        decipher.setAuthTag(sealed.subarray(tag_at))
        return Buffer.concat([decipher.update(sealed.subarray(0, tag_at)), decipher.final()])
      } catch {
        throw new UnusableFile('the key does not belong to this file, or the file was changed')
      }
    },
  }
}
