import { BlockList, isIP } from 'node:net'

import { ApiError } from '../../core/base/errors.ts'
import { peerUrl } from '../../core/base/url.ts'
import { isUnderPath } from './routes.ts'

/** Origin of a call, as far as the configuration trusts the forwarding headers. */
type Peer = {
  /** Address of the caller; `unknown` if the socket is already closed. */
  address: string
  /**
   * Unit for counting calls without a key: the IPv4 address, or the /64 of an IPv6 address, which
   * one subscriber has.
   */
  network: string
  /** True if the caller is on this machine and no proxy forwards it. */
  local: boolean
  tls: boolean
}

/** Finds the caller of a request; `socket` is the remote address of the connection. */
export type PeerOf = (request: Request, socket: string | undefined) => Peer

/** Reports a fault of a proxy in front of the service. */
export type OnProxyFault = (fault: 'untrusted' | 'unreadable_hop', address: string) => void

/** Addresses that are reported: anyone can send such headers. */
const REPORTED_MAX = 8

const FORWARDING = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via']

/**
 * Creates the lookup. Reads X-Forwarded-For from its last hop: a hop is trusted while the one after
 * it is in `trusted_proxies` (CIDRs).
 */
export function createPeerOf(
  trusted_proxies: readonly string[],
  onFault: OnProxyFault = () => {},
): PeerOf {
  const trusted = new BlockList()
  for (const cidr of trusted_proxies) addNetwork(trusted, cidr)
  const loopback = new BlockList()
  loopback.addSubnet('127.0.0.0', 8, 'ipv4')
  loopback.addAddress('::1', 'ipv6')

  const reported = new Set<string>()
  /** Reports a fault once for each address. */
  function report(fault: Parameters<OnProxyFault>[0], address: string) {
    const name = `${fault} ${address}`
    if (reported.has(name) || reported.size >= REPORTED_MAX) return
    reported.add(name)
    onFault(fault, address)
  }

  return ({ headers }, socket) => {
    let address = unmapIpv4(socket ?? '')
    const is_forwarded = FORWARDING.some((name) => headers.has(name))
    const local = isListed(loopback, address) && !is_forwarded
    const tls = isListed(trusted, address) && headers.get('x-forwarded-proto') === 'https'
    if (NAMING_CALLER.some((name) => headers.has(name)) && !isListed(trusted, address))
      report('untrusted', address)
    const hops = (headers.get('x-forwarded-for') ?? '').split(',').filter((hop) => /\S/.test(hop))
    while (isListed(trusted, address)) {
      const hop = hops.pop()
      if (hop === undefined) break
      const found = hopAddress(hop)
      if (found === null) {
        report('unreadable_hop', address)
        break
      }
      address = found
    }
    address ||= 'unknown'
    // Callers behind an untrusted local proxy share one count, which must differ from that of this
    // machine's own probes.
    const behind_proxy = isListed(loopback, address) && is_forwarded
    const network = behind_proxy ? `behind ${address}` : networkOf(address)
    return { address, network, local, tls }
  }
}

/** Headers that name the caller of a proxy. */
const NAMING_CALLER = ['forwarded', 'x-forwarded-for', 'x-real-ip']

/** The address of a hop without port and brackets: `192.0.2.1:4711`, `[2001:db8::1]:443`, `"[2001:db8::1]"`; null: it is none. */
function hopAddress(text: string): string | null {
  const hop = text.trim().replace(/^"(.*)"$/, '$1')
  const bare =
    /^\[([^\]]*)\](?::\d{1,5})?$/.exec(hop)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(hop)?.[1] ?? hop
  return isIP(bare) === 0 ? null : unmapIpv4(bare)
}

function addNetwork(list: BlockList, cidr: string) {
  const [address = '', bits] = cidr.split('/')
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
  list.addSubnet(address, Number(bits ?? (family === 'ipv6' ? 128 : 32)), family)
}

function isListed(list: BlockList, address: string): boolean {
  const family = isIP(address)
  return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4')
}

const NETWORK_GROUPS = 4

/**
 * Normalised /64 of an IPv6 address; other addresses unchanged, including those that begin with 64
 * zero bits.
 */
function networkOf(address: string): string {
  if (isIP(address) !== 6) return address
  const [head = '', tail] = address.replace(/%.*$/, '').split('::')
  const left = head.split(':').filter(Boolean)
  // The groups after `::` count only if they reach into the first half; a dotted tail is two
  // groups.
  const right = (tail ?? '').split(':').filter(Boolean)
  const dotted = [...left, ...right].some((group) => group.includes('.')) ? 1 : 0
  const zeros = tail === undefined ? 0 : 8 - left.length - right.length - dotted
  const groups = [...left, ...Array<string>(zeros).fill('0'), ...right].slice(0, NETWORK_GROUPS)
  const numbers = groups.map((group) => parseInt(group, 16))
  if (numbers.every((number) => number === 0)) return address
  return `${numbers.map((number) => number.toString(16)).join(':')}::/64`
}

/** Unmaps the IPv4 address of a caller on an IPv6 socket. */
const unmapIpv4 = (address: string) => address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '')

/**
 * Guards routes that a browser opens with its cookie against pages of other sites.
 * A foreign host name may be rebound to this address (DNS rebinding). Another site's page can send
 * almost any request, but cannot forge the headers in which the browser states its origin.
 */
export type Site = {
  /** @throws {ApiError} MISDIRECTED (421) */
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
export const isSystemPath = (path: string): boolean => SYSTEM_PATH.test(path)

/** True for pages that show a secret: not under a foreign name, and not to scripts of other sites. */
export const showsSecret = (path: string): boolean => isUnderPath(path, '/connect')

const SYSTEM_PATH = /^\/(?:(?:dashboard|operator|metrics)(?:\/|$)|mcp$)/

/**
 * True for routes of programs. A page of another site is refused even if it runs on a permitted
 * machine.
 */
export const isForPrograms = (path: string): boolean =>
  path === '/mcp' || isUnderPath(path, '/metrics')

/**
 * True if requests to this path are authorised by the cookie; the page and its files are public.
 */
export const actsByCookie = (path: string): boolean =>
  ['/dashboard/api', '/dashboard/session', '/dashboard/live'].some((place) =>
    isUnderPath(path, place),
  )

/** Creates the guard. It uses headers that browsers set and pages cannot forge. */
export function createSite({ public_url, hosts, peerOf }: Deps): Site {
  const own_hosts = new Set(['localhost', ...hosts.map((host) => host.toLowerCase())])

  function isSecure(request: Request, socket: string | undefined): boolean {
    const service_url = new URL(public_url())
    if (hostOf(request) === service_url.hostname) return service_url.protocol === 'https:'
    return peerOf(request, socket).tls
  }

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

const originOf = (address: string): string | null => peerUrl(address)?.origin ?? null

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
