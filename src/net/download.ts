import { ADDRESSES_MAX, type AddressRefusal, type AddressTarget } from '../core/base/address.ts'
import type { Clock, Fetch } from '../runtime/runtime.ts'
import type { Guard } from './guard.ts'
import { mayHaveBeenSent } from './sent.ts'
import { pinnedTo } from './transport.ts'

/** Content of an address, or the reason why it is not available. */
type Downloaded =
  | { ok: true; bytes: Uint8Array }
  | { ok: false; why: AddressRefusal | 'unreachable' | 'not_found' | 'too_large' | 'too_slow' }

/** Downloads an address that an external party named. Every outcome is a value. */
export type Download = (url: string) => Promise<Downloaded>

type Deps = {
  fetch: Fetch
  clock: Clock
  guard: Guard
  user_agent: string
  /** From the first DNS lookup to the last byte. */
  timeout_ms: number
  bytes_max: number
}

const failed = (why: Exclude<Downloaded, { ok: true }>['why']): Downloaded => ({ ok: false, why })

/**
 * Creates a download: a GET to the addresses that the guard has checked, and to the next one if the
 * first refuses connections. No redirects, no proxy, never more than `bytes_max`.
 */
export function createDownload(deps: Deps): Download {
  const { fetch, clock, guard, user_agent, timeout_ms, bytes_max } = deps

  async function get(url: string, signal: AbortSignal): Promise<Downloaded> {
    const guarded = await guard(url)
    if (!guarded.ok) return failed(guarded.refusal)
    for (const address of guarded.addresses.slice(0, ADDRESSES_MAX))
      try {
        return await getFrom(guarded.target, address, signal)
      } catch (thrown) {
        if (mayHaveBeenSent(thrown)) break
      }
    return failed('unreachable')
  }

  async function getFrom(target: AddressTarget, address: string, signal: AbortSignal) {
    const { href, host, init } = pinnedTo(target, address)
    const response = await fetch(href, {
      ...init,
      headers: { 'user-agent': user_agent, 'accept-encoding': 'identity', accept: 'image/*', host },
      signal,
    })
    const { status, headers, body } = response
    const packed = (headers.get('content-encoding') ?? 'identity') !== 'identity'
    if (status !== 200 || packed || body === null) return failed('not_found')
    const declared_bytes = Number(headers.get('content-length') ?? 0)
    return declared_bytes > bytes_max ? failed('too_large') : gather(body)
  }

  /** Leaving the loop closes the connection. */
  async function gather(chunks: AsyncIterable<Uint8Array>): Promise<Downloaded> {
    const parts: Uint8Array[] = []
    let size = 0
    for await (const chunk of chunks) {
      size += chunk.byteLength
      if (size > bytes_max) return failed('too_large')
      parts.push(chunk)
    }
    return { ok: true, bytes: Buffer.concat(parts) }
  }

  return async (url) => {
    const over = new AbortController()
    const done = new AbortController()
    const timeout = clock.sleep(timeout_ms, done.signal).then(() => failed('too_slow'))
    try {
      return await Promise.race([get(url, over.signal).catch(() => failed('unreachable')), timeout])
    } finally {
      done.abort()
      // Closes anything still open.
      over.abort()
    }
  }
}
