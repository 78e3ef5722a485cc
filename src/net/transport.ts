import { ADDRESSES_MAX, type Target } from '../core/address.ts'
import { errorCode } from '../core/error-code.ts'
import type { AttemptError } from '../core/ladder.ts'
import type { Clock, Fetch } from '../outside.ts'
import type { Guard } from './guard.ts'
import { pinnedTo } from './pinned.ts'
import { tls } from './tls.ts'

/** What came of a POST; every failure has a stable code. */
export type Answer =
  /** `body` is what came within the cap and the deadline: it may be cut, the status never is. */
  | { kind: 'answered'; status: number; headers: Headers; body: Uint8Array }
  | { kind: 'failed'; error: AttemptError }

type Post = {
  url: string
  headers: Record<string, string>
  body: Uint8Array
  /** How often it was tried before: each time it begins with another of the addresses. */
  tried?: number
}

/** One POST to an address that a stranger named. Every outcome is a value. */
export type Transport = (post: Post) => Promise<Answer>

const RESPONSE_BYTES_MAX = 64 * 1024

/** Why what watched over an attempt is let go. Without a reason each would make an error, and that costs more than the rest. */
const ENDED = 'ended'

/** How long after the deadline an attempt may still take to notice it. */
const GRACE_MS = 1000

/** Errors that say no connection came about, so that not a byte of ours has left. */
const UNREACHED = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH'])
/** What the peer sent was no HTTP answer to what we asked. */
const UNREADABLE =
  /^(Malformed_HTTP|ResponseHeadersTooLarge|UnrequestedUpgrade|Invalid|Unsupported)/
const TLS =
  /^(EPROTO|ERR_(TLS|SSL)|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|HOSTNAME_|CRL_|INVALID_CA|PATH_LENGTH)/

/**
 * Resolves, checks and dials in one go: the connection goes to the very address that was checked, with the name in
 * SNI, in the certificate check and in Host. Not redirected, not proxied, not inflated, and over by `timeout_ms`.
 * `ca` is trusted beside the public authorities.
 */
export function createTransport({
  fetch,
  clock,
  guard,
  timeout_ms,
  ca,
}: {
  fetch: Fetch
  clock: Clock
  guard: Guard
  timeout_ms: number
  ca?: string
}): Transport {
  // To Bun, a CA of one's own takes the place of all others.
  const trust = ca === undefined ? {} : { ca: [...tls().getCACertificates('bundled'), ca] }

  async function dial(post: Post, target: Target, address: string, signal: AbortSignal) {
    const { href, host, init } = pinnedTo(target, address, trust)
    const response = await fetch(href, {
      ...init,
      method: 'POST',
      headers: { ...post.headers, 'accept-encoding': 'identity', host },
      body: post.body,
      signal,
    })
    const { body, whole } = await readStart(response, signal)
    const { status, headers } = response
    return { answer: { kind: 'answered', status, headers, body }, whole } as const
  }

  async function attempt(post: Post, signal: AbortSignal): Promise<Came> {
    const guarded = await guard(post.url)
    if (!guarded.ok)
      return failed(guarded.refusal === 'unresolved' ? 'dns_failed' : 'target_not_public')
    let error: AttemptError = 'connect_failed'
    for (const address of fromNext(guarded.addresses, post.tried ?? 0)) {
      if (signal.aborted) return failed('timeout')
      try {
        return await dial(post, guarded.target, address, signal)
      } catch (thrown) {
        const code = errorCode(thrown)
        error = signal.aborted ? 'timeout' : errorOf(code)
        if (!UNREACHED.has(code)) break
      }
    }
    return failed(error)
  }

  return async (post) => {
    let open = true
    const over = new AbortController()
    const done = new AbortController()
    const late = clock
      .sleep(timeout_ms, done.signal)
      .then(() => {
        // Woken because the answer is there.
        if (done.signal.aborted) return
        over.abort(ENDED)
        // An answer whose body drips ends here with its status; the moment is for it to come through.
        return clock.sleep(GRACE_MS, done.signal)
      })
      .then(() => failed('timeout'))
    try {
      // The race, too: a deadline must not depend on everything below keeping to the signal.
      const { answer, whole } = await Promise.race([attempt(post, over.signal), late])
      open = !whole
      return answer
    } finally {
      done.abort(ENDED)
      // Closes what is still open, such as a body nobody reads to its end; to tell this to an answer that has come
      // whole would only cost.
      if (open) over.abort(ENDED)
    }
  }
}

/**
 * The addresses that one attempt may try. One at which nobody answers in time takes all of the attempt, and may be the
 * first that is told each time: the next attempt begins with the next.
 */
const fromNext = (addresses: readonly string[], tried: number): string[] => {
  const at = tried % addresses.length
  return [...addresses.slice(at), ...addresses.slice(0, at)].slice(0, ADDRESSES_MAX)
}

/** What came of it, and whether nothing more can come. */
type Came = { answer: Answer; whole: boolean }

const failed = (error: AttemptError): Came => ({ answer: { kind: 'failed', error }, whole: false })

/** The body up to the cap. The status has been given by then, so a body that breaks off takes nothing back. */
async function readStart(
  response: Response,
  signal: AbortSignal,
): Promise<{ body: Uint8Array; whole: boolean }> {
  // Most receivers answer with a status alone; to read the stream of an empty body would cost as much as that of any other.
  if (isEmpty(response.headers) || !response.body) return { body: new Uint8Array(), whole: true }
  const chunks: Uint8Array[] = []
  let size = 0
  let whole = false
  const reader = response.body.getReader()
  const over = new Promise<null>((resolve) =>
    signal.addEventListener('abort', () => resolve(null), { once: true }),
  )
  try {
    while (size < RESPONSE_BYTES_MAX) {
      const chunk = await Promise.race([reader.read(), over])
      whole = chunk?.done ?? false
      if (chunk === null || chunk.done) break
      chunks.push(chunk.value)
      size += chunk.value.length
    }
  } catch {
    // Cut short by the peer: what came, came.
  }
  return { body: Buffer.concat(chunks).subarray(0, RESPONSE_BYTES_MAX), whole }
}

// Of the two, chunks are what Bun goes by.
const isEmpty = (headers: Headers): boolean =>
  headers.get('content-length') === '0' && !headers.has('transfer-encoding')

// Only the code is ever looked at: Bun's errors carry the whole URL beside it.
function errorOf(code: string): AttemptError {
  if (TLS.test(code)) return 'tls_failed'
  if (UNREADABLE.test(code)) return 'bad_answer'
  return 'connect_failed'
}
