import { Elysia, type HTTPHeaders } from 'elysia'

import { ApiError } from '../core/errors.ts'
import type { KeyHolder } from '../store/keys.ts'
import type { SignedIn } from './dashboard-session.ts'
import { pathOf } from './table.ts'

const PLACE = '/dashboard/api'

/** Who calls, of calls that the house itself makes for somebody it knows already. */
export type Lent = {
  put(request: Request, holder: KeyHolder): void
  of(request: Request): KeyHolder | undefined
}

/** Remembers who a request was made for. A request that is gone takes its entry with it. */
export function createLent(): Lent {
  const holders = new WeakMap<Request, KeyHolder>()
  return {
    put: (request, holder) => void holders.set(request, holder),
    of: (request) => holders.get(request),
  }
}

type Arrival = {
  request: Request
  server: { requestIP(request: Request): { address: string } | null } | null
  set: { headers: HTTPHeaders; status?: number | string }
}

type Deps = {
  signed_in: SignedIn
  lent: Lent
  /** Answers a request as if it had come in from outside. */
  handle: (request: Request) => Promise<Response>
}

/**
 * `/dashboard/api/…`: what the API answers, as the key that is signed in. The call goes through the front door once
 * more, so that no limit, price or refusal can differ from that of the same call with the key in its hand.
 */
export function dashboardApi({ signed_in, lent, handle }: Deps) {
  async function forward(
    request: Request,
    socket: string | undefined,
    id: string,
  ): Promise<Response> {
    const holder = signed_in.require(request, socket)
    const inner = innerOf(request, id)
    lent.put(inner, holder)
    const answer = await handle(inner)
    // Of what is answered here no other origin may read a word.
    const shared = [...answer.headers.keys()].filter((name) => name.startsWith('access-control-'))
    for (const name of shared) answer.headers.delete(name)
    return answer
  }

  async function through({ request, server, set }: Arrival): Promise<Response> {
    const socket = server?.requestIP(request)?.address
    const answer = await forward(request, socket, String(set.headers['x-request-id']))
    set.status = answer.status
    return answer
  }

  return new Elysia({ name: 'dashboard api', prefix: PLACE, detail: { hide: true } })
    .get('/*', ({ request, server, set }) => through({ request, server, set }))
    .post('/*', ({ request, server, set }) => through({ request, server, set }))
}

/** What stays behind: who asks is settled, and from where. */
const LEFT_BEHIND = ['cookie', 'authorization']

function innerOf(request: Request, id: string): Request {
  const { url, method, body, signal } = request
  const path = pathOf(url)
  const to = path.slice(PLACE.length)
  // The door of the house is not reached through itself.
  if (to === '/' || to === '/dashboard' || to.startsWith('/dashboard/'))
    throw new ApiError('NOT_FOUND', { message: 'there is no such route' })
  const headers = new Headers(request.headers)
  for (const name of LEFT_BEHIND) headers.delete(name)
  headers.set('x-request-id', id)
  const query = url.includes('?') ? url.slice(url.indexOf('?')) : ''
  return new Request(`http://localhost${to}${query}`, { method, headers, body, signal })
}
