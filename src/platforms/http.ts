import { LRUCache } from 'lru-cache'

import { isObject } from '../core/base/object.ts'
import { fail, type Fault, ok, type Outcome } from '../core/base/result.ts'
import { httpDate, pauseAfterLimit, retryAfter } from '../core/base/wait.ts'
import type { Acted } from '../core/forum/native-refusals.ts'
import type { Egress } from '../net/egress.ts'
import type { EgressRequest, EgressResult } from '../net/proxy-agents.ts'
import { createReachability } from '../net/reachability.ts'
import type { Clock, Log } from '../runtime/runtime.ts'
import { createClockOffset } from './clock-offset.ts'
import { createHosts, type Hosts } from './hosts.ts'
import type { ClientPace } from './pace.ts'
import type { Use } from './port.ts'
import { productOf, rulesOf } from './robots.ts'
import type { SourceTrace } from './source-state.ts'
import { cutLists, hasShape, identityOf, parseJson, type Shape } from './values.ts'

type HttpRequest = {
  /** From the slash on, with its query. */
  path: string
  /** Instead of the path below `base_url`. */
  url?: string
  /** Bytes of the answer; absent: the most that any may have. */
  bytes_max?: number
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Sent as JSON. */
  body?: unknown
  headers?: Record<string, string>
  /** Default: JSON. `text` skips the check of the content type. */
  expect?: 'json' | 'text'
  /** True: a limit of such requests holds for no others. */
  has_own_limit?: true
  /**
   * The answer has one character for each byte, and its redirects, 304, 404 and 410 are answers. Nothing is kept of it: the
   * caller sends conditions of its own. `guarded`: the address is not of the configuration.
   */
  as_document?: { guarded: boolean }
  /** What a success has to have: any other is `unreadable`. */
  shape?: Shape
  /**
   * True: made as an account of a caller. Its answers are not kept, and a limit that the source sets
   * for it does not hold for other requests.
   */
  as_caller?: true
}

export type HttpCall = {
  /** Epoch ms of all attempts and waits. */
  deadline_at: number
  signal?: AbortSignal | undefined
  /** `poll`: forumd requests it by itself; default: a caller asked for it. */
  use?: Use
  /** Part of a minute's requests that such calls may use together; absent: that of their use. */
  share?: number | undefined
  /** Counted down by the answers; absent: they are not counted. */
  allowance?: ByteAllowance | undefined
}

/** Bytes of answers after which a poll requests no more than it has to. Below 0: they are used up. */
export type ByteAllowance = { left: number }

/** A complete answer that is neither a limit nor a refusal of the edge. */
export type HttpAnswer = {
  status: number
  headers: Headers
  value: unknown
  text: string
  /** Bounded; null: the answer names no wait. */
  retry_after_s: number | null
  /** Epoch ms by the source's clock, and never in its future: the answer shows what was there then. */
  as_of: number
  /** Age in caches of the source, ms, at most. */
  age_ms: number
}
type RawAnswer = Omit<HttpAnswer, 'value'> & {
  /** The answer is the copy that a 304 has confirmed. */
  is_copy: boolean
}

export type HttpClient = {
  /** Answers of every status that `verdict` leaves alone; faults of the route and the edge. */
  send(request: HttpRequest, call: HttpCall): Promise<Outcome<HttpAnswer>>
  /** As `send`, for answers with status 200 only. */
  get(path: string, call: HttpCall, shape?: Shape): Promise<Outcome<unknown>>
  /**
   * Sends a request that changes something, once. Refusals are answers, for the caller to read;
   * `unknown`: it was sent, and its verdict did not arrive.
   */
  write(request: HttpRequest, call: HttpCall): Promise<Acted<HttpAnswer>>
  /** The same requests, at the same pace, with the headers of a caller's account. */
  as(headers: Record<string, string>): CallerClient
  /** Offset of the source's clock to ours in ms, by its last Date headers; 0 before the third. */
  clock_offset_ms(): number
  /** The highest age of the last answers in caches of the source, ms. */
  copy_ms(): number
  /** True while the source cannot be reached. */
  isDown(): boolean
  /** Milliseconds until a request may be sent; `share`: the part of a minute's requests that its kind may use. */
  wait_ms(share?: number): number
  /** Lowers the pace to `per_minute` requests; the configured pace stays the highest. */
  limit(per_minute: number): void
}

/** Requests to one source as the account of a caller. */
export type CallerClient = Pick<HttpClient, 'send' | 'get' | 'write'>

export type HttpClientOptions = {
  egress: Egress
  clock: Clock
  log: Log
  random: { fraction(): number }
  /** Without a slash at its end. */
  base_url: string
  user_agent: string
  requests_per_minute: number
  /** Requests that may be sent at once after a quiet time. */
  burst?: number
  /** Pace of a source that has several hosts; absent: that of the host. */
  pace?: ClientPace
  timeout_ms: number
  headers?: () => Record<string, string>
  /** State of hosts that several clients share. Default: none is shared. */
  hosts?: Hosts
  /** Obeys the robots.txt of the host. Default: false. */
  robots?: boolean
  /** Meaning of the answer to a path; null: by its status. */
  verdict?: (answer: HttpAnswer, path: string) => Fault | null
  /** True for a limit that holds for requests of one kind: it pauses no other. Default: none does. */
  isOwnLimit?: (answer: HttpAnswer) => boolean
  on_recovered?: () => void
  trace?: Pick<SourceTrace, 'request'>
  /** Counts a row that was left out, once. `field`: what is wrong with it; `row`: names it. */
  left_out?: (field: string, row: string) => void
}

/** Part of a minute's requests that forumd's own may use; callers have the rest. */
const POLL_SHARE = 0.9
const ATTEMPTS_MAX = 3
const FIRST_BACKOFF_MS = 500
const BACKOFF_MAX_MS = 60_000
/** Answers kept for revalidation; larger ones are requested whole each time. */
const ETAGS_MAX = 64
const ETAG_BYTES_MAX = 4 * 1024 * 1024
const BLOCKED: Fault = { kind: 'blocked' }

/**
 * Client for one source: paced, with retries of reads within the deadline. A source that asks for a
 * pause gets it for every request.
 */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { egress, clock, log, random, base_url, user_agent, requests_per_minute } = options
  const { burst } = options
  const { host, origin } = new URL(base_url)
  const reachability = createReachability({
    clock,
    log,
    onRecovered: options.on_recovered ?? (() => {}),
  })
  const shared = (options.hosts ?? createHosts(clock)).at(host)
  const pace = options.pace ?? shared.join(requests_per_minute, burst)
  const offset = createClockOffset(clock)
  const etags = new LRUCache<string, { etag: string; text: string }>({
    max: ETAGS_MAX,
    maxSize: ETAG_BYTES_MAX,
    sizeCalculation: ({ text }, path) => 2 * (text.length + path.length),
  })

  /** Waits for the pace; null when the deadline comes first. */
  async function turn(call: HttpCall): Promise<Fault | null> {
    const { deadline_at, signal, share = call.use === 'poll' ? POLL_SHARE : 1 } = call
    for (;;) {
      const ms = pace.wait_ms(share)
      if (ms === 0) {
        pace.take(share)
        return null
      }
      if (clock.now() + ms > deadline_at) {
        const retry_after_s = Math.ceil(ms / 1000)
        const configured = pace.configured()
        return {
          kind: 'throttled',
          retry_after_s,
          not_requested: true,
          ...(configured !== null && { configured }),
        }
      }
      await clock.sleep(ms, signal)
      if (signal?.aborted) return { kind: 'timeout' }
    }
  }

  /** Sends a request. `left`: part of it may have reached the source. */
  async function transmit(
    request: HttpRequest,
    call: HttpCall,
    { once }: { once: boolean },
  ): Promise<{ ok: true; value: RawAnswer } | { ok: false; fault: Fault; left: boolean }> {
    const late = await turn(call)
    if (late !== null) return { ...fail(late), left: false }
    const trial = reachability.start({ host, proxy: null })
    if (trial === null)
      return {
        ...fail({ kind: 'unavailable', status: null, retry_after_s: null, not_requested: true }),
        left: false,
      }
    const { path, url, method = 'GET', body, bytes_max, expect = 'json' } = request
    const known = isKept(request) ? etags.get(path) : undefined
    const sent: EgressRequest = {
      url: url ?? `${base_url}${path}`,
      method,
      headers: {
        'user-agent': user_agent,
        accept: expect === 'json' ? 'application/json' : '*/*',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(known !== undefined && { 'if-none-match': known.etag }),
        ...options.headers?.(),
        ...request.headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      route: { proxy: null, guarded: request.as_document?.guarded === true },
      as_bytes: request.as_document !== undefined,
      once,
      ...(bytes_max !== undefined && { bytes_max }),
      timeout_ms: Math.min(options.timeout_ms, call.deadline_at - clock.now()),
      signal: call.signal,
    }
    const sent_at = clock.now()
    options.trace?.request()
    const result = await egress.send(sent)
    trial.end(isReached(result, call.signal?.aborted === true))
    if (!result.ok) {
      const { why, left } = result
      if (why === 'timeout') return { ...fail({ kind: 'timeout' }), left }
      if (why === 'too_large') return { ...fail({ kind: 'unreadable', path: 'size' }), left }
      if (why === 'unpackable') return { ...fail({ kind: 'unreadable', path: 'encoding' }), left }
      const { cause } = result
      return {
        ...fail({
          kind: 'unavailable',
          status: null,
          retry_after_s: null,
          host: new URL(sent.url).host,
          ...(cause !== undefined && { cause }),
        }),
        left,
      }
    }
    const { status, headers, body: text } = result.answer
    if (call.allowance !== undefined) call.allowance.left -= Buffer.byteLength(text)
    const now = clock.now()
    const age_ms = offset.observe(headers)
    const date = httpDate(headers.get('date') ?? '', now) ?? Infinity
    // The answer was made after its request was sent, and no later than the source says.
    const as_of = Math.min(sent_at + offset.measured_ms(), date) - age_ms
    const is_copy = status === 304 && known !== undefined
    const taken = is_copy ? { status: 200, text: known.text } : { status, text }
    const retry_after_s = retryAfter(headers, now)
    return { ok: true, value: { ...taken, headers, retry_after_s, as_of, age_ms, is_copy } }
  }

  /** Keeps a usable answer for revalidation; any other is forgotten with its validator. */
  function keep(
    request: HttpRequest,
    { status, headers, text, is_copy }: RawAnswer,
    usable: boolean,
  ) {
    const etag = headers.get('etag')
    if (!isKept(request) || (usable && is_copy)) return
    if (usable && status === 200 && etag !== null) etags.set(request.path, { etag, text })
    else if (is_copy || status === 200) etags.delete(request.path)
  }

  /** Fault of an answer. A limit pauses all requests, except that of a caller's account or of one kind of request. */
  function judge(answer: HttpAnswer, request: HttpRequest): Fault | null {
    const { as_caller } = request
    const is_own = request.has_own_limit === true || options.isOwnLimit?.(answer) === true
    const fault =
      options.verdict?.(answer, request.path) ?? (isOwn(answer, request) ? null : faultOf(answer))
    if (fault?.kind === 'throttled' && as_caller !== true && !is_own)
      pace.pause(fault.retry_after_s)
    // Out of service until then, for every request.
    if (fault?.kind === 'unavailable' && as_caller !== true) pace.pause(fault.retry_after_s ?? 0)
    return fault
  }

  /** Why the host's robots.txt forbids a request; null: it does not. */
  async function forbidden(
    { path, as_caller }: HttpRequest,
    call: HttpCall,
  ): Promise<Fault | null> {
    // The site gave the holder of an account access to its API.
    if (options.robots !== true || as_caller === true) return null
    const found = await rulesOf(shared, origin, {
      clock,
      async request(url) {
        const request = { path: '/robots.txt', url, expect: 'text' } as const
        const sent = await transmit(request, call, { once: false })
        if (!sent.ok) return fail(sent.fault)
        const { status, headers, text, retry_after_s } = sent.value
        const fault = judge({ ...sent.value, value: parseJson(text) }, request)
        // A limit holds for the rules too; every other refusal is a state that the rules know.
        if (fault?.kind === 'throttled') return fail(fault)
        return ok({ status, location: headers.get('location'), text, retry_after_s })
      },
    })
    if (!found.ok) return found.fault
    const asked = call.use !== 'poll'
    const { pathname } = new URL(base_url)
    return found.value.allows(pathname.replace(/\/$/, '') + path, productOf(user_agent), asked)
      ? null
      : { kind: 'forbidden', reason: 'robots' }
  }

  async function attempt(request: HttpRequest, call: HttpCall): Promise<Outcome<HttpAnswer>> {
    const barred = await forbidden(request, call)
    if (barred !== null) return fail(barred)
    const sent = await transmit(request, call, { once: false })
    if (!sent.ok) return fail(sent.fault)
    const { expect = 'json' } = request
    const value = expect === 'json' ? parseJson(sent.value.text) : undefined
    for (const row of cutLists(value)) options.left_out?.('rows', identityOf(row))
    const answer = { ...sent.value, value }
    const fault = judge(answer, request) ?? shapeFault(answer, request)
    keep(request, sent.value, fault === null)
    if (fault === null) return ok(answer)
    // The copy was of no use: the same request without its validator.
    return sent.value.is_copy ? attempt(request, call) : fail(fault)
  }

  async function send(request: HttpRequest, call: HttpCall): Promise<Outcome<HttpAnswer>> {
    for (let tries = 1; ; tries++) {
      const outcome = await attempt(request, call)
      if (outcome.ok || tries === ATTEMPTS_MAX) return outcome
      const ms = retryIn(outcome.fault, tries, random.fraction())
      if (ms === null || clock.now() + ms >= call.deadline_at) return outcome
      await clock.sleep(ms, call.signal)
      if (call.signal?.aborted) return outcome
    }
  }

  async function write(request: HttpRequest, call: HttpCall): Promise<Acted<HttpAnswer>> {
    const sent = await transmit(request, call, { once: true })
    if (!sent.ok) return { ok: false, fault: sent.left ? { kind: 'unknown' } : sent.fault }
    const answer = { ...sent.value, value: parseJson(sent.value.text) }
    const { status, headers, text, value } = answer
    // A limit of the action; reads may go on.
    if (status === 429 && isObject(value)) return ok(answer)
    const fault = judge(answer, request)
    const is_limit = fault?.kind === 'throttled' || fault?.kind === 'login_required'
    if (fault !== null && is_limit) return { ok: false, fault }
    // A gateway in front of the source does not know how far its request came.
    if (status >= 500 && status !== 503) return { ok: false, fault: { kind: 'unknown' } }
    const expected = value !== undefined || text.trim() === '' || request.expect === 'text'
    if (expected && status !== 503 && (status < 300 || status >= 400)) return ok(answer)
    if (fault !== null) return { ok: false, fault: isPage(headers, text) ? BLOCKED : fault }
    return { ok: false, fault: { kind: 'unknown' } }
  }

  const clientOf = (more: Pick<HttpRequest, 'headers' | 'as_caller'>): CallerClient => ({
    send: (request, call) => send({ ...request, ...more }, call),
    write: (request, call) => write({ ...request, ...more }, call),
    async get(path, call, shape) {
      const outcome = await send({ path, ...more, ...(shape !== undefined && { shape }) }, call)
      return outcome.ok ? ok(outcome.value.value) : outcome
    },
  })

  return {
    ...clientOf({}),
    as: (headers) => clientOf({ headers, as_caller: true }),
    clock_offset_ms: offset.measured_ms,
    copy_ms: offset.copy_ms,
    isDown: reachability.isDown,
    wait_ms: pace.wait_ms,
    limit: pace.limit,
  }
}

/** Only anonymous reads have copies. */
const isKept = ({ method = 'GET', as_caller, as_document }: HttpRequest): boolean =>
  method === 'GET' && as_caller !== true && as_document === undefined

/** True for an answer that the caller reads, although it is none of success. */
const isOwn = ({ status }: HttpAnswer, { as_document }: HttpRequest): boolean =>
  as_document !== undefined && ((status >= 300 && status < 400) || status === 404 || status === 410)

/** True: the host answered; false: it could not be reached; null: neither is proved. */
const isReached = (result: EgressResult, aborted: boolean): boolean | null => {
  if (result.ok || result.why === 'unpackable' || result.why === 'too_large') return true
  return aborted || result.why !== 'unreached' ? null : false
}

/** Fault of a success that is not what was asked for; null: it is. */
function shapeFault(
  { headers, text, value }: HttpAnswer,
  { expect = 'json', shape }: HttpRequest,
): Fault | null {
  if (expect === 'text') return null
  // A page in place of JSON is a login wall, a shield or a notice: never an empty answer.
  if (value === undefined)
    return isPage(headers, text) ? BLOCKED : { kind: 'unreadable', path: '$' }
  return shape === undefined || hasShape(value, shape)
    ? null
    : { kind: 'unreadable', path: typeof shape === 'string' ? shape.replace('[]', '') : '$' }
}

const isPage = (headers: Headers, text: string): boolean =>
  (headers.get('content-type') ?? '').includes('html') || /^\s*<(?:!doctype|html)/i.test(text)

/** Seconds to wait where a limit names none. */
const UNNAMED_PAUSE_S = 5

/** Fault of a status; null for one that is an answer. */
function faultOf({ status, headers, text, retry_after_s }: HttpAnswer): Fault | null {
  if (status >= 200 && status < 300) return null
  if (status === 429)
    return { kind: 'throttled', ...pauseAfterLimit(retry_after_s, UNNAMED_PAUSE_S) }
  if (status >= 300 && status < 400)
    return /login|session/i.test(headers.get('location') ?? '')
      ? { kind: 'login_required' }
      : { kind: 'unreadable', path: 'redirect' }
  if (status === 401) return { kind: 'login_required' }
  if (status === 403)
    return isPage(headers, text) ? { kind: 'blocked' } : { kind: 'forbidden', reason: null }
  if (status === 404 || status === 410) return { kind: 'not_found', reason: null }
  if (status >= 500) return { kind: 'unavailable', status, retry_after_s }
  return { kind: 'rejected', status }
}

/** Milliseconds until a retry of a read may help; null if none will. Full jitter. */
function retryIn(fault: Fault, tries: number, fraction: number): number | null {
  const backoff_ms = fraction * Math.min(BACKOFF_MAX_MS, FIRST_BACKOFF_MS * 2 ** tries)
  if (fault.kind === 'timeout') return backoff_ms
  if (fault.kind === 'throttled') return fault.not_requested ? null : fault.retry_after_s * 1000
  if (fault.kind !== 'unavailable' || fault.not_requested) return null
  return Math.max(backoff_ms, (fault.retry_after_s ?? 0) * 1000)
}
