import { retryAfter } from '../core/base/wait.ts'
import type { Clock } from '../runtime/runtime.ts'
import type { Egress } from './egress.ts'

/** Reply of a model's service; `sent` false: no part of the request reached it. */
type Reply =
  | { kind: 'answered'; status: number; body: string; retry_after_s: number | null }
  | { kind: 'failed'; fault: 'unreachable' | 'timeout' | 'too_large'; sent: boolean }

/** Address and key of a service that speaks the protocol of OpenAI's chat completions. */
type ModelAddress = { base_url: string; key: string; timeout_ms: number }

/**
 * Creates the client of the operator's model. The address is the operator's own and is not checked; no redirect is
 * followed, so that neither the key nor an item goes elsewhere. A request is sent once, on a connection of its own,
 * because it may be billed.
 */
export function createModelClient(
  { egress, clock, signal }: { egress: Pick<Egress, 'send'>; clock: Clock; signal: AbortSignal },
  { base_url, key, timeout_ms }: ModelAddress,
): (body: string) => Promise<Reply> {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json',
    ...(key !== '' && { authorization: `Bearer ${key}` }),
  }
  return async (body) => {
    const result = await egress.send({
      url: `${base_url}/chat/completions`,
      method: 'POST',
      headers,
      body,
      route: { proxy: null, guarded: false },
      once: true,
      timeout_ms,
      signal,
    })
    if (result.ok) {
      const { status, headers: given, body: text } = result.answer
      const retry_after_s = retryAfter(given, clock.now())
      return { kind: 'answered', status, body: text, retry_after_s }
    }
    const { why, left } = result
    const fault = why === 'timeout' || why === 'too_large' ? why : 'unreachable'
    return { kind: 'failed', fault, sent: left }
  }
}
