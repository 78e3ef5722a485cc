import { isIP } from 'node:net'

import { ApiError } from '../core/errors.ts'
import type { PeerOf } from './peer.ts'

/**
 * What stands between the pages of other sites and the routes of this one that a browser opens by itself, with its
 * cookie. A name that leads here and is not ours may be a stranger's, rebound to this address; a page of another site
 * can send nearly any request, but not say that it is one of ours.
 */
export type Site = {
  /** Throws 421 unless the request was sent to a name of ours. */
  checkHost(request: Request): void
  /** Throws 403 unless the request was made by a page of ours, or by the person herself. */
  checkSender(request: Request, socket: string | undefined): void
  /** Throws 403 for a request that a page of another site made. Who says nothing of a page is a program. */
  checkOrigin(request: Request, socket: string | undefined): void
  /** Whether the browser speaks TLS, to us or to the proxy in front of us. */
  isSecure(request: Request, socket: string | undefined): boolean
}

type Deps = {
  /** Where the service is known to be; asked for at each use, since a port may be found late. */
  public_url: () => string
  /** Further names of it, without ports. */
  hosts: readonly string[]
  peerOf: PeerOf
}

const AUTHORITY = /^(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::\d{1,5})?$/

/** The routes that a browser opens with what it holds, or that are the operator's: no other site has any business there. */
export const isHouse = (path: string): boolean =>
  isDashboard(path) || under(path, '/operator') || path === MCP

const MCP = '/mcp'
const isDashboard = (path: string): boolean => under(path, '/dashboard')
const under = (path: string, place: string) => path === place || path.startsWith(`${place}/`)

/** Whether a request to this path comes from programs, and from pages of ours at most. */
export const isForPrograms = (path: string): boolean => path === MCP

/** Whether a request to this path acts by the cookie; the page and its files are the same for everybody. */
export const actsByCookie = (path: string): boolean =>
  ['/dashboard/api', '/dashboard/session', '/dashboard/live'].some((place) => under(path, place))

/** Judges where requests come from, by what their browser says of them and no page can forge. */
export function createSite({ public_url, hosts, peerOf }: Deps): Site {
  const named = new Set(['localhost', ...hosts.map((host) => host.toLowerCase())])

  function isSecure(request: Request, socket: string | undefined): boolean {
    const known = new URL(public_url())
    if (hostOf(request) === known.hostname) return known.protocol === 'https:'
    return peerOf(request, socket).tls
  }

  /** The origins of pages of ours: the public one, and that of where this request went. */
  function ownOrigins(request: Request, socket: string | undefined): (string | null)[] {
    const known = new URL(public_url())
    // Of the public name only the public scheme and port: what else answers there need not be us.
    if (hostOf(request) === known.hostname) return [known.origin]
    const scheme = isSecure(request, socket) ? 'https' : 'http'
    return [known.origin, originOf(`${scheme}://${request.headers.get('host')}`)]
  }

  function isOurs(request: Request, socket: string | undefined): boolean {
    const { headers } = request
    const sender = headers.get('sec-fetch-site')
    const origin = headers.get('origin')
    const own = ownOrigins(request, socket)
    if (origin !== null && !own.includes(origin)) return false
    if (sender !== null) return sender === 'same-origin' || sender === 'none'
    if (origin !== null) return true
    // Browsers say neither of a page's own GET over plain http to an address of the local network.
    const referer = originOf(headers.get('referer') ?? '')
    return referer !== null && own.includes(referer)
  }

  return {
    isSecure,
    checkHost(request) {
      const host = hostOf(request)
      const ours =
        host !== null &&
        (named.has(host) || isIP(bare(host)) !== 0 || host === new URL(public_url()).hostname)
      if (!ours)
        throw new ApiError('MISDIRECTED', {
          message:
            'this name is not one of the service: reach it by its public_url, a name of [server].hosts, localhost or its IP address',
        })
    },
    checkOrigin(request, socket) {
      const origin = request.headers.get('origin')
      if (origin !== null && !ownOrigins(request, socket).includes(origin))
        throw new ApiError('PERMISSION_DENIED', {
          message: 'a page of another site may not ask this',
          extra: { reason: 'cross_site' },
        })
    },
    checkSender(request, socket) {
      if (!isOurs(request, socket))
        throw new ApiError('PERMISSION_DENIED', {
          message: 'only the dashboard’s own pages may ask this',
          extra: { reason: 'cross_site' },
        })
    },
  }
}

/** The name in the Host header, without its port; null when there is none, or it is none. */
const hostOf = ({ headers }: Request): string | null =>
  AUTHORITY.exec(headers.get('host')?.toLowerCase() ?? '')?.[1] ?? null

const bare = (host: string) => host.replace(/^\[(.*)\]$/, '$1')

const originOf = (address: string): string | null => URL.parse(address)?.origin ?? null

/** Nothing comes from elsewhere, nothing runs that is not a file of ours, and nobody frames it. */
const CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "manifest-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ')

/** What every answer of these routes carries. None lets another origin read it. */
export const HOUSE_HEADERS = {
  'content-security-policy': CSP,
  'referrer-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-store',
}
