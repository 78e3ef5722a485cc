import { type Agent, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, isIPv4, type LookupFunction } from 'node:net'
import { rootCertificates } from 'node:tls'

import { HttpsProxyAgent } from 'https-proxy-agent'
import { SocksProxyAgent } from 'socks-proxy-agent'

import { errorCode } from '../core/error-code.ts'
import type { ProxyTrouble } from '../core/outcome.ts'
import type { Proxy } from '../core/proxy.ts'
import type { Clock, Resolve } from '../outside.ts'
import { mayHaveLeft } from './departure.ts'
import type { Carried, Errand } from './egress.ts'
import { PACKINGS, readWhole } from './whole.ts'

/** An agent for one request. `done` must be called once. */
export type Borrowed = { agent: ProxyAgent; reused: boolean; done(): void }

/** An agent with what a name means on this side of it, for the schemes that resolve here. */
export type ProxyAgent = { agent: Agent; lookup: LookupFunction }

type Kept = { it: ProxyAgent; in_use: number; used_at: number }

/** How many are kept, idle ones among them. */
const AGENTS_MAX = 64
/** Connections that nobody used for so long are closed when the next request leaves. */
const IDLE_MS = 60_000
const SOCKETS = { keepAlive: true, maxSockets: 16, maxFreeSockets: 2 }

/**
 * Agents by proxy, dialled address and credentials: connections are shared between requests of the same way out, and
 * only between those.
 */
export function createAgents(deps: { clock: Clock; resolve: Resolve; ca?: string | undefined }) {
  const { clock, resolve, ca } = deps
  // To be trusted as a proxy a public certificate is enough, or one of the operator's own authorities.
  const proxy_ca = ca === undefined ? [...rootCertificates] : [...rootCertificates, ca]
  const kept = new Map<string, Kept>()

  function make(proxy: Proxy, address: string): ProxyAgent {
    const agent =
      proxy.scheme === 'https' ? overTls(proxy, address, proxy_ca) : overSocks(proxy, address)
    return { agent, lookup: lookupFor(resolve, proxy.scheme === 'socks4') }
  }

  function prune() {
    const now = clock.mono()
    for (const [key, { it, in_use, used_at }] of kept) {
      if (in_use > 0) continue
      if (kept.size <= AGENTS_MAX && now - used_at < IDLE_MS) continue
      it.agent.destroy()
      kept.delete(key)
    }
  }

  return {
    /** `fresh`: one of its own, whose connections nobody used before and nobody will use after. */
    borrow(proxy: Proxy, address: string, fresh = false): Borrowed {
      if (fresh) {
        const it = make(proxy, address)
        return { agent: it, reused: false, done: () => it.agent.destroy() }
      }
      const { scheme, host, port, username, password } = proxy
      const key = JSON.stringify([scheme, host, address, port, username, password])
      const known = kept.get(key)
      const mine = known ?? { it: make(proxy, address), in_use: 0, used_at: 0 }
      // Put behind all others: the longest unused stand first.
      kept.delete(key)
      kept.set(key, mine)
      mine.in_use += 1
      mine.used_at = clock.mono()
      prune()
      return {
        agent: mine.it,
        reused: known !== undefined,
        done() {
          mine.in_use -= 1
          prune()
        },
      }
    },
    close() {
      for (const { it } of kept.values()) it.agent.destroy()
      kept.clear()
    },
  }
}

const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host)

function overTls(proxy: Proxy, address: string, ca: string[]): Agent {
  const { host, port, username, password } = proxy
  const who = Buffer.from(`${username ?? ''}:${password ?? ''}`).toString('base64')
  return new HttpsProxyAgent(`https://${bracketed(address)}:${port}`, {
    ...SOCKETS,
    ca,
    // The certificate is the name's that was given, not that of the address the name came to.
    ...(isIP(host) === 0 && { servername: host }),
    // Not in the address: what has no credentials in it cannot show them.
    ...((username ?? password) !== null && { headers: { 'Proxy-Authorization': `Basic ${who}` } }),
  })
}

function overSocks({ scheme, port, username, password }: Proxy, address: string): Agent {
  const agent = new SocksProxyAgent(`${scheme}://${bracketed(address)}:${port}`, SOCKETS)
  const proxy = { host: address, port, type: scheme === 'socks4' ? 4 : 5 }
  // Hidden from whatever prints objects.
  for (const [name, value] of Object.entries({ userId: username, password }))
    if (value !== null) Object.defineProperty(proxy, name, { value, enumerable: false })
  Object.assign(agent, { proxy })
  return agent
}

/** Our own resolver in the shape that sockets ask. SOCKS 4 has room for an IPv4 address only. */
function lookupFor(resolve: Resolve, four_only: boolean): LookupFunction {
  return (host, _options, tell) => {
    const found = isIP(host) === 0 ? resolve(host) : Promise.resolve([host])
    void found
      .then((all) => all.find((it) => !four_only || isIPv4(it)))
      .catch(() => undefined)
      .then((address) => {
        if (address === undefined) tell(new Error('no address'), '', 4)
        else tell(null, address, isIPv4(address) ? 4 : 6)
      })
  }
}

type Terms = {
  ca: string | undefined
  /** Ends it whatever the agent is doing. */
  signal: AbortSignal
  /** Whether one hung-up connection out of those that are kept may be met with another. */
  again: boolean
}

/** One request over an agent, with its whole answer. */
export function overAgent(it: ProxyAgent, errand: Errand, terms: Terms): Promise<Carried> {
  const { url, method = 'GET', headers, body } = errand
  const { ca, signal, again } = terms
  return new Promise((resolve) => {
    const ask = url.startsWith('https:') ? requestHttps : requestHttp
    const fail = (why: ProxyTrouble | 'too_large', left = true) => resolve({ ok: false, why, left })
    if (signal.aborted) return fail('failed', false)
    let open = false
    const request = ask(url, {
      agent: it.agent,
      lookup: it.lookup,
      method,
      headers: { 'accept-encoding': PACKINGS, ...headers },
      ...(ca !== undefined && { ca }),
    })
    // The agent is still shaking hands when an abort comes, and would not hear of it.
    const give_up = () => (request.destroy(), fail('failed'))
    signal.addEventListener('abort', give_up, { once: true })
    request.on('close', () => signal.removeEventListener('abort', give_up))
    request.on('proxy', () => (open = true))
    request.on('proxyConnect', ({ statusCode }: { statusCode: number }) => {
      if (statusCode === 200) return
      // What the proxy says in refusing is not an answer of the platform.
      fail(statusCode === 407 || statusCode === 401 ? 'denied' : 'failed', false)
      request.destroy()
    })
    request.on('error', (error) => {
      const left = mayHaveLeft(error)
      if (open) return fail('failed', left)
      if (!again || signal.aborted || !HUNG_UP.test(errorCode(error)))
        return fail(troubleOf(error), left)
      overAgent(it, errand, { ...terms, again: false }).then(resolve, () => fail('failed'))
    })
    request.on('response', (response) => {
      readAnswer(response).then(resolve, () => fail('failed'))
    })
    request.end(body)
  })
}

const HUNG_UP = /^(ECONNRESET|EPIPE|ERR_STREAM_PREMATURE_CLOSE)$/

/** The library tells its errors apart by their sentences alone; only the kind is taken from them. */
function troubleOf(error: Error): ProxyTrouble {
  if (/authentication|no accepted/i.test(error.message)) return 'denied'
  if (HUNG_UP.test(errorCode(error))) return 'failed'
  return /rejected connection|no address/i.test(error.message) ? 'failed' : 'unreachable'
}

async function readAnswer(response: IncomingMessage): Promise<Carried> {
  const headers = new Headers()
  for (let at = 0; at < response.rawHeaders.length; at += 2)
    headers.append(response.rawHeaders[at] ?? '', response.rawHeaders[at + 1] ?? '')
  try {
    const body = await readWhole({ body: response, headers })
    if (body === null) return { ok: false, why: 'too_large', left: true }
    return { ok: true, answer: { status: response.statusCode ?? 0, headers, body } }
  } catch {
    return { ok: false, why: 'failed', left: true }
  }
}
