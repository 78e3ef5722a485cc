import { markdownOf } from '../core/filter/text.ts'
import { type Item, itemKey, shownDigest } from '../core/forum/items.ts'
import {
  AUDIT_DEPTH_MS,
  joinVerified,
  latenessAfter,
  latenessMargin,
  nextAuditAt,
} from '../core/polling/audit.ts'
import { FULL_PAGE, isBusy, paceAfter } from '../core/polling/batching.ts'
import { rateUntil, smooth } from '../core/polling/cursor.ts'
import { feedKey, nextPollAt } from '../core/polling/feed.ts'
import { estimateMissed } from '../core/polling/gap.ts'
import { listingOf, quietStep, SIGHT_SLACK_MS } from '../core/polling/listing.ts'
import type { Advance, BatchAdvance, Feed, Hole, Step } from '../core/polling/step.ts'
import type { PatternJudge } from '../patterns/judge.ts'
import type { Log } from '../runtime/runtime.ts'
import { type Db, transact } from '../store/db/connection.ts'
import { checkSoon } from '../store/erasure/kept-items.ts'
import { deleteCandidates } from '../store/monitoring/candidates.ts'
import {
  advanceSeq,
  busyRateOf,
  closeOpenGaps,
  countHours,
  insertCheck,
  insertEvent,
  insertGap,
  lastWeekRate,
  listArrivals,
  recordGapRetry,
  recordLateness,
  requestAudit,
} from '../store/monitoring/checks.ts'
import {
  advanceFeed,
  findFeedByKey,
  findFeeds,
  FIRST_POLL_SEQ,
  paceOf,
  postponeFeed,
  scheduleFeed,
} from '../store/monitoring/feeds.ts'
import { closeIdGaps, insertIdGaps, settleIdGap } from '../store/monitoring/id-gaps.ts'
import {
  forgetSeen,
  insertSeen,
  listSeen,
  markChanged,
  markListed,
  type NewSeen,
  type SeenItem,
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
import { type Hit, isEdited, isSameTime, matchAll, type Round, type Seen } from './match.ts'

// One transaction for all that a poll has read: items seen, matches, deliveries, positions, gaps. Before its commit
// nothing has happened and the next poll finds the same rows; after it no match can be lost. A poll with more than one turn of the
// event loop should do is recorded in parts, oldest items first. Each part is a transaction with items, matches and
// deliveries; the position moves with the last, so after a crash the next poll finds all rows again, some of them known.
// Rejected: a queue between poller and matcher. It would have to be as durable, and would be a second source of truth.

export type RecordDeps = DeliverDeps & {
  log: Log
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
  /** Bytes added to the database for items of sources that are read by ids, for one monitor and without its deliveries. */
  bytes: number
}

/** Records of earlier parts for a feed: creation times of new items, epoch ms, and ids that were given again. */
type Earlier = { created_at: number[]; has_editions: boolean }
export type EarlierParts = Map<number, Earlier>

/** Work of one part, in bytes of texts; each item counts as so many more. */
const PART_BYTES = 512 * 1024
const ITEM_BYTES = 4 * 1024

const weightOf = (item: Item): number =>
  ITEM_BYTES + markdownOf(item).length + (item.kind === 'post' ? item.title.length : 0)

/** The items of a poll in parts, of which the last has the rest of the poll too. */
export function partsOf(advance: Advance): { early: Step[][]; last: Advance } {
  const early: Step[][] = []
  let part: Step[] = []
  let weight = 0
  for (const step of advance.steps) {
    let items: Item[] = []
    for (const item of step.items) {
      const more = weightOf(item)
      if (weight > 0 && weight + more > PART_BYTES) {
        early.push([...part, { ...step, items }])
        part = []
        items = []
        weight = 0
      }
      items.push(item)
      weight += more
    }
    part.push({ ...step, items })
  }
  const rest = new Map(part.map((step) => [step.feed.id, step.items]))
  const steps = advance.steps.map((step) => ({ ...step, items: rest.get(step.feed.id) ?? [] }))
  return early.length === 0 ? { early, last: advance } : { early, last: { ...advance, steps } }
}

/**
 * Records a part of a poll before its last one, and notes it in `earlier`.
 * @throws UnknownVerdicts when filters asked for verdicts that `deps.patterns` has yet to find
 */
export function recordPart(
  deps: RecordDeps,
  steps: readonly Step[],
  earlier: EarlierParts,
): Recorded {
  const { db } = deps
  const noted: [number, Earlier][] = []
  const recorded = transact(db, () => {
    const presentOf = findPresent(
      db,
      steps.map(({ feed }) => feed),
    )
    const seen = listSeenOf(db, steps)
    const hits: Hit[] = []
    let bytes = 0
    for (const step of steps) {
      const feed = presentOf(step.feed)
      if (feed === null || step.items.length === 0) continue
      const items = recordItems(deps, feed, step, seen.get(feed.id) ?? [])
      advanceSeq(db, feed.id, items.seen.next_seq)
      bytes += bytesOf(deps, items.seen, items.hits)
      hits.push(...recordElsewhere(deps, feed, step), ...items.hits)
      const before = earlier.get(feed.id)
      noted.push([
        feed.id,
        {
          created_at: [...(before?.created_at ?? []), ...items.created_at],
          has_editions: before?.has_editions === true || items.seen.editions.size > 0,
        },
      ])
    }
    if (deps.patterns?.verdicts.lacking() === true) throw new UnknownVerdicts()
    return { new_items: 0, bytes, ...deliver(deps, hits) }
  })
  for (const [feed_id, it] of noted) earlier.set(feed_id, it)
  return recorded
}

/** The stored feed; null for one that was paused, recreated or polled otherwise during the poll, which is left as it is. */
function findPresent(db: Db, feeds: readonly Feed[]): (feed: Feed) => Feed | null {
  const stored = findFeeds(
    db,
    feeds.map(({ id }) => id),
  )
  return (feed) => {
    const it = stored.get(feed.id)
    const is_same = it?.created_at === feed.created_at && it.state === feed.state
    return is_same && !it.asleep ? it : null
  }
}

const listSeenOf = (db: Db, steps: readonly Step[]) =>
  listSeen(
    db,
    steps.map(({ feed, items }) => ({ feed_id: feed.id, item_ids: items.map(itemKey) })),
  )

/** Factor of a rate after a check without news, as {@link smooth} has it. */
const QUIET_DECAY = 0.8

/**
 * Records a poll, or its last part: `earlier` has what the others have recorded.
 * @throws UnknownVerdicts when filters asked for verdicts that `deps.patterns` has yet to find
 */
export function record(
  deps: RecordDeps,
  { steps, batch }: Advance,
  earlier: EarlierParts = new Map(),
): Recorded {
  const { db } = deps
  return transact(db, () => {
    const recorded = { new_items: 0, bytes: 0 }
    const hits: Hit[] = []
    const presentOf = findPresent(db, [...steps.map(({ feed }) => feed), ...(batch?.quiet ?? [])])
    const synced_epoch = batch === null ? 0 : nextEpoch(db)
    const rushes: { id: number; rate_per_s: number }[] = []
    const seen = listSeenOf(db, steps)
    const idle: number[] = []
    const add = (step: Step): void => {
      const feed = presentOf(step.feed)
      if (feed === null) return
      const known = seen.get(feed.id) ?? []
      const before = earlier.get(feed.id) ?? NOTHING_EARLIER
      if (batch !== null && before.created_at.length === 0 && isUnchanged(feed, step, known)) {
        idle.push(feed.id)
        return
      }
      const found = recordStep(deps, feed, step, { known, synced_epoch, before })
      recorded.new_items += found.new_items
      recorded.bytes += found.bytes
      if (found.rate_per_s !== null) rushes.push({ id: feed.id, rate_per_s: found.rate_per_s })
      hits.push(...recordElsewhere(deps, feed, step), ...found.hits)
    }
    for (const step of steps) add(step)
    if (batch !== null) {
      const { ended_at: now, seen_at } = batch
      for (const member of batch.quiet) {
        const feed = presentOf(member)
        if (feed === null) continue
        if (isQuiet(feed, now)) idle.push(feed.id)
        else add(quietStep(feed, batch))
      }
      if (recorded.new_items > FULL_PAGE) raisePeakRate(db, rushes)
      touchQuiet(db, idle, { now, seen_at, epoch: synced_epoch, keep: QUIET_DECAY })
      closeOpenGaps(db, idle, now)
      recordBatch(db, batch, synced_epoch)
    }
    if (deps.patterns?.verdicts.lacking() === true) throw new UnknownVerdicts()
    return { ...recorded, ...deliver(deps, hits) }
  })
}

const HOUR_MS = 3_600_000
const hourOf = (at: number): number => Math.floor(at / HOUR_MS)

/** True for the first check of a feed in an hour, which recomputes the rate of its busiest hours. */
const isNewHour = ({ last_check_at }: Feed, now: number): boolean =>
  last_check_at === null || hourOf(last_check_at) !== hourOf(now)

/** True when nothing but the times of a member without rows is to be updated. */
const isQuiet = (feed: Feed, now: number): boolean =>
  feed.backoff_factor === 1 && feed.last_fault === null && !isNewHour(feed, now)

/** True for a member of a batch with rows that it has shown before, and whose state is recent enough to stay. */
const isUnchanged = (feed: Feed, step: Step, known: readonly SeenItem[]): boolean => {
  const { items, begins_since, unwritten, ended_at, seen_at } = step
  if (items.length === 0 || begins_since !== null || unwritten !== null) return false
  if (!isQuiet(feed, ended_at)) return false
  const { item_seen_at } = listingOf(feed)
  if (item_seen_at === null || seen_at - item_seen_at > SIGHT_SLACK_MS) return false
  const by_id = new Map(known.map((it) => [it.item_id, it]))
  return items.every((item) => {
    const it = by_id.get(itemKey(item))
    return (
      it !== undefined &&
      it.found_by !== 'other_feed' &&
      it.digest === shownDigest(item) &&
      isSameTime(it.created_at, item.created_utc * 1000)
    )
  })
}

/** Records the batch's checkpoint, and makes unverified members due individually. */
function recordBatch(db: Db, batch: BatchAdvance, epoch: number): void {
  const { checkpoint, unproven, resynced, started_at, ended_at } = batch
  advanceBatch(db, batch.id, { checkpoint, epoch })
  repollIndividually(db, unproven, ended_at)
  // From now on they are due with the batch, not individually.
  for (const it of resynced)
    postponeFeed(db, it.id, nextPollAt(phaseKey(it), it.interval_s * 1000, started_at))
}

const NOTHING_EARLIER: Earlier = { created_at: [], has_editions: false }

type RecordedStep = { new_items: number; bytes: number; rate_per_s: number | null; hits: Hit[] }

function recordStep(
  deps: RecordDeps,
  feed: Feed,
  step: Step,
  {
    known,
    synced_epoch,
    before,
  }: { known: readonly SeenItem[]; synced_epoch: number; before: Earlier },
): RecordedStep {
  const { db, log } = deps
  const { id: feed_id, key } = feed
  const { listing, started_at, ended_at, seen_at, cut } = step
  if (step.unwritten !== null) recordUnwritten(db, feed_id, step.unwritten)
  const begun = step.has_begun ? listBegun(db, feed_id, step) : []
  const { seen, hits, ...own } = recordItems(deps, feed, step, known)
  const created_at = [...before.created_at, ...own.created_at]
  const new_items = created_at.length
  const late = lateIn(feed, step, created_at)
  if (listing !== null) countHours(db, feed_id, created_at, seen_at)
  const arrivals = created_at.filter((at) => isArrival(feed, at)).length
  const rate_per_s = rateAfter(feed, step, arrivals)
  const moves_rate = step.is_look && cut === null
  const peak_rate_per_s =
    moves_rate && listing !== null ? busyAfter(db, feed, step, arrivals) : feed.peak_rate_per_s
  const backoff_factor = moves_rate ? paceAfter(feed.backoff_factor, false) : feed.backoff_factor
  advanceFeed(db, feed_id, {
    state: step.state,
    next_seq: seen.next_seq,
    last_check_at: step.is_look ? ended_at : feed.last_check_at,
    last_seen_at: step.is_look ? seen_at : feed.last_seen_at,
    last_fault: cut === null ? (step.is_look ? null : feed.last_fault) : (cut.fault ?? cut.reason),
    rate_per_s: moves_rate ? rate_per_s : feed.rate_per_s,
    peak_rate_per_s,
    backoff_factor,
    interval_s: paceOf({ ...feed, backoff_factor, peak_rate_per_s }),
    synced_epoch: synced_epoch > 0 ? synced_epoch : feed.synced_epoch,
    ...verifiedAfter(db, feed, step, late),
  })
  if (step.is_lowered) {
    log('warn', 'monitor.proof_lowered', { feed: key })
    insertEvent(db, { kind: 'proof_lowered', feed_id, at: ended_at, until_at: ended_at })
  }
  if (step.went_back) log('warn', 'monitor.ids_went_back', { feed: key })
  if (cut !== null && cut.retry_after_s > 0) postpone(db, feed, step, cut.retry_after_s)
  // A feed that is asked less often than its monitors want is still looked at before it counts as stalled.
  if (step.next_at !== null && step.next_at > ended_at)
    scheduleFeed(db, feed_id, Math.min(step.next_at, ended_at + 2000 * feed.interval_s))
  const cut_reason = cut?.reason ?? null
  insertCheck(db, { feed_id, started_at, ended_at, cut_reason, new_items, pages: step.requests })
  const [by_time, by_ids] = [true, false].map((it) =>
    step.holes.filter(({ ids }) => (ids === undefined) === it),
  )
  for (const hole of by_time ?? []) writeHole(db, feed, hole)
  if (listing !== null && (before.has_editions || seen.editions.size > 0))
    writeHole(db, feed, {
      reason: 'ids_went_back',
      from_at: feed.last_seen_at,
      until_at: seen_at,
      recorded_at: ended_at,
    })
  if (step.closes) closeOpenGaps(db, [feed_id], ended_at)
  if (listing?.gap != null) recordGapRetry(db, listing.gap.id, listing.gap.is_closed, ended_at)
  insertIdGaps(db, feed_id, by_ids ?? [])
  closeIdGaps(db, feed_id, step.answered, ended_at)
  if (step.settled !== null) settleIdGap(db, feed_id, step.settled, ended_at)
  noteGone(db, feed, step.gone, ended_at)
  endFirstPolls(db, feed_id, begun, seen.next_seq - 1)
  return { new_items, bytes: bytesOf(deps, seen, hits), rate_per_s, hits }
}

/** Stores items of a feed and matches them. `created_at`: of new ones, epoch ms. */
function recordItems(deps: RecordDeps, feed: Feed, step: Step, known: readonly SeenItem[]) {
  const seen = writeSeen(deps.db, feed, step, known)
  const hits = matchAll(deps, feed, roundOf(step, seen), seen).map((hit) =>
    isAsOldAsItself(feed, step, seen, hit.item)
      ? { ...hit, first_seen_at: hit.item.created_utc * 1000 }
      : hit,
  )
  const created_at = seen.ordered.flatMap((it) =>
    seen.fresh.has(itemKey(it)) ? [it.created_utc * 1000] : [],
  )
  return { seen, hits, created_at }
}

function recordUnwritten(
  db: Db,
  feed_id: number,
  { at, kind }: NonNullable<Step['unwritten']>,
): void {
  if (kind === 'poll_log_failed') insertEvent(db, { kind, feed_id, at, until_at: at })
  else {
    const check = { feed_id, started_at: at, ended_at: at, new_items: 0, pages: 0 }
    insertCheck(db, { ...check, cut_reason: kind })
  }
}

/** Monitors to whose start this step has read back. */
function listBegun(db: Db, feed_id: number, { begins_since }: Step): string[] {
  if (begins_since === null) return []
  return listWatchers(db, feed_id)
    .filter((it) => it.active_from_seq === FIRST_POLL_SEQ && it.active_since >= begins_since)
    .map(({ id }) => id)
}

type Written = Seen & Required<Pick<Seen, 'editions'>> & { changed: ReadonlySet<string> }

/** A step as a round of matching. */
function roundOf(step: Step, { changed, fresh }: Pick<Written, 'changed' | 'fresh'>): Round {
  const arrived = new Set(step.arrived)
  const published = new Set(step.published)
  return {
    now: step.ended_at,
    begins: step.begins_since !== null,
    isAgain: (item) =>
      step.again === 'all' ||
      changed.has(itemKey(item)) ||
      (step.again === 'edited' && isEdited(item)),
    hasArrived: (item) =>
      arrived.has(item.name) || (published.has(item.name) && fresh.has(itemKey(item))),
    behind_ms: step.behind_ms,
  }
}

/** True for a new item that was published, approved or restored just now: it is as old as its creation says. */
const isAsOldAsItself = (feed: Feed, step: Step, { fresh }: Written, item: Item): boolean =>
  fresh.has(itemKey(item)) &&
  (step.listing === null
    ? step.published.includes(item.name)
    : isVerified(feed, item.created_utc * 1000))

/** Stores the items that are new to the feed, and the present form of the others. */
function writeSeen(db: Db, feed: Feed, step: Step, known: readonly SeenItem[]): Written {
  const { items, seen_at, behind_ms, listing } = step
  const first_seen = new Map(known.map((it) => [it.item_id, it.first_seen_at]))
  const digests = new Map(known.map((it) => [it.item_id, it.digest]))
  const created = new Map(known.map((it) => [it.item_id, it.created_at]))
  // As rows that the feed itself has shown they count for the overlap of the next poll.
  const newly_listed = known.filter(({ found_by }) => found_by === 'other_feed')
  if (newly_listed.length > 0)
    markListed(
      db,
      feed.id,
      newly_listed.map(({ item_id }) => item_id),
    )
  const changed = new Set<string>()
  const fresh = new Set<string>()
  const editions = new Map<string, number>()
  const rows: NewSeen[] = []
  let seq = feed.next_seq
  for (const item of items) {
    const item_id = itemKey(item)
    const digest = shownDigest(item)
    const created_at = item.created_utc * 1000 + behind_ms
    const known_at = created.get(item_id)
    if (known_at !== undefined) {
      const before = digests.get(item_id)
      const is_same = isSameTime(known_at, created_at, behind_ms)
      // Sources that are read by ids may change the time of an item.
      if (before === digest && (is_same || listing === null)) continue
      if (is_same) {
        markChanged(db, { feed_id: feed.id, item_id, digest })
        // One that another feed has shown first has no digest yet.
        if (before != null) changed.add(item_id)
        continue
      }
      // The source has given the id again, as after a restore.
      editions.set(item_id, item.created_utc)
      forgetSeen(db, { feed_id: feed.id, item_id })
    }
    created.set(item_id, created_at)
    digests.set(item_id, digest)
    const is_late =
      listing === null
        ? !step.is_look && step.again === 'none'
        : isFoundByAudit(feed, step, created_at)
    const row = { feed_id: feed.id, item_id, seq, created_at, digest }
    rows.push({ ...row, first_seen_at: seen_at, found_by: is_late ? 'audit' : 'poll' })
    fresh.add(item_id)
    first_seen.set(item_id, seen_at)
    seq += 1
  }
  insertSeen(db, rows)
  return { ordered: items, fresh, changed, editions, first_seen, next_seq: seq }
}

const isFoundByAudit = (feed: Feed, { listing, seen_at }: Step, created_at: number): boolean =>
  listing?.is_audit === true && isLate(feed, created_at, seen_at)

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

/** Milliseconds by which new items came late that earlier polls should have seen. */
function lateIn(feed: Feed, { listing, seen_at }: Step, created_at: readonly number[]): number[] {
  // A merged search is split by wider rules than the platform's, so its new rows may be old. A poll that reads back for
  // a new monitor, or for a gap, sees old items for the first time.
  if (listing === null || listing.reads_back || (feed.kind === 'search' && !listing.is_alone))
    return []
  return created_at.filter((at) => isLate(feed, at, seen_at)).map((at) => seen_at - at)
}

/** What is verified after a step, and when the next audit is due. */
function verifiedAfter(db: Db, feed: Feed, step: Step, late: readonly number[]) {
  const { id, audited_at, audited_from, audited_until, audit_due_at } = feed
  const { listing, verified, started_at, ended_at } = step
  const is_audit = listing?.is_audit === true
  const seen_ms =
    late.length === 0 ? feed.lateness_ms : latenessAfter(feed.lateness_ms, late, false)
  // A row that a poll happened to see late has neighbours that it did not.
  const due_at =
    late.length > 0 && !is_audit && audit_due_at !== null
      ? Math.min(audit_due_at, ended_at)
      : audit_due_at
  if (verified === null) {
    const until =
      listing === null && audited_until !== null ? Math.min(audited_until, ended_at) : audited_until
    const range = { audited_from, audited_until: until }
    return { ...range, audited_at, audit_due_at: due_at, lateness_ms: seen_ms }
  }
  const { from, until } = verified
  const joined = joinVerified(feed, {
    from,
    until: is_audit ? until - latenessMargin(seen_ms) : until,
  })
  if (joined.hole !== null)
    insertEvent(db, {
      kind: 'not_verified',
      feed_id: id,
      at: joined.hole.from,
      until_at: joined.hole.until,
    })
  const range = { audited_from: joined.audited_from }
  if (!is_audit)
    return {
      ...range,
      audited_until: Math.min(joined.audited_until, ended_at),
      audited_at,
      audit_due_at: due_at,
      lateness_ms: seen_ms,
    }
  return {
    ...range,
    audited_until: joined.audited_until,
    audited_at: started_at,
    audit_due_at: nextAuditAt(started_at, feed.audit_interval_s, id),
    lateness_ms: latenessAfter(seen_ms, [], true),
  }
}

/** New items a second, smoothed over checks; null for a first check without rows. */
function rateAfter(feed: Feed, step: Step, arrivals: number): number | null {
  const latest = rateIn(feed, step, arrivals)
  return latest === null
    ? (feed.rate_per_s ?? rateUntil(step.listing?.rows ?? [], step.seen_at))
    : smooth(feed.rate_per_s, latest)
}

/** New items a second since the last check; null for a first one. */
function rateIn({ last_check_at }: Feed, { ended_at }: Step, arrivals: number): number | null {
  const elapsed_s = last_check_at === null ? 0 : (ended_at - last_check_at) / 1000
  return elapsed_s > 0 ? arrivals / elapsed_s : null
}

/** After a burst the peak rate falls by this factor with each check, down to the smoothed rate. */
const BURST_DECAY = 0.8

/** The rate to plan with: that of the busiest hours, or of a burst, which hourly counts show only later. */
function busyAfter(db: Db, feed: Feed, step: Step, arrivals: number): number | null {
  const { peak_rate_per_s, requested_interval_s } = feed
  const latest = rateIn(feed, step, arrivals)
  const full = latest !== null && arrivals > FULL_PAGE
  const busy = isBusy(peak_rate_per_s, requested_interval_s)
  if (!full && !busy && !isNewHour(feed, step.ended_at)) return peak_rate_per_s
  const usual = busyRateOf(db, feed.id, step.seen_at)
  const candidates = [
    usual,
    busy ? Math.max((peak_rate_per_s ?? 0) * BURST_DECAY, feed.rate_per_s ?? 0) : null,
    full ? latest : null,
  ]
  const rates = candidates.filter((it) => it !== null)
  return rates.length === 0 ? null : Math.max(...rates)
}

/** Postpones a feed by what its source asks for. A listing keeps its phase. */
function postpone(db: Db, feed: Feed, { ended_at, listing }: Step, wait_s: number): void {
  const at = ended_at + wait_s * 1000
  postponeFeed(
    db,
    feed.id,
    listing === null ? at : nextPollAt(phaseKey(feed), feed.interval_s * 1000, at - 1),
  )
}

/** Records creation times that were not observed, with an estimate of what they hide. */
function writeHole(db: Db, { id: feed_id, rate_per_s }: Feed, hole: Hole): void {
  const { evidence, ids: _ids, ...gap } = hole
  const { from_at } = hole
  const range = evidence === undefined ? null : { from_at, until_at: evidence.until_at }
  const seen =
    range === null || range.from_at === null
      ? { before: [], known_from_at: null }
      : listArrivals(db, feed_id, { from_at: range.from_at, until_at: range.until_at })
  const missed_estimate =
    range === null || evidence === undefined
      ? null
      : estimateMissed(
          range,
          {
            ...seen,
            polled_at: evidence.polled_at,
            recent: rate_per_s,
            last_week: lastWeekRate(db, feed_id, range.until_at),
          },
          evidence.rows,
          evidence.read_at,
        )
  insertGap(db, { ...gap, feed_id, missed_estimate })
}

/** Drops candidates that are gone, and has stored items read by id at once, which tells the reason. */
function noteGone(db: Db, { source }: Feed, names: readonly string[], now: number): void {
  if (names.length === 0) return
  const keys = names.map((name) => itemKey({ name, source }))
  deleteCandidates(db, keys)
  checkSoon(db, keys, now)
}

/** A row of an item that was seen, with its indexes. */
const SEEN_BYTES = 256

/** Bytes of what is stored of items: that they were seen, and the texts of those that match or are archived. */
function bytesOf(
  { archive }: Pick<RecordDeps, 'archive'>,
  seen: Written,
  hits: readonly Hit[],
): number {
  const is_new = (item: Item) => seen.fresh.has(itemKey(item)) || seen.changed.has(itemKey(item))
  const matched = new Set(hits.map(({ item }) => item))
  const stored = seen.ordered.filter(
    (it) => matched.has(it) || (archive?.keep === 'feeds' && is_new(it)),
  )
  return stored.reduce(
    (sum, it) => sum + Buffer.byteLength(JSON.stringify(it)),
    SEEN_BYTES * (seen.fresh.size + seen.changed.size),
  )
}

/**
 * Processes items of a search, a person or a thread that a watched place should have shown already: for all monitors
 * of the place, with an audit of it. They are no position of the place's listing. An audit also brings the current text
 * of known items, which their place may never list.
 */
function recordElsewhere(deps: RecordDeps, from: Feed, step: Step): Hit[] {
  const { db } = deps
  if (step.listing === null || from.kind === 'posts' || from.kind === 'comments') return []
  const { items, seen_at } = step
  const by_key = Map.groupBy(items, ({ kind, subforum }) =>
    feedKey({
      source: from.source,
      kind: kind === 'post' ? 'posts' : 'comments',
      place: subforum,
    }),
  )
  return [...by_key].flatMap(([key, candidates]) => {
    const feed = findFeedByKey(db, key)
    if (feed === null || feed.asleep) return []
    const behind = candidates.filter(({ created_utc }) => isLate(feed, created_utc * 1000, seen_at))
    const known = listSeen(db, [{ feed_id: feed.id, item_ids: behind.map(itemKey) }])
    const first_seen = new Map(
      (known.get(feed.id) ?? []).map((it) => [it.item_id, it.first_seen_at]),
    )
    const missed = behind.filter((it) => !first_seen.has(itemKey(it)))
    const edited = behind.filter(
      (it) => first_seen.has(itemKey(it)) && step.again === 'edited' && isEdited(it),
    )
    if (missed.length > 0) noteElsewhere(db, feed, missed, step)
    for (const it of missed) first_seen.set(itemKey(it), seen_at)
    const fresh = new Set(missed.map(itemKey))
    const seen = { ordered: [...missed, ...edited], fresh, first_seen, next_seq: feed.next_seq }
    return matchAll(deps, feed, roundOf(step, { fresh, changed: new Set() }), seen)
  })
}

/** Records items of a place that another feed has shown first, and requests an audit of the place. */
function noteElsewhere(
  db: Db,
  feed: Feed,
  missed: readonly Item[],
  { seen_at, ended_at }: Step,
): void {
  insertSeen(
    db,
    missed.map((it, at) => ({
      feed_id: feed.id,
      item_id: itemKey(it),
      seq: feed.next_seq + at,
      created_at: it.created_utc * 1000,
      first_seen_at: seen_at,
      found_by: 'other_feed',
    })),
  )
  advanceSeq(db, feed.id, feed.next_seq + missed.length)
  requestAudit(db, feed.id, ended_at)
  const late = missed.map(({ created_utc }) => seen_at - created_utc * 1000)
  recordLateness(db, feed.id, latenessAfter(feed.lateness_ms, late, false))
}
