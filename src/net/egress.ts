import { ADDRESSES_MAX } from '../core/address.ts'
import { errorCode } from '../core/error-code.ts'
import type { ProxyTrouble } from '../core/outcome.ts'
import type { Proxy } from '../core/proxy.ts'
import type { Clock, Fetch, Resolve } from '../outside.ts'
import { mayHaveLeft } from './departure.ts'
import type { Guard } from './guard.ts'
import type { Sweep } from './sweep.ts'
import { BODY_MAX, PACKINGS, readWhole } from './whole.ts'

/** How a request leaves: directly or through one proxy, which the guard has to approve when a caller named it. */
type Way = { proxy: Proxy | null; guarded: boolean }

/** One request to a host that the operator named. */
export type Errand = {
  url: string
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH'
  headers: Record<string, string>
  body?: string | Uint8Array<ArrayBuffer> | undefined
  way: Way
  /**
   * Never asked again, and on a connection of its own: one that was hung up meanwhile leaves it open whether anything
   * came through. How it failed then tells `left`.
   */
  once?: boolean
  /** From connecting to the last byte. */
  timeout_ms: number
  signal?: AbortSignal | undefined
}

/** A whole answer, the same whatever way it came. */
type Answered = { status: number; headers: Headers; body: string }

/**
 * What became of an errand. `unreached` is the platform's fault or the network's, a trouble the proxy's; `left` says
 * of what is done once whether it may have reached anybody.
 */
export type Carried =
  | { ok: true; answer: Answered }
  | { ok: false; why: 'timeout' | 'too_large' | 'unreached' | ProxyTrouble; left?: boolean }

/** The ways out of this machine. Nothing is followed, nothing is thrown, nothing outlives its time. */
export type Egress = {
  send(errand: Errand): Promise<Carried>
  /** Gives up every connection that is kept for later. */
  close(): void
}

type Deps = {
  fetch: Fetch
  clock: Clock
  /** Names for socks4 and socks5, which resolve on this side. */
  resolve: Resolve
  /** Whoever a caller names as a proxy is dialled where this says, or not at all. */
  guard: Guard
  /** The platform's authorities in PEM, instead of the system's. */
  ca?: string | undefined
  /** Sees to what large answers leave behind; left out, the engine does so in its own time. */
  sweep?: Sweep | undefined
}

/**
 * Directly and through http proxies goes by fetch; through https proxies and SOCKS by agents, because fetch knows no
 * SOCKS and checks an https proxy's certificate against the address it dials, which for a caller's is no name.
 */
export function createEgress({ fetch, clock, resolve, guard, ca, sweep }: Deps): Egress {
  let loading: ReturnType<typeof loadAgents> | null = null

  // Loaded with the first proxy that needs one: most daemons have none, and their libraries are many.
  async function loadAgents() {
    const { createAgents, overAgent } = await import('./agents.ts')
    return { ...createAgents({ clock, resolve, ca }), overAgent }
  }

  /** The proxy under each address it may be dialled at; none when it may not be. */
  async function dialled({ host, port }: Proxy, guarded: boolean): Promise<readonly string[]> {
    if (!guarded) return [host]
    const name = host.includes(':') ? `[${host}]` : host
    const passed = await guard(`https://${name}:${port}/`)
    return passed.ok ? passed.addresses.slice(0, ADDRESSES_MAX) : []
  }

  async function byFetch(errand: Errand, proxy: string | null, signal: AbortSignal) {
    try {
      const { url, method = 'GET', headers, body } = errand
      const response = await fetch(url, {
        method,
        headers: { 'accept-encoding': PACKINGS, ...headers },
        redirect: 'manual',
        decompress: false,
        // Proxy variables of the environment are not ours to obey.
        proxy: proxy ?? false,
        signal,
        ...(errand.once && { keepalive: false }),
        ...(body !== undefined && { body }),
        ...(ca !== undefined && { tls: { ca } }),
      })
      // A tunnel's refusal is an error already; without one, this is how a proxy asks for credentials.
      if (proxy !== null && response.status === 407) return failed('denied', false)
      const whole = await readWhole(response)
      if (whole === null) return failed('too_large', true)
      return answered(response.status, response.headers, whole)
    } catch (thrown) {
      return failed(proxy === null ? 'unreached' : troubleOf(thrown), mayHaveLeft(thrown))
    }
  }

  async function byAgent(errand: Errand, proxy: Proxy, address: string, signal: AbortSignal) {
    const { borrow, overAgent } = await (loading ??= loadAgents())
    const { agent, reused, done } = borrow(proxy, address, errand.once)
    try {
      // A kept connection may have been hung up meanwhile; to ask once more is safe where nothing is changed by it.
      const again = reused && !changes(errand)
      return await overAgent(agent, errand, { ca, signal, again })
    } finally {
      done()
    }
  }

  async function through(proxy: Proxy, errand: Errand, signal: AbortSignal): Promise<Carried> {
    const addresses = await dialled(proxy, errand.way.guarded)
    let last: Carried = failed('refused', false)
    for (const address of addresses) {
      if (signal.aborted) break
      last =
        proxy.scheme === 'http'
          ? await byFetch(errand, addressOf(proxy, address), signal)
          : await byAgent(errand, proxy, address, signal)
      if (last.ok || last.why !== 'unreachable' || (last.left && errand.once)) break
    }
    return last
  }

  return {
    async send(errand) {
      const [over, done] = [new AbortController(), new AbortController()]
      // Too late is told before anything leaves.
      if (errand.signal?.aborted || errand.timeout_ms <= 0)
        return told(errand, failed('timeout', false))
      // Of an answer that has come whole nothing is open any more; to give it up all the same is not free.
      let whole = false
      const give_up = () => {
        if (!whole) over.abort()
        // Without a reason it would be an error with its stack.
        done.abort('over')
      }
      errand.signal?.addEventListener('abort', give_up)
      const late = clock.sleep(errand.timeout_ms, done.signal)
      const { proxy } = errand.way
      try {
        // The race: a deadline must not depend on everything below keeping to the signal.
        const carried = await Promise.race([
          proxy ? through(proxy, errand, over.signal) : byFetch(errand, null, over.signal),
          late.then(() => (give_up(), failed('timeout', true))),
        ])
        sweep?.(sizeOf(carried))
        whole = carried.ok
        if (carried.ok) return carried
        return told(errand, over.signal.aborted ? { ...carried, why: 'timeout' } : carried)
      } finally {
        errand.signal?.removeEventListener('abort', give_up)
        // Closes what is still open, such as a body nobody reads to its end.
        give_up()
      }
    },
    close: () => void loading?.then(({ close }) => close()),
  }
}

type Failed = Carried & { ok: false }
const failed = (why: Failed['why'], left: boolean): Failed => ({ ok: false, why, left })

/** What might be done again in any case needs no word on whether it was. */
const told = ({ once }: Errand, { why, left = true }: Failed): Failed =>
  once ? { ok: false, why, left } : { ok: false, why }

/** Whether doing it twice is more than doing it once. */
const changes = ({ method = 'GET' }: Errand): boolean => method !== 'GET'

/** What may have been read of an answer, in bytes, nearly. */
function sizeOf(carried: Carried): number {
  if (carried.ok) return carried.answer.body.length
  return carried.why === 'too_large' ? BODY_MAX : 0
}

const answered = (status: number, headers: Headers, body: string): Carried => ({
  ok: true,
  answer: { status, headers, body },
})

/** A proxy as fetch wants it named. */
function addressOf({ scheme, port, username, password }: Proxy, address: string): string {
  const host = address.includes(':') ? `[${address}]` : address
  const who = [username ?? '', ...(password === null ? [] : [password])].map(encodeURIComponent)
  return `${scheme}://${username === null && password === null ? '' : `${who.join(':')}@`}${host}:${port}`
}

const UNREACHABLE =
  /^(ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|ConnectionRefused|FailedToOpenSocket|DNS\w*)$/

// Of an error only the code is looked at, and of a refused tunnel the status: the rest may name what is nobody's business.
function troubleOf(thrown: unknown): ProxyTrouble {
  const code = errorCode(thrown)
  if (code === 'ERR_PROXY_TUNNEL')
    return thrown instanceof Error && /: 40[17]\b/.test(thrown.message) ? 'denied' : 'failed'
  return UNREACHABLE.test(code) ? 'unreachable' : 'failed'
}
