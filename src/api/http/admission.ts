import type { HTTPHeaders } from 'elysia'

import { ApiError } from '../../core/base/errors.ts'
import { removedPathText, removedText } from '../../core/base/removed.ts'
import type { Naming } from '../../core/forum/naming.ts'
import { proxyHeader, SESSION_PARTS, sessionHeader } from '../../core/forum/session.ts'
import type { Clock, Random } from '../../runtime/runtime.ts'
import type { KeyHolder } from '../../store/customers/keys.ts'
import type { InFlight } from '../in-flight.ts'
import {
  type Authenticate,
  bearer,
  type Delegation,
  type FailedAuth,
  type Holders,
  holderWith,
  operatorOnly,
  type Operators,
} from './auth.ts'
import { announcedBytes, bodyMax, type Drain, heldFor, leavesBodyUnread, tooLarge } from './body.ts'
import type { Pacers } from './pacers.ts'
import {
  actsByCookie,
  isForPrograms,
  isSystemPath,
  type PeerOf,
  showsSecret,
  type Site,
  SYSTEM_HEADERS,
} from './request-origin.ts'
import {
  CLOSED,
  type Features,
  type Policy,
  requestPath,
  type RouteEntry,
  type RouteTable,
} from './routes.ts'

const REQUEST_ID = /^[\w.:-]{1,128}$/
const PREFLIGHT_S = 86_400

/** Bytes of an unread body that a kept connection may still read to the end. */
const LEFT_UNREAD_MAX = 64 * 1024

/** Minimum idle time of a connection; the server counts up to 255 s only. */
const QUIET_S = 120
const COUNTED_MAX_S = 255

/** Idle seconds allowed on a connection whose answer may take `longest_s` to begin; 0: no limit. */
export const quietFor = (longest_s: number): number =>
  longest_s > COUNTED_MAX_S ? 0 : Math.max(QUIET_S, Math.ceil(longest_s))

type Server = {
  requestIP(request: Request): { address: string } | null
  timeout(request: Request, seconds: number): void
}
type Arrival = { request: Request; headers: HTTPHeaders; server: Server | null }

/**
 * Admits a request to its route. Answers a preflight itself.
 * @throws {ApiError} if the request is refused
 */
export type Admit = (arrival: Arrival) => Promise<Response | undefined>

type Deps = {
  words: Naming
  clock: Clock
  random: Random
  authenticate: Authenticate
  /** Customers that internal requests act for. */
  delegation: Delegation
  /** Guards routes that use the dashboard's cookie, and the operator's routes. */
  site: Site
  holders: Holders
  operators: Operators
  in_flight: Pick<InFlight, 'admit' | 'holdForRequest'>
  pacers: Pacers
  failed_auth: Pick<FailedAuth, 'report'>
  peerOf: PeerOf
  features: Features
  /** Receives the key of an authenticated request. */
  identified?: (request: Request, key_id: string) => void
  /** Maximum seconds until an answer begins, including waits and its deadline. */
  longest_s: () => number
  drain: Drain
  /** Read at the first request, when all routes are registered. */
  table: () => RouteTable<Policy>
}

/**
 * Checks a request in this order: key, rate limit, route and method, size. Every request counts for
 * one rate limit, refused ones included. The route checks fields and price.
 */
export function createAdmit(deps: Deps): Admit {
  const {
    words,
    random,
    holders,
    operators,
    pacers,
    peerOf,
    features,
    delegation,
    site,
    longest_s,
    in_flight,
    drain,
  } = deps
  const preflight = preflightHeaders(words)

  return async (arrival) => {
    const answer = await judge(arrival)
    const { request, headers } = arrival
    // An internal request is part of one that is drained itself.
    if (!delegation.find(request) && leavesBodyUnread(request.method, requestPath(request.url)))
      await drain(request, headers)
    return answer
  }

  async function judge({ request, headers, server }: Arrival): Promise<Response | undefined> {
    const path = requestPath(request.url)
    const is_system = isSystemPath(path)
    const is_closed = is_system || showsSecret(path)
    const on_behalf_of = delegation.find(request)
    // Internal requests have no socket.
    const socket = () => (on_behalf_of ? undefined : server?.requestIP(request)?.address)
    const network = () => peerOf(request, socket()).network
    const counted = { signal: request.signal }
    /** Counts a request without a key: by the caller of an internal request, else by address. */
    const paceOpen = (limit: keyof Pacers) =>
      pacers[limit](on_behalf_of?.key.id ?? `address ${network()}`, counted)
    deps.failed_auth.report()
    Object.assign(
      headers,
      commonHeaders(requestId(request, random)),
      is_system ? SYSTEM_HEADERS : is_closed ? {} : CORS,
    )
    const quiet_s = quietFor(longest_s())
    // A connection without an idle timeout must be closed after the answer.
    if (mayHaveMore(request) || quiet_s === 0) headers['connection'] = 'close'
    if (request.method === 'OPTIONS' && !is_closed) {
      await paceOpen('preflight')
      return new Response(null, { status: 204, headers: { ...commonOf(headers), ...preflight } })
    }
    if (!on_behalf_of) server?.timeout(request, quiet_s)
    try {
      if (is_closed && !on_behalf_of) site.checkHost(request)
      if (is_system && isForPrograms(path)) site.checkOrigin(request, socket())
      if (is_system && actsByCookie(path)) site.checkSender(request, socket())
    } catch (error) {
      await paceOpen('open')
      throw error
    }

    const authenticate = (token: string | null) => on_behalf_of ?? deps.authenticate(token, network)
    const entry = deps.table().find(path)
    const token = bearer(request.headers.get('authorization'))
    if (entry === null) {
      if (token === null) await paceOpen('unknown_routes')
      else await pacers.unknown_routes(authenticate(token).key.id, counted)
      const removed = removedPathText(path.replace(`/${words.platform}/`, '/forum/'))
      const message = removed ?? 'there is no such route'
      throw new ApiError('NOT_FOUND', { message })
    }

    const method = request.method === 'HEAD' ? 'GET' : request.method
    // An unsupported method is judged like a supported one, so that 405 follows 401 and 403.
    const [first = CLOSED] = entry.methods.values()
    const policy = entry.methods.get(method) ?? first
    if (policy.open) await paceOpen(policy.limit)
    else {
      const found = authenticate(token)
      deps.identified?.(request, found.key.id)
      try {
        permit(
          request,
          found,
          policy,
          () => on_behalf_of?.address ?? peerOf(request, socket()).address,
        )
      } finally {
        // A refused call counts too.
        await pacers[policy.limit](found.key.id, counted)
      }
    }
    if (!entry.methods.has(method))
      throw notAllowed(entry, { method: request.method, path }, headers)

    const max = bodyMax(words, entry.path)
    const announced = announcedBytes(request)
    if (announced > max) throw tooLarge(max)
    if (holders.find(request)) in_flight.admit(request)
    // Before the body is read: until then TCP flow control stops the sender.
    if (announced > 0) in_flight.holdForRequest(request, heldFor(announced))
    return undefined
  }

  /** Checks that a key may call a route, and records its holder. */
  function permit(
    request: Request,
    found: KeyHolder,
    { operator, scope, feature }: Policy,
    address: () => string,
  ) {
    if (operator) {
      const { key } = operatorOnly(found)
      return operators.put(request, { key, address: address() })
    }
    const holder = holderWith(found, scope)
    if (feature !== null && !features[feature])
      throw new ApiError('FEATURE_DISABLED', {
        message: `${feature} is disabled on this service`,
        extra: { feature },
      })
    holders.put(request, { ...holder, request })
  }
}

/**
 * True if more of an unread body may follow than is worth waiting for. A kept connection is read to
 * the end of the request, however long it is.
 */
const mayHaveMore = (request: Request): boolean =>
  request.headers.has('transfer-encoding') || announcedBytes(request) > LEFT_UNREAD_MAX

function requestId({ headers }: Request, random: Random): string {
  const given = headers.get('x-request-id')
  return given !== null && REQUEST_ID.test(given) ? given : random.uuid()
}

function notAllowed(
  entry: RouteEntry<Policy>,
  { method, path }: { method: string; path: string },
  headers: HTTPHeaders,
): ApiError {
  const allowed = [...entry.methods.keys()].flatMap((one) =>
    one === 'GET' ? [one, 'HEAD'] : [one],
  )
  headers['allow'] = allowed.join(', ')
  return new ApiError('METHOD_NOT_ALLOWED', {
    message: `${removedText('methods', `${method} ${path}`) ?? `${method} is not allowed for this route`}; allowed: ${allowed.join(', ')}`,
  })
}

const commonHeaders = (request_id: string) => ({
  'x-request-id': request_id,
  'x-content-type-options': 'nosniff',
})

/** Any page may call with a key; a cookie grants no access here. */
const CORS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers':
    'X-Credits-Remaining, Retry-After, X-Request-Id, X-Cache, Allow, Idempotent-Replayed',
}

const commonOf = (headers: HTTPHeaders): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))

const preflightHeaders = (words: Naming) => ({
  'access-control-allow-methods': 'GET, HEAD, POST, OPTIONS',
  'access-control-allow-headers': [
    'Authorization',
    'Content-Type',
    'Idempotency-Key',
    'Last-Event-ID',
    'X-Request-Id',
    ...SESSION_PARTS.map((part) => sessionHeader(words, part)),
    proxyHeader(words),
  ].join(', '),
  'access-control-max-age': String(PREFLIGHT_S),
})
