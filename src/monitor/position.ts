import { estimateMissed, gapOf } from '../core/gap.ts'
import { FULL_PAGE, isRush, paceAfter } from '../core/planner.ts'
import { type CutReason, type Head, headAfter, startLook } from '../core/sight.ts'
import { newestAt, rateUntil, smooth } from '../core/stream-rows.ts'
import { nextDueAt } from '../core/stream.ts'
import {
  healOpenGaps,
  insertCheck,
  insertGap,
  openGapSince,
  recordHealing,
} from '../store/checks.ts'
import { busyRateOf, lastWeekRate } from '../store/convoys.ts'
import type { Db } from '../store/db.ts'
import { insertEvent } from '../store/events.ts'
import { paceOf } from '../store/stream-life.ts'
import { type Moved, moveHead, postponeStream, slowStream, type Stream } from '../store/streams.ts'
import { phaseKey } from '../store/trips.ts'
import type { Ending, Finding } from './check.ts'

/** What is written beside a check's own findings: the run, and the stream's next sequence number. */
export type Position = { boot: string; next_seq: number; new_items: number }

const NOTHING = { floor_at: null, believing: false }
const EMPTIED: Head = { anchors: [], head_created_at: null }

/**
 * Whether the head moves on although it was not met. Where the listing itself has no more to give it does, and
 * leaves a gap behind; else it stays, so that the next check can still reach it and close the gap.
 */
export const movesOn = (reason: CutReason): boolean =>
  reason === 'poll_overflow' || reason === 'listing_exhausted'

const HOUR_MS = 3_600_000
const hourOf = (at: number): number => Math.floor(at / HOUR_MS)

/** Whether a look is the first of a stream in this hour: then the rate of its busiest hours is worked out again. */
export const isNewHour = ({ last_check_at }: Stream, now: number): boolean =>
  last_check_at === null || hourOf(last_check_at) !== hourOf(now)

/**
 * Writes down a check that met the head. `emptied`: the listing has nothing any more, and that is believed. `turn`:
 * when a look at this stream alone began; `in_turn`: the round in which it was seen among others.
 */
export function recordReached(
  db: Db,
  stream: Stream,
  finding: Finding,
  at: Position & { emptied: boolean; turn: number; in_turn: number },
): void {
  const { look, started_at, ended_at, items, lost_gap } = finding
  const { boot, next_seq, new_items, emptied, turn, in_turn } = at
  const alone = in_turn === 0
  const slowed = paceAfter(stream.slowed, false)
  const busy_per_s = busyAfter(db, stream, finding, new_items)
  moveHead(db, stream.id, {
    head: emptied ? EMPTIED : headAfter(look, true),
    next_seq,
    last_check_at: ended_at,
    last_fault: null,
    rate_per_s: rateAfter(stream, finding, new_items),
    busy_per_s,
    slowed,
    interval_s: paceOf({ ...stream, slowed, busy_per_s }),
    shown_at: alone || items.size > 0 ? ended_at : stream.shown_at,
    top_at: newestAt(look.rows) ?? (alone ? null : stream.top_at),
    alone_at: alone ? ended_at : stream.alone_at,
    in_turn: alone ? stream.in_turn : in_turn,
    covered_turn: alone ? turn : stream.covered_turn,
  })
  healOpenGaps(db, [stream.id], ended_at)
  if (lost_gap !== null) recordHealing(db, lost_gap, look.healed, ended_at)
  const check = { stream_id: stream.id, started_at, ended_at, boot, cut_reason: null }
  insertCheck(db, { ...check, new_items, pages: look.pages })
}

function rateAfter(stream: Stream, finding: Finding, new_items: number): number | null {
  const latest = rateIn(stream, finding, new_items)
  return latest === null
    ? (stream.rate_per_s ?? rateUntil(finding.look.rows, finding.seen_at))
    : smooth(stream.rate_per_s, latest)
}

/** New items a second since the last check; null for a first one. */
export function rateIn(
  { last_check_at }: Stream,
  { ended_at }: Finding,
  new_items: number,
): number | null {
  const elapsed_s = last_check_at === null ? 0 : (ended_at - last_check_at) / 1000
  return elapsed_s > 0 ? new_items / elapsed_s : null
}

/** What a full page said is forgotten by as much with each check that finds less. */
const RUSH_KEEPS = 0.8

/** A page that fills says at once what the busiest hours will say only later. */
function busyAfter(db: Db, stream: Stream, finding: Finding, new_items: number): number | null {
  const { busy_per_s, asked_s } = stream
  const latest = rateIn(stream, finding, new_items)
  const full = latest !== null && new_items > FULL_PAGE
  const rushed = isRush(busy_per_s, asked_s)
  if (!full && !rushed && !isNewHour(stream, finding.ended_at)) return busy_per_s
  const usual = busyRateOf(db, stream.id, finding.seen_at)
  const known = [usual, rushed ? (busy_per_s ?? 0) * RUSH_KEEPS : null, full ? latest : null]
  const rates = known.filter((it) => it !== null)
  return rates.length === 0 ? null : Math.max(...rates)
}

/** Writes down a check that did not meet the head, and what it therefore cannot know. */
export function recordCut(
  db: Db,
  stream: Stream,
  finding: Finding,
  ending: Extract<Ending, { kind: 'cut' }>,
  { boot, next_seq, new_items, turn }: Position & { turn: number },
): void {
  const { look, started_at, ended_at, seen_at } = finding
  const { reason, fault, retry_after_s } = ending
  const moves = movesOn(reason)
  const read = reason !== 'error' && (moves || stream.head !== null)
  const slowed = fault === 'throttled' ? paceAfter(stream.slowed, true) : stream.slowed
  moveHead(db, stream.id, {
    ...kept(stream),
    head: moves ? headAfter(look, false) : (stream.head ?? EMPTIED),
    next_seq,
    last_check_at: read ? ended_at : stream.last_check_at,
    last_fault: fault ?? reason,
    slowed,
    interval_s: paceOf({ ...stream, slowed }),
    in_turn: stream.in_turn,
    covered_turn: moves ? turn : stream.covered_turn,
  })
  if (retry_after_s > 0) putOff(db, stream, ended_at + retry_after_s * 1000)
  const check_id = insertCheck(db, {
    stream_id: stream.id,
    started_at,
    ended_at,
    boot,
    cut_reason: reason,
    new_items,
    pages: look.pages,
  })
  const { from_at, until_at } = gapSince(
    db,
    stream,
    gapOf(look, lookedAt(stream, seen_at - ended_at)),
  )
  const end_at = until_at ?? seen_at
  const rates = ratesOf(db, stream, end_at)
  const missed_estimate = estimateMissed({ from_at, until_at: end_at }, rates, look.rows)
  insertGap(db, {
    stream_id: stream.id,
    check_id,
    reason,
    from_at,
    until_at: moves ? end_at : null,
    missed_estimate,
    anchors: stream.head?.anchors ?? [],
    recorded_at: ended_at,
  })
}

/** A gap as far back as the ones that are still open: whatever checks have read since, none has met the head. */
function gapSince(db: Db, { id }: Stream, { from_at, until_at }: ReturnType<typeof gapOf>) {
  const open = openGapSince(db, id)
  if (open === null) return { from_at, until_at }
  const known = [open.from_at, from_at].filter((it) => it !== null)
  return { from_at: known.length < 2 ? open.from_at : Math.min(...known), until_at }
}

// From the hours themselves: what the plan is made of may have been raised by one full page.
const ratesOf = (db: Db, { id, rate_per_s }: Stream, at: number) => ({
  recent: rate_per_s,
  usual: [busyRateOf(db, id, at), lastWeekRate(db, id, at)],
})

/** A stream that there was no leave to ask for goes on later, and slower, whoever did not give it. */
export function recordLate(db: Db, stream: Stream, now: number, wait_s: number): void {
  const slowed = paceAfter(stream.slowed, true)
  slowStream(db, stream.id, { slowed, interval_s: paceOf({ ...stream, slowed }) })
  postponeStream(db, stream.id, now + wait_s * 1000)
}

/** The first instant of a stream's phase that is not before this one. */
function putOff(db: Db, stream: Stream, at: number): void {
  postponeStream(db, stream.id, nextDueAt(phaseKey(stream), stream.interval_s * 1000, at - 1))
}

const kept = ({
  rate_per_s,
  busy_per_s,
  shown_at,
  top_at,
  alone_at,
}: Stream): Pick<Moved, 'rate_per_s' | 'busy_per_s' | 'shown_at' | 'top_at' | 'alone_at'> => ({
  rate_per_s,
  busy_per_s,
  shown_at,
  top_at,
  alone_at,
})

// What was created shortly before a check may not have been there yet for it to see.
const LATE_MS = 60_000

/** When the last finished check was, by the platform's clock, to be sure of what it has seen. */
const lookedAt = ({ last_check_at, head }: Stream, offset_ms: number): number | null =>
  last_check_at === null || head === null ? null : last_check_at + offset_ms - LATE_MS

/** A check that could not be written down when it ended: when that was, and why. */
export type Unwritten = { at: number; kind: 'storage_full' | 'poll_log_failed' }

/** What could not be written at its time, written now: the head had not moved, so this check may close it again. */
export function recordUnwritten(
  db: Db,
  stream: Stream,
  { at, kind }: Unwritten,
  boot: string,
): void {
  if (kind === 'poll_log_failed') {
    insertEvent(db, { kind, stream_id: stream.id, at, until_at: at })
    return
  }
  const check = { stream_id: stream.id, started_at: at, ended_at: at, boot, new_items: 0, pages: 0 }
  const check_id = insertCheck(db, { ...check, cut_reason: kind })
  const { from_at } = gapSince(
    db,
    stream,
    gapOf(startLook({ ...NOTHING, head: stream.head }), lookedAt(stream, 0)),
  )
  insertGap(db, {
    stream_id: stream.id,
    check_id,
    reason: kind,
    from_at,
    until_at: null,
    missed_estimate: estimateMissed({ from_at, until_at: at }, ratesOf(db, stream, at)),
    anchors: stream.head?.anchors ?? [],
    recorded_at: at,
  })
}
