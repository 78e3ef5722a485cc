import {
  Agent as HttpAgent,
  type AgentOptions,
  type IncomingMessage,
  request as requestHttp,
} from 'node:http'
import { Agent as HttpsAgent, request as requestHttps, type RequestOptions } from 'node:https'
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

import { HttpsProxyAgent } from 'https-proxy-agent'

import { errorCode } from '../core/base/errors.ts'
import { Fenced } from '../core/standby/fence.ts'
import type { Fence, Fetch } from '../runtime/runtime.ts'
import { overdue } from './transport.ts'

// fetch connects, shakes hands and writes in a thread of its own. A process that was frozen in between would send its
// request on waking, after another process took over, and no code of ours could run before. Sockets of node:net are
// written by this thread, so the check and the system call lie in one step of the program.

type Write = Socket['_write']
type Permits = Pick<Fence, 'mayAct'>

/** Sockets whose write was refused: their requests fail as if the connection had broken. */
const refused = new WeakSet<object>()

/** Lets each write to a connected socket through only while acts are permitted; otherwise the socket is reset. */
export function fenceSocket<T extends Socket>(socket: T, fence: Permits): T {
  const write: Write = socket._write.bind(socket)
  const writeAll = socket._writev?.bind(socket)
  // Its request learns of the error; a kept connection has none, and an event without a listener would end the process.
  socket.on('error', () => {})
  const refuse = (done: (error?: Error | null) => void) => {
    const error = new Fenced()
    refused.add(socket)
    done(error)
    drop(socket, error)
  }
  socket._write = (chunk, encoding, done) =>
    fence.mayAct() ? write(chunk, encoding, done) : refuse(done)
  if (writeAll !== undefined)
    socket._writev = (chunks, done) => (fence.mayAct() ? writeAll(chunks, done) : refuse(done))
  return socket
}

/** Ends a connection with a reset: what the kernel still holds is discarded instead of sent again and again. */
function drop(socket: Socket, error: Error): void {
  try {
    socket.resetAndDestroy()
  } catch {
    // Not a TCP socket itself.
  }
  socket.destroy(error)
}

const KEPT: AgentOptions = { keepAlive: true, maxFreeSockets: 64 }
type Route = Omit<RequestOptions, 'headers'> & { headers?: Record<string, string> }
type Made = Parameters<HttpAgent['createConnection']>[1]

/** An agent passes a socket on once it is connected, so that nothing is written later than its check. */
function passWhen(ready: 'connect' | 'secureConnect', socket: Socket, made: Made): void {
  let passed = false
  const pass = (error: Error | null) => {
    if (!passed) made?.(error, socket)
    passed = true
  }
  socket.once(ready, () => pass(null))
  socket.once('error', pass)
}

class FencedHttpAgent extends HttpAgent {
  readonly fence: Permits
  constructor(fence: Permits, options = KEPT) {
    super(options)
    this.fence = fence
  }
  override createConnection({ host, port }: RequestOptions, made: Made) {
    const socket = connectTcp({ host: plain(host), port: Number(port) })
    passWhen('connect', fenceSocket(socket, this.fence), made)
    return undefined
  }
}

class FencedHttpsAgent extends HttpsAgent {
  readonly fence: Permits
  constructor(fence: Permits, options = KEPT) {
    super(options)
    this.fence = fence
  }
  override createConnection({ host, port, servername, ca }: RequestOptions, made: Made) {
    const socket = connectTls({
      host: plain(host),
      port: Number(port),
      ...(servername !== undefined && servername !== '' && { servername }),
      ...(ca !== undefined && { ca }),
    })
    passWhen('secureConnect', fenceSocket(socket, this.fence), made)
    return undefined
  }
}

const plain = (host: string | null | undefined): string => (host ?? '').replace(/^\[|\]$/g, '')

/** A response with one of these has no body. */
const BODILESS = new Set([204, 205, 304])

/**
 * The `fetch` of a process with a lease, as the transports use it: no redirects, no decompression. Slower than that of
 * the runtime, and written by one thread.
 */
export function createFencedFetch(fence: Fence): Fetch {
  const agents = { http: new FencedHttpAgent(fence), https: new FencedHttpsAgent(fence) }
  const proxies = new Map<string, HttpsProxyAgent<string>>()

  function tunnelThrough(proxy: string): HttpsProxyAgent<string> {
    const known = proxies.get(proxy)
    if (known !== undefined) return known
    const agent = fenceAgent(new HttpsProxyAgent(proxy, KEPT), fence)
    if (proxies.size >= PROXIES_MAX) forgetOldest(proxies)
    proxies.set(proxy, agent)
    return agent
  }

  function routeOf(url: URL, proxy: string | null, once: boolean): Route {
    const secure = url.protocol === 'https:'
    if (proxy === null) {
      if (!once) return { agent: secure ? agents.https : agents.http }
      const alone = { keepAlive: false }
      return {
        agent: secure ? new FencedHttpsAgent(fence, alone) : new FencedHttpAgent(fence, alone),
      }
    }
    if (secure)
      return {
        agent: once
          ? fenceAgent(new HttpsProxyAgent(proxy, { keepAlive: false }), fence)
          : tunnelThrough(proxy),
      }
    // Without TLS a proxy takes the whole address.
    const { hostname, port, username, password } = new URL(proxy)
    const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
    return {
      agent: agents.http,
      hostname,
      port: port === '' ? 80 : port,
      path: url.href,
      headers: {
        host: url.host,
        ...(pair !== ':' && {
          'proxy-authorization': `Basic ${Buffer.from(pair).toString('base64')}`,
        }),
      },
    }
  }

  return async (href, init) => {
    const url = new URL(href)
    const { method = 'GET', body, signal } = init
    const headers = new Headers(init.headers)
    const bytes = body === undefined || body === null ? null : await bytesOf(body, headers)
    if (signal?.aborted) throw aborted()
    if (!fence.mayAct()) throw new Fenced()
    const proxy = typeof init.proxy === 'string' && init.proxy !== '' ? init.proxy : null
    const once = init.keepalive === false
    const route = routeOf(url, proxy, once)
    const { headers: more, ...way } = route
    const trust = init.tls ?? {}
    const options: RequestOptions = {
      method,
      ...way,
      headers: {
        ...Object.fromEntries(headers),
        ...(once && { connection: 'close' }),
        ...more,
      },
      ...('serverName' in trust &&
        typeof trust.serverName === 'string' && { servername: trust.serverName }),
      ...('ca' in trust && authoritiesOf(trust.ca)),
    }
    const it = { bytes, signal: signal ?? null, fence }
    try {
      return await exchange(url, options, it)
    } catch (error) {
      // The other side closed a kept connection before it read the request: tried once on one of its own.
      if (!(error instanceof StaleConnection) || proxy !== null) throw error
      return exchange(
        url,
        { ...options, ...routeOf(url, null, true), headers: options.headers },
        it,
      )
    }
  }
}

/** A connection that was used before broke before anything came back. */
class StaleConnection extends Error {
  readonly code = 'ECONNRESET'
}
const BROKEN = /^(ECONNRESET|EPIPE|ERR_STREAM_(WRITE_AFTER_END|DESTROYED))$/

/** The certificate authorities of a request, which its caller gives in PEM. */
function authoritiesOf(ca: unknown): { ca?: string[] } {
  const all = (Array.isArray(ca) ? ca : [ca]).filter((it) => typeof it === 'string')
  return all.length === 0 ? {} : { ca: all }
}

const PROXIES_MAX = 64
function forgetOldest(proxies: Map<string, HttpsProxyAgent<string>>): void {
  for (const [key, agent] of proxies) {
    agent.destroy()
    proxies.delete(key)
    return
  }
}

type Connects = Pick<HttpsProxyAgent<string>, 'connect'>

/** Makes an agent of `agent-base` pass on fenced sockets; its handshake with the proxy goes before. */
export function fenceAgent<T extends Connects>(agent: T, fence: Permits): T {
  const connect = agent.connect.bind(agent)
  const fenced = async (...to: Parameters<Connects['connect']>) => {
    if (!fence.mayAct()) throw new Fenced()
    return fenceSocket(await connect(...to), fence)
  }
  Reflect.defineProperty(agent, 'connect', { value: fenced })
  return agent
}

type Exchange = { bytes: Uint8Array | null; signal: AbortSignal | null; fence: Fence }

function exchange(url: URL, options: RequestOptions, it: Exchange): Promise<Response> {
  const { bytes, signal, fence } = it
  const { promise, resolve, reject } = Promise.withResolvers<Response>()
  const start = url.protocol === 'https:' ? requestHttps : requestHttp
  const request = options.path === undefined ? start(url, options) : start(options)
  const end = () => {
    const error = fence.lost.aborted ? new Fenced() : aborted()
    if (request.socket) drop(request.socket, error)
    request.destroy(error)
    reject(error)
  }
  const over = signal === null ? [fence.lost] : [fence.lost, signal]
  const leave = () => over.forEach((from) => from.removeEventListener('abort', end))
  for (const from of over) from.addEventListener('abort', end, { once: true })
  const isOverdue = signal === null ? undefined : overdue.get(signal)
  if (isOverdue !== undefined) request.on('socket', () => void isOverdue())
  request.on('close', leave)
  request.on('error', (error) => {
    leave()
    if (request.socket && refused.has(request.socket)) return reject(new Fenced())
    const is_stale = request.reusedSocket && BROKEN.test(errorCode(error)) && !fence.lost.aborted
    reject(is_stale ? new StaleConnection('kept connection closed') : error)
  })
  request.on('proxyConnect', ({ statusCode }: { statusCode: number }) => {
    if (statusCode === 200) return
    reject(Object.assign(new Error(`tunnel: ${statusCode}`), { code: 'ERR_PROXY_TUNNEL' }))
    request.destroy()
  })
  request.on('response', (response) => {
    try {
      resolve(toResponse(response))
    } catch {
      request.destroy()
      reject(Object.assign(new Error('status'), { code: 'Malformed_HTTP_Response' }))
    }
  })
  if (bytes === null) request.end()
  else request.end(bytes)
  return promise
}

function toResponse(response: IncomingMessage): Response {
  const headers = new Headers()
  for (let at = 0; at < response.rawHeaders.length; at += 2)
    headers.append(response.rawHeaders[at] ?? '', response.rawHeaders[at + 1] ?? '')
  const status = response.statusCode ?? 0
  if (BODILESS.has(status)) {
    response.resume()
    return new Response(null, { status, headers })
  }
  const chunks = response[Symbol.asyncIterator]()
  const body = new ReadableStream<Uint8Array>({
    async pull(stream) {
      const { done, value } = await chunks.next()
      if (done === true) stream.close()
      else stream.enqueue(value)
    },
    cancel() {
      response.destroy()
    },
  })
  return new Response(body, { status, headers })
}

async function bytesOf(
  body: NonNullable<BunFetchRequestInit['body']>,
  headers: Headers,
): Promise<Uint8Array> {
  if (body instanceof Uint8Array) return body
  const whole = new Response(body)
  const type = whole.headers.get('content-type')
  if (type !== null && !headers.has('content-type')) headers.set('content-type', type)
  return new Uint8Array(await whole.arrayBuffer())
}

const aborted = (): Error => new DOMException('The operation was aborted.', 'AbortError')
