import { auditedRange, latenessAfter, nextAuditAt } from '../core/polling/audit.ts'
import { FULL_PAGE, isBusy, paceAfter } from '../core/polling/batching.ts'
import {
  AUDIT_ROWS_MAX,
  type Checkpoint,
  newestAt,
  nextCheckpoint,
  oldestAt,
  rateUntil,
  readsNothing,
  smooth,
  startPoll,
  type TruncationReason,
} from '../core/polling/cursor.ts'
import { nextPollAt } from '../core/polling/feed.ts'
import { type Arrivals, estimateMissed, gapOf } from '../core/polling/gap.ts'
import type { Db } from '../store/db/connection.ts'
import {
  busyRateOf,
  closeOpenGaps,
  insertCheck,
  insertEvent,
  insertGap,
  lastWeekRate,
  listArrivals,
  openGapSince,
  recordAudit,
  recordGapRetry,
} from '../store/monitoring/checks.ts'
import {
  advanceFeed,
  type Feed,
  type FeedProgress,
  findFeed,
  paceOf,
  postponeFeed,
  scheduleFeed,
  slowFeed,
} from '../store/monitoring/feeds.ts'
import { phaseKey } from '../store/monitoring/poll-batches.ts'
import type { FeedResult, PollEnd } from './pages.ts'

/** Context of a recorded check: the feed's next sequence number, and what was new. */
export type CheckContext = {
  next_seq: number
  new_items: number
  /** New items that were created since the last check; rates are computed from them. */
  arrivals: number
}

const NO_BACKFILL = { backfill_since: null, accept_stale: false }
const EMPTY_CHECKPOINT: Checkpoint = { anchor_ids: [], checkpoint_at: null }

/**
 * True if the checkpoint advances although the poll did not reach it. It does where the listing itself ends, which
 * leaves a gap. Otherwise it stays, so that the next check can still reach it and close the gap.
 */
export const movesCheckpoint = (reason: TruncationReason): boolean =>
  reason === 'poll_overflow' || reason === 'listing_exhausted'

const HOUR_MS = 3_600_000
const hourOf = (at: number): number => Math.floor(at / HOUR_MS)

/** True for the first check of a feed in an hour, which recomputes the rate of its busiest hours. */
export const isNewHour = ({ last_check_at }: Feed, now: number): boolean =>
  last_check_at === null || hourOf(last_check_at) !== hourOf(now)

/**
 * Records a check that reached the checkpoint. `emptied`: the listing is empty, and confirmed to be. `epoch`: that at
 * which an individual poll began; `synced_epoch`: that of the batch poll that covered the feed, 0 for an individual one.
 */
export function recordComplete(
  db: Db,
  stream: Feed,
  result: FeedResult,
  at: CheckContext & { emptied: boolean; epoch: number; synced_epoch: number },
): void {
  const { state, started_at, ended_at, seen_at, items, gap_id } = result
  const { next_seq, new_items, arrivals, emptied, epoch, synced_epoch } = at
  const alone = synced_epoch === 0
  const backoff_factor = paceAfter(stream.backoff_factor, false)
  const peak_rate_per_s = busyAfter(db, stream, result, arrivals)
  advanceFeed(db, stream.id, {
    checkpoint: emptied ? EMPTY_CHECKPOINT : nextCheckpoint(state, true),
    next_seq,
    last_check_at: ended_at,
    last_seen_at: seen_at,
    last_fault: null,
    rate_per_s: rateAfter(stream, result, arrivals),
    peak_rate_per_s,
    backoff_factor,
    interval_s: paceOf({ ...stream, backoff_factor, peak_rate_per_s }),
    last_item_seen_at: alone || items.size > 0 ? ended_at : stream.last_item_seen_at,
    newest_item_at: newestAt(state.rows) ?? (alone ? null : stream.newest_item_at),
    synced_epoch: alone ? stream.synced_epoch : synced_epoch,
    covered_epoch: alone ? epoch : stream.covered_epoch,
  })
  if (result.audit !== null && state.audited) writeAudit(db, stream, result, result.audit)
  closeOpenGaps(db, [stream.id], ended_at)
  if (gap_id !== null) recordGapRetry(db, gap_id, state.gap_closed, ended_at)
  const check = { feed_id: stream.id, started_at, ended_at, cut_reason: null }
  insertCheck(db, { ...check, new_items, pages: state.pages })
}

/** Records the range that an audit has verified, and the due time of the next audit. */
function writeAudit(
  db: Db,
  { id, ...before }: Feed,
  { state, started_at }: FeedResult,
  audit: NonNullable<FeedResult['audit']>,
): void {
  const oldest_at = oldestAt(state.rows)
  const at_end = state.after === null && state.rows.length < AUDIT_ROWS_MAX
  // Late rows of this very audit are in the row by now.
  const { lateness_ms } = findFeed(db, id) ?? before
  const reached_at = at_end || oldest_at === null ? null : oldest_at
  recordAudit(db, id, {
    ...auditedRange({ ...before, lateness_ms }, { started_at: audit.started_at, reached_at }),
    audited_at: started_at,
    lateness_ms: latenessAfter(lateness_ms, [], true),
    audit_due_at: nextAuditAt(started_at, before.audit_interval_s, id),
    pages: state.pages,
  })
}

/** New items a second, smoothed over checks; null for a first check without rows. */
export function rateAfter(stream: Feed, result: FeedResult, arrivals: number): number | null {
  const latest = rateIn(stream, result, arrivals)
  return latest === null
    ? (stream.rate_per_s ?? rateUntil(result.state.rows, result.seen_at))
    : smooth(stream.rate_per_s, latest)
}

/** New items a second since the last check; null for a first one. */
function rateIn(
  { last_check_at }: Feed,
  { ended_at }: FeedResult,
  arrivals: number,
): number | null {
  const elapsed_s = last_check_at === null ? 0 : (ended_at - last_check_at) / 1000
  return elapsed_s > 0 ? arrivals / elapsed_s : null
}

/** After a burst the peak rate falls by this factor with each check, down to the smoothed rate. */
const BURST_DECAY = 0.8

/** The rate to plan with: that of the busiest hours, or of a burst, which hourly counts show only later. */
function busyAfter(db: Db, stream: Feed, result: FeedResult, arrivals: number): number | null {
  const { peak_rate_per_s, requested_interval_s } = stream
  const latest = rateIn(stream, result, arrivals)
  const full = latest !== null && arrivals > FULL_PAGE
  const busy = isBusy(peak_rate_per_s, requested_interval_s)
  if (!full && !busy && !isNewHour(stream, result.ended_at)) return peak_rate_per_s
  const usual = busyRateOf(db, stream.id, result.seen_at)
  const candidates = [
    usual,
    busy ? Math.max((peak_rate_per_s ?? 0) * BURST_DECAY, stream.rate_per_s ?? 0) : null,
    full ? latest : null,
  ]
  const rates = candidates.filter((it) => it !== null)
  return rates.length === 0 ? null : Math.max(...rates)
}

export function recordTruncated(
  db: Db,
  stream: Feed,
  result: FeedResult,
  ending: Extract<PollEnd, { kind: 'truncated' }>,
  { next_seq, new_items, epoch }: CheckContext & { epoch: number },
): void {
  const { state, started_at, ended_at, seen_at } = result
  const { reason, fault, retry_after_s } = ending
  const moves = movesCheckpoint(reason)
  const read = !readsNothing(reason) && (moves || stream.checkpoint !== null)
  advanceFeed(db, stream.id, {
    ...unchangedFields(stream),
    checkpoint: moves ? nextCheckpoint(state, false) : (stream.checkpoint ?? EMPTY_CHECKPOINT),
    next_seq,
    last_check_at: read ? ended_at : stream.last_check_at,
    last_seen_at: read ? seen_at : stream.last_seen_at,
    last_fault: fault ?? reason,
    backoff_factor: stream.backoff_factor,
    interval_s: paceOf(stream),
    synced_epoch: stream.synced_epoch,
    covered_epoch: moves ? epoch : stream.covered_epoch,
  })
  if (retry_after_s > 0) reschedule(db, stream, ended_at + retry_after_s * 1000)
  insertCheck(db, {
    feed_id: stream.id,
    started_at,
    ended_at,
    cut_reason: reason,
    new_items,
    pages: state.pages,
  })
  const { from_at, until_at } = gapSince(db, stream, gapOf(state, checkedAt(stream)))
  const end_at = until_at ?? seen_at
  const gap = { from_at, until_at: end_at }
  const missed_estimate = estimateMissed(gap, arrivalsIn(db, stream, gap), state.rows, seen_at)
  insertGap(db, {
    feed_id: stream.id,
    reason,
    from_at,
    until_at: moves ? end_at : null,
    missed_estimate,
    anchor_ids: stream.checkpoint?.anchor_ids ?? [],
    recorded_at: ended_at,
  })
}

/** Extends a gap to the start of those that are still open: no check since then has reached the checkpoint. */
function gapSince(db: Db, { id }: Feed, { from_at, until_at }: ReturnType<typeof gapOf>) {
  const open = openGapSince(db, id)
  if (open === null) return { from_at, until_at }
  const starts = [open.from_at, from_at].filter((it) => it !== null)
  return { from_at: starts.length < 2 ? open.from_at : Math.min(...starts), until_at }
}

/** The poll that a gap follows, by the platform's clock; null where the gap begins at an item that was seen. */
function polledBefore(db: Db, stream: Feed, from_at: number | null) {
  const { id, last_seen_at, checkpoint } = stream
  if (from_at === null || from_at === checkpoint?.checkpoint_at) return null
  // Polls that were cut may have moved the time of the last one.
  if (openGapSince(db, id) !== null) return from_at + VISIBILITY_LAG_MS
  return last_seen_at
}

const NO_ARRIVALS = { before: [], known_from_at: null }

function arrivalsIn(
  db: Db,
  stream: Feed,
  { from_at, until_at }: { from_at: number | null; until_at: number },
): Arrivals {
  const { id, rate_per_s } = stream
  const seen = from_at === null ? NO_ARRIVALS : listArrivals(db, id, { from_at, until_at })
  const polled_at = polledBefore(db, stream, from_at)
  return { ...seen, polled_at, recent: rate_per_s, last_week: lastWeekRate(db, id, until_at) }
}

/** Longest time between two polls of a feed while every identity rests: one may become usable early. */
const REST_MAX_S = 30

/**
 * Makes a feed due when the first identity is usable again. The wait belongs to the identity, so the feed keeps its
 * pace and is never late by more than its interval. `wait_s` 0: one is usable, and the next regular poll is soon
 * enough.
 */
export function pollWhenUsable(
  db: Db,
  { id, interval_s }: Feed,
  now: number,
  wait_s: number,
): void {
  if (wait_s > 0)
    scheduleFeed(db, id, now + Math.min(wait_s, Math.max(interval_s, REST_MAX_S)) * 1000)
}

/** Postpones and slows a feed while the budgets of all identities are used up. */
export function postponeOverBudget(db: Db, stream: Feed, now: number, wait_s: number): void {
  const backoff_factor = paceAfter(stream.backoff_factor, true)
  slowFeed(db, stream.id, { backoff_factor, interval_s: paceOf({ ...stream, backoff_factor }) })
  postponeFeed(db, stream.id, now + wait_s * 1000)
}

/** Schedules the feed's next poll for the first instant of its phase from `at` on. */
function reschedule(db: Db, stream: Feed, at: number): void {
  postponeFeed(db, stream.id, nextPollAt(phaseKey(stream), stream.interval_s * 1000, at - 1))
}

const unchangedFields = ({
  rate_per_s,
  peak_rate_per_s,
  last_item_seen_at,
  newest_item_at,
}: Feed): Pick<
  FeedProgress,
  'rate_per_s' | 'peak_rate_per_s' | 'last_item_seen_at' | 'newest_item_at'
> => ({
  rate_per_s,
  peak_rate_per_s,
  last_item_seen_at,
  newest_item_at,
})

// An item created shortly before a check may not have been listed for it yet.
const VISIBILITY_LAG_MS = 60_000

/** The time of the last finished check by the platform's clock, less the lag for which its view was uncertain. */
const checkedAt = ({ last_seen_at, checkpoint }: Feed): number | null =>
  last_seen_at === null || checkpoint === null ? null : last_seen_at - VISIBILITY_LAG_MS

/** A check that could not be recorded when it ended: its time and the reason. */
export type Unwritten = { at: number; kind: 'storage_full' | 'poll_log_failed' }

/** Records such checks later. The checkpoint did not move, so this check may close the gap again. */
export function recordUnwritten(db: Db, stream: Feed, { at, kind }: Unwritten): void {
  if (kind === 'poll_log_failed') {
    insertEvent(db, { kind, feed_id: stream.id, at, until_at: at })
    return
  }
  const check = { feed_id: stream.id, started_at: at, ended_at: at, new_items: 0, pages: 0 }
  insertCheck(db, { ...check, cut_reason: kind })
  const { from_at } = gapSince(
    db,
    stream,
    gapOf(startPoll({ ...NO_BACKFILL, checkpoint: stream.checkpoint }), checkedAt(stream)),
  )
  insertGap(db, {
    feed_id: stream.id,
    reason: kind,
    from_at,
    until_at: null,
    missed_estimate: estimateMissed(
      { from_at, until_at: at },
      arrivalsIn(db, stream, { from_at, until_at: at }),
    ),
    anchor_ids: stream.checkpoint?.anchor_ids ?? [],
    recorded_at: at,
  })
}
