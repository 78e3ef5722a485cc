import type { HTTPHeaders } from 'elysia'

/** What is smaller leaves Bun in a few writes anyhow, and tells its length. */
const SMALL = 8 * 1024

/**
 * The answer for a value: its JSON in one piece. A large body that was made after an await leaves Bun in writes of a
 * thousand bytes, which cost more than all the rest of a read; a stream that gives everything at once leaves in two.
 * Such an answer is chunked and has no Content-Length. Undefined for what is no plain value.
 */
export function inOnePiece(value: unknown, headers: HTTPHeaders): Response | undefined {
  if (!isPlain(value)) return undefined
  const text = JSON.stringify(value)
  headers['content-type'] ??= 'application/json;charset=utf-8'
  // Elysia wants an answer for an error too: for nothing it would send nothing.
  if (text.length < SMALL) return new Response(text)
  const bytes = new TextEncoder().encode(text)
  return new Response(
    new ReadableStream({
      type: 'direct',
      pull(controller) {
        void controller.write(bytes)
        controller.close()
      },
    }),
  )
}

/** What Elysia would make JSON of. */
const isPlain = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (value.constructor === Object || value.constructor === Array)
