import { connect, isIP, type Socket } from 'node:net'

import { ADDRESSES_MAX } from '../../core/address.ts'
import type { ProxyTrouble } from '../../core/outcome.ts'
import type { Proxy } from '../../core/proxy.ts'
import type { Guard } from '../../net/guard.ts'
import { tls } from '../../net/tls.ts'
import type { Clock, Resolve } from '../../outside.ts'
import { basic, type Far, shake } from './handshake.ts'

/** A connection to a page's host, or why there is none; `unreached` is the host's fault, the rest the proxy's. */
type Dialled =
  /** `relay`: the proxy is at the other end, and wants to be told the whole address of what is asked. */
  | { ok: true; socket: Socket; relay: { authorization: string | null } | null }
  | { ok: false; why: 'unreached' | 'forbidden' | ProxyTrouble }

/** Connects to a host by the way out of one call; `plain`: for one request without TLS. Never rejects. */
export type Dial = (far: Far, plain: boolean, signal: AbortSignal) => Promise<Dialled>

/** By which way a browser leaves. */
export type Way = {
  proxy: Proxy | null
  /** A caller named the proxy, so the guard has to let it pass. */
  guarded: boolean
}

type Deps = {
  resolve: Resolve
  guard: Guard
  clock: Clock
  /** The platform itself, which the operator named: it may be anywhere. */
  home: URL
  /** Authorities of the operator's, beside the public ones, for https proxies. */
  ca?: string | undefined
}

/** From knocking to a connection that carries, the proxy's part included. */
const DIAL_MS = 10_000
/** What pages load comes from these, unless it is the platform itself. */
const PORTS = new Set([80, 443])

/**
 * The way out of one call. The platform may be anywhere; every other host is named by a page, so where we connect
 * directly the guard has to let it pass, and it is dialled at the address that was checked.
 */
export function createDial(
  { resolve, guard, clock, home, ca }: Deps,
  { proxy, guarded }: Way,
): Dial {
  /** A caller's proxy is checked once a call: a name that means another place a moment later changes nothing. */
  let checked: Promise<readonly string[]> | null = null

  const passed = async ({ host, port }: Far): Promise<readonly string[]> => {
    const answer = await guard(`https://${host.includes(':') ? `[${host}]` : host}:${port}/`)
    return answer.ok ? answer.addresses.slice(0, ADDRESSES_MAX) : []
  }

  async function direct(far: Far, signal: AbortSignal): Promise<Dialled> {
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
    far: Far,
    plain: boolean,
    signal: AbortSignal,
  ): Promise<Dialled> {
    // What a page names by its number is nothing that a proxy should be asked for either.
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
    // Many a proxy opens tunnels to 443 alone.
    if (plain && !by.scheme.startsWith('socks'))
      return { ok: true, socket, relay: { authorization: basic(by) } }
    try {
      const there = by.scheme === 'socks5' ? await placed(resolve, far) : far
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
    const [late, done] = [new AbortController(), new AbortController()]
    void clock.sleep(DIAL_MS, done.signal).then(() => {
      if (!done.signal.aborted) late.abort()
    })
    const over = AbortSignal.any([signal, late.signal])
    const dialled = await (proxy === null ? direct(far, over) : through(proxy, far, plain, over))
    done.abort()
    return dialled
  }
}

/** Whether a connection is to the platform itself. */
export const isHome = (home: URL, far: Far): boolean =>
  far.host === hostOf(home) && far.port === portOf(home)

const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '')
const portOf = ({ port, protocol }: URL): number =>
  port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)

/** The addresses of a host; none when it does not resolve. */
async function found(resolve: Resolve, host: string): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host]
  const all = await resolve(host).catch(() => [])
  return all.slice(0, ADDRESSES_MAX)
}

/** A name that is resolved on this side of the proxy; null when it does not resolve. */
async function placed(resolve: Resolve, far: Far): Promise<Far | null> {
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
    // Somebody has to listen, or the process ends.
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
