import type { AddressRefusal } from '../core/base/address.ts'
import type { Clock, Fetch, Resolve } from '../runtime/runtime.ts'
import { createEgress } from './egress.ts'
import type { Guard } from './guard.ts'

/** Content of an address, or the reason why it is not available. */
type Downloaded =
  | { ok: true; bytes: Uint8Array }
  | { ok: false; why: AddressRefusal | 'unreachable' | 'not_found' | 'too_large' | 'too_slow' }

/** Downloads an address that an external party named. Every outcome is a value. */
export type Download = (url: string) => Promise<Downloaded>

type Deps = {
  fetch: Fetch
  clock: Clock
  resolve: Resolve
  guard: Guard
  user_agent: string
  /** From the first DNS lookup to the last byte. */
  timeout_ms: number
  bytes_max: number
}

const failed = (why: Exclude<Downloaded, { ok: true }>['why']): Downloaded => ({ ok: false, why })

/** Creates a download: a GET to the addresses that the guard has checked, without redirects and proxies. */
export function createDownload({ user_agent, timeout_ms, bytes_max, ...deps }: Deps): Download {
  return async (url) => {
    let refusal: AddressRefusal | null = null
    const egress = createEgress({
      ...deps,
      async guard(text) {
        const guarded = await deps.guard(text)
        if (!guarded.ok) ({ refusal } = guarded)
        return guarded
      },
    })
    const result = await egress.send({
      url,
      headers: { 'user-agent': user_agent, 'accept-encoding': 'identity', accept: 'image/*' },
      route: { proxy: null, guarded: true },
      as_bytes: true,
      bytes_max,
      timeout_ms,
    })
    if (refusal !== null) return failed(refusal)
    if (!result.ok) return failed(WHY[result.why] ?? 'unreachable')
    const { status, headers, body } = result.answer
    const packed = (headers.get('content-encoding') ?? 'identity') !== 'identity'
    if (status !== 200 || packed) return failed('not_found')
    return { ok: true, bytes: Buffer.from(body, 'latin1') }
  }
}

const WHY: Readonly<Record<string, 'too_slow' | 'too_large' | 'not_found'>> = {
  timeout: 'too_slow',
  too_large: 'too_large',
  unpackable: 'not_found',
}
