import type { HTTPHeaders } from 'elysia'

/** Smaller answers leave Bun in a few writes anyway, and have a Content-Length. */
const SMALL = 8 * 1024

export type Bytes = Uint8Array<ArrayBuffer>

// Per response object: its renamed copy and its serialised bytes (null until needed). Weak, so both
// are freed with it.
const mapped_values = new WeakMap<object, object>()
const cacheable = new WeakMap<object, Bytes | null>()

/**
 * Marks an immutable value that is answered with repeatedly: its renamed copy and its bytes are
 * cached.
 */
export function markShared(value: object): void {
  if (!cacheable.has(value)) cacheable.set(value, null)
}

/** For a shared value the copy is made once and is shared too; `map` must always be the same. */
export function mapOnce<T extends object>(value: T, map: (value: T) => T): T
// A cached copy was made by the same `map`, and so has its type.
export function mapOnce(value: object, map: (value: object) => object): object {
  if (!cacheable.has(value)) return map(value)
  const cached = mapped_values.get(value)
  if (cached !== undefined) return cached
  const result = map(value)
  mapped_values.set(value, result)
  markShared(result)
  return result
}

/**
 * Response for a value: its JSON in one piece; undefined if it is not a plain value.
 * A large answer goes through `send`, as a stream. As a plain body that was created after an await,
 * it would leave Bun in writes of a thousand bytes, which cost more than the rest of a read. A
 * stream is chunked and has no Content-Length.
 */
export function jsonResponse(
  value: unknown,
  headers: HTTPHeaders,
  send: (bytes: Bytes) => Response,
): Response | undefined {
  if (!isPlain(value)) return undefined
  headers['content-type'] ??= 'application/json;charset=utf-8'
  const cached_bytes = cacheable.get(value)
  if (cached_bytes) return send(cached_bytes)
  const text = JSON.stringify(value)
  // Elysia needs a value for an error too: undefined would send an empty response.
  if (text.length < SMALL) return new Response(text)
  const bytes = new TextEncoder().encode(text)
  if (cached_bytes === null) cacheable.set(value, bytes)
  return send(bytes)
}

/** True for values that Elysia would serialise as JSON. */
const isPlain = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  (value.constructor === Object || value.constructor === Array)
