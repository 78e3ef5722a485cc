/**
 * Every error the interface can answer with: status, the `error` text, and whether the call is billed
 * when the platform had been asked (contract 4). Routes, documentation and tests read this table.
 *
 * Where interface.md gives a code, `error` equals the code; where it gives a sentence, `error` is it.
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
} as const satisfies Record<string, { status: number; error: string | null; billed: boolean }>

export type Code = keyof typeof CODES

/** What an error says beside its code. */
export type ErrorDetails = {
  /** A sentence for a person. For INVALID_REQUEST it is the `error` itself. */
  message?: string
  /** The field that is wrong, in the words of the wire. */
  field?: string
  retry_after_s?: number
  /** Set where it was the platform that said so of a code which is otherwise decided here: contract 4 bills that. */
  billed?: boolean
  /** Further fields of the body, such as `limit` and `tier`, `reason`, `hint`. */
  extra?: Record<string, unknown>
}

/** An answer that is not 200. Thrown in `api` and in parsers of what a caller wrote; nowhere else. */
export class ApiError extends Error {
  override name = 'ApiError'
  readonly code: Code
  readonly details: ErrorDetails

  constructor(code: Code, details: ErrorDetails = {}) {
    super(details.message ?? CODES[code].error ?? code)
    this.code = code
    this.details = details
  }

  get status(): number {
    return CODES[this.code].status
  }

  /** Whether the call is billed all the same. */
  get billed(): boolean {
    return this.details.billed ?? CODES[this.code].billed
  }
}

/** 400 with a sentence that names the field and what is allowed. */
export const invalid = (field: string, sentence: string): ApiError =>
  new ApiError('INVALID_REQUEST', { field, message: sentence })
