import { fail, type Fault, type Outcome } from '../core/outcome.ts'
import { createEgress, type Egress } from '../net/egress.ts'
import type { Clock, Fetch, Log, Random } from '../outside.ts'
import { toldBy } from './budget.ts'
import { type Answer, type Asked, classify } from './classify.ts'
import { createClockOffset } from './clock-offset.ts'
import { headersFor, tellCookies } from './guise.ts'
import { ME, readMe } from './me.ts'
import { createOnce } from './once.ts'
import { createPacer, type Headroom } from './pacer.ts'
import type { Call, Eyes, Use } from './platform.ts'
import { onward } from './redirect.ts'
import { createSend } from './transport.ts'

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
  /** Like every address of the configuration: without a slash at its end. */
  base_url: string
  /** Where bearers ask. Without it nothing is asked through them. */
  api_url?: string | undefined
  user_agent: string
  /** One request, from connecting to the last byte. */
  timeout_ms: number
  /** Further tries after the first. */
  retries: number
  /** Per pair of eyes, as long as the platform's headers say nothing. */
  requests_per_minute: number
  /** The same for bearers; without it as for everybody. */
  oauth_requests_per_minute?: number | undefined
  /** Certificate authorities in PEM, instead of the system's. */
  ca?: string | undefined
  /** The ways out; without them there is the direct one and proxies of our own. */
  egress?: Egress | undefined
  /** Told of every request, and of the very eyes it was made through: those hold secrets, and are for no log. */
  on_request?: ((event: RequestEvent, through: Eyes) => void) | undefined
}

/** One question to the platform. */
export type Ask = {
  path_kind: string
  /** With the suffix that www wants; bearers ask without it. */
  path: string
  /** Where bearers find it, when that is elsewhere. */
  bearer_path?: string
  /** Another host of the platform's, whoever asks: an address without a slash at its end. */
  host?: string
  query?: Record<string, string | number | null>
  /** Set for what only a session can see. */
  own?: boolean
} & Pick<Asked, 'person' | 'native'>

const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 8_000

/** Asks the platform for JSON: paced, within the call's deadline, tried again where that can help. */
export function createClient(options: ClientOptions) {
  const { clock, random, log, timeout_ms, retries, user_agent, requests_per_minute } = options
  const { base_url: base, api_url: api = '' } = options
  const send = createSend(options.egress ?? plainEgress(options))
  const pacer = createPacer(clock, {
    session: requests_per_minute,
    bearer: options.oauth_requests_per_minute ?? requests_per_minute,
  })
  const offset = createClockOffset(clock)

  /** One request with its bookkeeping. `next` is where the platform would have had it instead. */
  async function exchange(url: string, ask: Ask, call: Call) {
    const leave = await pacer.admit(call)
    if (!leave.ok) return { outcome: leave, next: null }
    const started = clock.mono()
    const answer = await send({
      url,
      eyes: call.eyes,
      headers: headersFor(user_agent, call.eyes),
      timeout_ms: Math.min(timeout_ms, call.deadline_at - clock.now()),
      signal: call.signal,
    })
    const { outcome, next } = judge(url, ask, call.eyes, answer)
    const fault = outcome.ok || next ? null : outcome.fault
    leave.value.done(answer.ok ? toldBy(answer.value.headers) : null, fault)
    if (answer.ok) tellCookies(call.eyes, answer.value, fault)
    // Those who waited for it are old by now: what they were given would stay until all is swept, not just the young.
    if (answer.ok) answer.value.body = ''
    const status = answer.ok ? answer.value.status : null
    const duration_ms = clock.mono() - started
    const event = { eyes: call.eyes.id, path_kind: ask.path_kind, status, fault, duration_ms }
    options.on_request?.(event, call.eyes)
    if (fault) log('debug', 'platform.refused', { ...event, fault: fault.kind })
    return { outcome, next }
  }

  function judge(url: string, ask: Ask, eyes: Eyes, answer: Outcome<Answer>) {
    if (!answer.ok) return { outcome: answer, next: null }
    const { status, headers } = answer.value
    offset.heard(headers)
    const outcome = classify(answer.value, { ...ask, now: clock.now() })
    const next = onward(url, status, headers.get('location'))
    // Whoever is somebody stays at the very host that gave the cookies or took the token.
    const strange = next !== null && !isNobody(eyes) && new URL(next).host !== new URL(url).host
    return { outcome, next: strange ? null : next }
  }

  /** One try; a redirect to the canonical path belongs to it, a second one does not. */
  async function attempt(url: string, ask: Ask, call: Call): Promise<Outcome<unknown>> {
    const first = await exchange(url, ask, call)
    return first.next ? (await exchange(first.next, ask, call)).outcome : first.outcome
  }

  /** Never the bearer's token to www, and never a cookie to the bearer's host. Null: there is no such host. */
  function addressOf(ask: Ask, { bearer }: Eyes): string | null {
    if (ask.host !== undefined) return ask.host + ask.path + queryOf(ask)
    if (bearer === null) return base + ask.path + queryOf(ask)
    if (api === '') return null
    return api + (ask.bearer_path ?? ask.path.replace(/\.json$/, '')) + queryOf(ask)
  }

  async function get(ask: Ask, call: Call): Promise<Outcome<unknown>> {
    const url = addressOf(ask, call.eyes)
    if (url === null) return fail({ kind: 'unavailable', status: null, retry_after_s: null })
    for (let tries = 1; ; tries++) {
      const outcome = await attempt(url, ask, call)
      if (outcome.ok || tries > retries) return outcome
      const pause_ms = pauseAfter(outcome.fault, tries, random.fraction())
      // What cannot be mended in time is better told at once.
      if (pause_ms === null || clock.now() + pause_ms >= call.deadline_at) return outcome
      await clock.sleep(pause_ms, call.signal)
      if (call.signal?.aborted) return fail({ kind: 'timeout' })
    }
  }

  return {
    /** The platform's address, without a slash at its end. */
    base,
    once: createOnce({ ...options, send, pacer, base, api }),
    clock_offset_ms: offset.ms,
    clock_measured_ms: offset.measured_ms,
    headroom: (eyes_id: string, use: Use = 'read'): Headroom => pacer.headroom(eyes_id, use),
    budget: pacer.budget,
    get,
    /** Who the platform takes us for; null when it is nobody. */
    async me(call: Call) {
      const answer = await get(ME, call)
      if (answer.ok) return readMe(answer.value)
      return answer.fault.kind === 'login_required' ? NOBODY : answer
    },
  }
}

export type Client = ReturnType<typeof createClient>

const NOBODY = { ok: true, value: null } as const

/** Whether these eyes are nobody's: what belongs to a session need not be asked through them. */
export const isNobody = ({ cookie, bearer }: Eyes): boolean => cookie === null && bearer === null

/** The direct way, and proxies of the operator's. What a caller names needs a guard, and there is none. */
const plainEgress = ({ fetch, clock, ca }: ClientOptions): Egress =>
  createEgress({
    fetch,
    clock,
    ca,
    resolve: () => Promise.reject(new Error('no resolver')),
    guard: () => Promise.resolve({ ok: false, refusal: 'unresolved' }),
  })

/** Milliseconds after which one more try may help; null when none will. The pause is jittered in full. */
function pauseAfter(fault: Fault, tries: number, fraction: number): number | null {
  const pause_ms = fraction * Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (tries - 1))
  switch (fault.kind) {
    case 'throttled':
      return fault.retry_after_s * 1000 + pause_ms
    case 'unavailable':
      // Whoever has another way out should take it, rather than wait at this one.
      if (fault.trouble !== undefined && fault.trouble !== 'failed') return null
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

/** Raw text is asked for always: without it every ampersand comes escaped. */
function queryOf({ query = {} }: Ask): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (value !== null) params.set(name, String(value))
  params.set('raw_json', '1')
  return `?${params.toString()}`
}
