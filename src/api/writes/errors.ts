import { ApiError, type ErrorDetails } from '../../core/base/errors.ts'
import type { NativeRefusal } from '../../core/forum/native-refusals.ts'
import type { ActFault } from '../../gateway/writes.ts'
import { because, notSupported, pause, PROXY, RETRY_S, unreachedSentence } from '../http/errors.ts'

const RETRY_BROWSER_S = 60

/** Advice for a human check that forumd does not solve. */
export const ADVICE =
  "sign in with an ordinary browser of the account's owner and use its cookies as the session"

/**
 * Converts the fault of a write into the caller's error, for a write that was refused or whose
 * outcome is unknown.
 * An answer of the platform is billed; a request that was never sent is not.
 */
export function toActError(fault: ActFault): ApiError {
  switch (fault.kind) {
    case 'refused':
      return toRefusal(fault)
    case 'unknown':
      return new ApiError('OUTCOME_UNKNOWN', {
        message: 'the request was sent and its answer was lost: check the result before a retry',
      })
    case 'throttled':
      return new ApiError('FORUM_RATELIMIT', {
        message: 'the rate limit of the platform was reached',
        retry_after_s: pause(fault.retry_after_s),
        // Billed only if the platform was called.
        ...(fault.not_requested && { billed: false }),
        extra: { upstream_code: 'HTTP_429' },
      })
    case 'login_required':
      return new ApiError('REAUTH_REQUIRED', {
        message: 'the platform does not accept this session; log in again',
      })
    case 'forbidden':
      return new ApiError('PERMISSION_DENIED', because(fault.reason, 'the platform refuses this'))
    case 'not_found':
      return new ApiError('NOT_FOUND', because(fault.reason, 'the platform has no such thing'))
    case 'blocked':
      return blocked()
    case 'timeout':
      return new ApiError('upstream_timeout', {
        message: 'deadline exceeded before the request was sent; no action was taken',
        retry_after_s: RETRY_S.timeout,
      })
    case 'unavailable':
      return unavailable(unreachedSentence(fault), fault.retry_after_s)
    case 'unreadable':
      return unavailable('the platform gave an answer of another shape', null)
    case 'rejected':
      return new ApiError('FORUM_REJECTED', {
        message: 'the platform rejected the request',
        extra: { upstream_code: `HTTP_${fault.status}`, upstream_message: null },
      })
    case 'unsupported':
      return notSupported(fault.capability)
    case 'proxy':
      return fault.trouble === 'refused'
        ? privateProxy()
        : new ApiError('PROXY_ERROR', { message: PROXY[fault.trouble ?? 'failed'] })
    case 'no_browser':
      return noBrowser(fault.why)
  }
}

/** Error for a block or a human check: reported, and never circumvented. */
export const blocked = (): ApiError =>
  new ApiError('UPSTREAM_BLOCKED', {
    message: `the platform requires a human check; forumd does not solve it: ${ADVICE}`,
  })

/** Error for a caller's proxy that the address guard refuses. */
export const privateProxy = (): ApiError =>
  new ApiError('INVALID_PROXY', {
    message: 'proxy must name a proxy on the public internet',
    field: 'proxy',
  })

export const noBrowser = (why: string): ApiError =>
  new ApiError('browser_unavailable', {
    message: `this needs a browser on the service's machine: ${why}`,
    retry_after_s: RETRY_BROWSER_S,
  })

const unavailable = (message: string, retry_after_s: number | null): ApiError =>
  new ApiError('upstream_unavailable', {
    message: `${message}; no action was taken`,
    retry_after_s: pause(retry_after_s ?? RETRY_S.unavailable),
  })

/** Error for a refusal by the platform, with its own message. */
function toRefusal({
  code,
  message,
  field,
  retry_after_s,
  meaning,
  terminal,
}: NativeRefusal): ApiError {
  const native_message = message === null ? code : `${code}: ${message}`
  const details: ErrorDetails = {
    message: `the platform refuses this (${native_message})`,
    ...(field !== null && { field }),
    ...(retry_after_s !== null && { retry_after_s: pause(retry_after_s) }),
    // The code is usually decided here and unbilled; this one is the platform's answer.
    billed: true,
    extra: { upstream_code: code, upstream_message: message, terminal },
  }
  if (meaning !== 'INVALID_REQUEST') return new ApiError(meaning, details)
  const named = field ?? 'body'
  const sentence = `${named} is refused by the platform (${native_message})`
  return new ApiError(meaning, { ...details, field: named, message: sentence })
}
