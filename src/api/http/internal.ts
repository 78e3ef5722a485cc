import type { Session } from '../../core/forum/session.ts'
import type { KeyHolder } from '../../store/customers/keys.ts'
import type { Delegation } from './auth.ts'

export type RequestOptions = {
  /** Only validates a write: it answers `{}` instead of calling the platform. */
  dry_run?: boolean
  /** Account of the write, instead of the session in its body. */
  session?: Session
}

/**
 * Sends internal requests on behalf of a customer, through admission, with the limits and prices of
 * any other call.
 */
export type InternalClient = {
  send(request: Request, holder: KeyHolder, options?: RequestOptions): Promise<Response>
  optionsOf(request: Request): RequestOptions
}

/** Options are held weakly by request; `handle` handles it like an external one. */
export function createInternalClient(
  delegation: Delegation,
  handle: (request: Request) => Promise<Response>,
): InternalClient {
  const options_by_request = new WeakMap<Request, RequestOptions>()
  return {
    send(request, holder, options = {}) {
      delegation.put(request, holder)
      options_by_request.set(request, options)
      return handle(request)
    },
    optionsOf: (request) => options_by_request.get(request) ?? {},
  }
}
