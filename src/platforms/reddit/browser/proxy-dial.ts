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

const HEAD_MAX = 16_384

/** Requests a tunnel on a connection to a proxy. Rejects when the connection ends. */
function shake(socket: Socket, proxy: Proxy, far: Destination): Promise<Shaken> {
  const read = reader(socket)
  return (
    proxy.scheme.startsWith('socks')
      ? socks(socket, read, proxy, far)
      : tunnelThrough(socket, read, proxy, far)
  ).finally(read.done)
}

type Reader = ReturnType<typeof reader>

/** Reads bytes off a socket on demand, and puts back those beyond. */
function reader(socket: Socket) {
  let buffer = Buffer.alloc(0)
  let wake: (() => void) | null = null
  let ended = false
  const take = (chunk: Uint8Array) => {
    buffer = Buffer.concat([buffer, chunk])
    wake?.()
  }
  const end = () => {
    ended = true
    wake?.()
  }
  const ENDS = ['end', 'close', 'error'] as const
  socket.on('data', take)
  for (const event of ENDS) socket.on(event, end)

  /** The bytes that `measure` counts, once they have arrived; null: the length is not known yet. */
  async function until(measure: (buffer: Buffer) => number | null): Promise<Buffer> {
    for (;;) {
      const wanted = measure(buffer)
      if (wanted !== null && buffer.length >= wanted) {
        const taken = buffer.subarray(0, wanted)
        buffer = buffer.subarray(wanted)
        return taken
      }
      if (ended || buffer.length > HEAD_MAX) throw new Error('the proxy closed the connection')
      await new Promise<void>((resolve) => (wake = resolve))
    }
  }

  return {
    bytes: (count: number) => until(() => count),
    head: () =>
      until((all) => {
        const at = all.indexOf('\r\n\r\n')
        return at === -1 ? null : at + 4
      }),
    done() {
      socket.off('data', take)
      for (const event of ENDS) socket.off(event, end)
      socket.pause()
      if (buffer.length > 0) socket.unshift(buffer)
    },
  }
}

/**
 * Basic credentials of a proxy as a header value; null if it has none.
 * @see https://www.rfc-editor.org/rfc/rfc7617
 */
const basic = ({ username, password }: Proxy): string | null =>
  (username ?? password) === null
    ? null
    : `Basic ${Buffer.from(`${username ?? ''}:${password ?? ''}`).toString('base64')}`

async function tunnelThrough(
  socket: Socket,
  read: Reader,
  proxy: Proxy,
  far: Destination,
): Promise<Shaken> {
  const authorization = basic(proxy)
  const authority = `${far.host.includes(':') ? `[${far.host}]` : far.host}:${far.port}`
  const lines = [
    `CONNECT ${authority} HTTP/1.1`,
    `Host: ${authority}`,
    ...(authorization === null ? [] : [`Proxy-Authorization: ${authorization}`]),
  ]
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  const status = /^HTTP\/1\.[01] (\d{3})/.exec((await read.head()).toString('latin1'))?.[1]
  // Some proxies answer 401, as an origin server would.
  if (status === '407' || status === '401') return 'denied'
  return status?.startsWith('2') ? null : 'failed'
}

const VERSION = 5
const NO_CREDENTIALS = 0
const BY_PASSWORD = 2
const [BY_IPV4, BY_NAME, BY_IPV6] = [1, 3, 4]

async function socks(
  socket: Socket,
  read: Reader,
  proxy: Proxy,
  far: Destination,
): Promise<Shaken> {
  const { username, password } = proxy
  const named = (username ?? password) !== null
  socket.write(Uint8Array.of(VERSION, 1, named ? BY_PASSWORD : NO_CREDENTIALS))
  const [, method] = await read.bytes(2)
  if (method !== (named ? BY_PASSWORD : NO_CREDENTIALS)) return 'denied'
  if (named) {
    const words = [username ?? '', password ?? ''].map((it) => Buffer.from(it))
    socket.write(Buffer.concat([Uint8Array.of(1), ...words.flatMap(counted)]))
    const [, verdict] = await read.bytes(2)
    if (verdict !== 0) return 'denied'
  }
  const port = Uint8Array.of(far.port >> 8, far.port & 0xff)
  socket.write(Buffer.concat([Uint8Array.of(VERSION, 1, 0), addressed(far.host), port]))
  const [, reply, , kind] = await read.bytes(4)
  if (reply !== 0) return 'failed'
  const size = kind === BY_IPV4 ? 4 : kind === BY_IPV6 ? 16 : ((await read.bytes(1))[0] ?? 0)
  await read.bytes(size + 2)
  return null
}

const counted = (bytes: Uint8Array) => [Uint8Array.of(bytes.length), bytes]

/**
 * A host as a SOCKS 5 address: the bytes of an IP address, or the letters of a name.
 * @see https://www.rfc-editor.org/rfc/rfc1928#section-5
 */
function addressed(host: string): Uint8Array {
  const four = /^\d+\.\d+\.\d+\.\d+$/.test(host) ? host.split('.').map(Number) : null
  if (four) return Uint8Array.of(BY_IPV4, ...four)
  if (host.includes(':')) return Uint8Array.of(BY_IPV6, ...sixteen(host))
  const name = Buffer.from(host)
  return Buffer.concat([Uint8Array.of(BY_NAME), ...counted(name)])
}

const groups = (text: string): string[] => (text === '' ? [] : text.split(':'))

/** The bytes of an IPv6 address, as the URL parser normalises it. */
function sixteen(host: string): number[] {
  const plain = new URL(`http://[${host}]`).hostname.slice(1, -1)
  const [before = '', after] = plain.split('::')
  const [left, right] = [groups(before), groups(after ?? '')]
  const gap = after === undefined ? 0 : 8 - left.length - right.length
  return [...left, ...Array.from({ length: gap }, () => '0'), ...right].flatMap((group) => {
    const value = Number.parseInt(group, 16)
    return [value >> 8, value & 0xff]
  })
}

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

/** Egress of one browser call. */
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
