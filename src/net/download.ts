import { ADDRESSES_MAX, type Refusal, type Target } from '../core/address.ts'
import type { Clock, Fetch } from '../outside.ts'
import { mayHaveLeft } from './departure.ts'
import type { Guard } from './guard.ts'
import { pinnedTo } from './pinned.ts'

/** What a stranger's address holds, or why it is not to be had. */
type Downloaded =
  | { ok: true; bytes: Uint8Array }
  | { ok: false; why: Refusal | 'unreachable' | 'not_found' | 'too_large' | 'too_slow' }

/** Fetches what an address that a stranger named holds. Every outcome is a value. */
export type Download = (url: string) => Promise<Downloaded>

type Deps = {
  fetch: Fetch
  clock: Clock
  guard: Guard
  user_agent: string
  /** From the first lookup to the last byte. */
  timeout_ms: number
  bytes_max: number
}

const failed = (why: Exclude<Downloaded, { ok: true }>['why']): Downloaded => ({ ok: false, why })

/**
 * A GET to the very addresses that the guard has checked, to the next one when nothing listens at the first. Not redirected,
 * not proxied, never more than `bytes_max`.
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
        if (mayHaveLeft(thrown)) break
      }
    return failed('unreachable')
  }

  async function getFrom(target: Target, address: string, signal: AbortSignal) {
    const { href, host, init } = pinnedTo(target, address)
    const response = await fetch(href, {
      ...init,
      headers: { 'user-agent': user_agent, 'accept-encoding': 'identity', accept: 'image/*', host },
      signal,
    })
    const { status, headers, body } = response
    const packed = (headers.get('content-encoding') ?? 'identity') !== 'identity'
    if (status !== 200 || packed || body === null) return failed('not_found')
    const told = Number(headers.get('content-length') ?? 0)
    return told > bytes_max ? failed('too_large') : gather(body)
  }

  /** Leaving the loop gives the connection up. */
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
    const late = clock.sleep(timeout_ms, done.signal).then(() => failed('too_slow'))
    try {
      return await Promise.race([get(url, over.signal).catch(() => failed('unreachable')), late])
    } finally {
      done.abort()
      // Closes what is still open.
      over.abort()
    }
  }
}
