import { promisify } from 'node:util'

import { errorCode } from '../core/base/errors.ts'
import { once } from '../core/base/lazy.ts'

/** Maximum bytes of an answer; a tree of thousands of comments is half of that. */
export const BODY_MAX = 8 * 1024 * 1024

const SUPPORTED = ['gzip', 'deflate', 'br'] as const
type Encoding = (typeof SUPPORTED)[number]
const PLAIN = 'identity'

/** Supported encodings, for `accept-encoding`. */
export const ENCODINGS = SUPPORTED.join(', ')

const encodingOf = (name: string): Encoding | null => SUPPORTED.find((it) => it === name) ?? null

// Loaded with the first compressed answer: a start does not need it.
const unpackers = once(async () => {
  const { brotliDecompress, gunzip, inflate } = await import('node:zlib')
  return {
    gzip: promisify(gunzip),
    deflate: promisify(inflate),
    br: promisify(brotliDecompress),
  }
})

/**
 * A body that cannot be decompressed: it does not match its encoding, or the encoding was not
 * requested.
 */
class Unpackable extends Error {
  override name = 'Unpackable'
}

/** The parts of a response that are read; `text` reads the body at once. */
type ReadableResponse = {
  body: AsyncIterable<Uint8Array> | null
  headers: Headers
  text?: () => Promise<string>
}

/**
 * Reads a body as text and decompresses it here: a decompressor in the reader knows no limit, and a
 * few KiB can become gigabytes. Null if it exceeds {@link BODY_MAX}.
 * @throws {Unpackable} if the body does not match its content encoding
 */
export async function readBody(answer: ReadableResponse): Promise<string | null> {
  const { headers } = answer
  const content_length = headers.get('content-length')
  if (content_length !== null && Number(content_length) > BODY_MAX) return null
  const encoding = (headers.get('content-encoding') ?? PLAIN).trim().toLowerCase()
  // A plain body with a Content-Length cannot grow while it is read, and read at once it costs one
  // copy. A chunked one can grow, even with a Content-Length.
  const is_fixed = content_length !== null && !headers.has('transfer-encoding')
  if (is_fixed && encoding === PLAIN && answer.text) return answer.text()
  // Read late: access to `body` turns a complete answer into a stream.
  const { body } = answer
  if (body === null) return ''
  const bytes = await gatherBytes(body)
  const plain = bytes && (await unpacked(bytes, encoding))
  return plain && new TextDecoder().decode(plain)
}

async function unpacked(bytes: Uint8Array, encoding: string): Promise<Uint8Array | null> {
  // Some servers state an encoding for an empty body.
  if (encoding === PLAIN || bytes.byteLength === 0) return bytes
  const supported = encodingOf(encoding)
  if (supported === null) throw new Unpackable('content encoding that was not requested')
  const unpack = (await unpackers())[supported]
  try {
    return await unpack(bytes, { maxOutputLength: BODY_MAX })
  } catch (error) {
    if (errorCode(error) === 'ERR_BUFFER_TOO_LARGE') return null
    throw new Unpackable('body does not match its content encoding')
  }
}

/**
 * Chunks as bytes; null if they exceed {@link BODY_MAX}. Leaving the loop closes the connection.
 */
async function gatherBytes(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array | null> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const chunk of chunks) {
    size += chunk.byteLength
    if (size > BODY_MAX) return null
    parts.push(chunk)
  }
  return Buffer.concat(parts)
}
