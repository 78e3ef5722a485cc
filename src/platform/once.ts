import { fail, type Fault } from '../core/outcome.ts'
import type { Clock, Log } from '../outside.ts'
import { toldBy } from './budget.ts'
import { type Answer, classify } from './classify.ts'
import type { RequestEvent } from './client.ts'
import { headersFor, tellCookies } from './guise.ts'
import type { Pacer } from './pacer.ts'
import type { Call, Eyes } from './platform.ts'
import { onward } from './redirect.ts'
import type { createSend, Transported } from './transport.ts'

/** One request that is made once: it changes something, or its answer is looked at as it is. */
export type Doing = {
  path_kind: string
  method: 'GET' | 'POST' | 'PUT' | 'PATCH'
  /** With its query. */
  path: string
  /** Another host of the platform's, whoever asks: an address without a slash at its end. */
  host?: string
  /** In lower case. */
  headers: Record<string, string>
  body?: string | Uint8Array<ArrayBuffer>
}

/** The answer as it came, or why there is none; `left` where something may have reached the platform all the same. */
export type Once = (what: Doing, call: Call) => Promise<Done>
/** The answer as it came, or why there is none; `left`: something may have reached the platform all the same. */
export type Done = { ok: true; value: Answer } | { ok: false; fault: Fault; left: boolean }

type Deps = {
  send: ReturnType<typeof createSend>
  pacer: Pick<Pacer, 'admit'>
  clock: Clock
  log: Log
  /** Without a slash at the end; `api` is empty where there is none. */
  base: string
  api: string
  user_agent: string
  timeout_ms: number
  on_request?: ((event: RequestEvent, through: Eyes) => void) | undefined
}

/** Asks once and no more, whatever comes of it, at the pace of whoever asks. Nothing is followed. */
export function createOnce(deps: Deps): Once {
  const { send, pacer, clock, log, base, api, user_agent, timeout_ms, on_request } = deps

  /** What an answer says about the platform. A pause that a write is told to make is about the write alone. */
  function faultOf(url: string, answer: Answer): Fault | null {
    const { status, headers } = answer
    if (onward(url, status, headers.get('location')) !== null) return null
    const seen = classify(answer, { now: clock.now() })
    if (seen.ok || (seen.fault.kind === 'throttled' && status < 300)) return null
    return seen.fault
  }

  return async ({ path_kind, method, path, body, ...what }, call) => {
    const { eyes, signal } = call
    const host = what.host ?? (eyes.bearer === null ? base : api)
    if (host === '')
      return { ...fail({ kind: 'unavailable', status: null, retry_after_s: null }), left: false }
    const leave = await pacer.admit(call)
    if (!leave.ok) return { ...leave, left: false }
    const started = clock.mono()
    const url = host + path
    const answer: Transported = await send({
      url,
      method,
      eyes,
      headers: { ...headersFor(user_agent, eyes), ...what.headers },
      body,
      once: true,
      timeout_ms: Math.min(timeout_ms, call.deadline_at - clock.now()),
      signal,
    })
    const fault = answer.ok ? faultOf(url, answer.value) : answer.fault
    leave.value.done(answer.ok ? toldBy(answer.value.headers) : null, fault)
    if (answer.ok) tellCookies(eyes, answer.value, fault)
    const status = answer.ok ? answer.value.status : null
    const duration_ms = clock.mono() - started
    const event = { eyes: eyes.id, path_kind, status, fault, duration_ms }
    on_request?.(event, eyes)
    if (fault) log('debug', 'platform.refused', { ...event, fault: fault.kind })
    return answer.ok ? answer : { ...answer, left: answer.left ?? true }
  }
}
