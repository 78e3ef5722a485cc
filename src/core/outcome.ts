/** Why the platform refuses a place or a person, in its own words. */
export type RefusalReason =
  | 'private'
  | 'gold_only'
  | 'quarantined'
  | 'gated'
  | 'banned'
  | 'absent'
  | 'legal'
  | 'user_suspended'
  /** What only its own account may list was asked for by another. */
  | 'other_account'

/**
 * What is wrong with a proxy: the guard refuses its address and nothing was dialled; nobody answers there; it refuses
 * our name and password; it could not carry the request through.
 */
export type ProxyTrouble = 'refused' | 'unreachable' | 'denied' | 'failed'

/** What can go wrong upstream, in the platform's terms. Nothing else escapes the adapter. */
export type Fault =
  /**
   * 429, or an edge limit dressed as something else. Seconds until it is worth asking again. `unasked`: it was known
   * from before, and the platform was not asked this time.
   */
  | { kind: 'throttled'; retry_after_s: number; unasked?: true }
  /** A block page, a challenge or a human check: no readable answer. Never worked around. */
  | { kind: 'blocked' }
  /** A login page or a redirect to one: the session is dead, or one was needed. */
  | { kind: 'login_required' }
  | { kind: 'forbidden'; reason: RefusalReason | null }
  | { kind: 'not_found'; reason: RefusalReason | null }
  /** The answer did not come within the deadline. */
  | { kind: 'timeout' }
  /**
   * The platform, or the way to it, failed; `status` is null when nothing answered. `trouble` is set when it was a
   * proxy of ours: another way out may help.
   */
  | {
      kind: 'unavailable'
      status: number | null
      retry_after_s: number | null
      trouble?: ProxyTrouble
    }
  /** It answered, but not with what was asked for. `path` names the part that did not fit. */
  | { kind: 'unreadable'; path: string }
  /** 400, 413, 414 or 415: our request is wrong. Never retried. */
  | { kind: 'rejected'; status: number }
  /** The caller's own proxy could not carry the request. */
  | { kind: 'proxy'; trouble?: ProxyTrouble }

/** What came of asking the platform. It is never thrown. */
export type Outcome<T> = { ok: true; value: T } | { ok: false; fault: Fault }

/** An outcome with a value. */
export const ok = <T>(value: T): Outcome<T> => ({ ok: true, value })
/** An outcome that is a fault. */
export const fail = (fault: Fault): { ok: false; fault: Fault } => ({ ok: false, fault })
