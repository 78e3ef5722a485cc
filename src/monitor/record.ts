import { type Item, itemKey, shownDigest } from '../core/forum/items.ts'
import { AUDIT_DEPTH_MS, latenessAfter } from '../core/polling/audit.ts'
import { FULL_PAGE } from '../core/polling/batching.ts'
import { nextCheckpoint, type TruncationReason } from '../core/polling/cursor.ts'
import { feedKey, nextPollAt } from '../core/polling/feed.ts'
import type { PatternJudge } from '../patterns/judge.ts'
import { type Db, transact } from '../store/db/connection.ts'
import {
  advanceSeq,
  allTruncated,
  closeOpenGaps,
  countHours,
  insertGap,
  recordLateness,
  requestAudit,
} from '../store/monitoring/checks.ts'
import {
  type Feed,
  findFeed,
  findFeedByKey,
  FIRST_POLL_SEQ,
  postponeFeed,
} from '../store/monitoring/feeds.ts'
import {
  forgetSeen,
  insertSeen,
  listSeen,
  markChanged,
  markListed,
  type NewSeen,
} from '../store/monitoring/matches.ts'
import { endFirstPolls, listWatchers } from '../store/monitoring/monitors.ts'
import {
  advanceBatch,
  nextEpoch,
  phaseKey,
  raisePeakRate,
  repollIndividually,
  touchQuiet,
} from '../store/monitoring/poll-batches.ts'
import { deliver, type DeliverDeps } from './deliver.ts'
import { type Hit, isEdited, isSameTime, matchAll, roundOf, type Seen } from './match.ts'
import type { BatchResult, FeedResult, PollEnd, PollResult } from './pages.ts'
import {
  isNewHour,
  movesCheckpoint,
  rateAfter,
  recordComplete,
  recordTruncated,
  recordUnwritten,
  type Unwritten,
} from './position.ts'

// One transaction for the whole result of a check: items seen, matches, deliveries, checkpoint, gaps. Before its commit
// nothing has happened and the next check finds the same rows; after it no match can be lost.
// Rejected: a queue between poller and matcher. It would have to be as durable, and would be a second source of truth.

export type RecordDeps = DeliverDeps & {
  /** Evaluates patterns in a thread of its own; absent: in this one, without a budget. */
  patterns?: PatternJudge
}

/** Patterns have to be evaluated before the check can be recorded: nothing was written. */
export class UnknownVerdicts extends Error {}

/** Counts of a recorded poll: new rows, matches, deliveries to be sent. */
export type Recorded = {
  new_items: number
  matched: number
  pending: number
  truncated: TruncationReason[]
}

/** Checks in a row that confirm an empty listing, after which it counts as empty. */
const EMPTY_CONFIRMATIONS = 10
/** Factor of a rate after a check without news, as {@link smooth} has it. */
const QUIET_DECAY = 0.8

/** @throws UnknownVerdicts when filters asked for verdicts that `deps.patterns` has yet to find */
export function record(
  deps: RecordDeps,
  poll_result: PollResult,
  unwritten: ReadonlyMap<number, Unwritten> = new Map(),
): Recorded {
  const { db } = deps
  return transact(db, () => {
    const recorded: Recorded = { new_items: 0, matched: 0, pending: 0, truncated: [] }
    const hits: Hit[] = []
    const synced_epoch = poll_result.batch_result === null ? 0 : nextEpoch(db)
    const quiet: number[] = []
    const rushes: { id: number; rate_per_s: number }[] = []
    for (const result of poll_result.results) {
      const stream = findFeed(db, result.stream.id)
      // The feed was paused or recreated during the poll: discard the result.
      if (stream === null || stream.asleep || stream.created_at !== result.stream.created_at)
        continue
      const unrecorded = unwritten.get(stream.id)
      if (unrecorded !== undefined) recordUnwritten(db, stream, unrecorded)
      else if (synced_epoch > 0 && isQuiet(stream, result)) {
        quiet.push(stream.id)
        continue
      }
      const at = { epoch: poll_result.epoch, synced_epoch }
      const { new_items, arrivals, truncated, found } = recordOne(deps, stream, result, at)
      recorded.new_items += new_items
      hits.push(...recordElsewhere(deps, stream, result))
      // Smoothed: one burst is no reason to poll a feed by itself for the next hour.
      const rate_per_s = rateAfter(stream, result, arrivals)
      if (rate_per_s !== null) rushes.push({ id: stream.id, rate_per_s })
      if (truncated !== null) recorded.truncated.push(truncated)
      hits.push(...found)
    }
    if (poll_result.batch_result !== null) {
      const { ended_at: now, seen_at } = poll_result.batch_result
      if (recorded.new_items > FULL_PAGE) raisePeakRate(db, rushes)
      touchQuiet(db, quiet, { now, seen_at, epoch: synced_epoch, keep: QUIET_DECAY })
      closeOpenGaps(db, quiet, now)
      recordBatch(db, poll_result.batch_result, synced_epoch)
    }
    if (deps.patterns?.verdicts.lacking() === true) throw new UnknownVerdicts()
    const { matched, pending } = deliver(deps, hits)
    return { ...recorded, matched, pending }
  })
}

/** True for a member of a batch poll without rows and without anything to update. */
const isQuiet = (stream: Feed, { items, state, ended_at }: FeedResult): boolean =>
  items.size === 0 &&
  state.backfill_since === null &&
  stream.backoff_factor === 1 &&
  stream.last_fault === null &&
  !isNewHour(stream, ended_at)

type RecordedFeed = {
  new_items: number
  arrivals: number
  truncated: TruncationReason | null
  found: Hit[]
}

/** Records a finished or truncated check of one feed. */
function recordOne(
  deps: RecordDeps,
  stream: Feed,
  result: FeedResult,
  at: { epoch: number; synced_epoch: number },
): RecordedFeed {
  const { db } = deps
  const { ending, seen_at } = result
  const seen = writeSeen(db, stream, result)
  // A merged search is split by wider rules than the platform's, so its new rows may be old.
  if (stream.kind !== 'search' || at.synced_epoch === 0) noteLate(db, stream, result, seen.fresh)
  const round = roundOf(result)
  const isAgain = (item: Item) => seen.changed.has(itemKey(item)) || round.isAgain(item)
  const found = matchAll(deps, stream, { ...round, isAgain }, seen).map((hit) =>
    // It was approved or restored, and is as old as that.
    seen.fresh.has(itemKey(hit.item)) && isVerified(stream, hit.item.created_utc * 1000)
      ? { ...hit, first_seen_at: hit.item.created_utc * 1000 }
      : hit,
  )
  if (seen.editions.size > 0)
    insertGap(db, {
      feed_id: stream.id,
      reason: 'ids_went_back',
      from_at: stream.last_seen_at,
      until_at: seen_at,
      recorded_at: result.ended_at,
      missed_estimate: null,
      anchor_ids: [],
    })
  const is_empty = ending.kind === 'truncated' && isConfirmedEmpty(db, stream, ending)
  const { next_seq, fresh } = seen
  const new_items = fresh.size
  const created_at = [...fresh].map((name) => (result.items.get(name)?.created_utc ?? 0) * 1000)
  countHours(db, stream.id, created_at, seen_at)
  const arrivals = created_at.filter((created) => isArrival(stream, created)).length
  const position = { next_seq, new_items, arrivals, ...at }
  if (ending.kind === 'complete' || is_empty)
    recordComplete(db, stream, result, { ...position, emptied: is_empty })
  else recordTruncated(db, stream, result, ending, position)
  endBackfills(db, stream, result, next_seq - 1)
  const truncated = ending.kind === 'truncated' && !is_empty ? ending.reason : null
  return { new_items, arrivals, truncated, found }
}

const isConfirmedEmpty = (
  db: Db,
  { id }: Feed,
  { reason }: Extract<PollEnd, { kind: 'truncated' }>,
) => reason === 'empty_listing' && allTruncated(db, id, 'empty_listing', EMPTY_CONFIRMATIONS)

/** Records the batch's checkpoint, and makes unverified members due individually. */
function recordBatch(db: Db, result: BatchResult, epoch: number): void {
  const { batch, state, unproven, resynced, started_at, ended_at } = result
  const empty_checkpoint = {
    anchor_ids: [],
    checkpoint_at: batch.checkpoint?.checkpoint_at ?? null,
  }
  const checkpoint = state === null ? empty_checkpoint : nextCheckpoint(state, state.overlapped)
  advanceBatch(db, batch.id, { checkpoint, epoch })
  repollIndividually(db, unproven, ended_at)
  // From now on they are due with the batch, not individually.
  for (const it of resynced)
    postponeFeed(db, it.id, nextPollAt(phaseKey(it), it.interval_s * 1000, started_at))
}

/** Stores every row of every page as seen, oldest first. `changed`: known items that show something else now. */
function writeSeen(
  db: Db,
  stream: Feed,
  { items, seen_at, audit }: FeedResult,
): Seen & Required<Pick<Seen, 'editions'>> & { changed: ReadonlySet<string> } {
  const seen_rows = listSeen(db, stream.id, [...items.keys()])
  const first_seen = new Map(seen_rows.map((it) => [it.item_id, it.first_seen_at]))
  const digests = new Map(seen_rows.map((it) => [it.item_id, it.digest]))
  const changed = new Set<string>()
  // As rows that the feed itself has shown they count for the overlap of the next poll.
  const newly_listed = seen_rows.filter(({ found_by }) => found_by === 'other_feed')
  if (newly_listed.length > 0)
    markListed(
      db,
      stream.id,
      newly_listed.map(({ item_id }) => item_id),
    )
  const created = new Map(seen_rows.map((it) => [it.item_id, it.created_at]))
  const fresh = new Set<string>()
  const editions = new Map<string, number>()
  const rows: NewSeen[] = []
  let seq = stream.next_seq
  const ordered = oldestFirst(items)
  for (const item of ordered) {
    const { name, created_utc } = item
    const digest = shownDigest(item)
    const created_at = created_utc * 1000
    const known_at = created.get(name)
    if (known_at !== undefined) {
      if (isSameTime(known_at, created_at)) {
        const before = digests.get(name)
        if (before === digest) continue
        markChanged(db, { feed_id: stream.id, item_id: name, digest })
        // One that another feed has shown first has no digest yet.
        if (before != null) changed.add(name)
        continue
      }
      // The platform has given the id again, as after a restore.
      editions.set(name, created_utc)
      forgetSeen(db, { feed_id: stream.id, item_id: name })
    }
    created.set(name, created_at)
    const found_by = audit !== null && isLate(stream, created_at, seen_at) ? 'audit' : 'poll'
    const row = { feed_id: stream.id, item_id: name, seq, created_at, digest }
    rows.push({ ...row, first_seen_at: seen_at, found_by })
    fresh.add(name)
    first_seen.set(name, seen_at)
    seq += 1
  }
  insertSeen(db, rows)
  return { ordered, fresh, changed, editions, first_seen, next_seq: seq }
}

/** An item created this shortly before a poll may not have been listed for it yet. */
const JUST_CREATED_MS = 2_000

/** Rows of the second in which the verified range starts may lie below what was read of it. */
const RANGE_EDGE_MS = 5_000

/** True for an item that, by its creation time, the last complete poll of the feed should have seen. */
const isLate = (
  { audited_from, last_seen_at, last_fault }: Feed,
  created_at: number,
  seen_at: number,
): boolean =>
  audited_from !== null &&
  last_seen_at !== null &&
  last_fault === null &&
  created_at > Math.max(audited_from, seen_at - AUDIT_DEPTH_MS) + RANGE_EDGE_MS &&
  created_at < last_seen_at - JUST_CREATED_MS

/** True for a time of which an audit has seen every listed item: one that is new there was not listed then. */
const isVerified = ({ audited_from, audited_until }: Feed, created_at: number): boolean =>
  audited_from !== null &&
  audited_until !== null &&
  created_at > audited_from + RANGE_EDGE_MS &&
  created_at <= audited_until

/** An item created this long before the last check may still be new since then. */
const ARRIVAL_SLACK_MS = 10_000

/** True for an item that came since the last check. Audits and first polls also read older ones for the first time. */
const isArrival = ({ last_seen_at }: Feed, created_at: number): boolean =>
  last_seen_at === null || created_at > last_seen_at - ARRIVAL_SLACK_MS

/** Keeps how late items appeared that earlier polls should have seen. */
function noteLate(
  db: Db,
  stream: Feed,
  { items, seen_at, ended_at, state, audit }: FeedResult,
  fresh: ReadonlySet<string>,
): void {
  // A poll that reads back for a new monitor, or for a gap, sees old items for the first time.
  if (state.backfill_since !== null || state.gap_ids !== null) return
  const late = [...fresh].flatMap((name) => {
    const created_at = (items.get(name)?.created_utc ?? 0) * 1000
    return isLate(stream, created_at, seen_at) ? [seen_at - created_at] : []
  })
  if (late.length === 0) return
  recordLateness(db, stream.id, latenessAfter(stream.lateness_ms, late, false))
  // A row that a poll happened to see late has neighbours that it did not.
  if (audit === null) requestAudit(db, stream.id, ended_at)
}

/**
 * Processes items of a search, a person or a thread that a watched place should have shown already: for all monitors
 * of the place, with an audit of it. They are no position of the place's listing. An audit also brings the current text
 * of known items, which their place may never list.
 */
function recordElsewhere(deps: RecordDeps, from: Feed, result: FeedResult): Hit[] {
  const { db } = deps
  if (from.kind === 'posts' || from.kind === 'comments') return []
  const { items, seen_at, ended_at } = result
  const by_key = Map.groupBy(items.values(), ({ kind, subforum }) =>
    feedKey({ kind: kind === 'post' ? 'posts' : 'comments', place: subforum }),
  )
  return [...by_key].flatMap(([key, candidates]) => {
    const feed = findFeedByKey(db, key)
    if (feed === null || feed.asleep) return []
    const behind = candidates.filter(({ created_utc }) => isLate(feed, created_utc * 1000, seen_at))
    const names = behind.map(({ name }) => name)
    const first_seen = new Map(
      listSeen(db, feed.id, names).map((it) => [it.item_id, it.first_seen_at]),
    )
    const missed = behind.filter(({ name }) => !first_seen.has(name))
    const edited = behind.filter((it) => first_seen.has(it.name) && isEdited(it, result))
    if (missed.length > 0) noteElsewhere(db, feed, missed, { seen_at, ended_at })
    for (const { name } of missed) first_seen.set(name, seen_at)
    const fresh = new Set(missed.map(({ name }) => name))
    const seen = { ordered: [...missed, ...edited], fresh, first_seen, next_seq: feed.next_seq }
    return matchAll(deps, feed, roundOf(result), seen)
  })
}

/** Records items of a place that another feed has shown first, and requests an audit of the place. */
function noteElsewhere(
  db: Db,
  feed: Feed,
  missed: readonly Item[],
  { seen_at, ended_at }: Pick<FeedResult, 'seen_at' | 'ended_at'>,
): void {
  insertSeen(
    db,
    missed.map(({ name, created_utc }, at) => ({
      feed_id: feed.id,
      item_id: name,
      seq: feed.next_seq + at,
      created_at: created_utc * 1000,
      first_seen_at: seen_at,
      found_by: 'other_feed',
    })),
  )
  advanceSeq(db, feed.id, feed.next_seq + missed.length)
  requestAudit(db, feed.id, ended_at)
  const late = missed.map(({ created_utc }) => seen_at - created_utc * 1000)
  recordLateness(db, feed.id, latenessAfter(feed.lateness_ms, late, false))
}

const oldestFirst = (items: FeedResult['items']): Item[] =>
  [...items.values()].toReversed().toSorted((a, b) => a.created_utc - b.created_utc)

/** Ends the first poll of monitors whose start a check has read back to, as far as the listing goes. */
function endBackfills(db: Db, stream: Feed, { state, ending }: FeedResult, last_seq: number): void {
  const { backfill_since } = state
  if (backfill_since === null || (ending.kind === 'truncated' && !movesCheckpoint(ending.reason)))
    return
  const begun = listWatchers(db, stream.id).filter(
    (it) => it.active_from_seq === FIRST_POLL_SEQ && it.active_since >= backfill_since,
  )
  endFirstPolls(
    db,
    stream.id,
    begun.map(({ id }) => id),
    last_seq,
  )
}
