import { ApiError } from '../core/errors.ts'
import type { Fault, ProxyTrouble, RefusalReason } from '../core/outcome.ts'

/**
 * What kind of call the fault befell: `read` is a GET of public things; `verify` and `own` (the four listings of the
 * caller's own account) answer 502 where a read answers 408 or 503.
 */
type Flavour = 'read' | 'verify' | 'own'

/** How a call was asked, as far as what becomes of a fault depends on it. */
export type Asked = {
  flavour: Flavour
  /** Whether the call was made as the caller's own account. */
  with_session: boolean
}

/** After how many seconds a caller may try again where the platform names no pause: its answer was late, or it was not there. */
export const RETRY_S = { timeout: 2, unavailable: 5 }

/** A pause as it is told, in whole seconds: at least one, and never shorter than it is. */
export const pause = (seconds: number): number => Math.max(1, Math.ceil(seconds))

const REFUSED: Record<RefusalReason, string> = {
  private: 'this place is private',
  gold_only: 'this place is for premium members only',
  quarantined: 'this place is quarantined and the account has not opted in',
  gated: 'this place is gated and the account has not opted in',
  banned: 'this place was banned',
  absent: 'there is no such place or person',
  legal: 'this is not available for legal reasons',
  user_suspended: 'this user is suspended',
  other_account: 'name must be the account of the session',
}

/** What is wrong with a proxy that a caller named. */
export const PROXY = {
  unreachable: 'the proxy could not be reached',
  denied: "the proxy does not accept the request's username and password",
  failed: 'the proxy could not carry the request',
} satisfies Record<Exclude<ProxyTrouble, 'refused'>, string>

/** What the caller is told about a fault. Whether it is billed stands with its code (core/errors.ts). */
export function toApiError(fault: Fault, { flavour, with_session }: Asked): ApiError {
  switch (fault.kind) {
    case 'throttled':
      return new ApiError('HTTP_429', {
        message: 'the platform asks to slow down',
        retry_after_s: pause(fault.retry_after_s),
      })
    case 'login_required':
      return with_session
        ? new ApiError('REAUTH_REQUIRED', {
            message: 'the platform does not accept this session; log in again',
          })
        : new ApiError('PERMISSION_DENIED', { message: 'the platform shows this to members only' })
    case 'forbidden':
      return new ApiError('PERMISSION_DENIED', because(fault.reason, 'the platform refuses this'))
    case 'not_found':
      return new ApiError('NOT_FOUND', because(fault.reason, 'the platform has no such thing'))
    case 'timeout':
      return flavour === 'read'
        ? new ApiError('upstream_timeout', {
            message: 'the platform did not answer in time',
            retry_after_s: RETRY_S.timeout,
          })
        : upstreamError('the platform did not answer in time')
    case 'blocked':
      return unavailable(flavour, 'the platform gave no readable answer', null)
    case 'unavailable':
      return unavailable(flavour, 'the platform could not be reached', fault.retry_after_s)
    case 'unreadable':
      return unavailable(flavour, 'the platform gave an answer of another shape', null)
    case 'rejected':
      return upstreamError('the platform did not accept the request as it was put to it')
    case 'proxy':
      return fault.trouble === 'refused'
        ? new ApiError('INVALID_PROXY', { message: 'the proxy must be on the public internet' })
        : new ApiError('PROXY_ERROR', { message: PROXY[fault.trouble ?? 'failed'] })
  }
}

/** What goes with a refusal that has a reason. */
export const because = (reason: RefusalReason | null, otherwise: string) =>
  reason === null
    ? { message: otherwise, extra: { reason: null } }
    : { message: REFUSED[reason], extra: { reason } }

const upstreamError = (message: string) => new ApiError('UPSTREAM_ERROR', { message })

function unavailable(flavour: Flavour, message: string, retry_after_s: number | null): ApiError {
  if (flavour !== 'read') return upstreamError(message)
  return new ApiError('upstream_unavailable', {
    message,
    retry_after_s: pause(retry_after_s ?? RETRY_S.unavailable),
  })
}
