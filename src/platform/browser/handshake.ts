import type { Socket } from 'node:net'

import type { ProxyTrouble } from '../../core/outcome.ts'
import type { Proxy } from '../../core/proxy.ts'

/** Where a tunnel ends: `host` without brackets. */
export type Far = { host: string; port: number }

/** Null: from here on the socket is the tunnel. */
export type Shaken = Exclude<ProxyTrouble, 'refused' | 'unreachable'> | null

const HEAD_MAX = 16_384

/** Asks a proxy for a tunnel on a connection to it. Rejects when the connection ends. */
export function shake(socket: Socket, proxy: Proxy, far: Far): Promise<Shaken> {
  const read = reader(socket)
  return (
    proxy.scheme.startsWith('socks')
      ? socks(socket, read, proxy, far)
      : connect(socket, read, proxy, far)
  ).finally(read.done)
}

type Reader = ReturnType<typeof reader>

/** Takes bytes off a socket as they are needed, and puts back what was too much. */
function reader(socket: Socket) {
  let held = Buffer.alloc(0)
  let wake: (() => void) | null = null
  let ended = false
  const take = (chunk: Uint8Array) => {
    held = Buffer.concat([held, chunk])
    wake?.()
  }
  const end = () => {
    ended = true
    wake?.()
  }
  const ENDS = ['end', 'close', 'error'] as const
  socket.on('data', take)
  for (const event of ENDS) socket.on(event, end)

  /** What `measure` wants, once it is there: how many bytes, or null while it cannot tell. */
  async function until(measure: (held: Buffer) => number | null): Promise<Buffer> {
    for (;;) {
      const wanted = measure(held)
      if (wanted !== null && held.length >= wanted) {
        const taken = held.subarray(0, wanted)
        held = held.subarray(wanted)
        return taken
      }
      if (ended || held.length > HEAD_MAX) throw new Error('the proxy hung up')
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
      if (held.length > 0) socket.unshift(held)
    },
  }
}

/** What a proxy's credentials are in a header; null when it has none. */
export const basic = ({ username, password }: Proxy): string | null =>
  (username ?? password) === null
    ? null
    : `Basic ${Buffer.from(`${username ?? ''}:${password ?? ''}`).toString('base64')}`

async function connect(socket: Socket, read: Reader, proxy: Proxy, far: Far): Promise<Shaken> {
  const authorization = basic(proxy)
  const authority = `${far.host.includes(':') ? `[${far.host}]` : far.host}:${far.port}`
  const lines = [
    `CONNECT ${authority} HTTP/1.1`,
    `Host: ${authority}`,
    ...(authorization === null ? [] : [`Proxy-Authorization: ${authorization}`]),
  ]
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  const status = /^HTTP\/1\.[01] (\d{3})/.exec((await read.head()).toString('latin1'))?.[1]
  // Some say 401, as if they were the host.
  if (status === '407' || status === '401') return 'denied'
  return status?.startsWith('2') ? null : 'failed'
}

const VERSION = 5
const NO_CREDENTIALS = 0
const BY_PASSWORD = 2
const [BY_IPV4, BY_NAME, BY_IPV6] = [1, 3, 4]

async function socks(socket: Socket, read: Reader, proxy: Proxy, far: Far): Promise<Shaken> {
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

/** A host as SOCKS writes it: an address in its bytes, a name in its letters. */
function addressed(host: string): Uint8Array {
  const four = /^\d+\.\d+\.\d+\.\d+$/.test(host) ? host.split('.').map(Number) : null
  if (four) return Uint8Array.of(BY_IPV4, ...four)
  if (host.includes(':')) return Uint8Array.of(BY_IPV6, ...sixteen(host))
  const name = Buffer.from(host)
  return Buffer.concat([Uint8Array.of(BY_NAME), ...counted(name)])
}

const groups = (text: string): string[] => (text === '' ? [] : text.split(':'))

/** The bytes of an IPv6 address, as the URL parser spells it out. */
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
