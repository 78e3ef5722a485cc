import type { Fault } from '../../core/base/result.ts'
import type { Egress } from '../../net/egress.ts'
import type { EgressRequest, EgressResult } from '../../net/proxy-agents.ts'
import type { Clock, Fetch, Log, Random } from '../../runtime/runtime.ts'
import type { Identity } from '../port.ts'
import type { SourceTrace } from '../source-state.ts'
import type { NativeResponse } from './response.ts'

export type RequestEvent = {
  identity: string
  path_kind: string
  /** Null if there was no answer. */
  status: number | null
  fault: Fault | null
  duration_ms: number
}

export type ClientOptions = {
  fetch: Fetch
  clock: Clock
  random: Pick<Random, 'fraction'>
  log: Log
  /** Without a trailing slash, like every address in the configuration. */
  base_url: string
  /** Host for bearer requests; absent: no bearer requests are made. */
  api_url?: string | undefined
  user_agent: string
  timeout_ms: number
  /** Attempts after the first. */
  retries: number
  /** Per identity, until the platform's rate headers arrive. */
  requests_per_minute: number
  /** The same for bearers; default: `requests_per_minute`. */
  oauth_requests_per_minute?: number | undefined
  /** Certificate authorities in PEM, instead of the system's. */
  ca?: string | undefined
  /** Egress for all requests; default: direct, and the operator's proxies. */
  egress?: Egress | undefined
  /** Called after every request with its identity, which holds secrets and must not be logged. */
  on_request?: ((event: RequestEvent, through: Identity) => void) | undefined
  /** Called when the platform answers again after being unreachable. */
  on_recovered?: (() => void) | undefined
  trace?: Pick<SourceTrace, 'request'> | undefined
}

/** User agent and credentials of a request: cookies or a token, never both. */
export function requestHeaders(
  user_agent: string,
  { cookie, bearer }: Identity,
): Record<string, string> {
  const headers = { 'user-agent': user_agent, accept: 'application/json' }
  if (bearer !== null) return { ...headers, authorization: `bearer ${bearer}` }
  return cookie === null ? headers : { ...headers, cookie }
}

/** Stores cookies from accepted answers, never from a refusal or a block page. */
export function captureCookies(
  { on_cookies }: Identity,
  { status, headers }: NativeResponse,
  fault: Fault | null,
) {
  if (!on_cookies || status < 200 || status >= 400 || fault?.kind === 'blocked') return
  const lines = headers.getSetCookie()
  if (lines.length > 0) on_cookies(lines)
}

export type PlatformRequest = Omit<EgressRequest, 'route'> & {
  identity: Pick<Identity, 'proxy' | 'whose' | 'pool_proxy'>
}

/** Result of one request. `left` false: no part of it reached the platform. */
export type Transported =
  { ok: true; value: NativeResponse } | { ok: false; fault: Fault; left?: boolean }

export const createRequest =
  (egress: Egress) =>
  async ({ identity, ...request }: PlatformRequest): Promise<Transported> => {
    const callers = identity.whose === 'caller' && identity.pool_proxy === undefined
    const result = await egress.send({
      ...request,
      // The platform's address is of the configuration file; a caller names a proxy only.
      route: { proxy: identity.proxy, guarded: callers && identity.proxy !== null },
    })
    if (result.ok) return { ok: true, value: result.answer }
    const { why, left } = result
    const fault = faultOf(why, callers)
    return left === undefined ? { ok: false, fault } : { ok: false, fault, left }
  }

/** A caller is responsible for their own; for one of the pool another egress may exist. */
function faultOf(why: (EgressResult & { ok: false })['why'], callers: boolean): Fault {
  if (why === 'timeout') return { kind: 'timeout' }
  if (why === 'too_large' || why === 'unpackable') return { kind: 'unreadable', path: 'body' }
  const lost = { kind: 'unavailable', status: null, retry_after_s: null } as const
  if (why === 'unreached') return lost
  if (why === 'out_of_files') return { ...lost, own: why }
  return callers ? { kind: 'proxy', trouble: why } : { ...lost, trouble: why }
}

/**
 * The route of a request; null for a proxy that a caller named, whose failures say nothing about
 * the platform.
 */
export function routeOf(
  url: string,
  { proxy, whose, pool_proxy }: PlatformRequest['identity'],
): { host: string; proxy: string | null } | null {
  if (proxy !== null && whose === 'caller' && pool_proxy === undefined) return null
  const { host } = new URL(url)
  return { host, proxy: proxy === null ? null : `${proxy.scheme}://${proxy.host}:${proxy.port}` }
}

/**
 * True for an answer, false if the platform could not be reached, null if neither is proved. A slow
 * platform is not unreachable, and its time-outs already limit the requests.
 */
export function isAnswered(answer: Transported, aborted: boolean): boolean | null {
  if (answer.ok || answer.fault.kind === 'unreadable') return true
  if (aborted || answer.fault.kind === 'timeout') return null
  // A failure of this process proves nothing about the platform.
  if (answer.fault.kind === 'unavailable' && answer.fault.own !== undefined) return null
  return answer.fault.kind === 'unavailable' && answer.fault.trouble === undefined ? false : null
}

/** Fault of a request that was not sent because the platform is unreachable. */
export const UNREACHABLE: Fault = {
  kind: 'unavailable',
  status: null,
  retry_after_s: null,
  not_requested: true,
}
