import { type Agent, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, isIPv4, type LookupFunction } from 'node:net'
import { rootCertificates } from 'node:tls'

import { HttpsProxyAgent } from 'https-proxy-agent'
import { SocksProxyAgent } from 'socks-proxy-agent'

import { errorCode } from '../core/base/errors.ts'
import type { ProxyTrouble, Unreached } from '../core/base/result.ts'
import type { Proxy } from '../core/forum/proxy.ts'
import type { Clock, Resolve } from '../runtime/runtime.ts'
import { hasNoFiles } from './out-of-files.ts'
import { ENCODINGS, readBody, Unpackable } from './read-body.ts'
import { mayHaveBeenSent } from './sent.ts'

/**
 * Route of a request: direct or through one proxy; `guarded`: a caller named the proxy, or added the address, so the
 * guard must accept it.
 */
type EgressRoute = { proxy: Proxy | null; guarded: boolean }

/** A complete answer, independent of its route. */
type EgressResponse = { status: number; headers: Headers; body: string }

export type EgressRequest = {
  url: string
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  headers: Record<string, string>
  body?: string | Uint8Array<ArrayBuffer> | undefined
  route: EgressRoute
  /**
   * Sent exactly once, on a connection of its own: a reused connection that was closed meanwhile
   * would leave it open whether anything was sent. After a failure, `left` tells.
   */
  once?: boolean
  /** Of the answer; absent: the most that any may have. */
  bytes_max?: number
  /** The body has one character for each byte. */
  as_bytes?: boolean
  /** From connecting to the last byte. */
  timeout_ms: number
  signal?: AbortSignal | undefined
}

/**
 * Result of a request. `unreached` is a failure of the platform or the network, `unpackable` an answer that does not
 * match its content coding, `out_of_files` a failure of this process; the others are the proxy's. `left` false: no part of the request reached the
 * other side.
 */
export type EgressResult =
  | { ok: true; answer: EgressResponse }
  | {
      ok: false
      why: 'timeout' | 'too_large' | 'unpackable' | 'unreached' | 'out_of_files' | ProxyTrouble
      left: boolean
      cause?: Unreached
    }

/** An agent for one request. `done` must be called once. */
export type AgentLease = { agent: ProxyAgent; reused: boolean; done(): void }

/** An agent with the DNS lookup for proxy schemes that resolve on this side. */
export type ProxyAgent = { agent: Agent; lookup: LookupFunction }

type CachedAgent = { it: ProxyAgent; in_use: number; used_at: number }

const AGENTS_MAX = 64
/** Idle time after which connections are closed with the next request. */
const IDLE_MS = 60_000
const SOCKETS = { keepAlive: true, maxSockets: 16, maxFreeSockets: 2 }

/** Connections are shared only between requests with the same route. */
export function createAgents(deps: { clock: Clock; resolve: Resolve; ca?: string | undefined }) {
  const { clock, resolve, ca } = deps
  // A proxy's certificate may be signed by a public authority or by one of the operator's own.
  const proxy_ca = ca === undefined ? [...rootCertificates] : [...rootCertificates, ca]
  const agents = new Map<string, CachedAgent>()

  function make(proxy: Proxy, address: string): ProxyAgent {
    const agent =
      proxy.scheme === 'https' ? overTls(proxy, address, proxy_ca) : overSocks(proxy, address)
    return { agent, lookup: lookupFor(resolve, proxy.scheme === 'socks4') }
  }

  function prune() {
    const now = clock.mono()
    for (const [key, { it, in_use, used_at }] of agents) {
      if (in_use > 0) continue
      if (agents.size <= AGENTS_MAX && now - used_at < IDLE_MS) continue
      it.agent.destroy()
      agents.delete(key)
    }
  }

  return {
    /**
     * Lends an agent for one request; `fresh`: a new one whose connections no other request uses.
     */
    borrow(proxy: Proxy, address: string, fresh = false): AgentLease {
      if (fresh) {
        const it = make(proxy, address)
        return { agent: it, reused: false, done: () => it.agent.destroy() }
      }
      const { scheme, host, port, username, password } = proxy
      const key = JSON.stringify([scheme, host, address, port, username, password])
      const cached = agents.get(key)
      const mine = cached ?? { it: make(proxy, address), in_use: 0, used_at: 0 }
      // Moved to the end: the least recently used agents are in front.
      agents.delete(key)
      agents.set(key, mine)
      mine.in_use += 1
      mine.used_at = clock.mono()
      prune()
      return {
        agent: mine.it,
        reused: cached !== undefined,
        done() {
          mine.in_use -= 1
          prune()
        },
      }
    },
    close() {
      for (const { it } of agents.values()) it.agent.destroy()
      agents.clear()
    },
  }
}

const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host)

function overTls(proxy: Proxy, address: string, ca: string[]): HttpsProxyAgent<string> {
  const { host, port, username, password } = proxy
  const who = Buffer.from(`${username ?? ''}:${password ?? ''}`).toString('base64')
  return new HttpsProxyAgent(`https://${bracketed(address)}:${port}`, {
    ...SOCKETS,
    ca,
    // The certificate must match the given name, not the resolved address.
    ...(isIP(host) === 0 && { servername: host }),
    // Not in the address: a URL without credentials cannot reveal them.
    ...((username ?? password) !== null && { headers: { 'Proxy-Authorization': `Basic ${who}` } }),
  })
}

function overSocks({ scheme, port, username, password }: Proxy, address: string): SocksProxyAgent {
  const agent = new SocksProxyAgent(`${scheme}://${bracketed(address)}:${port}`, SOCKETS)
  const proxy = { host: address, port, type: scheme === 'socks4' ? 4 : 5 }
  // Hidden from code that prints objects.
  for (const [name, value] of Object.entries({ userId: username, password }))
    if (value !== null) Object.defineProperty(proxy, name, { value, enumerable: false })
  Object.assign(agent, { proxy })
  return agent
}

/** Our resolver in the shape of a socket lookup. SOCKS 4 supports IPv4 addresses only. */
function lookupFor(resolve: Resolve, four_only: boolean): LookupFunction {
  return (host, _options, callback) => {
    const found = isIP(host) === 0 ? resolve(host) : Promise.resolve([host])
    void found
      .then((all) => all.find((it) => !four_only || isIPv4(it)))
      .catch(() => undefined)
      .then((address) => {
        if (address === undefined) callback(new Error('no address'), '', 4)
        else callback(null, address, isIPv4(address) ? 4 : 6)
      })
  }
}

type Terms = {
  ca: string | undefined
  /** Ends the request in any state. */
  signal: AbortSignal
  /** True if a closed kept connection may be retried on another. */
  again: boolean
}

export function overAgent(
  it: ProxyAgent,
  egress_request: EgressRequest,
  terms: Terms,
): Promise<EgressResult> {
  const { url, method = 'GET', headers, body } = egress_request
  const { ca, signal, again } = terms
  return new Promise((resolve) => {
    const startRequest = url.startsWith('https:') ? requestHttps : requestHttp
    const fail = (why: (EgressResult & { ok: false })['why'], left = true) =>
      resolve({ ok: false, why, left })
    if (signal.aborted) return fail('failed', false)
    let open = false
    const request = startRequest(url, {
      agent: it.agent,
      lookup: it.lookup,
      method,
      headers: { 'accept-encoding': ENCODINGS, ...headers },
      ...(ca !== undefined && { ca }),
    })
    // During the proxy handshake, the agent ignores an abort.
    const give_up = () => (request.destroy(), fail('failed'))
    signal.addEventListener('abort', give_up, { once: true })
    request.on('close', () => signal.removeEventListener('abort', give_up))
    request.on('proxy', () => (open = true))
    request.on('proxyConnect', ({ statusCode }: { statusCode: number }) => {
      if (statusCode === 200) return
      // A proxy's refusal is not an answer of the platform.
      fail(statusCode === 407 || statusCode === 401 ? 'denied' : 'failed', false)
      request.destroy()
    })
    request.on('error', (error) => {
      const left = mayHaveBeenSent(error)
      if (hasNoFiles(error, left)) return fail('out_of_files', false)
      if (open) return fail('failed', left)
      if (!again || signal.aborted || !HUNG_UP.test(errorCode(error)))
        return fail(troubleOf(error), left)
      overAgent(it, egress_request, { ...terms, again: false }).then(resolve, () => fail('failed'))
    })
    request.on('response', (response) => {
      readAnswer(response, egress_request).then(resolve, () => fail('failed'))
    })
    request.end(body)
  })
}

const HUNG_UP = /^(ECONNRESET|EPIPE|ERR_STREAM_PREMATURE_CLOSE)$/

/** The library's errors differ only in their sentences; just the kind is taken from them. */
function troubleOf(error: Error): ProxyTrouble {
  if (/authentication|no accepted/i.test(error.message)) return 'denied'
  if (HUNG_UP.test(errorCode(error))) return 'failed'
  return /rejected connection|no address/i.test(error.message) ? 'failed' : 'unreachable'
}

async function readAnswer(
  response: IncomingMessage,
  { bytes_max, as_bytes }: EgressRequest,
): Promise<EgressResult> {
  const headers = new Headers()
  for (let at = 0; at < response.rawHeaders.length; at += 2)
    headers.append(response.rawHeaders[at] ?? '', response.rawHeaders[at + 1] ?? '')
  try {
    const body = await readBody({ body: response, headers }, bytes_max, as_bytes)
    if (body === null) return { ok: false, why: 'too_large', left: true }
    return { ok: true, answer: { status: response.statusCode ?? 0, headers, body } }
  } catch (error) {
    return { ok: false, why: error instanceof Unpackable ? 'unpackable' : 'failed', left: true }
  }
}
