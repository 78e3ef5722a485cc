import { fail, type Fault, type Outcome } from '../core/outcome.ts'
import type { Clock, Fetch, Log, Random } from '../outside.ts'
import { toldBy } from './budget.ts'
import { type Answer, type Asked, classify } from './classify.ts'
import { createClockOffset } from './clock-offset.ts'
import { createPacer } from './pacer.ts'
import type { Call } from './platform.ts'
import { onward } from './redirect.ts'
import { createTransport } from './transport.ts'

/** One request as it went, for health and metrics. */
export type RequestEvent = {
  /** The id of the eyes it was made through. */
  eyes: string
  path_kind: string
  /** Null when nothing answered. */
  status: number | null
  fault: Fault | null
  duration_ms: number
}

export type ClientOptions = {
  fetch: Fetch
  clock: Clock
  random: Random
  log: Log
  base_url: string
  user_agent: string
  /** One request, from connecting to the last byte. */
  timeout_ms: number
  /** Further tries after the first. */
  retries: number
  /** Per pair of eyes, as long as the platform's headers say nothing. */
  requests_per_minute: number
  /** Certificate authorities in PEM, instead of the system's. */
  ca?: string | undefined
  on_request?: ((event: RequestEvent) => void) | undefined
}

export type Ask = {
  path_kind: string
  path: string
  query?: Record<string, string | number | null>
} & Pick<Asked, 'person' | 'native'>

const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 8_000

/** Asks the platform for JSON: paced, within the call's deadline, tried again where that can help. */
export function createClient(options: ClientOptions) {
  const { clock, random, log, timeout_ms, retries, user_agent } = options
  const base = options.base_url.replace(/\/+$/, '')
  const send = createTransport(options)
  const pacer = createPacer(clock, options.requests_per_minute)
  const offset = createClockOffset()

  /** One request with its bookkeeping. `next` is where the platform would have had it instead. */
  async function exchange(url: string, ask: Ask, call: Call) {
    const leave = await pacer.admit(call)
    if (!leave.ok) return { outcome: leave, next: null }
    const started = clock.mono()
    const answer = await send({
      url,
      headers: headersFor(user_agent, call),
      timeout_ms: Math.min(timeout_ms, call.deadline_at - clock.now()),
      signal: call.signal,
    })
    const { outcome, next } = judge(url, ask, answer)
    const fault = outcome.ok || next ? null : outcome.fault
    leave.value.done(answer.ok ? toldBy(answer.value.headers) : null, fault)
    const status = answer.ok ? answer.value.status : null
    const duration_ms = clock.mono() - started
    const event = { eyes: call.eyes.id, path_kind: ask.path_kind, status, fault, duration_ms }
    options.on_request?.(event)
    if (fault) log('debug', 'platform.refused', { ...event, fault: fault.kind })
    return { outcome, next }
  }

  function judge(url: string, ask: Ask, answer: Outcome<Answer>) {
    if (!answer.ok) return { outcome: answer, next: null }
    const { status, headers } = answer.value
    offset.heard(headers, clock.now())
    const outcome = classify(answer.value, { ...ask, now: clock.now() })
    return { outcome, next: onward(url, status, headers.get('location')) }
  }

  /** One try; a redirect to the canonical path belongs to it, a second one does not. */
  async function attempt(ask: Ask, call: Call): Promise<Outcome<unknown>> {
    const first = await exchange(base + ask.path + queryOf(ask), ask, call)
    return first.next ? (await exchange(first.next, ask, call)).outcome : first.outcome
  }

  return {
    /** The platform's address, without a slash at its end. */
    base,
    clock_offset_ms: offset.ms,
    async get(ask: Ask, call: Call): Promise<Outcome<unknown>> {
      for (let tries = 1; ; tries++) {
        const outcome = await attempt(ask, call)
        if (outcome.ok || tries > retries) return outcome
        const pause_ms = pauseAfter(outcome.fault, tries, random.fraction())
        // What cannot be mended in time is better told at once.
        if (pause_ms === null || clock.now() + pause_ms >= call.deadline_at) return outcome
        await clock.sleep(pause_ms, call.signal)
        if (call.signal?.aborted) return fail({ kind: 'timeout' })
      }
    },
  }
}

export type Client = ReturnType<typeof createClient>

/** Milliseconds after which one more try may help; null when none will. The pause is jittered in full. */
function pauseAfter(fault: Fault, tries: number, fraction: number): number | null {
  const pause_ms = fraction * Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (tries - 1))
  switch (fault.kind) {
    case 'throttled':
      return fault.retry_after_s * 1000 + pause_ms
    case 'unavailable':
      return Math.max(pause_ms, (fault.retry_after_s ?? 0) * 1000)
    case 'timeout':
      return pause_ms
    case 'blocked':
    case 'login_required':
    case 'forbidden':
    case 'not_found':
    case 'unreadable':
    case 'rejected':
    case 'proxy':
      return null
  }
}

function headersFor(user_agent: string, { eyes }: Call): Record<string, string> {
  const headers = { 'user-agent': user_agent, accept: 'application/json' }
  return eyes.cookie === null ? headers : { ...headers, cookie: eyes.cookie }
}

/** Raw text is asked for always: without it every ampersand comes escaped. */
function queryOf({ query = {} }: Ask): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (value !== null) params.set(name, String(value))
  params.set('raw_json', '1')
  return `?${params.toString()}`
}
