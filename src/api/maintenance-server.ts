import { ApiError } from '../core/base/errors.ts'
import type { Naming } from '../core/forum/naming.ts'
import { render } from './http/errors.ts'

/** Reason why only health is served. */
export type StorageOutage = {
  /** Code, as in `/health`. */
  reason: string
  /** Whole seconds until the next attempt to open the storage; without one, until a caller may retry. */
  retry_after_s: number
  /** Name of the node that is the primary, empty: not known yet; absent: this node waits for its disk. */
  primary?: string
  /** Seconds since the newest check in the copy of the primary's database; null: no copy; absent: none is made. */
  replica_age_s?: number | null
}

/** Serves the maintenance server: health only, 503 otherwise. It reads and writes no storage. */
export function serveMaintenance(
  { host, port }: { host: string; port: number },
  words: Naming,
  outage: () => StorageOutage,
) {
  return Bun.serve({
    hostname: host,
    port,
    fetch(request) {
      const { pathname } = new URL(request.url)
      const { reason, retry_after_s, primary, ...replica } = outage()
      const retry = { 'retry-after': String(retry_after_s) }
      if (pathname === '/health' && primary !== undefined)
        return answer({ ok: false, reads: 'unknown', role: 'standby', primary, ...replica }, 200)
      if (pathname === '/health')
        return answer({ ok: false, reads: 'unknown', storage: reason }, 200)
      if (pathname === '/health/ready') return answer({ ready: false, reason }, 503, retry)
      const error =
        primary === undefined
          ? new ApiError('storage_unavailable', {
              message: `storage failure (${reason}); the operator must repair it`,
              retry_after_s,
            })
          : new ApiError('not_primary', {
              message: 'this node is the standby: call the primary',
              retry_after_s,
            })
      const { status, body, headers } = render(error, words)
      return answer(body, status, headers)
    },
  })
}

const answer = (body: object, status: number, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json', ...headers },
  })
