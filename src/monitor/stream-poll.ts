import type { Fault } from '../core/base/result.ts'
import { createTurns } from '../core/base/turns.ts'
import { boundedWait } from '../core/base/wait.ts'
import { markdownOf, textOf } from '../core/filter/text.ts'
import { type Item, itemKey, shownDigest } from '../core/forum/items.ts'
import { createIntake } from '../core/limits/intake.ts'
import { joinVerified } from '../core/polling/audit.ts'
import { type Ids, isStepProof } from '../core/polling/coverage.ts'
import { smooth } from '../core/polling/cursor.ts'
import { type NearPass, nextNear, nextPass } from '../core/polling/reread.ts'
import type { StreamSource, StreamSources } from '../gateway/streams.ts'
import { createOutages } from '../runtime/outages.ts'
import { type Db, transact } from '../store/db/connection.ts'
import { checkSoon } from '../store/erasure/kept-items.ts'
import { deleteCandidates } from '../store/monitoring/candidates.ts'
import {
  advanceSeq,
  insertCheck,
  insertEvent,
  insertGap,
  recordHole,
} from '../store/monitoring/checks.ts'
import { type Feed, findFeed, FIRST_POLL_SEQ, postponeFeed } from '../store/monitoring/feeds.ts'
import {
  closeIdGaps,
  dueIdGap,
  type IdGap,
  insertIdGaps,
  postponeIdGap,
  rangesOf,
  settleIdGap,
} from '../store/monitoring/id-gaps.ts'
import {
  forgetSeen,
  insertSeen,
  listSeen,
  markChanged,
  type NewSeen,
} from '../store/monitoring/matches.ts'
import { endFirstPolls, listWatchers } from '../store/monitoring/monitors.ts'
import {
  advanceStream,
  advanceStreamFeed,
  findRecent,
  findStreamState,
  finishPass,
  listWatchedPlaces,
  markHead,
  writePass,
} from '../store/monitoring/streams.ts'
import { deliver } from './deliver.ts'
import { type JudgedDeps, prewarmFilters, recordJudged } from './judged.ts'
import { type Hit, isSameTime, matchAll, type Seen } from './match.ts'
import { faultText } from './poll.ts'
import { type RecordDeps, UnknownVerdicts } from './record.ts'

export type StreamDeps = RecordDeps &
  JudgedDeps & {
    streams: StreamSources
    /** Bytes that each source may add to the database in a day; absent: any number. */
    source_bytes_per_day?: () => number
    /** Called after a commit that has left deliveries to be sent. */
    on_pending: () => void
  }

type Read = Awaited<ReturnType<StreamSource['step']>> & { ok: true }
type Reread = (Awaited<ReturnType<StreamSource['reread']>> & { ok: true })['value']

/** A step of a stream that was read. Instants by our clock, except those of items. */
type StreamResult = {
  feed: Feed
  step: Read['value']
  /** Proof of the source that nothing was missed. */
  proof: string
  relisted_ms: number
  /** Milliseconds by which the clock of the source's items is ahead. */
  ahead_ms: number
  /** True for what follows a step: the feed's rate counts steps. */
  is_settling: boolean
  behind_ms: number
  started_at: number
  ended_at: number
}

/** Creates the function that makes one step of a stream's feed: read, record, wake the sender. */
export function createStreamRunner(deps: StreamDeps): (feed: Feed) => Promise<void> {
  const { db, clock, log, signal, streams } = deps
  const outages = createOutages(clock)
  const near = new Map<number, NearPass>()
  const intake = createIntake(clock, deps.source_bytes_per_day ?? (() => Infinity))

  return async (feed) => {
    const started_at = clock.now()
    const began = clock.mono()
    const stream = streams.get(feed.place)
    if (stream === undefined) return recordFault(feed, 'not_configured', started_at)
    const wait_s = intake.wait_s(feed.place)
    if (wait_s > 0)
      return recordFault(feed, 'over_disk_budget', started_at, boundedWait(wait_s) ?? 0)
    const { interval_s } = feed
    const places = listWatchedPlaces(db, feed.id)
    const read = await stream.step(findStreamState(db, feed.id), { interval_s, signal, places })
    if (signal.aborted) return
    if (!read.ok) return recordFailed(feed, read.fault, started_at)
    const ended = outages.recovered(feed.key)
    if (ended !== null) log('info', 'feed.recovered', { feed: feed.key, ...ended })
    if (read.value.items.length > 0) await prewarmFilters(deps, [feed.id])
    await prepareTexts(read.value.items)
    const result: StreamResult = {
      feed,
      step: { ...read.value, verified_until: stream.ours(read.value.verified_until) },
      proof: stream.proof,
      relisted_ms: stream.relisted_ms,
      ahead_ms: stream.ahead_ms(),
      is_settling: false,
      behind_ms: stream.behind_ms(),
      started_at,
      ended_at: clock.now(),
    }
    const recorded = await recordJudged(deps, [feed.id], () => recordStep(deps, result))
    if (recorded === null) return
    noteRecorded(feed, recorded)
    log('debug', 'check.recorded', { feeds: feed.key, count: 1, ...countsOf(recorded) })
    // The next step is not to be late for what was read before.
    const due = began + interval_s * 1000
    for (let n = 0; n < SETTLES_MAX && !signal.aborted; n++)
      if (!(await settleNext(feed, stream, places)) || clock.mono() >= due) break
    const until = clock.mono() + REREADS_SHARE * interval_s * 1000
    for (let n = 0; n < REREADS_MAX && stream.reread_requests() > 0 && !signal.aborted; n++)
      if (!(await rereadNext(feed, stream, places)) || clock.mono() > until) break
  }

  function noteRecorded(feed: Feed, { pending, bytes }: RecordedStep): void {
    intake.add(feed.place, bytes)
    if (pending > 0) deps.on_pending()
  }

  /** Reads and records what steps have left for later; false: nothing, or no request for it. */
  async function settleNext(
    feed: Feed,
    stream: StreamSource,
    places: readonly string[],
  ): Promise<boolean> {
    const started_at = clock.now()
    const state = findStreamState(db, feed.id)
    if (state === null || stream.settle === undefined || intake.wait_s(feed.place) > 0) return false
    const read = await stream.settle(state, { interval_s: feed.interval_s, signal, places })
    if (signal.aborted) return false
    if (!read.ok) {
      log('debug', 'settle.failed', { feed: feed.key, fault: faultText(read.fault) })
      return false
    }
    if (read.value === null) return false
    const { proof, relisted_ms } = stream
    const result: StreamResult = {
      feed,
      step: { ...read.value, verified_until: stream.ours(read.value.verified_until) },
      proof,
      relisted_ms,
      ahead_ms: stream.ahead_ms(),
      behind_ms: stream.behind_ms(),
      is_settling: true,
      started_at,
      ended_at: clock.now(),
    }
    const recorded = await recordJudged(deps, [feed.id], () => recordStep(deps, result))
    if (recorded === null) return false
    noteRecorded(feed, recorded)
    log('debug', 'settle.recorded', { feed: feed.key, ...countsOf(recorded) })
    return true
  }

  /** Requests ids again that had no item, that were passed, or under which items may be listed late; false: none. */
  async function rereadNext(
    feed: Feed,
    stream: StreamSource,
    places: readonly string[],
  ): Promise<boolean> {
    if (intake.wait_s(feed.place) > 0) return false
    const pass = near.get(feed.id) ?? { rest: null, at: -Infinity, is_next: true }
    near.set(feed.id, pass)
    const task = nextReread(db, feed.id, { relisted_ms: stream.relisted_ms, pass }, clock.now())
    if (task === null) return false
    const started_at = clock.now()
    const read = await stream.reread(task.ids, { signal, places })
    if (signal.aborted) return false
    if (!read.ok) {
      const { gap } = task
      log('debug', 'reread.failed', { feed: feed.key, fault: faultText(read.fault) })
      if (gap !== null) transact(db, () => postponeIdGap(db, gap, clock.now() + REST_MS))
      return false
    }
    const { value } = read
    const times = {
      ahead_ms: stream.ahead_ms(),
      behind_ms: stream.behind_ms(),
      started_at,
      ended_at: clock.now(),
    }
    if (task.is_near) pass.rest = value.behind
    const recorded = await recordJudged(deps, [feed.id], () =>
      recordReread(deps, { feed, task, read: value, ...times }),
    )
    if (recorded === null) return false
    noteRecorded(feed, recorded)
    log('debug', 'reread.recorded', { feed: feed.key, ...task.ids, ...countsOf(recorded) })
    return value.requests > 0 && !isStuck(task.ids, value)
  }

  function recordFailed(feed: Feed, fault: Fault, started_at: number): void {
    const wait_s = 'retry_after_s' in fault ? (boundedWait(fault.retry_after_s) ?? 0) : 0
    // Requests of callers were first: the step is late, and nothing failed.
    if (fault.kind === 'throttled' && fault.not_requested) {
      log('info', 'check.skipped', { feed: feed.key, why: 'over_budget' })
      transact(db, () => postponeFeed(db, feed.id, clock.now() + wait_s * 1000))
      return
    }
    recordFault(feed, faultText(fault), started_at, wait_s)
  }

  /** Records a step that read nothing. The position stays, so that the next one reads the same ids. */
  function recordFault(feed: Feed, fault: string, started_at: number, wait_s = 0): void {
    const { id: feed_id, key } = feed
    const ended_at = clock.now()
    const count = outages.failed(key)
    log(count === null ? 'debug' : 'warn', 'check.cut', {
      feed: key,
      reason: 'error',
      fault,
      ...(count !== null && count > 0 && { count }),
    })
    transact(db, () => {
      const current = findFeed(db, feed_id)
      if (current === null || isOther(current, feed)) return
      advanceStreamFeed(db, feed_id, { ...current, last_fault: fault })
      const check = { feed_id, started_at, ended_at, new_items: 0, pages: 0 }
      insertCheck(db, { ...check, cut_reason: 'error' })
      postponeFeed(db, feed_id, ended_at + wait_s * 1000)
    })
  }
}

/** Prepares the texts of items for filters, and lets other work run between long ones. */
async function prepareTexts(items: readonly Item[]): Promise<void> {
  const turn = createTurns()
  for (const item of items) {
    await turn(2 * markdownOf(item).length)
    textOf(item, 'body')
  }
}

/** True when the feed was paused, or recreated, since a step of it began. */
const isOther = (current: Feed, { created_at }: Feed): boolean =>
  current.asleep || current.created_at !== created_at

/** `bytes`: what was added to the database, for one monitor and without its deliveries. */
type RecordedStep = { new_items: number; matched: number; pending: number; bytes: number }

const NOTHING: RecordedStep = { new_items: 0, matched: 0, pending: 0, bytes: 0 }
/** A row of an item that was seen, with its indexes. */
const SEEN_BYTES = 256

const countsOf = ({ new_items, matched, pending }: RecordedStep) => ({
  new_items,
  matched,
  pending,
})

/** Bytes of what is stored of items: that they were seen, and the texts of those that match or are archived. */
function bytesOf(
  { archive }: Pick<RecordDeps, 'archive'>,
  seen: ReturnType<typeof writeSeen>,
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
 * Records a step in one transaction: items seen, matches, deliveries, position. Before its commit nothing has happened
 * and the next step reads the same ids; after it no match can be lost.
 * @throws UnknownVerdicts when filters asked for verdicts that `deps.patterns` has yet to find
 */
function recordStep(
  deps: Pick<StreamDeps, 'log'> & RecordDeps,
  result: StreamResult,
): RecordedStep {
  const { db, log } = deps
  const { feed, step, proof, relisted_ms, ahead_ms, behind_ms } = result
  const { is_settling, started_at, ended_at } = result
  const feed_id = feed.id
  const arrived = new Set(step.arrived)
  const published = new Set(step.published)
  return transact(db, () => {
    const current = findFeed(db, feed_id)
    if (current === null || isOther(current, feed)) return NOTHING
    const begun = listWatchers(db, feed_id).filter((it) => it.active_from_seq === FIRST_POLL_SEQ)
    const seen = writeSeen(db, current, step.items, {
      seen_at: ended_at + ahead_ms,
      behind_ms,
      found_by: 'poll',
    })
    // An item that comes again was edited or restored.
    const round = {
      now: ended_at,
      begins: true,
      isAgain: () => true,
      hasArrived: (item: Item) =>
        arrived.has(item.name) || (published.has(item.name) && seen.fresh.has(itemKey(item))),
      behind_ms,
    }
    const hits = matchAll(deps, current, round, seen).map((hit) =>
      // It is as old as its publication.
      published.has(hit.item.name) && seen.fresh.has(itemKey(hit.item))
        ? { ...hit, first_seen_at: hit.item.created_utc * 1000 }
        : hit,
    )
    if (deps.patterns?.verdicts.lacking() === true) throw new UnknownVerdicts()
    const new_items = seen.fresh.size
    const { proven, behind, state, partial, changes } = step
    const verified_until = Math.round(step.verified_until)
    const { verified_before, is_lowered } = advanceStream(db, feed_id, {
      now: ended_at,
      went_back: step.went_back === true,
      state,
      proof,
      proven,
      behind,
      partial,
      changes: changes === undefined ? null : JSON.stringify(changes),
      verified_until,
    })
    const { hole, ...verified } =
      verified_before !== null &&
      !is_lowered &&
      step.went_back !== true &&
      isStepProof(step, feed.interval_s, ended_at)
        ? joinVerified(current, { from: verified_before, until: verified_until })
        : { ...current, hole: null }
    const audited_until =
      verified.audited_until === null ? null : Math.min(verified.audited_until, ended_at)
    recordHole(db, feed_id, hole)
    advanceStreamFeed(db, feed_id, {
      next_seq: seen.next_seq,
      last_check_at: is_settling ? current.last_check_at : ended_at,
      last_fault: null,
      rate_per_s: is_settling ? current.rate_per_s : rateAfter(current, new_items, ended_at),
      audited_from: verified.audited_from,
      audited_until,
    })
    if (is_lowered) {
      log('warn', 'monitor.proof_lowered', { feed: feed.key })
      insertEvent(db, { kind: 'proof_lowered', feed_id, at: ended_at, until_at: ended_at })
    }
    const check = { feed_id, started_at, ended_at, cut_reason: null, new_items }
    insertCheck(db, { ...check, pages: step.requests })
    const gap = { feed_id, until_at: ended_at, recorded_at: ended_at }
    if (step.went_back) {
      log('warn', 'monitor.ids_went_back', { feed: feed.key })
      const missed = { missed_estimate: null, anchor_ids: [], from_at: verified_before }
      insertGap(db, { ...gap, ...missed, reason: 'ids_went_back' })
    }
    insertIdGaps(db, rangesOf(step.unanswered), { ...gap, reason: 'unanswered' })
    insertIdGaps(db, step.skipped, { ...gap, reason: 'skipped', from_at: verified_before })
    closeIdGaps(db, feed_id, step.answered, ended_at)
    if (relisted_ms > 0) markHead(db, feed_id, ended_at, relisted_ms)
    noteGone(db, feed, step.gone, ended_at)
    endFirstPolls(
      db,
      feed_id,
      begun.map(({ id }) => id),
      seen.next_seq - 1,
    )
    return { new_items, ...deliver(deps, hits), bytes: bytesOf(deps, seen, hits) }
  })
}

/** Rounds of requests by id after one step. */
const SETTLES_MAX = 50
/** Ranges that are read again after one step. */
const REREADS_MAX = 20
/** Part of a feed's interval in which ranges are read again. */
const REREADS_SHARE = 0.3
/** So long ids wait after a request for them that failed or brought nothing. */
const REST_MS = 60_000

/** Ids to be read again: those of a gap, or the rest of a pass over recent ids. */
type RereadTask = { ids: Ids; gap: IdGap | null; is_near: boolean }

/** The ids to be read again now; null: none. Passes over the newest and over older ids take turns. */
function nextReread(
  db: RecordDeps['db'],
  feed_id: number,
  { relisted_ms, pass }: { relisted_ms: number; pass: NearPass },
  now: number,
): RereadTask | null {
  const gap = dueIdGap(db, feed_id, now)
  if (gap !== null) return { ids: { from_id: gap.from_id, to_id: gap.to_id }, gap, is_near: false }
  const recent = relisted_ms === 0 ? null : findRecent(db, feed_id)
  if (recent === null) return null
  const newest = () => nextNear(recent, pass, now)
  const older = (): Ids | null => {
    if (recent.rest !== null) return recent.rest
    const begun = nextPass(recent, { relisted_ms, now })
    if (begun !== null) transact(db, () => writePass(db, feed_id, begun))
    return begun?.rest ?? null
  }
  const near_ids = pass.is_next ? newest() : null
  const older_ids = near_ids === null ? older() : null
  const ids = near_ids ?? older_ids ?? newest()
  if (ids === null) return null
  pass.is_next = ids === older_ids
  return { ids, gap: null, is_near: ids !== older_ids }
}

const isStuck = ({ from_id, to_id }: Ids, { behind }: Reread): boolean =>
  behind?.from_id === from_id && behind.to_id === to_id

type RereadResult = {
  feed: Feed
  task: RereadTask
  read: Reread
  ahead_ms: number
  behind_ms: number
  started_at: number
  ended_at: number
}

/**
 * Records ids that were read again in one transaction: late items, matches, deliveries, and what is still missing.
 * @throws UnknownVerdicts when filters asked for verdicts that `deps.patterns` has yet to find
 */
function recordReread(deps: RecordDeps, result: RereadResult): RecordedStep {
  const { db } = deps
  const { feed, task, read, ahead_ms, behind_ms, started_at, ended_at } = result
  const feed_id = feed.id
  return transact(db, () => {
    const current = findFeed(db, feed_id)
    if (current === null || isOther(current, feed)) return NOTHING
    const seen_at = ended_at + ahead_ms
    const seen = writeSeen(db, current, read.items, { seen_at, behind_ms, found_by: 'audit' })
    const isAgain = (item: Item) => seen.changed.has(itemKey(item))
    const round = { now: ended_at, begins: false, isAgain, behind_ms }
    const hits = matchAll(deps, current, round, seen)
    if (deps.patterns?.verdicts.lacking() === true) throw new UnknownVerdicts()
    const new_items = seen.fresh.size
    advanceSeq(db, feed_id, seen.next_seq)
    const check = { feed_id, started_at, ended_at, cut_reason: null, new_items }
    insertCheck(db, { ...check, pages: read.requests })
    noteGone(db, feed, read.gone ?? [], ended_at)
    const { gap, ids, is_near } = task
    const { behind, unanswered } = read
    const rest_at = ended_at + (isStuck(ids, read) ? REST_MS : 0)
    if (gap !== null)
      settleIdGap(db, feed_id, { gap, behind, unanswered }, { now: ended_at, rest_at })
    else if (!is_near) {
      const pass = findRecent(db, feed_id)
      if (pass !== null) writePass(db, feed_id, { ...pass, rest: behind })
      if (behind === null) finishPass(db, feed_id, ended_at)
    }
    return { new_items, ...deliver(deps, hits), bytes: bytesOf(deps, seen, hits) }
  })
}

/** Drops candidates that are gone, and has stored items read by id at once, which tells the reason. */
function noteGone(db: Db, { place: source }: Feed, names: readonly string[], now: number): void {
  const keys = names.map((name) => itemKey({ name, source }))
  deleteCandidates(db, keys)
  checkSoon(db, keys, now)
}

/** Stores the items that are new to the feed, and the present form of the others. */
function writeSeen(
  db: RecordDeps['db'],
  { id: feed_id, next_seq }: Feed,
  items: readonly Item[],
  {
    seen_at,
    behind_ms,
    found_by,
  }: { seen_at: number; behind_ms: number; found_by: 'poll' | 'audit' },
): Seen & { changed: ReadonlySet<string> } {
  const known = listSeen(db, feed_id, items.map(itemKey))
  const first_seen = new Map(known.map((it) => [it.item_id, it.first_seen_at]))
  const digests = new Map(known.map((it) => [it.item_id, it.digest]))
  const created = new Map(known.map((it) => [it.item_id, it.created_at]))
  const changed = new Set<string>()
  const fresh = new Set<string>()
  const editions = new Map<string, number>()
  const rows: NewSeen[] = []
  let seq = next_seq
  for (const item of items) {
    const item_id = itemKey(item)
    const digest = shownDigest(item)
    const created_at = item.created_utc * 1000 + behind_ms
    const known_at = created.get(item_id)
    if (known_at !== undefined) {
      if (digests.get(item_id) === digest) continue
      if (isSameTime(known_at, created_at, behind_ms)) {
        changed.add(item_id)
        markChanged(db, { feed_id, item_id, digest })
        continue
      }
      // Another text of another time: the source has given the id again.
      editions.set(item_id, item.created_utc)
      forgetSeen(db, { feed_id, item_id })
    }
    created.set(item_id, created_at)
    const row = { feed_id, item_id, seq, created_at, digest }
    rows.push({ ...row, first_seen_at: seen_at, found_by })
    fresh.add(item_id)
    first_seen.set(item_id, seen_at)
    digests.set(item_id, digest)
    seq += 1
  }
  insertSeen(db, rows)
  return { ordered: items, fresh, changed, editions, first_seen, next_seq: seq }
}

/** New items a second, smoothed over steps; null before the second one. */
function rateAfter({ last_check_at, rate_per_s }: Feed, new_items: number, now: number) {
  const elapsed_s = last_check_at === null ? 0 : (now - last_check_at) / 1000
  return elapsed_s > 0 ? smooth(rate_per_s, new_items / elapsed_s) : rate_per_s
}
