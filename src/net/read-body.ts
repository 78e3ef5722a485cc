import { promisify } from 'node:util'

import { errorCode } from '../core/base/errors.ts'
import { once } from '../core/base/lazy.ts'
import { nextTurn } from '../core/base/turns.ts'

const MIB = 1024 * 1024
/** Maximum bytes of an answer, unless its request has a lower one; a tree of thousands of comments is half of that. */
export const BODY_MAX = 8 * MIB
/** Bytes of large answers that are received, or wait to be parsed, of all sources together: others wait meanwhile. */
export const BODIES_MAX = 48 * MIB
/** Answers that are unpacked, or wait for that turn, at once. */
const UNPACKED_MAX = 4
/** An answer beyond that is counted, and parsed in a turn of its own. */
const LARGE = 128 * 1024

const SUPPORTED = ['gzip', 'deflate', 'br'] as const
/** Codings of one answer; more are no answer to a request. */
const CODINGS_MAX = 4

/** Supported encodings, for `accept-encoding`. */
export const ENCODINGS = SUPPORTED.join(', ')

/** Codings of a header in the order of their application (RFC 9110, 8.4); an empty element is none. */
const codingsOf = (header: string): string[] =>
  header
    .toLowerCase()
    .split(',')
    .map((it) => it.trim().replace(/^x-(?=gzip$)/, ''))
    .filter((it) => it !== '' && it !== 'identity')

// Loaded with the first compressed answer: a start does not need it.
const unpackers = once(async () => {
  const { brotliDecompress, gunzip, inflate, inflateRaw } = await import('node:zlib')
  const [zlib, raw] = [promisify(inflate), promisify(inflateRaw)]
  return new Map<
    string,
    (bytes: Uint8Array, bounds: { maxOutputLength: number }) => Promise<Buffer>
  >([
    ['gzip', promisify(gunzip)],
    // Some servers leave out the header of zlib (RFC 9110, 8.4.1.2).
    ['deflate', (bytes, bounds) => (hasZlibHeader(bytes) ? zlib : raw)(bytes, bounds)],
    ['br', promisify(brotliDecompress)],
  ])
})

/**
 * A body that cannot be decompressed: it does not match its encoding, or the encoding was not
 * requested.
 */
export class Unpackable extends Error {
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
 * few KiB can become gigabytes. Null if it exceeds `bytes_max`. `as_bytes`: each character of the text is a byte.
 * @throws {Unpackable} if the body does not match its content encoding
 */
export async function readBody(
  answer: ReadableResponse,
  bytes_max = BODY_MAX,
  as_bytes = false,
): Promise<string | null> {
  const { headers } = answer
  const content_length = headers.get('content-length')
  if (content_length !== null && Number(content_length) > bytes_max) return null
  const codings = codingsOf(headers.get('content-encoding') ?? '')
  // A plain body with a Content-Length cannot grow while it is read, and read at once it costs one
  // copy. A chunked one can grow, even with a Content-Length.
  const is_fixed = content_length !== null && !headers.has('transfer-encoding')
  const is_small = is_fixed && Number(content_length) <= LARGE
  if (is_small && codings.length === 0 && answer.text && !as_bytes) return answer.text()
  // Read late: access to `body` turns a complete answer into a stream.
  const { body } = answer
  if (body === null) return ''
  const own: Held = { bytes: 0, is_packed: false }
  held.add(own)
  try {
    const bytes = await gatherBytes(body, bytes_max, own)
    if (bytes === null) return null
    if (codings.length > 0) {
      await room(() => [...held].filter((it) => it.is_packed).length < UNPACKED_MAX)
      own.is_packed = true
    }
    const plain = await unpacked(bytes, codings, bytes_max)
    if (plain !== null && plain.byteLength > LARGE) await nextTurn()
    if (as_bytes) return plain && Buffer.from(plain).toString('latin1')
    return plain && new TextDecoder().decode(plain)
  } finally {
    held.delete(own)
    freed.resolve()
    freed = Promise.withResolvers()
  }
}

type Held = { bytes: number; is_packed: boolean }
/** Bodies that are being read, the oldest first. */
const held = new Set<Held>()
let freed = Promise.withResolvers<void>()

async function room(isRoom: () => boolean): Promise<void> {
  while (!isRoom()) await freed.promise
}

/** Waits until there is room for more bytes of a body. The oldest one never waits, so that there is always one that ends. */
async function hold(own: Held, bytes: number): Promise<void> {
  await room(() => {
    const [oldest] = held
    return own === oldest || [...held].reduce((sum, it) => sum + it.bytes, bytes) <= BODIES_MAX
  })
  own.bytes += bytes
}

async function unpacked(
  packed: Uint8Array,
  codings: readonly string[],
  bytes_max: number,
): Promise<Uint8Array | null> {
  if (codings.length > CODINGS_MAX) throw new Unpackable('too many content codings')
  let bytes = packed
  for (const coding of codings.toReversed()) {
    // Some servers state a coding for an empty body.
    if (bytes.byteLength === 0) return bytes
    const unpack = (await unpackers()).get(coding)
    if (unpack === undefined) throw new Unpackable('content coding that was not requested')
    try {
      bytes = await unpack(bytes, { maxOutputLength: bytes_max })
    } catch (error) {
      if (errorCode(error) === 'ERR_BUFFER_TOO_LARGE') return null
      throw new Unpackable('body does not match its content coding')
    }
  }
  return bytes
}

/** A zlib stream begins with its method and a check of both bytes (RFC 1950, 2.2). */
const hasZlibHeader = ([first = 0, second = 0]: Uint8Array): boolean =>
  (first & 0x0f) === 8 && ((first << 8) | second) % 31 === 0

/**
 * Chunks as bytes; null if they exceed `bytes_max`. Leaving the loop closes the connection.
 */
async function gatherBytes(
  chunks: AsyncIterable<Uint8Array>,
  bytes_max: number,
  own: Held,
): Promise<Uint8Array | null> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const chunk of chunks) {
    size += chunk.byteLength
    if (size > bytes_max) return null
    parts.push(chunk)
    if (size > LARGE) await hold(own, size - own.bytes)
  }
  return Buffer.concat(parts)
}
