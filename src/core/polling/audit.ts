/**
 * Audits: deep reads of one feed by itself. A poll reads the newest rows only and cannot see a row that appears
 * late further down, or a place that a merged listing leaves out; an audit compares what the feed lists now with what
 * was seen. Health claims completeness up to the instant that audits have verified, and no further.
 * Rejected: deeper polls. They would cost a request more in every interval for each page of depth, and a merged listing
 * would still prove nothing of its members.
 */

import type { Feed } from './step.ts'

/** Greatest depth of an audit in time; in rows it is AUDIT_ROWS_MAX of cursor.ts. */
export const AUDIT_DEPTH_MS = 3_600_000
/** Cadences between two audits of a feed, unless configured. */
const INTERVAL_CADENCES = 10
const INTERVAL_MIN_S = 60
/** Every audit of this number reads to the full depth; the others to where the last verified range may have been incomplete. */
const FULL_DEPTH_EVERY = 5
/** Rows may take this long from creation to the listing without having been seen to. */
const LATENESS_MIN_MS = 45_000
const LATENESS_FACTOR = 1.5
/** An audit starts early in its interval, so that one that has to wait is still in time; feeds differ by the spread. */
const STARTS_AT = 0.8
const STARTS_SPREAD = 0.1
const GOLDEN_RATIO = 0.618_033_988_75
/** Greatest share of the budget that audits may use, and the least, where polls alone need nearly all of it. */
const BUDGET_SHARE_MAX = 0.2
const BUDGET_SHARE_MIN = 0.02
const SINGLE_POLLS_SHARE = 0.1
/** Polls need so much more than planned: further pages, retries. */
const POLL_RESERVE = 1.1

/** Seconds between two audits of a feed with this cadence; `configured_s` 0: ten cadences, at least a minute. */
export const auditIntervalS = (cadence_s: number, configured_s: number): number =>
  configured_s > 0 ? configured_s : Math.max(INTERVAL_MIN_S, INTERVAL_CADENCES * cadence_s)

/** Due time of the audit that follows one started at `started_at`; same clock, ms. */
export function nextAuditAt(started_at: number, interval_s: number, feed_id: number): number {
  const phase = (feed_id * GOLDEN_RATIO) % 1
  return started_at + Math.round(interval_s * (STARTS_AT - STARTS_SPREAD * phase) * 1000)
}

/** Delay between creation and listing, ms, that an audit has to allow for; `lateness_ms` is the largest one seen of late. */
export const latenessMargin = (lateness_ms: number): number =>
  Math.round(Math.min(AUDIT_DEPTH_MS, Math.max(LATENESS_MIN_MS, LATENESS_FACTOR * lateness_ms)))

/** The instant to which an audit at `now` reads. */
export function auditSince(
  {
    audits,
    audited_until,
    lateness_ms,
  }: Pick<Feed, 'audited_until' | 'lateness_ms'> & { audits: number },
  now: number,
): number {
  const deepest = now - AUDIT_DEPTH_MS
  if (audits > 0 && audits % FULL_DEPTH_EVERY === 0) return deepest
  return Math.max(deepest, (audited_until ?? now) - latenessMargin(lateness_ms))
}

/** Verified creation times of a feed, and those before them that never will be; null: none. */
type Verified = {
  audited_from: number
  audited_until: number
  hole: { from: number; until: number } | null
}

/** The verified range after a further one. One that does not join the last replaces it. */
export function joinVerified(
  { audited_from, audited_until }: Pick<Feed, 'audited_from' | 'audited_until'>,
  { from, until }: { from: number; until: number },
): Verified {
  const before = audited_until ?? 0
  if (audited_from === null || audited_until === null || audited_until < from)
    return {
      audited_from: from,
      audited_until: until,
      hole: before < from ? { from: before, until: from } : null,
    }
  return {
    audited_from: Math.min(audited_from, from),
    audited_until: Math.max(audited_until, until),
    hole: null,
  }
}

/** Lateness that is no longer observed is forgotten by half in about seventy audits. */
const LATENESS_KEEPS = 0.99

/** The largest lateness after an audit, or a poll, that saw rows so late. */
export const latenessAfter = (before_ms: number, seen_ms: readonly number[], is_audit: boolean) =>
  Math.round(Math.max(is_audit ? before_ms * LATENESS_KEEPS : before_ms, ...seen_ms))

/**
 * Requests a minute that audits may make: a tenth of those that a poll of every feed by itself would take, within what
 * planned polls leave of the budget, and a fifth of it at most.
 */
export function auditAllowance({
  per_minute,
  polls_per_minute,
  single_polls_per_minute,
}: {
  /** Allowed by the platform; Infinity: not known. */
  per_minute: number
  /** As planned, with merged requests; and as if each feed was polled by itself. */
  polls_per_minute: number
  single_polls_per_minute: number
}): number {
  const spare = per_minute - POLL_RESERVE * polls_per_minute
  const wanted = Math.min(spare, SINGLE_POLLS_SHARE * single_polls_per_minute)
  // Where the budget is not known, neither is a share of it.
  if (!Number.isFinite(per_minute)) return per_minute
  return Math.min(BUDGET_SHARE_MAX * per_minute, Math.max(BUDGET_SHARE_MIN * per_minute, wanted))
}

/**
 * Factor by which all intervals are stretched so that audits stay within their allowance.
 * `requests`: those that one audit of the feed makes beside its polls.
 */
export function auditStretch(
  feeds: readonly { requests: number; interval_s: number }[],
  allowance_per_minute: number,
): number {
  const wanted = feeds.reduce(
    (sum, { requests, interval_s }) => sum + (requests * 60) / (interval_s * STARTS_AT),
    0,
  )
  return Math.max(1, wanted / Math.max(allowance_per_minute, 0.1))
}

/** Requests that audits have saved up; `mono` counts ms. */
export type AuditTokens = { tokens: number; mono: number }

/** Tokens after a while at this allowance, at most those of half a minute, or of one audit. */
export function refill(
  { tokens, mono }: AuditTokens,
  now_mono: number,
  allowance_per_minute: number,
): AuditTokens {
  if (!Number.isFinite(allowance_per_minute)) return { tokens: 1, mono: now_mono }
  const most = Math.max(1, allowance_per_minute / 2)
  const gained = ((now_mono - mono) / 60_000) * allowance_per_minute
  return { tokens: Math.min(most, tokens + gained), mono: now_mono }
}
