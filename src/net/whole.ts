import { promisify } from 'node:util'

import { errorCode } from '../core/error-code.ts'
import { once } from '../core/once.ts'

/** The largest answer of the platform that is read; a tree of thousands of comments is half of it. */
export const BODY_MAX = 8 * 1024 * 1024

const KNOWN = ['gzip', 'deflate', 'br'] as const
type Packing = (typeof KNOWN)[number]
const PLAIN = 'identity'

/** What we can unpack, for `accept-encoding`. */
export const PACKINGS = KNOWN.join(', ')

const packingOf = (name: string): Packing | null => KNOWN.find((it) => it === name) ?? null

// Loaded with the first packed answer: a start does not need it.
const unpackers = once(async () => {
  const { brotliDecompress, gunzip, inflate } = await import('node:zlib')
  return {
    gzip: promisify(gunzip),
    deflate: promisify(inflate),
    br: promisify(brotliDecompress),
  }
})

/** A body that cannot be unpacked, because it is not packed as it says, or in a way that nobody asked for. */
class Unpackable extends Error {
  override name = 'Unpackable'
}

/** What an answer is read from; `text` reads all of it at once. */
type Answering = {
  body: AsyncIterable<Uint8Array> | null
  headers: Headers
  text?: () => Promise<string>
}

/**
 * A body as text, unpacked here: whoever unpacks while reading does not know when to stop, and a few KiB can be
 * gigabytes. Null once it turns out to be larger than anybody should send. Throws when it is not what it says.
 */
export async function readWhole(answer: Answering): Promise<string | null> {
  const { headers } = answer
  const told = headers.get('content-length')
  if (told !== null && Number(told) > BODY_MAX) return null
  const packing = (headers.get('content-encoding') ?? PLAIN).trim().toLowerCase()
  // A plain body of a told length cannot grow while it is read, and in one piece it costs one copy. One that comes in
  // chunks can, whatever length it tells.
  const is_fixed = told !== null && !headers.has('transfer-encoding')
  if (is_fixed && packing === PLAIN && answer.text) return answer.text()
  // Only now: to look at it makes a stream of what may have come whole.
  const { body } = answer
  if (body === null) return ''
  const bytes = await gatherBytes(body)
  const plain = bytes && (await unpacked(bytes, packing))
  return plain && new TextDecoder().decode(plain)
}

async function unpacked(bytes: Uint8Array, packing: string): Promise<Uint8Array | null> {
  // Some say how an empty body is packed.
  if (packing === PLAIN || bytes.byteLength === 0) return bytes
  const known = packingOf(packing)
  if (known === null) throw new Unpackable('packed in a way that was not asked for')
  const unpack = (await unpackers())[known]
  try {
    return await unpack(bytes, { maxOutputLength: BODY_MAX })
  } catch (error) {
    if (errorCode(error) === 'ERR_BUFFER_TOO_LARGE') return null
    throw new Unpackable('not packed as it says')
  }
}

/** Chunks as bytes; null once they are more than {@link BODY_MAX}. Leaving the loop gives the connection up. */
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
