import { Elysia, ValidationError } from 'elysia'
import * as z from 'zod'

import { ApiError, CODES, type ErrorCode, invalid, withAllFields } from '../../core/base/errors.ts'
import { once } from '../../core/base/lazy.ts'
import type { Fault, ProxyTrouble, RefusalReason } from '../../core/base/result.ts'
import { type Naming, wireCode } from '../../core/forum/naming.ts'
import type { Log } from '../../runtime/runtime.ts'
import { isStorageError } from '../../store/db/connection.ts'
import type { Drain } from './body.ts'

const STORAGE_RETRY_S = 5
const FRAMES = 6

/**
 * WWW-Authenticate header of each 401: for the API key, and for the session of an account. The
 * session is not HTTP authentication and has its own scheme, so that clients keep their key.
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-11.6.1
 */
const CHALLENGES: Partial<Record<ErrorCode, string>> = {
  missing_token: 'Bearer realm="forumd"',
  REAUTH_REQUIRED: 'Session realm="platform"',
}

export function render(error: ApiError, words: Naming) {
  const { code, details } = error
  const { status, error: sentence } = CODES[code]
  const { message, field, errors: fields, retry_after_s, extra, absent } = details
  const own_code = words.renamed && absent !== undefined ? `${absent}_not_found` : null
  const body = {
    error: own_code ?? (sentence === null ? error.message : wireCode(words, sentence)),
    code: own_code ?? wireCode(words, code),
    ...(message === undefined || sentence === null ? {} : { message }),
    ...(field === undefined ? {} : { field }),
    ...(fields === undefined ? {} : { errors: fields }),
    ...(retry_after_s === undefined ? {} : { retry_after: retry_after_s }),
    ...extra,
  }
  const challenge = CHALLENGES[code]
  const headers: Record<string, string> = {
    ...(retry_after_s !== undefined && { 'retry-after': String(retry_after_s) }),
    ...(challenge !== undefined && { 'www-authenticate': challenge }),
  }
  return { status, body, headers }
}

/** Converts every thrown value into the API's error body. `onError` receives the original. */
export const errors = (
  words: Naming,
  log: Log,
  { onError, drain }: { onError: (error: unknown) => void; drain: Drain },
) =>
  new Elysia({ name: 'errors' }).onError(
    { as: 'global' },
    async ({ code, error, set, request, route }) => {
      onError(error)
      const api_error = apiErrorOf(code, error)
      if (
        api_error === null ||
        api_error.code === 'internal_error' ||
        api_error.code === 'storage_unavailable'
      )
        log('error', 'http.failed', {
          route: route || undefined,
          method: request.method,
          request_id: set.headers['x-request-id'],
          ...trace(error),
        })
      const { status, body, headers } = render(api_error ?? new ApiError('internal_error'), words)
      set.status = status
      Object.assign(set.headers, headers)
      await drain(request, set.headers)
      return body
    },
  )

function apiErrorOf(code: unknown, error: unknown): ApiError | null {
  if (error instanceof ApiError) return error
  // A response that breaks its own schema is an internal error.
  if (error instanceof ValidationError) return error.type === 'response' ? null : refusal(error)
  if (code === 'NOT_FOUND') return new ApiError('NOT_FOUND', { message: 'there is no such route' })
  if (code === 'PARSE') return unreadable(error)
  if (isStorageError(error))
    return new ApiError('storage_unavailable', {
      message: 'the request could not be stored; no action was taken',
      retry_after_s: STORAGE_RETRY_S,
    })
  return null
}

const issuesShape = once(() =>
  z.array(
    z.object({
      path: z.array(z.union([z.string(), z.number()])).default([]),
      message: z.string(),
      keys: z.array(z.string()).optional(),
    }),
  ),
)
type Issue = z.output<ReturnType<typeof issuesShape>>[number]

/** Elysia wraps the errors of the body reader. */
function unreadable(error: unknown): ApiError {
  const cause = error instanceof Error ? error.cause : null
  return cause instanceof ApiError ? cause : invalid('body', 'body could not be read')
}

const FIELDS_MAX = 50

function refusal(error: ValidationError): ApiError {
  const issues = issuesShape().safeParse(issuesOf(error)).data ?? []
  const found = issues.slice(0, FIELDS_MAX).map((it) => issueError(it, error.type))
  const each = [...Map.groupBy(found, ({ details }) => details.field).values()].flatMap(
    ([first]) => first ?? [],
  )
  const [first, ...others] = each
  return first === undefined
    ? invalid(error.type, `${error.type} is not valid`)
    : withAllFields([first, ...others])
}

/** Elysia keeps the first issue of a schema only. */
function issuesOf({ validator, value, valueError }: ValidationError): unknown {
  const { schema }: { schema?: unknown } = Object(validator)
  const result = isStandardSchema(schema) ? schema['~standard'].validate(value) : {}
  const { issues }: { issues?: unknown } = Object(result)
  return Array.isArray(issues) ? issues : [valueError]
}

type StandardSchema = { '~standard': { validate: (value: unknown) => unknown } }
const isStandardSchema = (it: unknown): it is StandardSchema =>
  typeof it === 'object' && it !== null && '~standard' in it

function issueError(issue: Issue, type: string): ApiError {
  const path = [...issue.path, ...(issue.keys?.slice(0, 1) ?? [])]
  const field = path.reduce<string>(
    (name, part) =>
      typeof part === 'number' ? `${name}[${part}]` : (name && `${name}.${part}`) || part,
    '',
  )
  if (field === '') return invalid(type, issue.message)
  // The schema has no message of its own for a missing field.
  if (issue.message.endsWith('received undefined')) return invalid(field, `${field} is required`)
  const last = issue.path.findLast((part) => typeof part === 'string') ?? field
  const named = issue.message.includes(last) || issue.keys !== undefined
  return invalid(field, named ? issue.message : `${field}: ${issue.message}`)
}

/**
 * Fields of an error for the operator's log. Messages of foreign errors may hold an address or a
 * secret, so they are omitted.
 */
function trace(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { error: typeof error }
  const ours =
    error instanceof TypeError ||
    error instanceof RangeError ||
    error instanceof ReferenceError ||
    isStorageError(error)
  const at = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  return {
    error: error.name,
    ...(ours ? { message: error.message } : {}),
    at: at.slice(0, FRAMES).map((line) => line.trim()),
  }
}

/**
 * Kind of call in which the fault occurred: `read` is a GET of public data. `verify` and `own` (the
 * four listings of the caller's own account) answer 502 where a read answers 408 or 503.
 */
type Flavour = 'read' | 'verify' | 'own'

export type FaultContext = {
  flavour: Flavour
  with_session: boolean
  /** Requested item, if its absence has a code of its own. */
  thing?: 'post' | 'comment' | 'user'
}

/**
 * Seconds until a retry if the platform names no pause: after a timeout, and while it is
 * unavailable.
 */
export const RETRY_S = { timeout: 2, unavailable: 5 }

/** A pause in whole seconds: at least 1, rounded up. */
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
  robots: 'the robots.txt of the source forbids this request, which was not sent',
  placeholder: 'the platform shows a notice in place of this listing; an account may be needed',
  profile_hidden:
    'this profile shows nothing although it has karma: its user hides it, or has deleted all of it',
  emptied: 'the platform answers an empty list for a place that has content',
}

export const PROXY = {
  unreachable: 'the proxy could not be reached',
  denied: "the proxy does not accept the request's username and password",
  failed: 'the proxy could not carry the request',
} satisfies Record<Exclude<ProxyTrouble, 'refused'>, string>

/** `core/base/errors.ts` states for each code whether it is billed. */
export function toApiError(fault: Fault, { flavour, with_session, thing }: FaultContext): ApiError {
  switch (fault.kind) {
    case 'throttled':
      return new ApiError('HTTP_429', {
        message: limitSentence(fault.configured),
        retry_after_s: pause(fault.retry_after_s),
      })
    case 'login_required':
      return with_session
        ? new ApiError('REAUTH_REQUIRED', {
            message: 'the platform does not accept this session; log in again',
          })
        : new ApiError('PERMISSION_DENIED', {
            message: 'the platform shows this to signed-in accounts only',
            extra: { reason: LOGIN_WALL },
          })
    case 'forbidden':
      return new ApiError('PERMISSION_DENIED', because(fault.reason, 'the platform refuses this'))
    case 'not_found':
      return new ApiError('NOT_FOUND', missing(fault.reason, thing))
    case 'timeout':
      return flavour === 'read'
        ? new ApiError('upstream_timeout', {
            message: 'the platform did not answer in time',
            retry_after_s: RETRY_S.timeout,
          })
        : upstreamError('the platform did not answer in time')
    case 'blocked':
      return fault.login_hint === true
        ? unavailable(flavour, 'the platform asks for a login before it answers', null, LOGIN_WALL)
        : unavailable(flavour, 'the platform gave no readable answer', null)
    case 'unavailable':
      return unavailable(flavour, unreachedSentence(fault), fault.retry_after_s)
    case 'unreadable':
      return unavailable(flavour, 'the platform gave an answer of another shape', null)
    case 'rejected':
      return upstreamError('the platform rejected the request')
    case 'unsupported':
      return notSupported(fault.capability)
    case 'proxy':
      return fault.trouble === 'refused'
        ? new ApiError('INVALID_PROXY', { message: 'the proxy must be on the public internet' })
        : new ApiError('PROXY_ERROR', { message: PROXY[fault.trouble ?? 'failed'] })
  }
}

const limitSentence = (configured: number | undefined): string =>
  configured === undefined
    ? 'the rate limit of the platform was reached'
    : `the ${configured} requests a minute that requests_per_minute of this [[source]] allows are used up`

export const notSupported = (capability: string): ApiError =>
  new ApiError('NOT_SUPPORTED_BY_SOURCE', {
    message: `this source does not support ${capability}; the list of sources says what it does`,
    extra: { capability },
  })

export const because = (reason: RefusalReason | null, otherwise: string) =>
  reason === null
    ? { message: otherwise, extra: { reason: null } }
    : { message: REFUSED[reason], extra: { reason } }

function missing(reason: RefusalReason | null, thing: FaultContext['thing']) {
  const sentence =
    thing === undefined ? 'the platform has no such thing' : `there is no such ${thing}`
  if (thing === undefined || (reason !== null && reason !== 'absent'))
    return because(reason, sentence)
  return { message: sentence, extra: { reason } }
}

/** Reason of a refusal by which the platform asks for a login. */
const LOGIN_WALL = 'login_wall'

const upstreamError = (message: string) => new ApiError('UPSTREAM_ERROR', { message })

/** Reason of a request without an answer. */
export const unreachedSentence = ({ own }: { own?: 'out_of_files' }): string =>
  own === undefined
    ? 'the platform could not be reached'
    : 'this service has no file descriptor left, so that it could not connect to the platform'

function unavailable(
  flavour: Flavour,
  message: string,
  retry_after_s: number | null,
  reason?: string,
): ApiError {
  const extra = reason === undefined ? {} : { extra: { reason } }
  if (flavour !== 'read') return new ApiError('UPSTREAM_ERROR', { message, ...extra })
  return new ApiError('upstream_unavailable', {
    message,
    retry_after_s: pause(retry_after_s ?? RETRY_S.unavailable),
    ...extra,
  })
}
