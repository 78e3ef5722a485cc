import type { HTTPHeaders } from 'elysia'

import { ApiError } from '../core/errors.ts'
import { proxyHeader, SESSION_PARTS, sessionHeader } from '../core/session.ts'
import type { Words } from '../core/wire.ts'
import type { Clock, Random } from '../outside.ts'
import { type Authenticate, bearer, type Holders, holderWith, operatorOnly } from './auth.ts'
import { bodyMax, letPass, tooLarge } from './body.ts'
import { actsByCookie, HOUSE_HEADERS, isForPrograms, isHouse, type Site } from './dashboard-site.ts'
import type { Lent } from './dashboard.ts'
import type { Pacers } from './pace.ts'
import type { PeerOf } from './peer.ts'
import { type Features, policyOf } from './policy.ts'
import { type Entry, pathOf, type Table } from './table.ts'

const REQUEST_ID = /^[\w.:-]{1,128}$/
const PREFLIGHT_S = 86_400

/** Of a body that nobody reads, as much is let pass for the sake of the connection. */
const LEFT_UNREAD_MAX = 64 * 1024

/** A connection may be without a byte for this long at least, and the server counts no further than that. */
const QUIET_S = 120
const COUNTED_MAX_S = 255

/** How long a connection may be without a byte where an answer may take `longest_s` to begin; 0: for ever. */
export const quietFor = (longest_s: number): number =>
  longest_s > COUNTED_MAX_S ? 0 : Math.max(QUIET_S, Math.ceil(longest_s))

type Server = {
  requestIP(request: Request): { address: string } | null
  timeout(request: Request, seconds: number): void
}
type Arrival = { request: Request; headers: HTTPHeaders; server: Server | null }

/** Decides whether a request goes on to its route. Answers a preflight itself; throws what stops a request. */
export type Admit = (arrival: Arrival) => Promise<Response | undefined>

type Deps = {
  words: Words
  clock: Clock
  random: Random
  authenticate: Authenticate
  /** Who calls that the house makes itself are made for. */
  lent: Lent
  /** Guards what browsers reach with a cookie, and what is the operator's. */
  site: Site
  holders: Holders
  pacers: Pacers
  peerOf: PeerOf
  features: Features
  /** How long an answer may take to begin, as things stand: its waits and its deadline together. */
  longest_s: () => number
  /** Asked for at the first request: the routes must all be there by then. */
  table: () => Table<true>
}

/**
 * The order in which a call is looked at (contract 4): key, pace, route and method, size. What is wrong with its
 * fields, and what it costs, its route finds out afterwards.
 */
export function createAdmit(deps: Deps): Admit {
  const { words, clock, random, holders, pacers, peerOf, features, lent, site, longest_s } = deps
  const preflight = preflightHeaders(words)

  return async (arrival) => {
    try {
      return await judge(arrival)
    } catch (error) {
      if (mayHaveMore(arrival.request)) await letPass(arrival.request, clock)
      throw error
    }
  }

  async function judge({ request, headers, server }: Arrival): Promise<Response | undefined> {
    const path = pathOf(request.url)
    const house = isHouse(path)
    const known = lent.of(request)
    // What the house asks of itself has no socket.
    const socket = () => (known ? undefined : server?.requestIP(request)?.address)
    Object.assign(headers, commonHeaders(requestId(request, random)), house ? HOUSE_HEADERS : CORS)
    const quiet_s = quietFor(longest_s())
    // A connection that is waited for without end must not stay when it is done.
    if (mayHaveMore(request) || quiet_s === 0) headers['connection'] = 'close'
    if (request.method === 'OPTIONS' && !house)
      return new Response(null, { status: 204, headers: { ...commonOf(headers), ...preflight } })
    if (!known) server?.timeout(request, quiet_s)
    if (house && !known) site.checkHost(request)
    if (isForPrograms(path)) site.checkOrigin(request, socket())
    if (actsByCookie(path)) site.checkSender(request, socket())

    const authenticate = (token: string | null) => known ?? deps.authenticate(token)
    const entry = deps.table().find(path)
    const token = bearer(request.headers.get('authorization'))
    if (entry === null) {
      const caller = token === null && !known ? null : authenticate(token)
      const { address } = peerOf(request, socket())
      await pacers.unknown_routes(caller ? caller.key.id : `address ${address}`, request.signal)
      throw new ApiError('NOT_FOUND', { message: 'there is no such route' })
    }

    const method = request.method === 'HEAD' ? 'GET' : request.method
    // A method that the path does not have is judged as one that it has: 405 comes after 401 and 403.
    const [first = method] = entry.methods.keys()
    const policy = policyOf(words, entry.methods.has(method) ? method : first, entry.path)
    if (policy.operator) {
      const { key } = operatorOnly(authenticate(token))
      await pacers[policy.limit](key.id, request.signal)
    } else if (policy.open) {
      if (policy.limit !== 'none')
        await pacers[policy.limit](`address ${peerOf(request, socket()).address}`, request.signal)
    } else {
      const holder = holderWith(authenticate(token), policy.scope)
      if (policy.feature !== null && !features[policy.feature])
        throw new ApiError('FEATURE_DISABLED', {
          message: `${policy.feature} is switched off on this service`,
          extra: { feature: policy.feature },
        })
      holders.put(request, holder)
      await pacers[policy.limit](holder.key.id, request.signal)
    }
    if (!entry.methods.has(method)) throw notAllowed(entry, request.method, headers)

    const max = bodyMax(words, entry.path)
    if (Number(request.headers.get('content-length') ?? 0) > max) throw tooLarge(max)
    return undefined
  }
}

/**
 * Whether more of a body may be on its way than is worth waiting for, should it not be read. A connection that is kept
 * is read to the end of the request, however far that is.
 */
function mayHaveMore({ headers }: Request): boolean {
  return (
    headers.has('transfer-encoding') || Number(headers.get('content-length') ?? 0) > LEFT_UNREAD_MAX
  )
}

function requestId({ headers }: Request, random: Random): string {
  const given = headers.get('x-request-id')
  return given !== null && REQUEST_ID.test(given) ? given : random.uuid()
}

function notAllowed(entry: Entry<true>, method: string, headers: HTTPHeaders): ApiError {
  const allowed = [...entry.methods.keys()].flatMap((one) =>
    one === 'GET' ? [one, 'HEAD'] : [one],
  )
  headers['allow'] = allowed.join(', ')
  return new ApiError('METHOD_NOT_ALLOWED', {
    message: `${method} is not for this route; allowed: ${allowed.join(', ')}`,
  })
}

const commonHeaders = (request_id: string) => ({
  'x-request-id': request_id,
  'x-content-type-options': 'nosniff',
})

/** Any page may call with a key; what a browser holds by itself, a cookie, opens nothing here. */
const CORS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers':
    'X-Credits-Remaining, Retry-After, X-Request-Id, X-Cache, Allow, Idempotent-Replayed',
}

const commonOf = (headers: HTTPHeaders): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))

const preflightHeaders = (words: Words) => ({
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
