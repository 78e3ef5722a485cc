import { isIP } from 'node:net'

import { ApiError } from '../../core/base/errors.ts'
import type { PeerOf } from './client-address.ts'

/**
 * Guards routes that a browser opens with its cookie against pages of other sites.
 * A foreign host name may be rebound to this address (DNS rebinding). Another site's page can send
 * almost any request, but cannot forge the headers in which the browser states its origin.
 */
export type Site = {
  /**
   * Checks that the request was sent to a host name of this service.
   * @throws {ApiError} MISDIRECTED (421)
   */
  checkHost(request: Request): void
  /**
   * Checks that the request was made by a page of this service or by navigation.
   * @throws {ApiError} PERMISSION_DENIED (403)
   */
  checkSender(request: Request, socket: string | undefined): void
  /**
   * Refuses requests from pages of other sites. A request without origin headers comes from a
   * program.
   * @throws {ApiError} PERMISSION_DENIED (403)
   */
  checkOrigin(request: Request, socket: string | undefined): void
  /** True if the browser uses TLS, to this service or to the proxy in front of it. */
  isSecure(request: Request, socket: string | undefined): boolean
}

type Deps = {
  /** Public address of the service; read at each use, since the port may be bound later. */
  public_url: () => string
  /** Additional host names, without ports. */
  hosts: readonly string[]
  peerOf: PeerOf
}

const AUTHORITY = /^(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::\d{1,5})?$/

/**
 * True for routes that a browser opens with its cookie or from its own machine, and for the
 * operator's: closed to other sites.
 */
export const isSystemPath = (path: string): boolean =>
  isDashboard(path) || under(path, '/operator') || isForPrograms(path)

const MCP = '/mcp'
const isDashboard = (path: string): boolean => under(path, '/dashboard')
const under = (path: string, place: string) => path === place || path.startsWith(`${place}/`)

/**
 * True for routes of programs. A page of another site is refused even if it runs on a permitted
 * machine.
 */
export const isForPrograms = (path: string): boolean => path === MCP || under(path, '/metrics')

/**
 * True if requests to this path are authorised by the cookie; the page and its files are public.
 */
export const actsByCookie = (path: string): boolean =>
  ['/dashboard/api', '/dashboard/session', '/dashboard/live'].some((place) => under(path, place))

/** Creates the guard. It uses headers that browsers set and pages cannot forge. */
export function createSite({ public_url, hosts, peerOf }: Deps): Site {
  const own_hosts = new Set(['localhost', ...hosts.map((host) => host.toLowerCase())])

  function isSecure(request: Request, socket: string | undefined): boolean {
    const service_url = new URL(public_url())
    if (hostOf(request) === service_url.hostname) return service_url.protocol === 'https:'
    return peerOf(request, socket).tls
  }

  /**
   * Origins of this service's pages: the public one, and that of the host the request was sent to.
   */
  function ownOrigins(request: Request, socket: string | undefined): (string | null)[] {
    const service_url = new URL(public_url())
    // For the public host name only the public scheme and port count: other ports may belong to
    // other services.
    if (hostOf(request) === service_url.hostname) return [service_url.origin]
    const scheme = isSecure(request, socket) ? 'https' : 'http'
    return [service_url.origin, originOf(`${scheme}://${request.headers.get('host')}`)]
  }

  function isOurs(request: Request, socket: string | undefined): boolean {
    const { headers } = request
    const sender = headers.get('sec-fetch-site')
    const origin = headers.get('origin')
    const own = ownOrigins(request, socket)
    if (origin !== null && !own.includes(origin)) return false
    if (sender !== null) return sender === 'same-origin' || sender === 'none'
    if (origin !== null) return true
    // Browsers send neither header for a page's own GET over plain http to an address of the local
    // network.
    const referer = originOf(headers.get('referer') ?? '')
    return referer !== null && own.includes(referer)
  }

  return {
    isSecure,
    checkHost(request) {
      const host = hostOf(request)
      const ours =
        host !== null &&
        (own_hosts.has(host) || isIP(bare(host)) !== 0 || host === new URL(public_url()).hostname)
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
          message: 'a page of another site may not make this request',
          extra: { reason: 'cross_site' },
        })
    },
    checkSender(request, socket) {
      if (!isOurs(request, socket))
        throw new ApiError('PERMISSION_DENIED', {
          message: 'only pages of the dashboard may make this request',
          extra: { reason: 'cross_site' },
        })
    },
  }
}

/** Name in the Host header without its port; null if absent or malformed. */
const hostOf = ({ headers }: Request): string | null =>
  AUTHORITY.exec(headers.get('host')?.toLowerCase() ?? '')?.[1] ?? null

const bare = (host: string) => host.replace(/^\[(.*)\]$/, '$1')

const originOf = (address: string): string | null => URL.parse(address)?.origin ?? null

/** Policy: nothing loads from other origins, no inline scripts, no framing. */
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

/** Headers of every answer of these routes. None lets another origin read it. */
export const SYSTEM_HEADERS = {
  'content-security-policy': CSP,
  'referrer-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-store',
}
