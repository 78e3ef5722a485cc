import type { HTTPHeaders } from 'elysia'

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
 * Limits for draining a body that no route reads, so that its sender can read the answer: bytes, seconds without a byte, and
 * seconds in all.
 */
const DRAIN_BYTES_MAX = IMAGE_BODY_MAX + MIB
const DRAIN_QUIET_MS = 2000
const DRAIN_MAX_MS = 10_000
/** Drains at a time, and those that wait for one: each uses some MiB of the server's buffers. */
const DRAINS_MAX = 8
const WAITING_MAX = 8
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

export function bodyMax(words: Naming, path: string): number {
  if (path === '/dashboard/session') return SIGN_IN_BODY_MAX
  return isUpload(words, path) || path.startsWith(FORWARDED_PATH) ? IMAGE_BODY_MAX : BODY_MAX
}

/** Bodies sent here are read and measured by the route they are forwarded to. */
const FORWARDED_PATH = '/dashboard/api/'
/** These routes check that their resource exists before they read the body. */
const DEFERRED_BODY_PATHS = ['/drafts/', '/mcp']
const NEVER_READ = ['/confirm/', '/connect/', '/unsubscribe/', '/operator/pool/']
const BODILESS = [...NEVER_READ, FORWARDED_PATH, ...DEFERRED_BODY_PATHS]

/** True if no route at this path reads a body. */
export const leavesBodyUnread = (method: string, path: string): boolean =>
  ['GET', 'HEAD', 'OPTIONS', 'DELETE'].includes(method) ||
  NEVER_READ.some((place) => path.startsWith(place))

/**
 * True if a body sent to this path is left unread: none is needed, or it is read after forwarding.
 */
export const takesNoBody = (path: string): boolean =>
  BODILESS.some((place) => path.startsWith(place))

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
  let is_late = false
  const arrived = new AbortController()
  // Runs beside the read: a sender that stalls produces no event that could end it.
  const timeout = clock.sleep(BODY_TIMEOUT_MS, arrived.signal).then(() => null)
  try {
    for (;;) {
      const next = await Promise.race([reader.read(), timeout])
      if (next === null) {
        is_late = true
        throw tooSlow()
      }
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
    throw error
  } finally {
    arrived.abort()
    // A read that is late holds the body for good: nothing can drain it.
    if (!is_late) reader.releaseLock()
  }
}

/**
 * Reads and discards the rest of a request's body before its answer is sent: a client or proxy that is still sending when
 * the connection closes sees a reset instead of the answer, and one whose connection is kept takes the rest for the next
 * request. Where the body is too large or too slow for that, the answer closes the connection.
 */
export type Drain = (request: Request, headers: HTTPHeaders) => Promise<void>

export function createDrain(clock: Clock): Drain {
  let draining = 0
  const waiting: (() => void)[] = []

  async function readToEnd(request: Request): Promise<boolean> {
    const { body } = request
    if (body === null) return true
    if (body.locked || announcedBytes(request) > DRAIN_BYTES_MAX) return false
    const reader = body.getReader()
    const arrived = new AbortController()
    let passed = 0
    const late = (async () => {
      for (let waited_ms = 0, before = -1; waited_ms < DRAIN_MAX_MS && passed > before;) {
        before = passed
        await clock.sleep(DRAIN_QUIET_MS, arrived.signal)
        waited_ms += DRAIN_QUIET_MS
        if (arrived.signal.aborted) break
      }
      return null
    })()
    try {
      while (passed <= DRAIN_BYTES_MAX) {
        const next = await Promise.race([reader.read(), late])
        if (next === null) return false
        if (next.done) return true
        passed += next.value.byteLength
        releaseBuffer(next.value)
      }
      return false
    } catch {
      // The client has disconnected.
      return false
    } finally {
      arrived.abort()
      reader.cancel().catch(() => {})
    }
  }

  return async (request, headers) => {
    if (!hasBody(request)) return
    if (waiting.length >= WAITING_MAX) {
      headers['connection'] = 'close'
      return
    }
    // A place is passed on, not given up.
    if (draining >= DRAINS_MAX) await new Promise<void>((resolve) => waiting.push(resolve))
    else draining += 1
    try {
      if (!(await readToEnd(request))) headers['connection'] = 'close'
    } finally {
      const next = waiting.shift()
      if (next) next()
      else draining -= 1
    }
  }
}

/** True if a request announces a body, of any size. */
const hasBody = (request: Request): boolean =>
  request.headers.has('transfer-encoding') || announcedBytes(request) > 0

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

/** Megabytes arrive per second, and the engine's GC does not count their size. */
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
