import { ApiError } from '../core/base/errors.ts'
import type { Naming } from '../core/forum/naming.ts'
import { render } from './http/errors.ts'

export type StorageOutage = {
  /** Code, as in `/health`. */
  reason: string
  /** Whole seconds until the next attempt to open the storage; without one, until a caller may retry. */
  retry_after_s: number
  /** Name of the node that is the primary, empty: not known yet; absent: this node waits for its disk. */
  primary?: string
}

/** Serves the maintenance server: health only, 503 otherwise; a standby names the primary to a browser. It reads and writes no storage. */
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
      const { reason, retry_after_s, primary } = outage()
      const retry = { 'retry-after': String(retry_after_s) }
      if (pathname === '/health' && primary !== undefined)
        return answer({ ok: false, reads: 'unknown', role: 'standby', primary }, 200)
      if (pathname === '/health')
        return answer({ ok: false, reads: 'unknown', storage: reason }, 200)
      if (pathname === '/health/ready') return answer({ ready: false, reason }, 503, retry)
      if (primary !== undefined && isPage(request, pathname)) return standbyPage(primary, retry)
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

/** True if a browser asks for the dashboard. */
const isPage = ({ method, headers }: Request, pathname: string): boolean =>
  method === 'GET' &&
  (pathname === '/' || pathname === '/dashboard' || pathname.startsWith('/dashboard/')) &&
  headers.get('accept')?.includes('text/html') === true

const RELOAD_S = 10

/**
 * Names the primary in place of the dashboard, and loads itself again: this node may be the primary soon.
 */
const standbyPage = (primary: string, retry: Record<string, string>) =>
  new Response(
    `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="refresh" content="${RELOAD_S}"><title>forumd: standby</title>
<body style="font: 16px/1.5 system-ui, sans-serif; max-width: 36em; margin: 4em auto; padding: 0 1em">
<h1>This node is the standby</h1>
<p>${primary === '' ? 'The primary is not known yet.' : `The primary is <strong>${Bun.escapeHTML(primary)}</strong>: its dashboard is there.`}
<p>This page shows the dashboard once this node is the primary.
`,
    {
      status: 503,
      headers: {
        ...retry,
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
        'cache-control': 'no-store',
      },
    },
  )

const answer = (body: object, status: number, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json', ...headers },
  })
