import { createServer, type Socket } from 'node:net'

import type { ProxyTrouble } from '../../../core/base/result.ts'
import { type Destination, type Dial, isHome } from './proxy-dial.ts'
import type { ProxyTls } from './tls.ts'

/** One request without TLS, as the browser sent it to its proxy. */
type PlainRequest = { method: string; url: URL; lines: readonly string[] }

/** A request of the browser to its proxy: a tunnel, or one plain request. */
type ProxyRequestHead = {
  far: Destination
  plain: PlainRequest | null
  /** Bytes received after the head. */
  rest: Uint8Array
}

const answerHead = (status: string, ...lines: string[]): string =>
  [`HTTP/1.1 ${status}`, ...lines, 'Content-Length: 0', 'Connection: close', '', ''].join('\r\n')

const DENIED = answerHead(
  '407 Proxy Authentication Required',
  'Proxy-Authenticate: Basic realm="forumd"',
)
const MALFORMED = answerHead('400 Bad Request')

/** Headers between the browser and its proxy only. */
const OURS = new Set(['proxy-authorization', 'proxy-connection', 'connection', 'keep-alive'])

/**
 * Parses the head of a request with this `authorization`; otherwise returns the refusal to send.
 */
function readHead(
  head: string,
  rest: Uint8Array,
  authorization: string,
): ProxyRequestHead | string {
  const [first = '', ...lines] = head.split('\r\n')
  const [, method = '', target = ''] = /^([A-Z]+) (\S+) HTTP\/1\.1$/.exec(first) ?? []
  const given = lines.find((line) => nameOf(line) === 'proxy-authorization')
  if (given?.replace(/^[^:]*:\s*/, '') !== authorization) return DENIED
  if (method === 'CONNECT') {
    const far = farOf(URL.parse(`http://${target}`), Number(/:(\d{1,5})$/.exec(target)?.[1]))
    return far === null ? MALFORMED : { far, plain: null, rest }
  }
  const url = target.startsWith('http://') ? URL.parse(target) : null
  const far = farOf(url, Number(url?.port || 80))
  if (url === null || far === null) return MALFORMED
  const passed = lines.filter((line) => !OURS.has(nameOf(line)))
  return { far, plain: { method, url, lines: passed }, rest }
}

/** The head of a plain request for the next hop: the host itself, or a proxy (`relay`). */
function writeHead(
  { method, url, lines }: PlainRequest,
  relay: { authorization: string | null } | null,
): string {
  const path = url.pathname + url.search
  const who = relay?.authorization ?? null
  return [
    `${method} ${relay === null ? path : url.origin + path} HTTP/1.1`,
    ...lines,
    ...(who === null ? [] : [`Proxy-Authorization: ${who}`]),
    // One request per connection: the next one may be for another host.
    'Connection: close',
    '',
    '',
  ].join('\r\n')
}

/** True if an answer through a proxy is the proxy's own refusal of our credentials. */
function isProxyRefusal(answer: string): boolean {
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(answer)?.[1]
  // Some proxies answer 401, as an origin server would; the platform never uses Basic
  // authentication.
  return status === '407' || (status === '401' && /^www-authenticate: *basic\b/im.test(answer))
}

const nameOf = (line: string): string => line.split(':', 1)[0]?.toLowerCase() ?? ''

function farOf(url: URL | null, port: number): Destination | null {
  const host = url?.hostname.replace(/^\[|\]$/g, '') ?? ''
  return host === '' || !(port >= 1 && port <= 65_535) ? null : { host, port }
}

export type Bridge = {
  port: number
  username: string
  password: string
  /** Closes every open connection, so that the next request opens a new one. */
  drop(): void
  /** Failure of the last attempt to reach the platform; null if it succeeded. */
  trouble(): ProxyTrouble | 'unreached' | null
  close(): void
}

type Options = {
  dial: Dial
  password: string
  /** The platform's own address: only its failures are reported. */
  home: URL
  /** Set if TLS to the platform ends here. */
  proxy_tls: ProxyTls | null
}

const USERNAME = 'forumd'
const HEAD_MAX = 65_536

const ESTABLISHED = 'HTTP/1.1 200 OK\r\n\r\n'
const FORBIDDEN = answerHead('403 Forbidden')
const UNREACHED = answerHead('502 Bad Gateway')

/**
 * Opens the local proxy for everything that a page loads, with or without an upstream proxy. It
 * alone holds the egress and its credentials, checks where a page connects to, and reports
 * failures. Chromium itself knows none of them.
 * @throws {Error} if the bridge has no port
 */
export async function openBridge({ dial, password, home, proxy_tls }: Options): Promise<Bridge> {
  const open = new Set<Socket>()
  const closing = new AbortController()
  const wanted = `Basic ${Buffer.from(`${USERNAME}:${password}`).toString('base64')}`
  let trouble: ReturnType<Bridge['trouble']> = null

  const keep = (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
    socket.on('error', () => socket.destroy())
  }

  async function forward(near: Socket, request: ProxyRequestHead) {
    const is_home = isHome(home, request.far)
    const dialled = await dial(request.far, request.plain !== null, closing.signal)
    if (is_home) trouble = dialled.ok || dialled.why === 'forbidden' ? null : dialled.why
    if (!dialled.ok) {
      // An answer to a plain request would look like the host's own.
      if (request.plain !== null) near.destroy()
      else near.end(dialled.why === 'forbidden' ? FORBIDDEN : UNREACHED)
      return
    }
    const { socket, relay } = dialled
    keep(socket)
    near.once('close', () => socket.destroy())
    if (near.destroyed) {
      socket.destroy()
      return
    }
    if (request.plain === null) {
      near.write(ESTABLISHED)
      await join(near, socket, is_home ? proxy_tls : null)
      return
    }
    socket.write(writeHead(request.plain, relay))
    if (request.rest.length > 0) socket.write(request.rest)
    near.pipe(socket)
    if (relay === null) socket.pipe(near)
    else
      socket.once('data', (first: Uint8Array) => {
        socket.pause()
        // The proxy refused our credentials. Chromium would take that for a refusal by this bridge.
        if (isProxyRefusal(Buffer.from(first).toString('latin1'))) {
          if (is_home) trouble = 'denied'
          near.destroy()
          socket.destroy()
          return
        }
        near.write(first)
        socket.pipe(near)
      })
    socket.once('close', () => near.end())
  }

  /** Copies bytes in both directions until either side ends. */
  async function join(near: Socket, far: Socket, within: ProxyTls | null) {
    far.once('close', () => near.end())
    const ends = within === null ? { near, far } : await within.end(near, far)
    if (ends === null) {
      near.destroy()
      return
    }
    if (within !== null) for (const end of [ends.near, ends.far]) keep(end)
    ends.near.pipe(ends.far)
    ends.far.pipe(ends.near)
  }

  const server = createServer({ noDelay: true }, (near) => {
    keep(near)
    let buffer = Buffer.alloc(0)
    const take = (chunk: Uint8Array) => {
      buffer = Buffer.concat([buffer, chunk])
      const end = buffer.indexOf('\r\n\r\n')
      if (end === -1) {
        if (buffer.length > HEAD_MAX) near.destroy()
        return
      }
      near.off('data', take)
      near.pause()
      const head = buffer.subarray(0, end).toString('latin1')
      const request = readHead(head, buffer.subarray(end + 4), wanted)
      if (typeof request === 'string') near.end(request)
      else void forward(near, request)
    }
    near.on('data', take)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the bridge has no port')

  const drop = () => {
    for (const socket of open) socket.destroy()
  }
  return {
    port: address.port,
    username: USERNAME,
    password,
    drop,
    trouble: () => trouble,
    close() {
      closing.abort()
      server.close()
      drop()
    },
  }
}
