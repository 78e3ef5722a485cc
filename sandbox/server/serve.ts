import { patchFor, replacementFor } from '../faults/inject.ts'
import { type RateCounter, tooManyRequests } from '../faults/rate-limit.ts'
import type { FaultRule, FaultRules } from '../faults/rules.ts'
import { chatCall } from '../routes/chat.ts'
import { postPage } from '../routes/posts.ts'
import { isPage, route, uncountedCall } from '../routes/routes.ts'
import type { World } from '../world/model.ts'
import type { SeededRandom } from '../world/random.ts'
import type { ListingCache } from '../world/timeline.ts'
import { nowSeconds } from '../world/world.ts'
import { anonymousCookies, bearerCookie, trackerCookie } from './cookies.ts'
import { identify, type SandboxIdentity } from './identity.ts'
import type { RequestLog } from './request-log.ts'
import {
  hasFiles,
  type ParsedRequest,
  parseRequest,
  type PlatformHost,
  type SandboxRequest,
  withBody,
  withFiles,
} from './request.ts'
import { page, refusal, type SandboxResponse, withEntities } from './response.ts'
import { refreshBearer } from './sessions.ts'
import type { UserLock } from './user-lock.ts'

/** Converts to a Response, with additional header lines. */
export function toResponse(
  answer: SandboxResponse,
  extra: readonly (readonly [string, string])[],
): Response {
  const headers = new Headers()
  for (const [name, value] of Object.entries(answer.headers))
    for (const line of typeof value === 'string' ? [value] : value) headers.append(name, line)
  for (const [name, value] of extra) headers.append(name, value)
  return new Response(answer.body, { status: answer.status, headers })
}

/** Response with entities in every string, as without `raw_json=1`. */
const withEscapedBody = (answer: SandboxResponse): SandboxResponse =>
  typeof answer.body === 'string' ? { ...answer, body: withEntities(answer.body) } : answer

/**
 * Breaks the connection before the response or in the middle of its body. A failing stream is the
 * only way to make Bun.serve close a socket; failing without a value keeps Bun from logging it.
 */
export function brokenResponse(answer: SandboxResponse | null): Response {
  const bytes = new TextEncoder().encode(typeof answer?.body === 'string' ? answer.body : '')
  const body = new ReadableStream({
    async start(stream) {
      if (answer !== null) {
        stream.enqueue(bytes.slice(0, Math.ceil(bytes.length / 2)))
        // One iteration of the event loop, so that the first half is sent before the failure.
        await new Promise((resolve) => setImmediate(resolve))
      }
      stream.error()
    },
  })
  if (answer === null) return new Response(body)
  return new Response(body, {
    status: answer.status,
    headers: { 'content-type': typeOf(answer) },
  })
}

function typeOf({ headers }: SandboxResponse): string {
  const type = headers['content-type']
  return typeof type === 'string' ? type : 'application/json'
}

/** Dependencies of a response. */
export type SandboxContext = {
  world: World
  /** Random values without meaning that differ in every response. */
  noise: SeededRandom
  cache: ListingCache
  fault_rules: FaultRules
  countCall: RateCounter
  request_log: RequestLog
  /** Address of the HTML pages. */
  siteUrl(): string
  /** One tree expansion at a time per user. */
  lockUser: UserLock
  /** Requests per window, by cookie session, by bearer and by address. */
  allowance: { session: number; bearer: number; anonymous: number }
  private_in_multi: SandboxRequest['private_in_multi']
  cookie_domain: SandboxRequest['cookie_domain']
  /** Delays a response; ends early if the client disconnects or the sandbox stops. */
  delay(ms: number, signal: AbortSignal): Promise<void>
}

/** Methods whose requests have a body. */
export const HAS_BODY = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

/**
 * Answers one request with the active faults. Synchronous wherever possible: a large response that
 * is created after an await is sent in many small writes.
 */
export function serveRequest(
  context: SandboxContext,
  request: Request,
  from: { host: PlatformHost; address: string },
): Response | Promise<Response> {
  const parsed = parseRequest(request, from)
  if (!HAS_BODY.has(request.method)) return respond(context, parsed)
  if (hasFiles(request))
    return withFiles(parsed).then((parsed_form) => respond(context, parsed_form))
  return request.text().then((body) => respond(context, withBody(parsed, body)))
}

function respond(context: SandboxContext, parsed: ParsedRequest): Response | Promise<Response> {
  const { world, fault_rules, request_log, lockUser } = context
  const { request } = parsed
  const at = world.now()
  const rule = fault_rules.consume(parsed.path, parsed.search, at)
  const identity = identify(world, parsed, rule)
  const logRequest = (status: number) =>
    request_log.write({
      at,
      face: parsed.host,
      method: parsed.method,
      path: parsed.path,
      query: parsed.search,
      form: parsed.form,
      user_agent: request.headers.get('user-agent'),
      cookies: [...parsed.cookies.keys()],
      user: identity.user?.name ?? null,
      status,
      fault: rule?.input.fault ?? null,
    })

  const replacement = rule && replacementFor(rule, parsed.path)
  if (replacement) {
    logRequest(replacement.status)
    return toResponse(replacement, [])
  }
  if (rule?.input.fault === 'reset') {
    logRequest(0)
    return brokenResponse(null)
  }
  const answerNow = () => {
    const response = answerRequest(context, parsed, identity, rule)
    logRequest(response.status)
    // The action is done, but the client gets no response.
    return rule?.input.fault === 'lost_answer' ? brokenResponse(null) : response
  }
  const wait_ms = rule?.input.fault === 'slow' ? (rule.input.delay_s ?? 0) * 1000 : 0
  const answerDelayed = () => context.delay(wait_ms, request.signal).then(answerNow)
  if (parsed.segments[1] !== 'morechildren') return wait_ms > 0 ? answerDelayed() : answerNow()
  const locked_answer = lockUser(identity.user, wait_ms > 0 ? answerDelayed : answerNow)
  if (locked_answer !== null) return locked_answer
  logRequest(429)
  return toResponse(tooManyRequests(true, null), [])
}

function answerRequest(
  context: SandboxContext,
  parsed: ParsedRequest,
  identity: SandboxIdentity,
  rule: FaultRule | null,
): Response {
  const { world, noise } = context
  const now_s = nowSeconds(world)
  const { user, session, modhash } = identity
  const request: SandboxRequest = {
    world,
    cache: context.cache,
    noise,
    host: parsed.host,
    origin: parsed.origin,
    method: parsed.method,
    path: parsed.segments,
    query: parsed.query,
    body: parsed.body,
    files: parsed.files,
    headers: parsed.request.headers,
    cookies: parsed.cookies,
    cookie_domain: context.cookie_domain,
    viewer: {
      user,
      session,
      modhash,
      now_s,
      origin: parsed.host === 'www' ? parsed.origin : context.siteUrl(),
    },
    patch: patchFor(rule, world.now()),
    private_in_multi: context.private_in_multi,
  }
  if (parsed.host === 'chat') return toResponse(chatCall(request, identity.authorized), [])
  if (parsed.host === 'bearer' && !identity.authorized)
    return toResponse(UNAUTHORIZED, [SERVER_HEADER])
  const uncounted_response = uncountedCall(request)
  if (uncounted_response !== null) return toResponse(uncounted_response, pageHeaders(request))
  if (isPage(request, parsed.as_json))
    return toResponse(page(postPage(request)), pageHeaders(request, true))

  const rate_result = context.countCall(
    identity.bucket,
    { session: session !== null, allowance: allowanceOf(context, identity) },
    now_s,
  )
  const lines: HeaderLine[] = [
    ...Object.entries(rate_result.headers),
    ['set-cookie', trackerCookie(request)],
    CACHE_HEADER,
    SERVER_HEADER,
  ]
  if (rate_result.rejection) return toResponse(rate_result.rejection, lines)
  const response = route(request, parsed.as_json || parsed.host === 'bearer')
  const encoded_response =
    parsed.query.get('raw_json') === '1' ? response : withEscapedBody(response)
  if (rule?.input.fault === 'truncated') return brokenResponse(encoded_response)
  return toResponse(encoded_response, lines)
}

const allowanceOf = (
  { allowance }: SandboxContext,
  { session, modhash }: SandboxIdentity,
): number =>
  session !== null ? allowance.session : modhash === null ? allowance.bearer : allowance.anonymous

/** Missing or expired token. */
const UNAUTHORIZED: SandboxResponse = {
  ...refusal(401),
  headers: {
    ...refusal(401).headers,
    'www-authenticate': 'Bearer realm="reddit", error="invalid_token"',
  },
}

type HeaderLine = readonly [string, string]
const CACHE_HEADER: HeaderLine = [
  'cache-control',
  'private, s-maxage=0, max-age=0, must-revalidate, no-store',
]
const SERVER_HEADER: HeaderLine = ['server', 'snooserv']

/** HTML pages set missing visitor cookies and renew the bearer cookie; `.json` never does. */
function pageHeaders(request: SandboxRequest, html_page = false): HeaderLine[] {
  const { session } = request.viewer
  if (session) refreshBearer(request.world, session, request.noise)
  const bearer = session && html_page ? [bearerCookie(request, session)] : []
  const cookies = [
    trackerCookie(request),
    ...bearer,
    ...(html_page ? anonymousCookies(request) : []),
  ]
  return [...cookies.map((value): HeaderLine => ['set-cookie', value]), SERVER_HEADER]
}
