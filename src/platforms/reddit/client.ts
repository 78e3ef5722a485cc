import { createLru } from '../../core/base/lru.ts'
import { isObject } from '../../core/base/object.ts'
import { fail, type Fault, ok, type Outcome } from '../../core/base/result.ts'
import { viewerTermIn } from '../../core/filter/search-query.ts'
import { isViewerName } from '../../core/forum/permalink.ts'
import { createEgress, type Egress } from '../../net/egress.ts'
import { createReachability } from '../../net/reachability.ts'
import type { Clock } from '../../runtime/runtime.ts'
import { createClockOffset } from '../clock-offset.ts'
import type { Call, Identity, Listing, Payer, Use } from '../port.ts'
import { readRateHeaders } from './budget.ts'
import { createPacer, type Headroom } from './pacer.ts'
import { childrenOf, dataOf } from './readers/items.ts'
import { ME, readMe } from './readers/people.ts'
import { withoutHeld } from './readers/viewer.ts'
import {
  captureCookies,
  type ClientOptions,
  createRequest,
  isAnswered,
  requestHeaders,
  routeOf,
  UNREACHABLE,
} from './request.ts'
import { classify, type NativeResponse, redirectTarget, type RequestInfo } from './response.ts'
import { createUnretriedRequest } from './unretried-request.ts'

export type NativeRequest = {
  path_kind: string
  /** With the suffix that www requires; bearer requests omit it. */
  path: string
  /** Path on the bearer host, if it differs. */
  bearer_path?: string
  /** Another host of the platform, for every identity: an address without a trailing slash. */
  host?: string
  query?: Record<string, string | number | null>
  /** Set for content that only a session can see. */
  own?: boolean
} & Pick<RequestInfo, 'person' | 'native'>

const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 8_000

/**
 * Creates a client for JSON requests: paced, within the call's deadline, retried where a retry can
 * help.
 */
export function createClient(options: ClientOptions) {
  const { clock, random, log, timeout_ms, retries, user_agent, requests_per_minute } = options
  const { base_url: base, api_url: api = '' } = options
  const send = createRequest(options.egress ?? plainEgress(options))
  const rates = {
    session: requests_per_minute,
    bearer: options.oauth_requests_per_minute ?? requests_per_minute,
  }
  const pacer = createPacer(clock, rates, random)
  const offset = createClockOffset(clock)
  const onRecovered = () => options.on_recovered?.()
  const reachability = createReachability({ clock, log, onRecovered })

  /** Sends one request and records it. `next` is the target of a redirect to the canonical path. */
  async function exchange(url: string, request: NativeRequest, call: Call) {
    const kind = request.path_kind === 'search' ? 'search' : undefined
    const leave = await pacer.admit(call, kind)
    if (!leave.ok) return { outcome: leave, next: null }
    const route = routeOf(url, call.identity)
    const trial = route && reachability.start(route)
    if (route !== null && trial === null) {
      leave.value.cancel()
      return { outcome: fail(UNREACHABLE), next: null }
    }
    const started = clock.mono()
    options.trace?.request()
    const answer = await send({
      url,
      identity: call.identity,
      headers: requestHeaders(user_agent, call.identity),
      timeout_ms: Math.min(timeout_ms, call.deadline_at - clock.now()),
      signal: call.signal,
    })
    const waited_ms = clock.mono() - started
    const aborted = call.signal?.aborted === true
    trial?.end(isAnswered(answer, aborted))
    const { outcome, next } = judge(url, request, call.identity, answer)
    const refusal = outcome.ok || next ? null : outcome.fault
    const rate_headers = answer.ok ? readRateHeaders(answer.value.headers) : null
    const unsent = !answer.ok && answer.left === false
    if (unsent) leave.value.cancel()
    const fault = unsent ? refusal : leave.value.done(rate_headers, refusal)
    if (answer.ok) captureCookies(call.identity, answer.value, fault)
    // Drops the body now: a minor GC would not free it.
    if (answer.ok) answer.value.body = ''
    const status = answer.ok ? answer.value.status : null
    const event = {
      identity: call.identity.id,
      path_kind: request.path_kind,
      status,
      fault,
      duration_ms: waited_ms,
    }
    options.on_request?.(event, call.identity)
    if (fault) log('debug', 'platform.refused', { ...event, fault: fault.kind })
    return { outcome: fault === null ? outcome : fail(fault), next }
  }

  function judge(
    url: string,
    request: NativeRequest,
    identity: Identity,
    answer: Outcome<NativeResponse>,
  ) {
    if (!answer.ok) return { outcome: answer, next: null }
    const { status, headers } = answer.value
    offset.observe(headers)
    const outcome = classify(answer.value, { ...request, now: clock.now() })
    const next = redirectTarget(url, status, headers.get('location'))
    // Authenticated requests do not follow redirects to another host.
    const strange =
      next !== null && !isAnonymous(identity) && new URL(next).host !== new URL(url).host
    return { outcome, next: strange ? null : next }
  }

  /** One attempt. It includes one redirect to the canonical path, not a second one. */
  async function attempt(
    url: string,
    request: NativeRequest,
    call: Call,
  ): Promise<Outcome<unknown>> {
    const first = await exchange(url, request, call)
    return first.next ? (await exchange(first.next, request, call)).outcome : first.outcome
  }

  /**
   * The address of a request. A bearer token is never sent to www, and a cookie never to the bearer
   * host. Null: no such host is configured.
   */
  function addressOf(request: NativeRequest, { bearer }: Identity): string | null {
    if (request.host !== undefined) return request.host + request.path + queryOf(request)
    if (bearer === null) return base + request.path + queryOf(request)
    if (api === '') return null
    return api + (request.bearer_path ?? request.path.replace(/\.json$/, '')) + queryOf(request)
  }

  async function get(request: NativeRequest, call: Call): Promise<Outcome<unknown>> {
    const url = addressOf(request, call.identity)
    if (url === null) return fail({ kind: 'unavailable', status: null, retry_after_s: null })
    for (let tries = 1; ; tries++) {
      const outcome = await attempt(url, request, call)
      if (outcome.ok || tries > retries) return outcome
      const pause_ms = pauseAfter(outcome.fault, tries, random.fraction())
      // Fails at once if the next attempt would start too late.
      if (pause_ms === null || clock.now() + pause_ms >= latestRetry(outcome.fault, call))
        return outcome
      await clock.sleep(pause_ms, call.signal)
      if (call.signal?.aborted) return fail({ kind: 'timeout' })
    }
  }

  return {
    /** The platform's address, without a trailing slash. */
    base,
    once: createUnretriedRequest({ ...options, send, pacer, reachability, base, api }),
    isDown: reachability.isDown,
    clock_offset_ms: offset.measured_ms,
    copy_ms: offset.copy_ms,
    isClockKnown: offset.known,
    headroom: (payer: Payer, use: Use = 'read'): Headroom => pacer.headroom(payer, use),
    budget: pacer.budget,
    get,
    /** The account that the platform sees; null if the request was treated as anonymous. */
    async me(call: Call) {
      const answer = await get(ME, call)
      if (answer.ok) return readMe(answer.value)
      return answer.fault.kind === 'login_required' ? NOT_LOGGED_IN : answer
    },
  }
}

export type Client = ReturnType<typeof createClient>

const NOT_LOGGED_IN = { ok: true, value: null } as const

/** True for an identity without credentials, which cannot read content of a session. */
export const isAnonymous = ({ cookie, bearer }: Identity): boolean =>
  cookie === null && bearer === null

/** A proxy named by a caller would need a guard, which is not available here. */
const plainEgress = ({ fetch, clock, ca }: ClientOptions): Egress =>
  createEgress({
    fetch,
    clock,
    ca,
    resolve: () => Promise.reject(new Error('no resolver')),
    guard: () => Promise.resolve({ ok: false, refusal: 'unresolved' }),
  })

/** Epoch ms before which a retry must start. */
const latestRetry = ({ kind }: Fault, { deadline_at, wait_until = Infinity }: Call): number =>
  kind === 'throttled' ? Math.min(deadline_at, wait_until) : deadline_at

/** Milliseconds until a retry may help; null if none will. Full jitter. */
function pauseAfter(fault: Fault, tries: number, fraction: number): number | null {
  const pause_ms = fraction * Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (tries - 1))
  switch (fault.kind) {
    case 'throttled':
      return fault.retry_after_s * 1000 + pause_ms
    case 'unavailable':
      if (fault.not_requested) return null
      // Fails over to another egress, if there is one, instead of waiting for this proxy.
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
    case 'unsupported':
    case 'proxy':
      return null
  }
}

/** Always requests raw text: without it every ampersand is escaped. */
function queryOf({ query = {} }: NativeRequest): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (value !== null) params.set(name, String(value))
  params.set('raw_json', '1')
  return `?${params.toString()}`
}

/** A client that verifies the session where an answer alone proves nothing. */
export type SessionCheck = Pick<Client, 'base' | 'get'> & {
  /** Returns a fault for an anonymous page of a private listing: the session is no longer valid. */
  ownPage<T>(page: Outcome<Listing<T>>, call: Call): Promise<Outcome<Listing<T>>>
}

/**
 * Time that a result is reused while block pages keep arriving: another request could be blocked
 * too.
 */
const RESULT_TTL_MS = 60_000
const RESULTS_MAX = 1_000

/**
 * A session can die silently. Public content continues, private content is refused as if it
 * belonged to another account, and a block page can concern the session or the address. Only a
 * request for the signed-in account proves the state.
 */
export function createSessionCheck(client: Client, clock: Clock): SessionCheck {
  const results = createLru<string, { at: number; dead: boolean }>(RESULTS_MAX)

  /** True if the platform treats these cookies as anonymous; false if that is unclear. */
  async function isDead(call: Call): Promise<boolean> {
    const me = await client.me(call)
    return me.ok && me.value === null
  }

  async function isDeadCached(call: Call): Promise<boolean> {
    const { id } = call.identity
    const cached = results.get(id)
    if (cached && clock.mono() - cached.at < RESULT_TTL_MS) return cached.dead
    // Stored before the result is known, so that a hundred blocked reads send one check.
    const result = { at: clock.mono(), dead: false }
    results.set(id, result)
    result.dead = await isDead(call)
    return result.dead
  }

  async function get(request: NativeRequest, call: Call): Promise<Outcome<unknown>> {
    if (request.own && isAnonymous(call.identity)) return LOGIN
    if (call.identity.whose !== 'caller' && namesViewer(request)) return OTHER_ACCOUNT
    const outcome = await client.get(request, call)
    if (outcome.ok && call.identity.whose === 'pool' && !request.own) {
      withoutHeld(request.path_kind, outcome.value)
      return withoutMembersOnly(request.path, outcome.value)
    }
    if (outcome.ok || call.identity.cookie === null) return outcome
    const { fault } = outcome
    if (fault.kind === 'blocked') return (await isDeadCached(call)) ? LOGIN : outcome
    if (fault.kind !== 'forbidden') return outcome
    // A private subforum refuses a dead session in the same way as another account.
    const doubtful =
      call.identity.whose === 'caller' || (request.own === true && fault.reason === null)
    return doubtful && (await isDead(call)) ? LOGIN : outcome
  }

  return {
    base: client.base,
    get,
    async ownPage(page, call) {
      // Bearers get an explicit refusal; their pages never state the account.
      if (!page.ok || call.identity.cookie === null || page.value.logged_in) return page
      if (page.value.logged_in === false) return LOGIN
      const me = await client.me(call)
      if (!me.ok) return me
      return me.value === null ? LOGIN : page
    },
  }
}

const LOGIN = fail({ kind: 'login_required' })
const OTHER_ACCOUNT = fail({ kind: 'forbidden', reason: 'other_account' })

const PLACED = /^\/(?:r|u|user|api\/v1\/user)\/([^/]+)/

/**
 * True if a request names the account that makes it. Routes and filters refuse such names with the
 * field that holds them; this is the last check before an account of the pool would answer.
 */
function namesViewer({ path, query }: NativeRequest): boolean {
  const [, names = ''] = PLACED.exec(decodeURIComponent(path)) ?? []
  return (
    names
      .replace(/\.json$/, '')
      .split('+')
      .some(isViewerName) || viewerTermIn(String(query?.['q'] ?? '')) !== null
  )
}

const MEMBERS_ONLY: readonly unknown[] = ['private', 'gold_only', 'employees_only']

const isMembersOnly = (thing: unknown): boolean =>
  isObject(thing) &&
  isObject(thing['data']) &&
  MEMBERS_ONLY.includes(thing['data']['subreddit_type'])

/**
 * Removes from an answer everything that only members of a subforum see. Rows of other listings are
 * left out; the subforum itself, its listings and its posts are forbidden. `path` is that of the
 * request.
 */
function withoutMembersOnly(path: string, value: unknown): Outcome<unknown> {
  const [head]: unknown[] = Array.isArray(value) ? value : []
  const rows = childrenOf(head ?? value)
  const hidden = rows?.filter(isMembersOnly).length ?? 0
  const of_one_place = head !== undefined || /^\/r\/[^/+]+\//.test(path)
  if (isMembersOnly(value) || (hidden > 0 && of_one_place)) return PRIVATE
  const listing = hidden > 0 ? dataOf(value, 'Listing') : null
  if (listing !== null) listing['children'] = rows?.filter((row) => !isMembersOnly(row))
  return ok(value)
}

const PRIVATE = fail({ kind: 'forbidden', reason: 'private' })
