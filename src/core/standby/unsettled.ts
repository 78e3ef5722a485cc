import { ApiError } from '../base/errors.ts'
import { iso } from '../base/time.ts'

// After a takeover with an asynchronous copy, the last records of the former primary are missing: a write may have been
// made of which this database knows nothing. Only acts that a repeat makes twice are concerned. A vote, a profile or a
// login has the same result when it is repeated, and what is bookkeeping alone was lost together with its record.

/** The time in which records may be missing. Epoch ms. */
export type Unsettled = {
  /** The takeover. */
  since: number
  until: number
}

/** Acts whose repeat has an effect of its own: those of calls and those of drafts. */
const DOUBLED: ReadonlySet<string> = new Set(['comment', 'message', 'dm'])

/** True if a repeat of the act has an effect of its own. */
export const isDoubled = (act: string): boolean => DOUBLED.has(act)

/** A caller's clock may be ahead by this, ms. */
const CALLER_AHEAD_MS = 5 * 60_000
/** A UUID of version 7 begins with its time, epoch ms (RFC 9562, section 5.7). */
const UUID_V7 = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i

/**
 * True if a write under an Idempotency-Key that is not in the database may have been made before the takeover. A UUID of
 * version 7 that was made later cannot name such a write.
 * @see https://www.rfc-editor.org/rfc/rfc9562#section-5.7
 */
export function mayBeRepeat(key: string, { since }: Pick<Unsettled, 'since'>): boolean {
  const [, high, low] = UUID_V7.exec(key) ?? []
  if (high === undefined || low === undefined) return true
  return Number.parseInt(high + low, 16) <= since + CALLER_AHEAD_MS
}

/** The refusal of an act that may have been made; `what` names it. */
export const unsettledError = (what: string, { since, until }: Unsettled, now: number): ApiError =>
  new ApiError('FAILOVER_UNSETTLED', {
    message: `${what} may have been made by the node that was the primary before ${iso(since)}, whose last records are lost: look whether it was made before doing it again`,
    retry_after_s: Math.max(1, Math.ceil((until - now) / 1000)),
    extra: { unsettled_until: iso(until) },
  })
