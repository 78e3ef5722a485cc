/**
 * Every error of the API: status, `error` text, and whether the call is billed after the platform
 * was requested. Routes, documentation and tests read this table. `error` equals the code, except
 * where the public interface defines a sentence.
 */
export const CODES = {
  missing_token: { status: 401, error: 'Missing Bearer token', billed: false },
  invalid_token: { status: 403, error: 'Invalid token', billed: false },
  insufficient_credits: { status: 402, error: 'Insufficient credits', billed: false },
  INVALID_REQUEST: { status: 400, error: null, billed: false },
  INVALID_FIELD: { status: 400, error: 'INVALID_FIELD', billed: false },
  INCOMPLETE_SESSION: { status: 400, error: 'INCOMPLETE_SESSION', billed: false },
  SESSION_REQUIRED: { status: 400, error: 'SESSION_REQUIRED', billed: false },
  PROXY_WITHOUT_SESSION: { status: 400, error: 'PROXY_WITHOUT_SESSION', billed: false },
  INVALID_PROXY: { status: 400, error: 'INVALID_PROXY', billed: false },
  PROXY_AS_COOKIE: { status: 400, error: 'PROXY_AS_COOKIE', billed: false },
  BODY_TOO_LARGE: { status: 413, error: 'BODY_TOO_LARGE', billed: false },
  NOT_SUPPORTED_BY_SOURCE: { status: 501, error: 'NOT_SUPPORTED_BY_SOURCE', billed: false },
  METHOD_NOT_ALLOWED: { status: 405, error: 'METHOD_NOT_ALLOWED', billed: false },
  FEATURE_DISABLED: { status: 403, error: 'FEATURE_DISABLED', billed: false },
  MISDIRECTED: { status: 421, error: 'MISDIRECTED', billed: false },
  rate_limited: { status: 429, error: 'rate_limited', billed: false },
  too_many_concurrent_reads: { status: 429, error: 'too_many_concurrent_reads', billed: false },
  DEEP_SEARCH_CONCURRENCY: { status: 429, error: 'DEEP_SEARCH_CONCURRENCY', billed: false },
  HTTP_429: { status: 429, error: 'HTTP_429', billed: false },
  upstream_timeout: { status: 408, error: 'upstream_timeout', billed: false },
  upstream_unavailable: { status: 503, error: 'upstream_unavailable', billed: false },
  storage_unavailable: { status: 503, error: 'storage_unavailable', billed: false },
  not_primary: { status: 503, error: 'not_primary', billed: false },
  UPSTREAM_ERROR: { status: 502, error: 'UPSTREAM_ERROR', billed: false },
  UPSTREAM_BLOCKED: { status: 502, error: 'UPSTREAM_BLOCKED', billed: false },
  PROXY_ERROR: { status: 502, error: 'PROXY_ERROR', billed: true },
  REAUTH_REQUIRED: { status: 401, error: 'REAUTH_REQUIRED', billed: true },
  PERMISSION_DENIED: { status: 403, error: 'PERMISSION_DENIED', billed: true },
  NOT_FOUND: { status: 404, error: 'NOT_FOUND', billed: true },
  BANNED_FROM_SUBFORUM: { status: 403, error: 'BANNED_FROM_SUBFORUM', billed: true },
  THREAD_LOCKED: { status: 409, error: 'THREAD_LOCKED', billed: true },
  ARCHIVED: { status: 409, error: 'ARCHIVED', billed: true },
  FORUM_REJECTED: { status: 502, error: 'FORUM_REJECTED', billed: true },
  FORUM_RATELIMIT: { status: 502, error: 'FORUM_RATELIMIT', billed: true },
  OUTCOME_UNKNOWN: { status: 502, error: 'OUTCOME_UNKNOWN', billed: true },
  IDEMPOTENCY_MISMATCH: { status: 409, error: 'IDEMPOTENCY_MISMATCH', billed: false },
  IN_PROGRESS: { status: 409, error: 'IN_PROGRESS', billed: false },
  AUTH_FAILED: { status: 502, error: 'AUTH_FAILED', billed: true },
  TWO_FACTOR_REQUIRED: { status: 502, error: 'TWO_FACTOR_REQUIRED', billed: true },
  TWO_FACTOR_INVALID: { status: 502, error: 'TWO_FACTOR_INVALID', billed: true },
  UNKNOWN: { status: 502, error: 'UNKNOWN', billed: false },
  browser_unavailable: { status: 503, error: 'browser_unavailable', billed: false },
  overloaded: { status: 503, error: 'overloaded', billed: false },
  internal_error: { status: 500, error: 'internal_error', billed: false },
  monitor_slots_exhausted: { status: 402, error: 'monitor_slots_exhausted', billed: false },
  sitewide_slots_exhausted: { status: 402, error: 'sitewide_slots_exhausted', billed: false },
  webhook_not_found: { status: 400, error: 'webhook_not_found', billed: false },
  webhook_paused: { status: 400, error: 'webhook_paused', billed: false },
  webhook_kind_mismatch: { status: 400, error: 'webhook_kind_mismatch', billed: false },
  webhook_url_rejected: { status: 400, error: 'webhook_url_rejected', billed: false },
  email_not_configured: { status: 400, error: 'email_not_configured', billed: false },
  subforum_not_found: { status: 400, error: 'subforum_not_found', billed: false },
  subforum_reserved: { status: 400, error: 'subforum_reserved', billed: false },
  draft_not_waiting: { status: 409, error: 'draft_not_waiting', billed: false },
  drafts_exhausted: { status: 409, error: 'drafts_exhausted', billed: false },
  feedback_exhausted: { status: 409, error: 'feedback_exhausted', billed: false },
} as const satisfies Record<string, { status: number; error: string | null; billed: boolean }>

export type ErrorCode = keyof typeof CODES

/** An invalid field by its public name, and the sentence that names what is allowed. */
export type FieldError = { field: string; message: string }

export type ErrorDetails = {
  /** Sentence for people. For INVALID_REQUEST it is the `error` itself. */
  message?: string
  /** Invalid field, by its public name. */
  field?: string
  /** Every invalid field in the order of the checks, if there are several; the first is `field`. */
  errors?: readonly FieldError[]
  retry_after_s?: number
  /**
   * Absent item. With renamed words its own code, such as `monitor_not_found`, replaces NOT_FOUND.
   */
  absent?: 'monitor' | 'webhook'
  /**
   * Set if the platform reported a condition that forumd otherwise decides itself; such a call is
   * billed.
   */
  billed?: boolean
  /** Further fields of the body, such as `limit` and `tier`, `reason`, `hint`. */
  extra?: Record<string, unknown>
}

/** Response other than 200. Thrown only in `api` and in parsers of caller input. */
export class ApiError extends Error {
  override name = 'ApiError'
  readonly code: ErrorCode
  readonly details: ErrorDetails

  constructor(code: ErrorCode, details: ErrorDetails = {}) {
    super(details.message ?? CODES[code].error ?? code)
    this.code = code
    this.details = details
  }

  get status(): number {
    return CODES[this.code].status
  }

  /** True if the call is billed despite the error. */
  get billed(): boolean {
    return this.details.billed ?? CODES[this.code].billed
  }
}

export const invalid = (field: string, sentence: string): ApiError =>
  new ApiError('INVALID_REQUEST', { field, message: sentence })

/** The first error, with the fields of all that name one. At least one error is given. */
export function withAllFields([first, ...others]: readonly [ApiError, ...ApiError[]]): ApiError {
  const errors = [first, ...others].flatMap((it) => it.details.errors ?? fieldErrorOf(it))
  return errors.length < 2 ? first : new ApiError(first.code, { ...first.details, errors })
}

const fieldErrorOf = ({ details: { field }, message }: ApiError): FieldError[] =>
  field === undefined ? [] : [{ field, message }]

/**
 * Runs checks in their order and collects the errors that name a field, so that a form can show all
 * of them at once.
 * @throws {ApiError} the first that names no field; else the first, with the fields of all
 */
export async function checkAll(...checks: readonly (() => unknown)[]): Promise<void> {
  const found: ApiError[] = []
  for (const check of checks) {
    try {
      await check()
    } catch (error) {
      if (!(error instanceof ApiError) || error.details.field === undefined) throw error
      found.push(error)
    }
  }
  const [first, ...others] = found
  if (first !== undefined) throw withAllFields([first, ...others])
}

/** Code of an error, such as ENOENT or SQLITE_FULL; empty if it has none. */
export const errorCode = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

/**
 * Loggable name of an error: its code, else its class. Never its message, which may contain an
 * address or a secret.
 */
export const loggedCode = (error: unknown): string =>
  errorCode(error) || (error instanceof Error ? error.name : 'unknown')
