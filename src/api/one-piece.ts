import type { HTTPHeaders } from 'elysia'

/** What is smaller leaves Bun in a few writes anyhow, and tells its length. */
const SMALL = 8 * 1024

type Bytes = Uint8Array<ArrayBuffer>

// Of what is answered with again: as it is dressed, and its bytes (null until they are wanted). Both go when it does.
const dressed = new WeakMap<object, object>()
const pieces = new WeakMap<object, Bytes | null>()

/** Notes that a value will be answered with again, and is never changed: what is made of it is kept beside it. */
export function lasts(value: object): void {
  if (!pieces.has(value)) pieces.set(value, null)
}

/** A value as `dress` makes it, always the same way; of one that lasts it is made once, and lasts itself. */
export function dressOnce<T extends object>(value: T, dress: (value: T) => T): T
// What is kept under a value was made of it by the same dress, and so is of its type.
export function dressOnce(value: object, dress: (value: object) => object): object {
  if (!pieces.has(value)) return dress(value)
  const known = dressed.get(value)
  if (known !== undefined) return known
  const made = dress(value)
  dressed.set(value, made)
  lasts(made)
  return made
}

/**
 * The answer for a value: its JSON in one piece. A large body that was made after an await leaves Bun in writes of a
 * thousand bytes, which cost more than all the rest of a read; a stream that gives everything at once leaves in two.
 * Such an answer is chunked and has no Content-Length. Undefined for what is no plain value.
 */
export function inOnePiece(value: unknown, headers: HTTPHeaders): Response | undefined {
  if (!isPlain(value)) return undefined
  headers['content-type'] ??= 'application/json;charset=utf-8'
  const kept = pieces.get(value)
  if (kept) return inTwoWrites(kept)
  const text = jsonOf(value)
  // Elysia wants an answer for an error too: for nothing it would send nothing.
  if (text.length < SMALL) return new Response(text)
  const bytes = new TextEncoder().encode(text)
  if (kept === null) pieces.set(value, bytes)
  return inTwoWrites(bytes)
}

/**
 * The JSON of a value that holds rows, row by row: of small objects it is made twice as fast as of all of them at once.
 */
function jsonOf(value: object): string {
  const members = Object.entries(value)
  if (Array.isArray(value) || !members.some(([, it]) => Array.isArray(it) && it.length > 1))
    return JSON.stringify(value)
  const parts: string[] = []
  for (const [name, member] of members) {
    const text = Array.isArray(member) ? rowsOf(member) : JSON.stringify(member)
    // Undefined: it is no JSON, and is left out as in any object.
    if (text !== undefined) parts.push(`${JSON.stringify(name)}:${text}`)
  }
  return `{${parts.join(',')}}`
}

const rowsOf = (rows: readonly unknown[]): string =>
  `[${rows.map((it) => JSON.stringify(it) ?? 'null').join(',')}]`

const inTwoWrites = (bytes: Bytes): Response =>
  new Response(
    new ReadableStream({
      type: 'direct',
      pull(controller) {
        void controller.write(bytes)
        controller.close()
      },
    }),
  )

/** What Elysia would make JSON of. */
const isPlain = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  (value.constructor === Object || value.constructor === Array)
