import { errorCode } from '../core/base/errors.ts'
import type { Fault } from '../core/base/result.ts'
import { auditSince } from '../core/polling/audit.ts'
import {
  type AccessRefusal,
  accessRefusal,
  startPoll,
  type TruncationReason,
} from '../core/polling/cursor.ts'
import type { StreamSources } from '../gateway/streams.ts'
import type { Watch } from '../gateway/watch.ts'
import type { AccessEnds } from '../runtime/access-ends.ts'
import { createOutages } from '../runtime/outages.ts'
import type { Log } from '../runtime/runtime.ts'
import { type Db, transact } from '../store/db/connection.ts'
import type { Feed } from '../store/monitoring/feeds.ts'
import { findPolled } from '../store/monitoring/matches.ts'
import {
  type BatchState,
  type PollJob,
  type PollTarget,
  refreshExtra,
} from '../store/monitoring/poll-batches.ts'
import type { VerifyDeps } from './erasure/verify.ts'
import { type PollSlot, prewarmFilters, recordJudged } from './judged.ts'
import {
  belongsTo,
  feedOf,
  type FeedResult,
  fetchPages,
  type PollDeps,
  type PollEnd,
  type PollResult,
  type Schedule,
  type Skipped,
  splitBatch,
} from './pages.ts'
import { pollWhenUsable, postponeOverBudget, type Unwritten } from './position.ts'
import { record, type RecordDeps } from './record.ts'

export type Planner = {
  /** Plans again if that is due. `mono`: monotonic clock, ms. */
  planIfDue(mono: number): void
  /** True while audits have requests left to use. */
  mayAudit(mono: number): boolean
  /** Milliseconds until they have some. */
  auditWait(mono: number): number
  changed(mono: number): void
  learn(report: PollResult, new_items: number, mono: number): void
}

export type MonitoringDeps = PollDeps &
  RecordDeps & {
    log: Log
    /** Share of the requests of a source for checks of stored items, 0 to 1; absent: they are not checked. */
    recheck_share?: number | undefined
    /** Called after stored items were erased. */
    on_erased?: VerifyDeps['on_erased']
    /** Learns of ways in that end. */
    ends?: AccessEnds
    schedule: Schedule
    streams: StreamSources
    /** Seconds between two audits of a feed; 0 or absent: by its cadence. */
    audit_interval_s?: number
    /** Requests a minute that the platform allows for polls; absent: no limit is known. */
    requests_per_minute?: () => number
    /** Bytes that each source may add to the database in a day; absent: any number. */
    source_bytes_per_day?: () => number
    /** Wakes the loop that runs `checkDue`. */
    wake: () => void
    /** Called after a commit that has left deliveries to be sent. */
    on_pending: () => void
  }

// An old copy that is served for longer than this many intervals is accepted. Nothing is lost: the checkpoint only moves
// to rows that were read, and old anchors stay.
const STALE_INTERVALS_MAX = 2.5

/** Polls a feed or a batch. Reads only; {@link record} writes the result. */
async function pollOnce(deps: PollDeps & { db: Db }, job: PollJob): Promise<PollResult | Skipped> {
  const { targets, extras, batch, epoch } = job
  if (batch !== null) return pollBatch(deps, { targets, extras, batch })
  const [only] = targets
  if (only === undefined) return { why: 'stopping', wait_s: 0 }
  const result = await pollFeed(deps, only)
  return 'why' in result ? result : { results: [result], batch_result: null, epoch }
}

async function pollFeed(
  deps: PollDeps & { db: Db },
  { stream, backfill_since, open_gap: gap, audit: is_audit }: PollTarget,
): Promise<FeedResult | Skipped> {
  const { watch, clock, db } = deps
  const started_at = clock.now()
  const { checkpoint } = stream
  const accept_stale = acceptsStale(stream, started_at)
  const missed_ids = gap?.anchor_ids ?? null
  // The earlier of two plausible clocks: the verified range must not claim more than was read.
  const platform_now = Math.round(started_at + watch.clock_earliest_ms())
  const start = startPoll({
    checkpoint,
    backfill_since,
    accept_stale,
    gap_ids: missed_ids,
    late_since: lateSince(stream),
    audit_since: is_audit ? auditSince(stream, platform_now) : null,
    kind: stream.kind,
  })
  const { state, items, ending } = await fetchPages(deps, stream, start, (ids) =>
    findPolled(db, [stream.id], ids),
  )
  const gap_id = gap?.gap_id ?? null
  const toResult = (end: PollEnd): FeedResult => {
    const ended_at = clock.now()
    const audit = is_audit ? { started_at: platform_now - (watch.copy_ms?.() ?? 0) } : null
    const seen_at = ended_at + watch.clock_offset_ms()
    return { stream, state, items, ending: end, audit, gap_id, started_at, ended_at, seen_at }
  }
  switch (ending.kind) {
    case 'complete':
      return toResult({ kind: 'complete' })
    case 'truncated':
      return toResult(truncatedEnd(ending.reason))
    case 'empty':
      return toResult(await explainEmpty(watch, stream))
    case 'fault':
      return skippedBy(ending.fault, state.pages) ?? toResult(faultEnd(ending.fault))
    case 'stale':
      return { why: 'stale_listing', wait_s: 0 }
    case 'stopping':
      return { why: 'stopping', wait_s: 0 }
  }
}

/** Polls read past the checkpoint by the lateness seen, within this bound; audits find what is later. */
const LATE_READ_MAX_MS = 10_000

const lateSince = ({ checkpoint, lateness_ms }: Feed): number | null =>
  checkpoint?.checkpoint_at == null || lateness_ms === 0
    ? null
    : checkpoint.checkpoint_at - Math.min(lateness_ms, LATE_READ_MAX_MS)

async function pollBatch(
  deps: PollDeps & { db: Db },
  { targets, extras, batch }: Pick<PollJob, 'targets' | 'extras'> & { batch: BatchState },
): Promise<PollResult | Skipped> {
  const { watch, clock, db } = deps
  const started_at = clock.now()
  const limits = targets.flatMap(({ backfill_since }) => backfill_since ?? [])
  const backfill_since = limits.length === 0 ? null : Math.min(...limits)
  const accept_stale = targets.every(({ stream }) => acceptsStale(stream, started_at))
  const start = startPoll({
    checkpoint: batch.checkpoint,
    backfill_since,
    accept_stale,
    kind: batch.kind,
  })
  const feed = feedOf([...targets, ...extras])
  const feed_ids = [...targets, ...extras].map(({ stream }) => stream.id)
  const { state, items, ending } = await fetchPages(deps, feed, start, (ids) =>
    findPolled(db, feed_ids, ids),
  )
  const ended_at = clock.now()
  const times = { started_at, ended_at, seen_at: ended_at + watch.clock_offset_ms() }
  switch (ending.kind) {
    case 'complete':
    case 'truncated':
      return splitBatch({
        targets,
        // Some were polled individually meanwhile and are in sync now.
        extras: extras.flatMap(({ stream }) => refreshExtra(db, stream.id, batch) ?? []),
        batch,
        state,
        items,
        at: times,
        complete: ending.kind === 'complete',
      })
    case 'empty':
      return unprovenResult(targets, batch, times)
    case 'fault': {
      // The platform does not say which member is refused.
      if (ending.fault.kind === 'forbidden' || ending.fault.kind === 'not_found')
        return unprovenResult(targets, batch, times)
      const end = faultEnd(ending.fault)
      return (
        // Nothing of a failed batch poll is recorded, not even the pages it had read.
        skippedBy(ending.fault, 0) ?? {
          results: targets.map(({ stream, backfill_since: own_limit }) => ({
            stream,
            state: startPoll({
              checkpoint: stream.checkpoint,
              backfill_since: own_limit,
              accept_stale: false,
            }),
            items: new Map(),
            ending: end,
            audit: null,
            gap_id: null,
            ...times,
          })),
          batch_result: null,
          epoch: 0,
        }
      )
    }
    case 'stale':
      return { why: 'stale_listing', wait_s: 0 }
    case 'stopping':
      return { why: 'stopping', wait_s: 0 }
  }
}

/** A batch poll that verifies no member: each is polled individually. */
const unprovenResult = (
  targets: readonly PollTarget[],
  batch: BatchState,
  { started_at, ended_at, seen_at }: Pick<FeedResult, 'started_at' | 'ended_at' | 'seen_at'>,
): PollResult => ({
  results: [],
  batch_result: {
    batch,
    state: null,
    unproven: targets.map(({ stream }) => stream.id),
    resynced: [],
    started_at,
    ended_at,
    seen_at,
  },
  epoch: 0,
})

function acceptsStale({ last_check_at, interval_s }: Feed, now: number): boolean {
  const silent_ms = last_check_at === null ? 0 : now - last_check_at
  return silent_ms > STALE_INTERVALS_MAX * interval_s * 1000
}

const truncatedEnd = (reason: TruncationReason): PollEnd => ({
  kind: 'truncated',
  reason,
  fault: null,
  retry_after_s: 0,
})

const faultEnd = (fault: Fault): PollEnd => ({
  kind: 'truncated',
  reason: accessEndOf(fault) ?? 'error',
  fault: faultText(fault),
  // Throttling delays an identity, not the feed, which is due as planned through any usable one.
  retry_after_s: fault.kind === 'unavailable' ? (fault.retry_after_s ?? 0) : 0,
})

/**
 * A poll without budget is late, not truncated. So is one that the platform throttled before any page was read; the next
 * poll shows what was lost by waiting.
 */
function skippedBy(fault: Fault, pages_read: number): Skipped | null {
  if (fault.kind !== 'throttled') return null
  const wait_s = fault.retry_after_s ?? 0
  if (fault.not_requested && !fault.resting) return { why: 'over_budget', wait_s }
  return pages_read === 0 ? { why: 'throttled', wait_s } : null
}

/** The ended way in that a fault shows; null: none. */
function accessEndOf(fault: Fault): AccessRefusal | null {
  if (fault.kind === 'forbidden') return accessRefusal(fault.reason)
  const asks_for_login = fault.kind === 'blocked' && fault.login_hint === true
  return asks_for_login || fault.kind === 'login_required' ? 'login_wall' : null
}

/** Newest rows of a checkpoint that are looked up by id when their listing is empty. */
const EVIDENCE_MAX = 3

/**
 * Explains an emptied listing: its place was closed, or its known rows still exist, so that the
 * page proves nothing. Otherwise it may be empty, which more checks have to confirm.
 */
async function explainEmpty(watch: Watch, feed: Feed): Promise<PollEnd> {
  const { kind, place, checkpoint } = feed
  if (kind === 'posts' || kind === 'comments') {
    const verdict = await watch.subforum(place)
    if (verdict.kind === 'refused')
      return { ...faultEnd({ kind: 'forbidden', reason: null }), ...refusalFault(verdict.why) }
  }
  const anchors = (checkpoint?.anchor_ids ?? []).slice(0, EVIDENCE_MAX)
  const present = await watch.present(anchors)
  if (!present.ok) return faultEnd(present.fault)
  if (kind === 'search' && present.value.length > 0) {
    // An edited post may have left the search for good.
    const items = await watch.refetch(present.value)
    if (!items.ok) return faultEnd(items.fault)
    if (!items.value.some((it) => belongsTo(place, it))) return truncatedEnd('empty_listing')
  }
  if (present.value.length === 0) return truncatedEnd('empty_listing')
  const reason = kind === 'user_posts' || kind === 'user_comments' ? 'profile_hidden' : 'emptied'
  return { kind: 'truncated', reason, fault: `refused:${reason}`, retry_after_s: 0 }
}

const refusalFault = (why: string | null) => (why === null ? {} : { fault: `refused:${why}` })

/** A fault as one word, such as `throttled` or `forbidden:private`, for row and log. */
export function faultText(fault: Fault): string {
  if ('reason' in fault && fault.reason !== null) return `${fault.kind}:${fault.reason}`
  if ('status' in fault && fault.status !== null) return `${fault.kind}:${fault.status}`
  return fault.kind
}

export function createPollRunner(
  deps: MonitoringDeps,
  planner: Planner,
): (job: PollJob, slot: PollSlot) => Promise<void> {
  const { db, clock, log } = deps
  const unwritten = new Map<number, Unwritten>()
  const outages = createOutages(clock)

  return async (job, slot) => {
    const result = await pollOnce(deps, job)
    if ('why' in result) return recordSkipped(job, result)
    logTruncated(result)
    const feed_ids = result.results.map(({ stream }) => stream.id)
    await prewarmFilters(
      deps,
      result.results.flatMap(({ stream, items }) => (items.size === 0 ? [] : [stream.id])),
    )
    if (deps.signal.aborted) return
    try {
      const recorded = await recordJudged(
        deps,
        feed_ids,
        () => record(deps, result, unwritten),
        slot,
      )
      if (recorded === null) return
      const { new_items, matched, pending } = recorded
      for (const { stream } of result.results) unwritten.delete(stream.id)
      planner.learn(result, new_items, clock.mono())
      if (pending > 0) deps.on_pending()
      const count = result.results.filter(({ ending }) => ending.kind === 'complete').length
      log('debug', 'check.recorded', { feeds: nameOf(job), count, new_items, matched, pending })
    } catch (error) {
      // The checkpoint has not moved, so the next check finds the same rows. Only the record of this check is lost.
      const kind = isFull(error) ? 'storage_full' : 'poll_log_failed'
      for (const { stream, ended_at: at } of result.results) unwritten.set(stream.id, { at, kind })
      throw error
    }
  }

  /** Logs a poll that is not recorded, and postpones its feeds. */
  function recordSkipped(job: PollJob, { why, wait_s }: Skipped): void {
    if (why === 'stopping') return
    log('info', 'check.skipped', { feed: nameOf(job), why })
    if (why !== 'over_budget' && why !== 'throttled') return
    transact(db, () => {
      for (const { stream } of job.targets)
        if (why === 'over_budget') postponeOverBudget(db, stream, clock.now(), wait_s)
        else pollWhenUsable(db, stream, clock.now(), wait_s)
    })
  }

  /** Logs the first truncated check of a feed and its recovery as such; those between only at debug level. */
  function logTruncated({ results }: PollResult): void {
    for (const { stream, ending } of results) {
      const { key: feed } = stream
      if (ending.kind === 'complete') {
        for (const reason of ENDS_OF_FEEDS) deps.ends?.restored(reason, feed)
        const ended = outages.recovered(feed)
        if (ended !== null) log('info', 'feed.recovered', { feed, ...ended })
      } else {
        const { reason, fault } = ending
        const end = ENDS_OF_FEEDS.find((it) => it === reason)
        if (end !== undefined) deps.ends?.ended(end, feed)
        const count = outages.failed(feed)
        log(count === null ? 'debug' : 'warn', 'check.cut', {
          feed,
          reason,
          fault,
          ...(count !== null && count > 0 && { count }),
        })
      }
    }
  }
}

/** Ends that concern one feed; a login wall concerns all of them. */
const ENDS_OF_FEEDS = ['placeholder', 'profile_hidden', 'emptied'] as const

function nameOf({ targets, batch }: PollJob): string {
  const [first] = targets
  return batch === null ? (first?.stream.key ?? '') : `${batch.kind} of ${targets.length}`
}

const isFull = (error: unknown): boolean => errorCode(error) === 'SQLITE_FULL'
