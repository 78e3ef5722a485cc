/** Coverage of a monitor over the last 24 hours, as pure functions of stored rows. */

/** Window of health, ms. */
export const WINDOW_MS = 86_400_000
export const ENTRIES_MAX = 50

// A feed is live when its last check is at most this many intervals old.
const INTERVALS = 3
const FIRST_POLL_MS = 180_000
const SMALL_JUMP_MS = 60_000

/** One feed of a monitor, from its row. Instants by the clock of `now`. */
export type FeedFacts = {
  id: string
  interval_s: number
  /** False: no poll will ever be due, which is a fault of ours. */
  registered: boolean
  /** Start of the feed, for any monitor. */
  created_at: number
  /** Start of this monitor on the feed. */
  attached_at: number
  last_check_at: number | null
  audit_interval_s: number
  /** Start of the last complete audit. */
  audited_at: number | null
  /** Creation times that audits have verified, by the platform's clock, as `active_since`: where the monitor starts. */
  audited_from: number | null
  audited_until: number | null
  active_since: number
  /** Null: a feed of listings, which audits verify. */
  ids: IdFacts | null
}

/** Ids of a feed, both inclusive. */
export type Ids = { from_id: number; to_id: number }

/** A feed of all items of a source, which its ids verify. Instants by our clock; null: no step yet. */
export type IdFacts = {
  proof: string | null
  verified_from: number | null
  verified_until: number | null
  /** First id after the start, and the highest proven one. */
  proven: Ids | null
  /** Ids that exist and wait to be read. */
  behind: Ids | null
  /** Why the source cannot prove completeness; null: it can. */
  partial: string | null
  /** Fault of the last step; null: none. */
  fault: string | null
  interval_s: number
  changes: ChangesWaiting | null
  /** All ids of items since then were read again at `at`, and what had come late or had changed was matched. */
  reread: { since: number; at: number } | null
}

/** Items that were named as changed and not read since. Epoch ms by our clock, of the first one named; null: none. Dropped: not to be read. */
export type ChangesWaiting = { waiting: number; oldest_at: number | null; dropped_24h: number }

/** A change that waits this many intervals, and at least two minutes, is late. */
const CHANGE_INTERVALS = 2
const CHANGE_MIN_MS = 120_000

export type IdColumns = {
  kind: string
  last_fault: string | null
  proof: string | null
  verified_from: number | null
  verified_until: number | null
  proven_from: number | null
  proven_to: number | null
  behind_from: number | null
  behind_to: number | null
  partial: string | null
  /** JSON of `ChangesWaiting`; null: the source names no changes. */
  changes: string | null
  reread_since: number | null
  reread_done_at: number | null
}

/** A stored feed, with the start of a monitor on it by the platform's clock. */
type StoredFeed = Omit<FeedFacts, 'id' | 'registered' | 'attached_at' | 'ids'> &
  IdColumns & {
    key: string
    /** Null: no poll will ever be due. */
    next_check_at: number | null
  }

const toRange = (from_id: number | null, to_id: number | null): Ids | null =>
  from_id === null || to_id === null ? null : { from_id, to_id }

const toChanges = (text: string | null): ChangesWaiting | null =>
  text === null ? null : JSON.parse(text)

/** Facts of a feed for a monitor created at `created_at`; the platform's clock is `offset_ms` ahead. */
export const feedFacts = (it: StoredFeed, created_at: number, offset_ms: number): FeedFacts => ({
  id: it.key,
  interval_s: it.interval_s,
  registered: it.next_check_at !== null,
  created_at: it.created_at,
  attached_at: Math.max(it.active_since - offset_ms, created_at),
  last_check_at: it.last_check_at,
  audit_interval_s: it.audit_interval_s,
  audited_at: it.audited_at,
  audited_from: it.audited_from,
  audited_until: it.audited_until,
  active_since: it.active_since,
  ids:
    it.kind === 'all'
      ? {
          proof: it.proof,
          verified_from: it.verified_from,
          verified_until: it.verified_until,
          proven: toRange(it.proven_from, it.proven_to),
          behind: toRange(it.behind_from, it.behind_to),
          partial: it.partial,
          fault: it.last_fault,
          interval_s: it.interval_s,
          changes: toChanges(it.changes),
          reread:
            it.reread_since === null || it.reread_done_at === null
              ? null
              : { since: it.reread_since, at: it.reread_done_at },
        }
      : null,
})

type FeedFailure = 'never_polled' | 'stalled' | 'unregistered'

/** Liveness of a monitor's feeds; `streams` lists the failing ones. */
export type FeedLiveness = {
  status: 'live' | 'degraded' | 'unknown'
  reason: 'monitor_paused' | 'streams_awaiting_first_poll' | 'poll_log_unreadable' | null
  streams: { id: string; reason: FeedFailure }[]
}

const UNREADABLE: FeedLiveness = { status: 'unknown', reason: 'poll_log_unreadable', streams: [] }

/** Judges whether each feed is being polled. Null: the rows could not be read. */
export function judgeLiveness(
  feeds: readonly FeedFacts[] | null,
  { active, now }: { active: boolean; now: number },
): FeedLiveness {
  if (!active) return { status: 'unknown', reason: 'monitor_paused', streams: [] }
  if (feeds === null) return UNREADABLE
  // A monitor without feeds watches nothing.
  if (feeds.length === 0) return { status: 'degraded', reason: null, streams: [] }
  const states = feeds.map((it) => ({ id: it.id, state: stateOf(it, now) }))
  const failing = states.flatMap(({ id, state }) =>
    state === 'live' || state === 'awaiting' ? [] : [{ id, reason: state }],
  )
  if (failing.length > 0) return { status: 'degraded', reason: null, streams: failing }
  if (states.some(({ state }) => state === 'awaiting'))
    return { status: 'unknown', reason: 'streams_awaiting_first_poll', streams: [] }
  return { status: 'live', reason: null, streams: [] }
}

function stateOf(feed: FeedFacts, now: number): FeedFailure | 'live' | 'awaiting' {
  if (!feed.registered) return 'unregistered'
  const patience_ms = INTERVALS * feed.interval_s * 1000
  if (feed.last_check_at !== null)
    return now - feed.last_check_at <= patience_ms ? 'live' : 'stalled'
  const watched_ms = now - Math.max(feed.created_at, feed.attached_at)
  return watched_ms <= Math.max(patience_ms, FIRST_POLL_MS) ? 'awaiting' : 'never_polled'
}

/** A truncated check. `from_at` and `until_at` bound the creation times it did not observe; null: unknown. */
export type Gap = {
  stream: string
  reason: string
  recorded_at: number
  from_at: number | null
  until_at: number | null
  missed_estimate: number | null
  closed_at: number | null
  /** Ids of a feed, both inclusive; null: the gap is known by its time only. */
  from_id: number | null
  to_id: number | null
}

/** Reason of a gap of ids that were requested, and had no item: nothing was left unread. */
const UNANSWERED = 'unanswered'

export const isCut = ({ reason }: Pick<Gap, 'reason'>): boolean => reason !== UNANSWERED

/**
 * `process_down` hides nothing by itself: if the next check reached its checkpoint, nothing was missed. `not_verified`:
 * creation times of a feed between two ranges that were verified.
 */
export type EventKind =
  | 'poll_log_failed'
  | 'clock_jump'
  | 'feed_replaced'
  | 'log_pruned'
  | 'restore_detected'
  /** The end of the verified time was later than the clock: it was set back. */
  | 'proof_lowered'
  | 'process_down'
  | 'not_verified'

export type PollEvent = {
  kind: EventKind
  at: number
  until_at: number | null
  stream: string | null
}

/** Reasons of streams; sources have further ones, for which they cannot prove completeness. */
type IdReason =
  | 'streams_awaiting_first_poll'
  | 'source_unreachable'
  | 'catching_up'
  | 'changes_behind'
  | (string & {})

/** Coverage of a monitor's last 24 hours. Null counts: unknown. */
export type Coverage = {
  status: 'complete' | 'degraded' | 'partial' | 'unknown'
  reason:
    | 'monitor_paused'
    | 'poll_log_unreadable'
    | 'loss_events_not_observed'
    | 'streams_not_polling'
    | 'stream_liveness_unknown'
    | 'not_audited'
    | IdReason
    | null
  /** Proofs of its feeds that nothing was missed, such as `time_listing` or `dense`. */
  proof: string[]
  /** Instant (platform clock) up to which creation times are verified by audits; null: no audit yet. */
  audited_until_at: number | null
  /** Seconds between two audits of the slowest feed; null: there is none. */
  audit_interval_s: number | null
  /** Start of the window: 24 hours ago, or the start of the monitor. */
  since_at: number
  gaps: Gap[]
  gaps_returned: number
  gaps_truncated: boolean
  gap_events_24h: number | null
  /** Those of them that no later check has healed. */
  gaps_open: number | null
  posts_in_window_at_least: number | null
  posts_missed_estimate: number | null
  observed_events: { kind: string; at: number; until_at: number | null; stream: string | null }[]
  unobserved_events: PollEvent[]
}

/** Stored gaps and events of a window, newest first, and the number of items seen in it. */
export type PollLog = { gaps: readonly Gap[]; events: readonly PollEvent[]; seen: number }

export const windowSince = (now: number, active_since: number): number =>
  Math.max(now - WINDOW_MS, active_since)

/**
 * Judges whether every check reached the checkpoint of the one before. `complete` needs live feeds and current audits.
 * Null figures are unknown, not zero. Null log: the rows could not be read.
 */
export function judgeCoverage(
  log: PollLog | null,
  liveness: FeedLiveness,
  { active, since_at, audits }: { active: boolean; since_at: number; audits: AuditVerdict },
): Coverage {
  if (!active) return unknownCoverage('monitor_paused', since_at)
  if (log === null || liveness.reason === 'poll_log_unreadable')
    return unknownCoverage('poll_log_unreadable', since_at)
  const { gaps, events, seen } = log
  const cuts = gaps.filter(isCut)
  const unobserved = events.filter(mayHideItems)
  const downtimes = events.filter((it) => it.kind === 'process_down')
  const gap_events = cuts.map((it) => ({
    kind: it.reason,
    at: it.recorded_at,
    until_at: it.closed_at,
    stream: it.stream,
  }))
  return {
    ...judgeStatus({ gaps: cuts.length, unobserved: unobserved.length }, liveness, audits),
    proof: audits.proof,
    audited_until_at: audits.audited_until,
    audit_interval_s: audits.interval_s,
    since_at: Math.max(since_at, audits.begins_at ?? since_at),
    gaps: gaps.slice(0, ENTRIES_MAX),
    gaps_returned: Math.min(gaps.length, ENTRIES_MAX),
    gaps_truncated: gaps.length > ENTRIES_MAX,
    gap_events_24h: cuts.length,
    gaps_open: cuts.filter(({ closed_at }) => closed_at === null).length,
    posts_in_window_at_least: seen,
    posts_missed_estimate: sumMissed(cuts, unobserved, liveness),
    observed_events: [...gap_events, ...downtimes]
      .toSorted((a, b) => b.at - a.at)
      .slice(0, ENTRIES_MAX),
    unobserved_events: unobserved.slice(0, ENTRIES_MAX),
  }
}

/** Range that audits and ids have verified for all feeds of a monitor. */
export type AuditVerdict = {
  /** True: every feed was audited within two intervals, without a break since the start of window or monitor. */
  is_current: boolean
  /** Why a feed by ids is not complete; null: all are. */
  by_ids: Pick<Coverage, 'status' | 'reason'> | null
  proof: string[]
  audited_until: number | null
  interval_s: number | null
  /** Our clock: the first step of a monitor that watches feeds by ids only; null: another one, or none yet. */
  begins_at: number | null
}

const AUDIT_INTERVALS_MAX = 2

/** Judges the range verified by audits. `since_at`: start of the window by our clock, which is `offset_ms` behind. */
export function judgeAudits(
  feeds: readonly FeedFacts[],
  { now, since_at, offset_ms }: { now: number; since_at: number; offset_ms: number },
): AuditVerdict {
  const by_ids = feeds.flatMap(({ ids }) => ids ?? [])
  const listings = feeds.filter(({ ids }) => ids === null)
  const ends = [
    ...listings.map(({ audited_until }) => audited_until),
    ...by_ids.map(({ verified_until }) => verified_until),
  ]
  const begins = by_ids.map(({ verified_from }) => verified_from ?? Infinity)
  const proofs = [
    ...(listings.length > 0 ? [LISTING_PROOF] : []),
    ...by_ids.flatMap(({ proof }) => proof ?? []),
  ]
  const intervals = feeds.map((it) => (it.ids === null ? it.audit_interval_s : it.interval_s))
  return {
    proof: [...new Set(proofs)],
    by_ids: judgeIds(by_ids, now),
    audited_until: ends.length === 0 || ends.includes(null) ? null : Math.min(...ends.map(Number)),
    interval_s: intervals.length === 0 ? null : Math.max(...intervals),
    begins_at:
      listings.length > 0 || !begins.every(Number.isFinite) || begins.length === 0
        ? null
        : Math.max(...begins),
    is_current:
      feeds.length > 0 &&
      listings.every(
        ({ audited_at, audited_from, audit_interval_s, active_since }) =>
          audited_at !== null &&
          now - audited_at <= AUDIT_INTERVALS_MAX * audit_interval_s * 1000 &&
          audited_from !== null &&
          audited_from <= Math.max(since_at + offset_ms, active_since),
      ),
  }
}

const LISTING_PROOF = 'time_listing'

const areChangesLate = (
  { changes, interval_s }: Pick<IdFacts, 'changes' | 'interval_s'>,
  now: number,
): boolean =>
  changes !== null &&
  (changes.dropped_24h > 0 ||
    (changes.oldest_at !== null &&
      now - changes.oldest_at > Math.max(CHANGE_MIN_MS, CHANGE_INTERVALS * interval_s * 1000)))

/** True when the time that a step has verified counts. What waits to be read holds that time back by itself. */
export const isStepProof = (
  step: Pick<IdFacts, 'partial'> & { changes?: ChangesWaiting | null | undefined },
  interval_s: number,
  now: number,
): boolean =>
  step.partial === null && !areChangesLate({ changes: step.changes ?? null, interval_s }, now)

/** The worst of a monitor's feeds by ids, at `now` by our clock; null: all are complete up to where they were verified. */
export function judgeIds(feeds: readonly IdFacts[], now: number): AuditVerdict['by_ids'] {
  if (feeds.some(({ fault }) => fault !== null))
    return { status: 'degraded', reason: 'source_unreachable' }
  if (feeds.some(({ verified_until }) => verified_until === null))
    return { status: 'unknown', reason: 'streams_awaiting_first_poll' }
  if (feeds.some(({ behind }) => behind !== null))
    return { status: 'partial', reason: 'catching_up' }
  if (feeds.some((it) => areChangesLate(it, now)))
    return { status: 'partial', reason: 'changes_behind' }
  const partial = feeds.find((it) => it.partial !== null)?.partial ?? null
  return partial === null ? null : { status: 'partial', reason: partial }
}

/** Status of an active monitor's window with these numbers of gaps and of events that may hide items. */
function judgeStatus(
  { gaps, unobserved }: { gaps: number; unobserved: number },
  { status }: Pick<FeedLiveness, 'status'>,
  { is_current, by_ids }: Pick<AuditVerdict, 'is_current' | 'by_ids'>,
): Pick<Coverage, 'status' | 'reason'> {
  if (gaps > 0) return { status: 'degraded', reason: null }
  if (by_ids !== null && by_ids.status !== 'partial') return by_ids
  if (status === 'unknown') return { status: 'partial', reason: 'stream_liveness_unknown' }
  if (status === 'degraded') return { status: 'partial', reason: 'streams_not_polling' }
  if (unobserved > 0) return { status: 'partial', reason: 'loss_events_not_observed' }
  if (by_ids !== null) return by_ids
  if (!is_current) return { status: 'partial', reason: 'not_audited' }
  return { status: 'complete', reason: null }
}

/** Status of a monitor from its feeds, and from its numbers of gaps and of events that may hide items. */
export function judgeMonitor(
  it: { active: boolean; feeds: FeedFacts[]; since_at: number; gaps: number; unobserved: number },
  now: number,
  offset_ms: number,
): Pick<Coverage, 'status' | 'reason'> {
  const { active, feeds, since_at } = it
  if (!active) return { status: 'unknown', reason: 'monitor_paused' }
  const audits = judgeAudits(feeds, { now, since_at, offset_ms })
  return judgeStatus(it, judgeLiveness(feeds, { active, now }), audits)
}

// A closed gap hides nothing. One gap without an estimate, or a feed that was not polled, makes the sum unknown.
function sumMissed(
  gaps: readonly Gap[],
  unobserved: readonly PollEvent[],
  { status }: FeedLiveness,
): number | null {
  if (status !== 'live' || unobserved.length > 0) return null
  let sum = 0
  for (const { missed_estimate, closed_at } of gaps) {
    if (closed_at !== null) continue
    if (missed_estimate === null) return null
    sum += missed_estimate
  }
  return sum
}

export const mayHideItems = ({ kind, at, until_at }: Omit<PollEvent, 'stream'>): boolean =>
  kind !== 'process_down' &&
  kind !== 'not_verified' &&
  (kind !== 'clock_jump' || until_at === null || Math.abs(until_at - at) > SMALL_JUMP_MS)

const unknownCoverage = (reason: NonNullable<Coverage['reason']>, since_at: number): Coverage => ({
  status: 'unknown',
  reason,
  proof: [],
  audited_until_at: null,
  audit_interval_s: null,
  since_at,
  gaps: [],
  gaps_returned: 0,
  gaps_truncated: false,
  gap_events_24h: null,
  gaps_open: null,
  posts_in_window_at_least: null,
  posts_missed_estimate: null,
  observed_events: [],
  unobserved_events: [],
})
