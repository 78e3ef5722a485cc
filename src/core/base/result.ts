/** Reason why the platform refuses a subforum or a user, in its own terms. */
export type RefusalReason =
  | 'private'
  | 'gold_only'
  | 'quarantined'
  | 'gated'
  | 'banned'
  | 'absent'
  | 'legal'
  | 'user_suspended'
  /** A listing that only its own account may read was requested through another. */
  | 'other_account'
  /** The robots.txt of the host forbids the request, which was not sent. */
  | 'robots'
  /** The only row of a listing is a notice that asks to sign in, in place of its rows. */
  | 'placeholder'
  /** The listing of a profile is empty although the profile has karma: hidden, or all deleted. */
  | 'profile_hidden'
  /** A listing is empty although its rows exist, or although many follow the place. */
  | 'emptied'

/**
 * Failure of a proxy. `refused`: the guard refuses its address and nothing was dialled.
 * `unreachable`: nothing answers there. `denied`: it rejects the credentials. `failed`: it could
 * not forward the request.
 */
export type ProxyTrouble = 'refused' | 'unreachable' | 'denied' | 'failed'

/** Why no connection was opened. */
export type Unreached =
  | 'unknown_host'
  | 'refused'
  | 'no_route'
  | 'certificate'
  | 'no_tls'
  /** The guard refuses the address. */
  | 'guarded'

/**
 * Failure of the platform as a value, in its own terms. The adapter lets no other failure escape.
 */
export type Fault =
  /**
   * Status 429, or an edge limit in another form, with the seconds to wait. `not_requested`: the limit
   * was already known and no request was sent. `resting`: the identity pauses after a fault,
   * although its budget may not be exhausted. `estimated`: the platform named no time, and its
   * budget was not exhausted. `searches_only`: the limit holds for searches, not for other requests.
   * `configured`: the requests a minute that the operator allows are used up; the platform set no limit.
   */
  | {
      kind: 'throttled'
      retry_after_s: number
      not_requested?: true
      resting?: true
      estimated?: true
      searches_only?: true
      configured?: number
    }
  /**
   * Block page, challenge or human check in place of a readable response. Never circumvented.
   * `login_hint`: the page says that a login would help.
   */
  | { kind: 'blocked'; login_hint?: true }
  /**
   * Login page or a redirect to one: the session has ended, or one is required. `revoked`: the
   * platform no longer knows the application.
   */
  | { kind: 'login_required'; revoked?: true }
  | { kind: 'forbidden'; reason: RefusalReason | null }
  | { kind: 'not_found'; reason: RefusalReason | null }
  | { kind: 'timeout' }
  /**
   * Failure of the platform or of the route to it; `status` is null if there was no response.
   * `trouble` is set if one of our proxies failed: another egress may help. `not_requested`: the platform
   * is known to be unreachable, and no request was sent. `own`: this process could not open a
   * connection, which says nothing about the platform. `cause`: why no connection was opened to `host`.
   */
  | {
      kind: 'unavailable'
      status: number | null
      retry_after_s: number | null
      not_requested?: true
      trouble?: ProxyTrouble
      own?: 'out_of_files'
      cause?: Unreached
      host?: string
    }
  /** Response without the expected content. `path` names the unexpected part. */
  | { kind: 'unreadable'; path: string }
  /** Status 400, 413, 414 or 415: the request is wrong. Never retried. */
  | { kind: 'rejected'; status: number }
  /** The source has no such read. `capability` names it. */
  | { kind: 'unsupported'; capability: string }
  | { kind: 'proxy'; trouble?: ProxyTrouble }

/** Result of a platform request. Faults are returned, not thrown. */
export type Outcome<T> = { ok: true; value: T } | { ok: false; fault: Fault }

export const ok = <T>(value: T): Outcome<T> => ({ ok: true, value })
export const fail = (fault: Fault): { ok: false; fault: Fault } => ({ ok: false, fault })

/** A fault as one word, such as `throttled` or `forbidden:private`, for row and log. */
export function faultText(fault: Fault): string {
  if ('reason' in fault && fault.reason !== null) return `${fault.kind}:${fault.reason}`
  if ('status' in fault && fault.status !== null) return `${fault.kind}:${fault.status}`
  if ('cause' in fault && fault.cause !== undefined) return `${fault.kind}:${fault.cause}`
  return fault.kind
}
