/** The largest answer of the platform that is read; a tree of thousands of comments is half of it. */
export const BODY_MAX = 8 * 1024 * 1024

/** A body as text; null once it turns out to be larger than anybody should send. */
export async function readWhole(response: Response): Promise<string | null> {
  const told = response.headers.get('content-length')
  const packed = response.headers.has('content-encoding')
  // A plain body of a told length cannot grow while it is read.
  if (told !== null && !packed && Number(told) <= BODY_MAX) return response.text()
  if (!response.body) return ''
  return gather(response.body)
}

/** Chunks as text; null once they are too many. Leaving the loop gives the connection up. */
async function gather(chunks: AsyncIterable<Uint8Array>): Promise<string | null> {
  const bytes = await gatherBytes(chunks)
  return bytes && new TextDecoder().decode(bytes)
}

/** Chunks as bytes; null once they are more than {@link BODY_MAX}. */
export async function gatherBytes(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array | null> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const chunk of chunks) {
    size += chunk.byteLength
    if (size > BODY_MAX) return null
    parts.push(chunk)
  }
  return Buffer.concat(parts)
}
