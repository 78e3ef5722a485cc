import { ApiError, invalid } from '../../core/base/errors.ts'
import type { Naming } from '../../core/forum/naming.ts'
import { isBeyond, type JsonBounds } from '../../core/limits/json-bounds.ts'
import type { Clock } from '../../runtime/runtime.ts'
import { isUpload } from './routes.ts'

const MIB = 1024 * 1024
const BODY_MAX = MIB
const IMAGE_BODY_MAX = 8 * MIB
const BODY_TIMEOUT_MS = 30_000
/**
 * Limits for draining a refused body so that its sender can read the error: the largest body of any
 * call, and 2 s.
 */
const DRAIN_BYTES_MAX = IMAGE_BODY_MAX
const DRAIN_TIMEOUT_MS = 2000
/** Each drain uses one or two MiB of the server's buffers. */
const DRAINS_MAX = 8
/** Memory per byte of a body: the bytes, their text and the parsed value. */
const HELD_PER_BYTE = 3
export const heldFor = (bytes: number): number => bytes * HELD_PER_BYTE

/** Content-Length of a request; 0 if absent. */
export const announcedBytes = ({ headers }: Request): number =>
  Number(headers.get('content-length') ?? 0)

/** JSON bounds above the needs of every call. */
const BODY_BOUNDS: JsonBounds = { depth: 32, values: 20_000 }

/** The body holds an API key only, and any caller may send it. */
const SIGN_IN_BODY_MAX = 16 * 1024

/** Maximum bytes of a body sent to this path. */
export function bodyMax(words: Naming, path: string): number {
  if (path === '/dashboard/session') return SIGN_IN_BODY_MAX
  return isUpload(words, path) || path.startsWith(FORWARDED_PATH) ? IMAGE_BODY_MAX : BODY_MAX
}

/** Bodies sent here are read and measured by the route they are forwarded to. */
const FORWARDED_PATH = '/dashboard/api/'
/** These routes check that their resource exists before they read the body. */
const DEFERRED_BODY_PATHS = ['/drafts/', '/operator/drafts/', '/mcp']
const BODILESS = [
  '/confirm/',
  '/connect/',
  '/unsubscribe/',
  '/operator/pool/',
  FORWARDED_PATH,
  ...DEFERRED_BODY_PATHS,
]

/**
 * True if a body sent to this path is left unread: none is needed, or it is read after forwarding.
 */
export const takesNoBody = (path: string): boolean =>
  BODILESS.some((place) => path.startsWith(place))

/** Creates a 413 error that states the limit. */
export const tooLarge = (max: number): ApiError =>
  new ApiError('BODY_TOO_LARGE', {
    message: `the body must be at most ${max < MIB ? `${max / 1024} KiB` : `${max / MIB} MiB`}`,
    extra: { max_bytes: max },
  })

/**
 * Reads the JSON of a request, holding at most `max` bytes.
 * @throws {ApiError} 400 or 413
 */
export type ReadJson = (request: Request, max: number) => Promise<unknown>

type Deps = {
  clock: Clock
  /** @throws {ApiError} if there is no room for them */
  hold: (request: Request, bytes: number) => void
}

export const createReadJson =
  ({ clock, hold }: Deps): ReadJson =>
  async (request, max) => {
    mustBeJson(request)
    return valueOf(await readBytes(request, max, { clock, hold }))
  }

function mustBeJson(request: Request): void {
  const type = request.headers.get('content-type')
  if (!/^application\/json *(;|$)/i.test(type ?? ''))
    throw invalid('content-type', 'content-type must be application/json')
  if ((request.headers.get('content-encoding') ?? 'identity') !== 'identity')
    throw invalid('content-encoding', 'content-encoding must be absent: send the body uncompressed')
}

function valueOf(bytes: Uint8Array): unknown {
  const text = decode(bytes)
  if (text.trim() === '') throw invalid('body', 'body must be a JSON object; it is empty')
  if (isBeyond(text, BODY_BOUNDS))
    throw invalid('body', 'body is nested too deeply or holds too many values')
  return parse(text)
}

async function readBytes(
  request: Request,
  max: number,
  { clock, hold }: Pick<Deps, 'clock' | 'hold'>,
): Promise<Uint8Array> {
  // The Content-Length was counted at admission.
  let counted = announcedBytes(request)
  const reader = request.body?.getReader()
  if (!reader) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let length = 0
  const arrived = new AbortController()
  // Runs beside the read: a sender that stalls produces no event that could end it.
  const timeout = clock.sleep(BODY_TIMEOUT_MS, arrived.signal).then(() => null)
  try {
    for (;;) {
      const next = await Promise.race([reader.read(), timeout])
      if (next === null) throw tooSlow()
      if (next.done) return concat(chunks, length)
      length += next.value.byteLength
      chunks.push(next.value)
      if (length > max) throw tooLarge(max)
      if (length > counted) {
        hold(request, heldFor(length - counted))
        counted = length
      }
    }
  } catch (error) {
    chunks.forEach(releaseBuffer)
    // The rest stays unread. A stream that has failed cannot be cancelled, and need not be.
    reader.cancel().catch(() => {})
    throw error
  } finally {
    arrived.abort()
  }
}

/**
 * True if the server itself reads a refused request to its end: on a kept connection, with a
 * Content-Length that is not too large.
 */
export const isDiscarded = (request: Request): boolean =>
  !request.headers.has('transfer-encoding') &&
  !/\bclose\b/i.test(request.headers.get('connection') ?? '') &&
  announcedBytes(request) <= DRAIN_BYTES_MAX

/**
 * Reads and discards the body of a refused request: a client that is still sending when its
 * connection closes sees a reset instead of the error.
 * A body larger than any call may send is not read, and none is while many others are.
 */
export function createDrain(clock: Clock): (request: Request) => Promise<void> {
  let draining = 0
  return async (request) => {
    if (announcedBytes(request) > DRAIN_BYTES_MAX || draining >= DRAINS_MAX) return
    const reader = request.body?.getReader()
    if (!reader) return
    draining += 1
    const arrived = new AbortController()
    const timeout = clock.sleep(DRAIN_TIMEOUT_MS, arrived.signal).then(() => null)
    try {
      for (let passed = 0; passed <= DRAIN_BYTES_MAX;) {
        const next = await Promise.race([reader.read(), timeout])
        if (next === null || next.done) return
        passed += next.value.byteLength
        releaseBuffer(next.value)
      }
    } catch {
      // The client has disconnected.
    } finally {
      draining -= 1
      arrived.abort()
      reader.cancel().catch(() => {})
    }
  }
}

const tooSlow = () => invalid('body', `body must arrive within ${BODY_TIMEOUT_MS / 1000} seconds`)

function concat(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const [first] = chunks
  if (first?.byteLength === length) return first
  const whole = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.byteLength
    releaseBuffer(chunk)
  }
  return whole
}

/** Decodes a body and releases its bytes. */
function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw invalid('body', 'body must be UTF-8')
  } finally {
    releaseBuffer(bytes)
  }
}

/**
 * Releases a buffer at once. Megabytes arrive per second, and the engine's GC does not count their
 * size.
 */
function releaseBuffer({ buffer, byteLength }: Uint8Array): void {
  // The rest of a shared buffer may be in use.
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The parser's message quotes words of the body, which may be secrets or a megabyte long.
    throw invalid('body', 'body is not valid JSON')
  }
}
