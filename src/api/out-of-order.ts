import { ApiError } from '../core/errors.ts'
import type { Words } from '../core/wire.ts'
import { render } from './errors.ts'

const RETRY_S = 60

/**
 * What is served while the storage fails and starting again has not helped: that it is so, and nothing else. Not a byte
 * is read or written there.
 */
export function serveOutOfOrder({ host, port }: { host: string; port: number }, words: Words) {
  return Bun.serve({
    hostname: host,
    port,
    fetch(request) {
      const { pathname } = new URL(request.url)
      if (pathname === '/health')
        return answer({ ok: false, reads: 'unknown', storage: 'storage_error' }, 200)
      if (pathname === '/health/ready')
        return answer({ ready: false, reason: 'storage_error' }, 503)
      const error = new ApiError('storage_unavailable', {
        message: 'the storage of this service fails; its operator has to mend it',
        retry_after_s: RETRY_S,
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
