import { ApiError, type ErrorDetails } from '../../core/errors.ts'
import type { Refusal } from '../../core/native-refusals.ts'
import type { ActFault } from '../../gateway/act-browser.ts'
import { because, pause, PROXY, RETRY_S } from '../faults.ts'

const RETRY_BROWSER_S = 60

/** What to do about a human check that nobody here answers. */
export const ADVICE =
  "sign in with an ordinary browser of the account's owner and use its cookies as the session"

/**
 * What the caller is told about a write that was not done, or of which nobody knows. What the platform itself said is
 * billed (contract 4); what never got there is not.
 */
export function toActError(fault: ActFault): ApiError {
  switch (fault.kind) {
    case 'refused':
      return toRefusal(fault)
    case 'unknown':
      return new ApiError('OUTCOME_UNKNOWN', {
        message:
          'the request has left and its answer was lost: look whether it was done before doing it again',
      })
    case 'throttled':
      return new ApiError('FORUM_RATELIMIT', {
        message: 'the platform asks to slow down',
        retry_after_s: pause(fault.retry_after_s),
        // Only what the platform was asked is paid for.
        ...(fault.unasked && { billed: false }),
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
        message: 'there was no time left to do it; nothing was done',
        retry_after_s: RETRY_S.timeout,
      })
    case 'unavailable':
      return unavailable('the platform could not be reached', fault.retry_after_s)
    case 'unreadable':
      return unavailable('the platform gave an answer of another shape', null)
    case 'rejected':
      return new ApiError('FORUM_REJECTED', {
        message: 'the platform did not accept the request as it was put to it',
        extra: { upstream_code: `HTTP_${fault.status}`, upstream_message: null },
      })
    case 'proxy':
      return fault.trouble === 'refused'
        ? privateProxy()
        : new ApiError('PROXY_ERROR', { message: PROXY[fault.trouble ?? 'failed'] })
    case 'no_browser':
      return noBrowser(fault.why)
  }
}

/** A block or a human check: told, and never worked around. */
export const blocked = (): ApiError =>
  new ApiError('UPSTREAM_BLOCKED', {
    message: `the platform wants to see a person, and nothing here answers for one: ${ADVICE}`,
  })

/** A caller's proxy that the guard does not let anybody dial. */
export const privateProxy = (): ApiError =>
  new ApiError('INVALID_PROXY', {
    message: 'proxy must name a proxy on the public internet',
    field: 'proxy',
  })

/** What cannot be done without a browser. */
export const noBrowser = (why: string): ApiError =>
  new ApiError('browser_unavailable', {
    message: `this needs a browser on the service's machine: ${why}`,
    retry_after_s: RETRY_BROWSER_S,
  })

const unavailable = (message: string, retry_after_s: number | null): ApiError =>
  new ApiError('upstream_unavailable', {
    message: `${message}; nothing was done`,
    retry_after_s: pause(retry_after_s ?? RETRY_S.unavailable),
  })

/** The platform's own no, with its own words inside. */
function toRefusal({ code, message, field, retry_after_s, meaning, terminal }: Refusal): ApiError {
  const said = message === null ? code : `${code}: ${message}`
  const details: ErrorDetails = {
    message: `the platform refuses this (${said})`,
    ...(field !== null && { field }),
    ...(retry_after_s !== null && { retry_after_s: pause(retry_after_s) }),
    // An error that is decided here elsewhere is the platform's own this time.
    billed: true,
    extra: { upstream_code: code, upstream_message: message, terminal },
  }
  if (meaning !== 'INVALID_REQUEST') return new ApiError(meaning, details)
  const named = field ?? 'body'
  const sentence = `${named} is refused by the platform (${said})`
  return new ApiError(meaning, { ...details, field: named, message: sentence })
}
