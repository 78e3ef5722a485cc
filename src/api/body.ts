import { ApiError, invalid } from '../core/errors.ts'
import { isBeyond, type JsonBounds } from '../core/json-bounds.ts'
import type { Words } from '../core/wire.ts'
import type { Clock } from '../outside.ts'
import { whereBroken } from './json.ts'

const MIB = 1024 * 1024
const BODY_MAX = MIB
const IMAGE_BODY_MAX = 8 * MIB
const BODY_WITHIN_MS = 30_000
/** So much of a refused body is read, and for so long, that its sender hears why: all that any call may send. */
const PASSED_MAX = IMAGE_BODY_MAX
const PASSED_WITHIN_MS = 2000
/** The text that a body is decoded to, and what is made of it; its bytes themselves are given back here. */
const LEFT_OF_A_BYTE = 2
/** More than any call of ours needs. */
const BODY_BOUNDS: JsonBounds = { depth: 32, values: 20_000 }

/** How many bytes the body of a call to this path may have. */
export const bodyMax = (words: Words, path: string): number =>
  PICTURES.some((it) => path === words.api + it) || path.startsWith(PASSED_ON)
    ? IMAGE_BODY_MAX
    : BODY_MAX

const PICTURES = ['/profile/avatar', '/profile/banner']
/** Bodies sent here are read where they are passed on to, and measured there once more. */
const PASSED_ON = '/dashboard/api/'
/** These look first whether there is what they are about. */
const READ_LATE = ['/drafts/', '/operator/drafts/', '/mcp']
const BODILESS = ['/unsubscribe/', '/operator/pool/', PASSED_ON, ...READ_LATE]

/** Whether a body sent to this path is left unread: the address says all, or it is read where it is passed on to. */
export const takesNoBody = (path: string): boolean =>
  BODILESS.some((place) => path.startsWith(place))

/** 413, saying how much is allowed. */
export const tooLarge = (max: number): ApiError =>
  new ApiError('BODY_TOO_LARGE', {
    message: `the body must be at most ${max / MIB} MiB`,
    extra: { max_bytes: max },
  })

/** The JSON of a request, never holding more than `max` bytes of it. Throws 400 or 413. */
export type ReadJson = (request: Request, max: number) => Promise<unknown>

type Deps = {
  clock: Clock
  /** Told how many bytes a body has left behind that only the engine can free. */
  sweep: (bytes: number) => void
}

/** What reads the bodies of requests. */
export const createReadJson =
  ({ clock, sweep }: Deps): ReadJson =>
  async (request, max) => {
    mustBeJson(request)
    const bytes = await readBytes(request, max, clock)
    sweep(bytes.byteLength * LEFT_OF_A_BYTE)
    return valueOf(bytes)
  }

function mustBeJson(request: Request): void {
  const type = request.headers.get('content-type')
  if (!/^application\/json *(;|$)/i.test(type ?? ''))
    throw invalid('content-type', 'content-type must be application/json')
  if ((request.headers.get('content-encoding') ?? 'identity') !== 'identity')
    throw invalid('content-encoding', 'content-encoding must be absent: send the body as it is')
}

function valueOf(bytes: Uint8Array): unknown {
  const text = decode(bytes)
  if (text.trim() === '') throw invalid('body', 'body must be a JSON object, it is empty')
  if (isBeyond(text, BODY_BOUNDS))
    throw invalid('body', 'body is nested too deeply or holds too many values')
  return parse(text)
}

async function readBytes(request: Request, max: number, clock: Clock): Promise<Uint8Array> {
  const reader = request.body?.getReader()
  if (!reader) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let length = 0
  const arrived = new AbortController()
  // Beside the reading, for who stops in the middle sends nothing that could wake it.
  const late = clock.sleep(BODY_WITHIN_MS, arrived.signal).then(() => null)
  try {
    for (;;) {
      const next = await Promise.race([reader.read(), late])
      if (next === null) throw tooSlow()
      if (next.done) return joined(chunks, length)
      length += next.value.byteLength
      chunks.push(next.value)
      if (length > max) throw tooLarge(max)
    }
  } catch (error) {
    chunks.forEach(giveBack)
    // Nobody reads the rest. A stream that was broken off cannot be cancelled, and need not be.
    reader.cancel().catch(() => {})
    throw error
  } finally {
    arrived.abort()
  }
}

/**
 * Reads the body of a request that is refused, and forgets it at once. Who still sends when the connection is closed learns
 * that it is broken, and not why. A body that is larger than any call may send is not worth it.
 */
export async function letPass(request: Request, clock: Clock): Promise<void> {
  if (Number(request.headers.get('content-length') ?? 0) > PASSED_MAX) return
  const reader = request.body?.getReader()
  if (!reader) return
  const arrived = new AbortController()
  const late = clock.sleep(PASSED_WITHIN_MS, arrived.signal).then(() => null)
  try {
    for (let passed = 0; passed <= PASSED_MAX;) {
      const next = await Promise.race([reader.read(), late])
      if (next === null || next.done) return
      passed += next.value.byteLength
      giveBack(next.value)
    }
  } catch {
    // Broken off: nobody is there to hear anything.
  } finally {
    arrived.abort()
    reader.cancel().catch(() => {})
  }
}

const tooSlow = () => invalid('body', `body must arrive within ${BODY_WITHIN_MS / 1000} seconds`)

function joined(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const [first] = chunks
  if (first?.byteLength === length) return first
  const whole = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.byteLength
    giveBack(chunk)
  }
  return whole
}

/** The text of a body, whose bytes are gone afterwards. */
function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw invalid('body', 'body must be UTF-8')
  } finally {
    giveBack(bytes)
  }
}

/** Frees what nobody looks at any more. Megabytes a second come in, and the engine sees little of what they weigh. */
function giveBack({ buffer, byteLength }: Uint8Array): void {
  // Of a buffer that is shared the rest may be somebody else's.
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    const at = whereBroken(text)
    const found = at < text.length ? `found ${JSON.stringify(text[at])}` : 'it ends too early'
    throw invalid('body', `body is not valid JSON at position ${at}: ${found}`)
  }
}
