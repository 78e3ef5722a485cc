import { connect, isIP, type Socket } from 'node:net'

import { ADDRESSES_MAX } from '../../../core/base/address.ts'
import type { ProxyTrouble } from '../../../core/base/result.ts'
import type { Proxy } from '../../../core/forum/proxy.ts'
import type { Guard } from '../../../net/guard.ts'
import { tls } from '../../../net/transport.ts'
import type { Clock, Resolve } from '../../../runtime/runtime.ts'

/** End of a tunnel: `host` without brackets. */
export type Destination = { host: string; port: number }

/** Null: the socket is the tunnel from here on. */
type Shaken = Exclude<ProxyTrouble, 'refused' | 'unreachable'> | null

/** Requests a tunnel on a connection to a proxy. Rejects when the connection ends. */
const shake = (socket: Socket, proxy: Proxy, far: Destination): Promise<Shaken> =>
  proxy.scheme.startsWith('socks') ? socks(socket, proxy, far) : tunnelThrough(socket, proxy, far)

/**
 * Basic credentials of a proxy as a header value; null if it has none.
 * @see https://www.rfc-editor.org/rfc/rfc7617
 */
const basic = ({ username, password }: Proxy): string | null =>
  (username ?? password) === null
    ? null
    : `Basic ${Buffer.from(`${username ?? ''}:${password ?? ''}`).toString('base64')}`

async function tunnelThrough(socket: Socket, proxy: Proxy, far: Destination): Promise<Shaken> {
  const authorization = basic(proxy)
  const path = `${far.host.includes(':') ? `[${far.host}]` : far.host}:${far.port}`
  const headers = { host: path, ...(authorization && { 'proxy-authorization': authorization }) }
  const { promise, resolve, reject } = Promise.withResolvers<Shaken>()
  socket.once('close', () => reject(new Error('the proxy closed the connection')))
  // Loaded with the first such proxy: a start needs none.
  const { request } = await import('node:http')
  request({ method: 'CONNECT', path, headers, createConnection: () => socket })
    .once('connect', ({ statusCode = 0 }, _, head) => {
      if (head.length > 0) socket.unshift(head)
      // Some proxies answer 401, as an origin server would.
      if (statusCode === 407 || statusCode === 401) resolve('denied')
      else resolve(statusCode >= 200 && statusCode < 300 ? null : 'failed')
    })
    .on('error', reject)
    .end()
  return promise
}

async function socks(socket: Socket, proxy: Proxy, far: Destination): Promise<Shaken> {
  const { host, port, username, password } = proxy
  const credentials = { userId: username ?? '', password: password ?? '' }
  // Loaded with the first such proxy: a start needs none.
  const { SocksClient } = await import('socks')
  try {
    await SocksClient.createConnection({
      command: 'connect',
      existing_socket: socket,
      destination: far,
      proxy: { host, port, type: 5, ...((username ?? password) !== null && credentials) },
    })
    return null
  } catch (error) {
    return REFUSED.test(String(error)) ? 'denied' : 'failed'
  }
}

/** The library's errors differ only in their sentences. */
const REFUSED = /authentication|no accepted/i

/**
 * A connection to a page's host, or the reason why there is none; `unreached` is the host's
 * failure, the others the proxy's.
 */
type Dialled =
  /** `relay`: the proxy is at the other end and needs absolute addresses in requests. */
  | { ok: true; socket: Socket; relay: { authorization: string | null } | null }
  | { ok: false; why: 'unreached' | 'forbidden' | ProxyTrouble }

/**
 * Connects to a host through the egress of one call; `plain`: for one request without TLS. Never
 * rejects.
 */
export type Dial = (far: Destination, plain: boolean, signal: AbortSignal) => Promise<Dialled>

export type ProxyRoute = {
  proxy: Proxy | null
  /** A caller named the proxy, so the guard must accept its address. */
  guarded: boolean
}

type Deps = {
  resolve: Resolve
  guard: Guard
  clock: Clock
  /** The platform itself, configured by the operator: its address may be private. */
  home: URL
  /** The operator's certificate authorities for https proxies, in addition to the public ones. */
  ca?: string | undefined
}

/** Time limit for a usable connection, including the proxy's part. */
const DIAL_MS = 10_000
/** Ports that pages may load from, apart from the platform itself. */
const PORTS = new Set([80, 443])

/**
 * Dials through the egress of one call. The platform may have any address. Every other host is
 * named by a page: a direct connection needs the guard's permission and goes to the checked
 * address.
 */
export function createDial(
  { resolve, guard, clock, home, ca }: Deps,
  { proxy, guarded }: ProxyRoute,
): Dial {
  /** A caller's proxy is resolved and checked once per call: a later DNS change has no effect. */
  let checked: Promise<readonly string[]> | null = null

  const passed = async ({ host, port }: Destination): Promise<readonly string[]> => {
    const answer = await guard(`https://${host.includes(':') ? `[${host}]` : host}:${port}/`)
    return answer.ok ? answer.addresses.slice(0, ADDRESSES_MAX) : []
  }

  async function direct(far: Destination, signal: AbortSignal): Promise<Dialled> {
    const addresses = isHome(home, far)
      ? await found(resolve, far.host)
      : PORTS.has(far.port)
        ? await passed({ ...far, port: 443 })
        : []
    if (addresses.length === 0)
      return { ok: false, why: isHome(home, far) ? 'unreached' : 'forbidden' }
    const socket = await anyOf(addresses, far.port, signal)
    return socket ? { ok: true, socket, relay: null } : { ok: false, why: 'unreached' }
  }

  async function through(
    by: Proxy,
    far: Destination,
    plain: boolean,
    signal: AbortSignal,
  ): Promise<Dialled> {
    // A blocked IP address in a page must not be requested from a proxy either.
    if (
      !isHome(home, far) &&
      isIP(far.host) !== 0 &&
      (await passed({ ...far, port: 443 })).length === 0
    )
      return { ok: false, why: 'forbidden' }
    checked ??= guarded ? passed(by) : found(resolve, by.host)
    const addresses = await checked
    if (addresses.length === 0) return { ok: false, why: guarded ? 'refused' : 'unreachable' }
    const bare = await anyOf(addresses, by.port, signal)
    if (!bare) return { ok: false, why: 'unreachable' }
    const socket = by.scheme === 'https' ? await underTls(bare, by.host, ca) : bare
    if (!socket) return { ok: false, why: 'failed' }
    // Many proxies open tunnels to port 443 only.
    if (plain && !by.scheme.startsWith('socks'))
      return { ok: true, socket, relay: { authorization: basic(by) } }
    try {
      const there = by.scheme === 'socks5' ? await resolveDestination(resolve, far) : far
      const why = there === null ? 'failed' : await shake(socket, by, there)
      if (why === null) return { ok: true, socket, relay: null }
      socket.destroy()
      return { ok: false, why }
    } catch {
      socket.destroy()
      return { ok: false, why: 'failed' }
    }
  }

  return async (far, plain, signal) => {
    const [timer, done] = [new AbortController(), new AbortController()]
    void clock.sleep(DIAL_MS, done.signal).then(() => {
      if (!done.signal.aborted) timer.abort()
    })
    const over = AbortSignal.any([signal, timer.signal])
    const dialled = await (proxy === null ? direct(far, over) : through(proxy, far, plain, over))
    done.abort()
    return dialled
  }
}

/** True for a connection to the platform itself. */
export const isHome = (home: URL, far: Destination): boolean =>
  far.host === hostOf(home) && far.port === portOf(home)

const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '')
const portOf = ({ port, protocol }: URL): number =>
  port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)

/** The addresses of a host; empty if it does not resolve. */
async function found(resolve: Resolve, host: string): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host]
  const all = await resolve(host).catch(() => [])
  return all.slice(0, ADDRESSES_MAX)
}

/** A name that is resolved on this side of the proxy; null if it does not resolve. */
async function resolveDestination(resolve: Resolve, far: Destination): Promise<Destination | null> {
  const [host] = await found(resolve, far.host)
  return host === undefined ? null : { ...far, host }
}

async function anyOf(hosts: readonly string[], port: number, signal: AbortSignal) {
  for (const host of hosts) {
    const socket = await open(host, port, signal)
    if (socket || signal.aborted) return socket
  }
  return null
}

function open(host: string, port: number, signal: AbortSignal): Promise<Socket | null> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve(null)
    const socket = connect({ host, port, noDelay: true })
    signal.addEventListener('abort', () => socket.destroy(), { once: true })
    socket.once('connect', () => resolve(socket))
    socket.once('close', () => resolve(null))
    // Without a listener, a late error would end the process.
    socket.on('error', () => resolve(null))
  })
}

function underTls(plain: Socket, name: string, ca: string | undefined): Promise<Socket | null> {
  return new Promise((resolve) => {
    const socket = tls().connect({
      socket: plain,
      ca: [...tls().rootCertificates, ...(ca === undefined ? [] : [ca])],
      ...(isIP(name) === 0 ? { servername: name } : { host: name }),
    })
    socket.once('secureConnect', () => resolve(socket))
    socket.once('close', () => resolve(null))
    socket.on('error', () => (plain.destroy(), resolve(null)))
  })
}
