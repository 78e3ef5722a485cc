import { fail, type Fault } from '../../core/base/result.ts'
import type { Reachability } from '../../net/reachability.ts'
import type { Clock, Log } from '../../runtime/runtime.ts'
import type { Call, Identity } from '../port.ts'
import { readRateHeaders } from './budget.ts'
import type { Pacer } from './pacer.ts'
import {
  captureCookies,
  type createRequest,
  isAnswered,
  type RequestEvent,
  requestHeaders,
  routeOf,
  type Transported,
  UNREACHABLE,
} from './request.ts'
import { classify, type NativeResponse, redirectTarget } from './response.ts'

/** A request that is sent once: it changes something, or its raw answer is needed. */
export type UnretriedRequestInit = {
  path_kind: string
  method: 'GET' | 'POST' | 'PUT' | 'PATCH'
  /** With its query. */
  path: string
  /** Another host of the platform, for every identity: an address without a trailing slash. */
  host?: string
  /** In lower case. */
  headers: Record<string, string>
  body?: string | Uint8Array<ArrayBuffer>
}

export type UnretriedRequest = (what: UnretriedRequestInit, call: Call) => Promise<Done>
/** The raw answer, or a fault; `left`: part of the request may have reached the platform. */
export type Done = { ok: true; value: NativeResponse } | { ok: false; fault: Fault; left: boolean }

type Deps = {
  send: ReturnType<typeof createRequest>
  pacer: Pick<Pacer, 'admit'>
  reachability: Pick<Reachability, 'start'>
  clock: Clock
  log: Log
  /** Without a trailing slash; `api` is empty if there is none. */
  base: string
  api: string
  user_agent: string
  timeout_ms: number
  on_request?: ((event: RequestEvent, through: Identity) => void) | undefined
}

/**
 * Creates a sender that makes exactly one attempt, paced by the identity's budget. It follows no
 * redirects.
 */
export function createUnretriedRequest(deps: Deps): UnretriedRequest {
  const { send, pacer, reachability, clock, log, base, api, user_agent, timeout_ms, on_request } =
    deps

  /**
   * Fault of an answer for the platform's health. A pause that only a write has to make is left
   * out.
   */
  function faultOf(url: string, answer: NativeResponse): Fault | null {
    const { status, headers } = answer
    if (redirectTarget(url, status, headers.get('location')) !== null) return null
    const seen = classify(answer, { now: clock.now() })
    if (seen.ok || (seen.fault.kind === 'throttled' && status < 300)) return null
    return seen.fault
  }

  return async ({ path_kind, method, path, body, ...what }, call) => {
    const { identity, signal } = call
    const host = what.host ?? (identity.bearer === null ? base : api)
    if (host === '')
      return { ...fail({ kind: 'unavailable', status: null, retry_after_s: null }), left: false }
    const leave = await pacer.admit(call)
    if (!leave.ok) return { ...leave, left: false }
    const url = host + path
    const route = routeOf(url, identity)
    const trial = route && reachability.start(route)
    if (route !== null && trial === null) {
      leave.value.cancel()
      return { ...fail(UNREACHABLE), left: false }
    }
    const started = clock.mono()
    const answer: Transported = await send({
      url,
      method,
      identity,
      headers: { ...requestHeaders(user_agent, identity), ...what.headers },
      body,
      once: true,
      timeout_ms: Math.min(timeout_ms, call.deadline_at - clock.now()),
      signal,
    })
    const duration_ms = clock.mono() - started
    const aborted = signal?.aborted === true
    trial?.end(isAnswered(answer, aborted))
    const refusal = answer.ok ? faultOf(url, answer.value) : answer.fault
    const rate_headers = answer.ok ? readRateHeaders(answer.value.headers) : null
    const unsent = !answer.ok && answer.left === false
    if (unsent) leave.value.cancel()
    const fault = unsent ? refusal : leave.value.done(rate_headers, refusal)
    if (answer.ok) captureCookies(identity, answer.value, fault)
    const status = answer.ok ? answer.value.status : null
    const event = { identity: identity.id, path_kind, status, fault, duration_ms }
    on_request?.(event, identity)
    if (fault) log('debug', 'platform.refused', { ...event, fault: fault.kind })
    return answer.ok ? answer : { ...answer, left: answer.left ?? true }
  }
}
