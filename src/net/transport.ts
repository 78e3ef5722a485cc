import { ADDRESSES_MAX, type AddressTarget } from '../core/base/address.ts'
import { errorCode } from '../core/base/errors.ts'
import type { AttemptError } from '../core/delivery/retry.ts'
import type { Clock, Fetch } from '../runtime/runtime.ts'
import type { Guard } from './guard.ts'
import { isOutOfFiles, saysOutOfFiles } from './out-of-files.ts'

export type Pinned = { href: string; host: string; init: BunFetchRequestInit }

/**
 * Pins a target to one of its checked addresses. The connection goes to that address, with the name
 * in SNI, in the certificate check and in Host. No redirects, no proxy, no decompression. `trust`
 * replaces the usual certificate authorities.
 */
export function pinnedTo(
  { url, host, literal }: AddressTarget,
  address: string,
  trust: { ca?: string[] } = {},
): Pinned {
  const dialled = new URL(url)
  dialled.hostname = bracketed(address)
  const name = bracketed(host)
  return {
    href: dialled.href,
    host: url.port === '' ? name : `${name}:${url.port}`,
    init: {
      redirect: 'manual',
      decompress: false,
      proxy: false,
      // A certificate lists an IP address itself; SNI is for names only.
      ...(url.protocol === 'https:' && {
        tls: literal === null ? { serverName: host, ...trust } : trust,
      }),
    },
  }
}

const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host)

/**
 * Node's TLS module, loaded on first use: an import would also load the list of public authorities.
 */
export const tls = (): typeof import('node:tls') => process.getBuiltinModule('node:tls')

/** Result of a request; every failure has a stable code. */
export type TransportResponse =
  /**
   * `body` is the part received within the size and time limits: it may be truncated, the status
   * never is.
   */
  | { kind: 'answered'; status: number; headers: Headers; body: Uint8Array }
  | { kind: 'failed'; error: AttemptError }

type Post = {
  url: string
  /** Default: POST. */
  method?: 'POST' | 'PUT'
  headers: Record<string, string>
  body: Uint8Array
  /** Number of earlier attempts: each one starts with another of the addresses. */
  tried?: number
}

/** One request to an address that an external party named. Every outcome is a value. */
export type Transport = (post: Post) => Promise<TransportResponse>

const RESPONSE_BYTES_MAX = 64 * 1024

/**
 * Abort reason of timers that are no longer needed. Without a reason, each abort creates an error,
 * which costs more than the rest.
 */
const ENDED = 'ended'

/** Time after the deadline for an attempt to end by itself. */
const GRACE_MS = 1000

/** A deadline is so late, ms, only if this process did not run: its machine was busy, or it was stopped. */
const LATE_MS = 50
/** Bound of the time to read what came in meanwhile. */
const READ_MAX_MS = 400

/** Errors without a connection, so that no byte was sent. */
export const UNREACHED = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH'])
/** The peer's bytes were not a valid HTTP response. */
const UNREADABLE =
  /^(Malformed_HTTP|ResponseHeadersTooLarge|UnrequestedUpgrade|Invalid|Unsupported)/
const TLS =
  /^(EPROTO|ERR_(TLS|SSL)|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|HOSTNAME_|CRL_|INVALID_CA|PATH_LENGTH)/

/**
 * Creates a transport that resolves, checks and dials in one step. The connection goes to the
 * checked address, with the name in SNI, in the certificate check and in Host. No redirects, no
 * proxy, no decompression, and an end after `timeout_ms`. `ca` is trusted in addition to the public
 * authorities.
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
  // In Bun, a custom CA replaces all others.
  const trust = ca === undefined ? {} : { ca: [...tls().getCACertificates('bundled'), ca] }

  async function dial(post: Post, target: AddressTarget, address: string, signal: AbortSignal) {
    const { href, host, init } = pinnedTo(target, address, trust)
    const response = await fetch(href, {
      ...init,
      method: post.method ?? 'POST',
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
    if (!guarded.ok) {
      if (guarded.refusal !== 'unresolved') return failed('target_not_public')
      return failed(isOutOfFiles() ? 'out_of_files' : 'dns_failed')
    }
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
    const due = clock.mono() + timeout_ms
    const timeout = clock
      .sleep(timeout_ms, done.signal)
      .then(() => {
        const late_ms = clock.mono() - due
        // On waking, timers run before sockets are read, and an answer that has arrived would count as none.
        return late_ms > LATE_MS ? clock.sleep(Math.min(late_ms, READ_MAX_MS), done.signal) : null
      })
      .then(() => {
        // Woken by the answer.
        if (done.signal.aborted) return
        over.abort(ENDED)
        // An answer with a slow body ends here with its status; the grace time lets it arrive.
        return clock.sleep(GRACE_MS, done.signal)
      })
      .then(() => failed('timeout'))
    try {
      // A race, because a deadline must not depend on every layer below honouring the signal.
      const { answer, whole } = await Promise.race([attempt(post, over.signal), timeout])
      open = !whole
      return answer
    } finally {
      done.abort(ENDED)
      // Closes anything still open, such as an unread body. Aborting a complete answer would only
      // cost time.
      if (open) over.abort(ENDED)
    }
  }
}

/**
 * The addresses for one attempt. An address that does not respond uses the whole attempt, and may
 * be the first in every DNS answer. The next attempt therefore starts with the next address.
 */
export const fromNext = (addresses: readonly string[], tried: number): string[] => {
  const at = tried % addresses.length
  return [...addresses.slice(at), ...addresses.slice(0, at)].slice(0, ADDRESSES_MAX)
}

/** An answer; `whole`: nothing more can arrive. */
type Came = { answer: TransportResponse; whole: boolean }

const failed = (error: AttemptError): Came => ({ answer: { kind: 'failed', error }, whole: false })

/** The status is already known, so a body that breaks off does not change it. */
async function readStart(
  response: Response,
  signal: AbortSignal,
): Promise<{ body: Uint8Array; whole: boolean }> {
  // Most receivers answer with a status alone; reading the stream of an empty body costs as much as
  // any other.
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
    // Cut short by the peer: the received part counts.
  }
  return { body: Buffer.concat(chunks).subarray(0, RESPONSE_BYTES_MAX), whole }
}

// With both headers, Bun uses chunks.
const isEmpty = (headers: Headers): boolean =>
  headers.get('content-length') === '0' && !headers.has('transfer-encoding')

/** Stable code for the code of a failed connection. Bun's errors also contain the whole URL. */
export function errorOf(code: string): AttemptError {
  if (saysOutOfFiles(code)) return 'out_of_files'
  if (TLS.test(code)) return 'tls_failed'
  if (UNREADABLE.test(code)) return 'bad_answer'
  // Bun's only code for every connection that was closed before the answer.
  if (code === 'ECONNRESET') return 'connection_closed'
  return 'connect_failed'
}
