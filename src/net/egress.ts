import { ADDRESSES_MAX } from '../core/base/address.ts'
import { errorCode } from '../core/base/errors.ts'
import type { ProxyTrouble, Unreached } from '../core/base/result.ts'
import type { Proxy } from '../core/forum/proxy.ts'
import type { Clock, Fence, Fetch, Resolve } from '../runtime/runtime.ts'
import type { Guard } from './guard.ts'
import { hasNoFiles } from './out-of-files.ts'
import type { EgressRequest, EgressResult } from './proxy-agents.ts'
import { ENCODINGS, readBody, Unpackable } from './read-body.ts'
import { DISTRUSTED, mayHaveBeenSent } from './sent.ts'
import { type Pinned, pinnedTo } from './transport.ts'

/** Follows no redirects, never throws, and ends within the time limit. */
export type Egress = {
  send(request: EgressRequest): Promise<EgressResult>
  close(): void
}

type EgressDeps = {
  fetch: Fetch
  clock: Clock
  /** Names for socks4 and socks5, which are resolved on this side. */
  resolve: Resolve
  /** Checks proxies that a caller named: they are dialled at the checked address, or not at all. */
  guard: Guard
  /** The platform's certificate authorities in PEM, instead of the system's. */
  ca?: string | undefined
  /** Absent without a standby; `fetch` asks by itself. */
  fence?: Fence | undefined
}

/**
 * Creates the egress. Direct requests and http proxies use fetch; https proxies and SOCKS use
 * agents. fetch has no SOCKS, and checks an https proxy's certificate against the dialled address,
 * which is an IP address for a caller's proxy.
 */
export function createEgress({ fetch, clock, resolve, guard, ca, fence }: EgressDeps): Egress {
  let loading: ReturnType<typeof loadAgents> | null = null

  // Loaded with the first proxy that needs one: most daemons have none, and the libraries are
  // large.
  async function loadAgents() {
    const { createAgents, overAgent } = await import('./proxy-agents.ts')
    return { ...createAgents({ clock, resolve, ca }), overAgent }
  }

  /** The checked addresses of a proxy; empty if the guard refuses it. */
  async function dialled({ host, port }: Proxy, guarded: boolean): Promise<readonly string[]> {
    if (!guarded) return [host]
    const name = host.includes(':') ? `[${host}]` : host
    const passed = await guard(`https://${name}:${port}/`)
    return passed.ok ? passed.addresses.slice(0, ADDRESSES_MAX) : []
  }

  /** `pinned`: the connection goes to its address. */
  async function byFetch(
    request: EgressRequest,
    proxy: string | null,
    signal: AbortSignal,
    pinned: Pinned | null = null,
  ) {
    try {
      const { url, method = 'GET', headers, body } = request
      const response = await fetch(pinned?.href ?? url, {
        method,
        headers: {
          'accept-encoding': ENCODINGS,
          ...headers,
          ...(pinned !== null && { host: pinned.host }),
        },
        redirect: 'manual',
        decompress: false,
        // Ignores proxy variables of the environment.
        proxy: proxy ?? false,
        signal,
        ...(request.once && { keepalive: false }),
        ...(body !== undefined && { body }),
        ...(ca !== undefined && { tls: { ca } }),
        ...pinned?.init,
      })
      // A refused tunnel is already an error; without a tunnel, a proxy requests credentials like
      // this.
      if (proxy !== null && response.status === 407) return failed('denied', false)
      const whole = await readBody(response, request.bytes_max, request.as_bytes)
      if (whole === null) {
        // A body that is not read keeps its connection open.
        await response.body?.cancel().catch(() => {})
        return failed('too_large', true)
      }
      return answered(response.status, response.headers, whole)
    } catch (thrown) {
      if (thrown instanceof Unpackable) return failed('unpackable', true)
      const left = mayHaveBeenSent(thrown)
      if (hasNoFiles(thrown, left)) return failed('out_of_files', false)
      if (proxy !== null) return failed(troubleOf(thrown), left)
      const cause = causeOf(errorCode(thrown))
      return { ...failed('unreached', left), ...(cause !== undefined && { cause }) }
    }
  }

  /**
   * A request without a proxy. One whose address is not of the configuration file passes the guard each time, and goes to an
   * address that the guard has checked: a second resolution could give another one.
   */
  async function directly(request: EgressRequest, signal: AbortSignal): Promise<EgressResult> {
    if (!request.route.guarded) return byFetch(request, null, signal)
    const guarded = await guard(request.url)
    if (!guarded.ok)
      return {
        ...failed('refused', false),
        cause: guarded.refusal === 'unresolved' ? 'unknown_host' : 'guarded',
      }
    let last: EgressResult = failed('unreached', false)
    for (const address of guarded.addresses.slice(0, ADDRESSES_MAX)) {
      if (signal.aborted) break
      const trust = ca === undefined ? {} : { ca: [ca] }
      last = await byFetch(request, null, signal, pinnedTo(guarded.target, address, trust))
      if (last.ok || last.why !== 'unreached' || last.left) break
    }
    return last
  }

  async function byAgent(
    request: EgressRequest,
    proxy: Proxy,
    address: string,
    signal: AbortSignal,
  ) {
    const { borrow, overAgent } = await (loading ??= loadAgents())
    const { agent, reused, done } = borrow(proxy, address, request.once)
    try {
      // A kept connection may have been closed meanwhile. A second attempt is safe if the request
      // changes nothing.
      const again = reused && !changes(request)
      return await overAgent(agent, request, { ca, signal, again })
    } finally {
      done()
    }
  }

  async function through(
    proxy: Proxy,
    request: EgressRequest,
    signal: AbortSignal,
  ): Promise<EgressResult> {
    const addresses = await dialled(proxy, request.route.guarded)
    let last: EgressResult = failed('refused', false)
    for (const address of addresses) {
      if (signal.aborted) break
      last =
        proxy.scheme === 'http'
          ? await byFetch(request, addressOf(proxy, address), signal)
          : await byAgent(request, proxy, address, signal)
      if (last.ok || last.why !== 'unreachable' || (last.left && request.once)) break
    }
    return last
  }

  return {
    async send(request) {
      fence?.check()
      const [over, done] = [new AbortController(), new AbortController()]
      // An expired deadline is reported before anything is sent.
      if (request.signal?.aborted || request.timeout_ms <= 0) return failed('timeout', false)
      // A complete answer has nothing open, and aborting it would still cost time.
      let whole = false
      const give_up = () => {
        if (!whole) over.abort()
        // Without a reason, abort creates an error with a stack.
        done.abort('over')
      }
      request.signal?.addEventListener('abort', give_up)
      const timeout = clock.sleep(request.timeout_ms, done.signal)
      const { proxy } = request.route
      try {
        // A race, because a deadline must not depend on every layer below honouring the signal.
        const result = await Promise.race([
          proxy ? through(proxy, request, over.signal) : directly(request, over.signal),
          timeout.then(() => (give_up(), failed('timeout', true))),
        ])
        whole = result.ok
        if (result.ok) return result
        return over.signal.aborted ? { ...result, why: 'timeout' } : result
      } finally {
        request.signal?.removeEventListener('abort', give_up)
        // Closes anything still open, such as an unread body.
        give_up()
      }
    },
    close: () => void loading?.then(({ close }) => close()),
  }
}

type Failed = EgressResult & { ok: false }
const failed = (why: Failed['why'], left: boolean): Failed => ({ ok: false, why, left })

/** True if sending the request twice could change more than sending it once. */
const changes = ({ method = 'GET' }: EgressRequest): boolean => method !== 'GET'

const answered = (status: number, headers: Headers, body: string): EgressResult => ({
  ok: true,
  answer: { status, headers, body },
})

function addressOf({ scheme, port, username, password }: Proxy, address: string): string {
  const host = address.includes(':') ? `[${address}]` : address
  const who = [username ?? '', ...(password === null ? [] : [password])].map(encodeURIComponent)
  return `${scheme}://${username === null && password === null ? '' : `${who.join(':')}@`}${host}:${port}`
}

const UNREACHABLE =
  /^(ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|ConnectionRefused|FailedToOpenSocket|DNS\w*)$/

const CAUSES: readonly (readonly [RegExp, Unreached])[] = [
  [/^(ENOTFOUND|EAI_\w+)$/, 'unknown_host'],
  [/^ECONNREFUSED$/, 'refused'],
  [/^(EHOSTUNREACH|ENETUNREACH)$/, 'no_route'],
  [DISTRUSTED, 'certificate'],
  [/^EPROTO$/, 'no_tls'],
]

const causeOf = (code: string): Unreached | undefined =>
  CAUSES.find(([codes]) => codes.test(code))?.[1]

// Only the error code is used, and the status of a refused tunnel: the rest may contain secrets.
function troubleOf(thrown: unknown): ProxyTrouble {
  const code = errorCode(thrown)
  if (code === 'ERR_PROXY_TUNNEL')
    return thrown instanceof Error && /: 40[17]\b/.test(thrown.message) ? 'denied' : 'failed'
  return UNREACHABLE.test(code) ? 'unreachable' : 'failed'
}
