import { errorCode } from '../core/base/errors.ts'
import { fail, type Fault, faultText } from '../core/base/result.ts'
import { createTurns, nextTurn } from '../core/base/turns.ts'
import { boundedWait } from '../core/base/wait.ts'
import { forgetTexts, markdownOf, textOf } from '../core/filter/text.ts'
import { HOME } from '../core/forum/items.ts'
import { createIntake } from '../core/limits/intake.ts'
import { paceAfter } from '../core/polling/batching.ts'
import { type Ask, walkListing } from '../core/polling/listing.ts'
import {
  failedStep,
  type IdStep,
  isStuck,
  positionOf,
  recentOf,
  type RereadTask,
  REST_MS,
  stepByIds,
  stepOfReread,
} from '../core/polling/position.ts'
import { type NearPass, nextNear, nextPass } from '../core/polling/reread.ts'
import type { Advance, Feed, PollJob, Skipped, Step, Unwritten } from '../core/polling/step.ts'
import type { ListingWatch, StepWatch } from '../gateway/watch.ts'
import type { AccessEnds } from '../runtime/access-ends.ts'
import { createOutages } from '../runtime/outages.ts'
import type { Clock, Log } from '../runtime/runtime.ts'
import { type Db, transact } from '../store/db/connection.ts'
import { paceOf, postponeFeed, scheduleFeed, slowFeed } from '../store/monitoring/feeds.ts'
import { dueIdGap, postponeIdGap } from '../store/monitoring/id-gaps.ts'
import { findPolled } from '../store/monitoring/matches.ts'
import { reloadExtras } from '../store/monitoring/poll-batches.ts'
import { firstStart, listWatchedPlaces } from '../store/monitoring/source-feeds.ts'
import type { VerifyDeps } from './erasure/verify.ts'
import { type PollSlot, prewarmFilters, recordJudged } from './judged.ts'
import {
  type EarlierParts,
  partsOf,
  record,
  type RecordDeps,
  type Recorded,
  recordPart,
} from './record.ts'

/** First instant after `now` at which the monitor loop checks for due feeds; Infinity: never. */
export type Schedule = (now: number) => number

export type Planner = {
  /** Plans again if that is due. `mono`: monotonic clock, ms. */
  planIfDue(mono: number): void
  /** True while audits of a source have requests left to use. */
  mayAudit(source: string, mono: number): boolean
  /** Milliseconds until they have some. */
  auditWait(mono: number): number
  changed(mono: number): void
  learn(advance: Advance, new_items: number, mono: number): void
}

export type MonitoringDeps = RecordDeps & {
  clock: Clock
  signal: AbortSignal
  log: Log
  /** Share of the requests of a source for checks of stored items, 0 to 1; absent: they are not checked. */
  recheck_share?: number | undefined
  /** Called after stored items were erased. */
  on_erased?: VerifyDeps['on_erased']
  /** Learns of ways in that end. */
  ends?: AccessEnds
  schedule: Schedule
  /** Seconds between two audits of a feed; 0 or absent: by its cadence. */
  audit_interval_s?: number
  /** Bytes that each source may add to the database in a day; absent: any number. */
  source_bytes_per_day?: () => number
  /** Wakes the loop that runs `checkDue`. */
  wake: () => void
}

type Asked = Pick<
  ListingWatch,
  'page' | 'place' | 'present' | 'byId' | 'ahead_ms' | 'earliest_ms' | 'copy_ms'
>

const refuse = async () => fail({ kind: 'unsupported', capability: 'monitor' } as const)
/** Takes the place of a source that has left the configuration: its monitors rest. */
const NOT_CONFIGURED: Asked = {
  page: refuse,
  place: async () => ({ kind: 'unverified' }),
  present: refuse,
  byId: refuse,
  ahead_ms: () => 0,
  earliest_ms: () => 0,
  copy_ms: () => 0,
}

/** Requests for what a step has left, after it was recorded. */
const SETTLES_MAX = 50
/** Ranges that are read again after one step. */
const REREADS_MAX = 20
/** Part of a feed's interval in which ranges are read again. */
const REREADS_SHARE = 0.3

/** Creates the function that polls one feed, or a batch of them: reads, records, wakes the sender. */
export function createPollRunner(
  deps: MonitoringDeps,
  planner: Planner,
): (job: PollJob, slot: PollSlot) => Promise<void> {
  const { db, clock, log, signal, watches } = deps
  const unwritten = new Map<number, Unwritten>()
  const outages = createOutages(clock)
  const near = new Map<number, NearPass>()
  const intake = createIntake(clock, deps.source_bytes_per_day ?? (() => Infinity))
  const askOf = (home: Asked): Ask => ({
    page: (feed, paging) => home.page(feed, paging, signal),
    place: home.place,
    present: home.present,
    refetch: home.byId,
    known: (feed_ids, ids) => findPolled(db, feed_ids, ids),
    reload: (feed_ids, batch) => reloadExtras(db, feed_ids, batch),
    now: clock.now,
    ahead_ms: home.ahead_ms,
    earliest_ms: home.earliest_ms,
    copy_ms: home.copy_ms,
    signal,
  })

  const stepWatchOf = (source: string): StepWatch | undefined => {
    const watch = watches.get(source)
    return watch?.proof === 'time_listing' ? undefined : watch
  }

  const contextOf = (feed: Feed, watch: StepWatch | undefined, started_at: number) => ({
    feed,
    started_at,
    ended_at: clock.now(),
    ahead_ms: watch?.ahead_ms() ?? 0,
    behind_ms: watch?.behind_ms() ?? 0,
  })

  const callOf = ({ id, interval_s, state, source, place }: Feed) => ({
    interval_s,
    signal,
    ...(place !== source && { feed: place.slice(source.length + 1) }),
    places: listWatchedPlaces(db, id),
    since: state === null ? firstStart(db, id) : null,
  })

  const stepOf = (
    feed: Feed,
    watch: StepWatch,
    read: IdStep,
    { started_at, is_rest }: { started_at: number; is_rest: boolean },
  ): Step =>
    stepByIds(
      {
        ...read,
        verified_until: watch.ours(read.verified_until),
        ...(read.verified_from !== undefined && { verified_from: watch.ours(read.verified_from) }),
      },
      {
        ...contextOf(feed, watch, started_at),
        proof: watch.proof,
        relisted_ms: watch.relisted_ms,
        is_rest,
      },
    )

  return async (job, slot) => {
    const began = clock.mono()
    const feed = job.targets[0]?.feed
    const by_ids = feed?.kind === 'all' ? feed : null
    const advance =
      by_ids === null ? await readListing(job, feed?.source ?? HOME) : await readStep(by_ids)
    if ('why' in advance) return recordSkipped(job, advance)
    if (signal.aborted) return
    for (const step of advance.steps) logEnd(step)
    const recorded = await commit(advance, slot)
    if (recorded === null) return
    if (feed !== undefined) intake.add(feed.source, recorded.bytes)
    log('debug', 'check.recorded', { feeds: nameOf(job), ...countsOf(recorded) })
    const [step] = advance.steps
    if (by_ids !== null && step?.cut === null) await readRest(afterStep(step), began)
  }

  /** Records a poll with the patterns of its filters. Null when the daemon stops. */
  async function commit(advance: Advance, slot?: PollSlot): Promise<Recorded | null> {
    const shown = advance.steps.filter(({ items }) => items.length > 0)
    await prewarmFilters(
      deps,
      shown.map(({ feed }) => feed.id),
    )
    if (signal.aborted) return null
    const feed_ids = advance.steps.map(({ feed }) => feed.id)
    try {
      const earlier: EarlierParts = new Map()
      const { early, last } = partsOf(advance)
      const sum = { matched: 0, pending: 0, bytes: 0 }
      for (const part of early) {
        await prepareTexts(part)
        const found = await recordJudged(
          deps,
          feed_ids,
          () => recordPart(deps, part, earlier),
          slot,
        )
        if (found === null) return null
        for (const { items } of part) forgetTexts(items)
        addTo(sum, found)
        if (found.pending > 0) deps.on_pending()
        if (signal.aborted) return null
      }
      await prepareTexts(last.steps)
      if (signal.aborted) return null
      const recorded = await recordJudged(deps, feed_ids, () => record(deps, last, earlier), slot)
      if (recorded === null) return null
      addTo(recorded, sum)
      for (const id of feed_ids) unwritten.delete(id)
      planner.learn(advance, recorded.new_items, clock.mono())
      return recorded
    } catch (error) {
      // The checkpoint has not moved, so the next check finds the same rows. Only the record of this check is lost.
      const kind = errorCode(error) === 'SQLITE_FULL' ? 'storage_full' : 'poll_log_failed'
      for (const { feed, listing, ended_at: at } of advance.steps)
        if (listing !== null) unwritten.set(feed.id, { at, kind })
      throw error
    }
  }

  /** Logs a poll that is not recorded, and postpones its feeds. */
  function recordSkipped(job: PollJob, { why, wait_s }: Skipped): void {
    if (why === 'stopping') return
    log('info', 'check.skipped', { feed: nameOf(job), why })
    if (why !== 'over_budget' && why !== 'throttled') return
    transact(db, () => {
      for (const { feed } of job.targets)
        if (why === 'throttled') pollWhenUsable(db, feed, clock.now(), wait_s)
        else {
          // Requests of callers to a source that is read by ids were first: nothing is too fast.
          if (feed.kind !== 'all') slowDown(db, feed)
          postponeFeed(db, feed.id, clock.now() + wait_s * 1000)
        }
    })
  }

  /** Logs the first truncated check of a feed and its recovery as such; those between only at debug level. */
  function logEnd({ feed: { key: feed }, cut }: Step): void {
    if (cut === null) {
      for (const reason of ENDS_OF_FEEDS) deps.ends?.restored(reason, feed)
      const ended = outages.recovered(feed)
      if (ended !== null) log('info', 'feed.recovered', { feed, ...ended })
      return
    }
    const { reason, fault } = cut
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

  /** Reads a listing, unless its source may add nothing to the database for now. */
  async function readListing(job: PollJob, source: string): Promise<Advance | Skipped> {
    const watch = watches.get(source)
    const wait_s = intake.wait_s(source)
    const ask = askOf(watch?.proof === 'time_listing' ? watch : NOT_CONFIGURED)
    if (wait_s === 0) return walkListing(ask, job, unwritten)
    const retry_after_s = boundedWait(wait_s) ?? 0
    const page = async () => fail({ kind: 'unavailable', status: null, retry_after_s } as const)
    const advance = await walkListing({ ...ask, page }, job, unwritten)
    if ('why' in advance) return advance
    const cut = { reason: 'error', fault: 'over_disk_budget', retry_after_s } as const
    return { ...advance, steps: advance.steps.map((step) => ({ ...step, cut })) }
  }

  /** Reads what came to a source since the last step. */
  async function readStep(feed: Feed): Promise<Advance | Skipped> {
    const started_at = clock.now()
    const watch = stepWatchOf(feed.source)
    const failed = (fault: string, retry_after_s = 0): Advance =>
      one(failedStep(contextOf(feed, watch, started_at), { fault, retry_after_s }))
    if (watch === undefined) return failed('not_configured')
    const wait_s = intake.wait_s(feed.source)
    if (wait_s > 0) return failed('over_disk_budget', boundedWait(wait_s) ?? 0)
    const read = await watch.step(positionOf(feed)?.state ?? null, callOf(feed))
    if (signal.aborted) return { why: 'stopping', wait_s: 0 }
    if (read.ok) return one(stepOf(feed, watch, read.value, { started_at, is_rest: false }))
    const { fault } = read
    const retry_s = waitOf(fault)
    // Requests of callers were first: the step is late, and nothing failed.
    return fault.kind === 'throttled' && fault.not_requested
      ? { why: 'over_budget', wait_s: retry_s }
      : failed(faultText(fault), retry_s)
  }

  /** Reads what a step has left for later, and then ids again, for as long as the next step is not due. */
  async function readRest(feed: Feed, began: number): Promise<void> {
    const watch = stepWatchOf(feed.source)
    if (watch === undefined) return
    let at = feed
    const due = began + feed.interval_s * 1000
    for (let n = 0; n < SETTLES_MAX && !signal.aborted; n++) {
      const step = await settleNext(at, watch)
      if (step === null) break
      at = afterStep(step)
      if (clock.mono() >= due) break
    }
    const until = clock.mono() + REREADS_SHARE * feed.interval_s * 1000
    for (let n = 0; n < REREADS_MAX && watch.reread_requests() > 0 && !signal.aborted; n++) {
      const step = await rereadNext(at, watch)
      if (step === null) break
      at = afterStep(step)
      if (clock.mono() > until) break
    }
  }

  /** Reads and records what steps have left for later; null: nothing, or no request for it. */
  async function settleNext(feed: Feed, watch: StepWatch): Promise<Step | null> {
    const started_at = clock.now()
    const state = positionOf(feed)?.state
    if (state === undefined || watch.settle === undefined || intake.wait_s(feed.source) > 0)
      return null
    const read = await watch.settle(state, callOf(feed))
    if (signal.aborted) return null
    if (!read.ok) {
      log('debug', 'settle.failed', { feed: feed.key, fault: faultText(read.fault) })
      return null
    }
    if (read.value === null) return null
    const step = stepOf(feed, watch, read.value, { started_at, is_rest: true })
    const recorded = await commit(one(step))
    if (recorded === null) return null
    intake.add(feed.source, recorded.bytes)
    log('debug', 'settle.recorded', { feed: feed.key, ...countsOf(recorded) })
    return step
  }

  /** Requests ids again that had no item, that were passed, or under which items may be listed late; null: none. */
  async function rereadNext(feed: Feed, watch: StepWatch): Promise<Step | null> {
    if (intake.wait_s(feed.source) > 0) return null
    const pass = near.get(feed.id) ?? { rest: null, at: -Infinity, is_next: true }
    near.set(feed.id, pass)
    const task = nextReread(db, feed, { relisted_ms: watch.relisted_ms, pass }, clock.now())
    if (task === null) return null
    const started_at = clock.now()
    const read = await watch.reread(task.ids, callOf(feed))
    if (signal.aborted) return null
    if (!read.ok) {
      const { gap } = task
      log('debug', 'reread.failed', { feed: feed.key, fault: faultText(read.fault) })
      if (gap !== null) transact(db, () => postponeIdGap(db, gap, clock.now() + REST_MS))
      return null
    }
    const { value } = read
    if (task.gap === null && task.pass === null) pass.rest = value.behind
    const step = stepOfReread(task, value, contextOf(feed, watch, started_at))
    const recorded = await commit(one(step))
    if (recorded === null) return null
    intake.add(feed.source, recorded.bytes)
    log('debug', 'reread.recorded', { feed: feed.key, ...task.ids, ...countsOf(recorded) })
    return value.requests > 0 && !isStuck(task.ids, value) ? step : null
  }
}

const one = (step: Step): Advance => ({ steps: [step], batch: null })

const waitOf = (fault: Fault): number =>
  'retry_after_s' in fault ? (boundedWait(fault.retry_after_s) ?? 0) : 0

const afterStep = ({ feed, state }: Step): Feed => ({ ...feed, state })

function addTo(sum: Omit<Recorded, 'new_items'>, it: Omit<Recorded, 'new_items'>): void {
  sum.matched += it.matched
  sum.pending += it.pending
  sum.bytes += it.bytes
}

const countsOf = ({ new_items, matched, pending }: Recorded) => ({ new_items, matched, pending })

/** Prepares the texts of items for filters, and lets other work run between long ones, and before they are recorded. */
async function prepareTexts(steps: readonly Step[]): Promise<void> {
  const items = steps.flatMap((step) => step.items)
  if (items.length === 0) return
  const turn = createTurns()
  for (const item of items) {
    await turn(2 * markdownOf(item).length)
    textOf(item, 'body')
  }
  await nextTurn()
}

/** The ids to be read again now; null: none. Passes over the newest and over older ids take turns. */
function nextReread(
  db: Db,
  feed: Feed,
  { relisted_ms, pass }: { relisted_ms: number; pass: NearPass },
  now: number,
): RereadTask | null {
  const gap = dueIdGap(db, feed.id, now)
  if (gap !== null) return { ids: { from_id: gap.from_id, to_id: gap.to_id }, gap, pass: null }
  const position = relisted_ms === 0 ? null : positionOf(feed)
  if (position === null) return null
  const recent = recentOf(position)
  const newest = () => nextNear(recent, pass, now)
  const near_ids = pass.is_next ? newest() : null
  const older =
    near_ids !== null
      ? null
      : recent.rest === null
        ? nextPass(recent, { relisted_ms, now })
        : recent
  const ids = near_ids ?? older?.rest ?? newest()
  if (ids === null || ids === undefined) return null
  pass.is_next = ids === older?.rest
  if (older === null || !pass.is_next) return { ids, gap: null, pass: null }
  const { rereads, reread_at, rest, reread_depth } = older
  return { ids, gap: null, pass: { rereads, reread_at, rest, reread_depth } }
}

/** Longest time between two polls of a feed while every identity rests: one may become usable early. */
const IDENTITY_REST_MAX_S = 30

/**
 * Makes a feed due when the first identity is usable again. The wait belongs to the identity, so the feed keeps its
 * pace and is never late by more than its interval. `wait_s` 0: one is usable, and the next regular poll is soon
 * enough.
 */
function pollWhenUsable(db: Db, { id, interval_s }: Feed, now: number, wait_s: number): void {
  if (wait_s > 0)
    scheduleFeed(db, id, now + Math.min(wait_s, Math.max(interval_s, IDENTITY_REST_MAX_S)) * 1000)
}

/** Slows a feed while the budgets of all identities are used up. */
function slowDown(db: Db, feed: Feed): void {
  const backoff_factor = paceAfter(feed.backoff_factor, true)
  slowFeed(db, feed.id, { backoff_factor, interval_s: paceOf({ ...feed, backoff_factor }) })
}

/** Ends that concern one feed; a login wall concerns all of them. */
const ENDS_OF_FEEDS = ['placeholder', 'profile_hidden', 'emptied'] as const

function nameOf({ targets, batch }: PollJob): string {
  const [first] = targets
  return batch === null ? (first?.feed.key ?? '') : `${batch.kind} of ${targets.length}`
}
