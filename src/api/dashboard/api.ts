import { Elysia, type HTTPHeaders } from 'elysia'

import { ApiError } from '../../core/base/errors.ts'
import type { Delegation } from '../http/auth.ts'
import type { PeerOf } from '../http/request-origin.ts'
import { requestPath } from '../http/routes.ts'
import type { DashboardSession } from './session.ts'

const PLACE = '/dashboard/api'

type Arrival = {
  request: Request
  server: { requestIP(request: Request): { address: string } | null } | null
  set: { headers: HTTPHeaders; status?: number | string }
}

type Deps = {
  signed_in: DashboardSession
  delegation: Delegation
  peerOf: PeerOf
  /** Receives the key of the session of a request. */
  identified: (request: Request, key_id: string) => void
  /** Handles a request like an external one. */
  handle: (request: Request) => Promise<Response>
}

/**
 * `/dashboard/api/…`: forwards to the API with the key of the dashboard session.
 * The call passes admission again, so limits, prices and errors equal those of the same call with
 * the key itself.
 */
export function dashboardApi({ signed_in, delegation, peerOf, identified, handle }: Deps) {
  async function forward(
    request: Request,
    socket: string | undefined,
    id: string,
  ): Promise<Response> {
    const holder = signed_in.require(request, socket)
    identified(request, holder.key.id)
    const inner = innerOf(request, id)
    delegation.put(inner, { ...holder, address: peerOf(request, socket).address })
    const answer = await handle(inner)
    // No other origin may read an answer of the dashboard.
    const shared = [...answer.headers.keys()].filter((name) => name.startsWith('access-control-'))
    for (const name of shared) answer.headers.delete(name)
    return answer
  }

  async function answerThrough({ request, server, set }: Arrival): Promise<Response> {
    const socket = server?.requestIP(request)?.address
    const answer = await forward(request, socket, String(set.headers['x-request-id']))
    set.status = answer.status
    return answer
  }

  return new Elysia({ name: 'dashboard api', prefix: PLACE, detail: { hide: true } })
    .get('/*', ({ request, server, set }) => answerThrough({ request, server, set }))
    .post('/*', ({ request, server, set }) => answerThrough({ request, server, set }))
}

/** Headers not forwarded: caller and origin are already verified. */
const DROPPED_HEADERS = ['cookie', 'authorization']

function innerOf(request: Request, id: string): Request {
  const { url, method, body, signal } = request
  const path = requestPath(url)
  const to = path.slice(PLACE.length)
  // The dashboard is not reachable through its own forwarding.
  if (to === '/' || to === '/dashboard' || to.startsWith('/dashboard/'))
    throw new ApiError('NOT_FOUND', { message: 'there is no such route' })
  const headers = new Headers(request.headers)
  for (const name of DROPPED_HEADERS) headers.delete(name)
  headers.set('x-request-id', id)
  const query = url.includes('?') ? url.slice(url.indexOf('?')) : ''
  return new Request(`http://localhost${to}${query}`, { method, headers, body, signal })
}
