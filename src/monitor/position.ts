import {
  type CutReason,
  estimateMissed,
  gapOf,
  type Head,
  headAfter,
  nextDueAt,
  rateOf,
  smooth,
} from '../core/stream.ts'
import { healOpenGaps, insertCheck, insertGap } from '../store/checks.ts'
import type { Db } from '../store/db.ts'
import { insertEvent } from '../store/events.ts'
import { moveHead, postponeStream, type Stream } from '../store/streams.ts'
import type { Ending, Finding } from './check.ts'

/** What is written beside a check's own findings: the run, and the stream's next sequence number. */
export type Position = { boot: string; next_seq: number; new_items: number }

const EMPTIED: Head = { anchors: [], head_created_at: null }

/**
 * Whether the head moves on although it was not met. Where the listing itself has no more to give it does, and
 * leaves a gap behind; else it stays, so that the next check can still reach it and close the gap.
 */
export const movesOn = (reason: CutReason): boolean =>
  reason === 'poll_overflow' || reason === 'listing_exhausted'

/** Writes down a check that met the head. `emptied`: the listing has nothing any more, and that is believed. */
export function recordReached(
  db: Db,
  stream: Stream,
  finding: Finding,
  { boot, next_seq, new_items, emptied }: Position & { emptied: boolean },
): void {
  const { look, started_at, ended_at } = finding
  moveHead(db, stream.id, {
    head: emptied ? EMPTIED : headAfter(look, true),
    next_seq,
    last_check_at: ended_at,
    last_fault: null,
    rate_per_s: rateAfter(stream, finding, new_items),
  })
  healOpenGaps(db, stream.id, ended_at)
  const check = { stream_id: stream.id, started_at, ended_at, boot, cut_reason: null }
  insertCheck(db, { ...check, new_items, pages: look.pages })
}

function rateAfter(stream: Stream, { look, ended_at }: Finding, new_items: number): number | null {
  const elapsed_s = stream.last_check_at === null ? 0 : (ended_at - stream.last_check_at) / 1000
  if (elapsed_s <= 0) return stream.rate_per_s ?? rateOf(look.rows)
  return smooth(stream.rate_per_s, new_items / elapsed_s)
}

/** Writes down a check that did not meet the head, and what it therefore cannot know. */
export function recordCut(
  db: Db,
  stream: Stream,
  finding: Finding,
  ending: Extract<Ending, { kind: 'cut' }>,
  { boot, next_seq, new_items }: Position,
): void {
  const { look, started_at, ended_at, seen_at } = finding
  const { reason, fault, retry_after_s } = ending
  const moves = movesOn(reason)
  const read = reason !== 'error' && (moves || stream.head !== null)
  moveHead(db, stream.id, {
    head: moves ? headAfter(look, false) : (stream.head ?? EMPTIED),
    next_seq,
    last_check_at: read ? ended_at : stream.last_check_at,
    last_fault: fault ?? reason,
    rate_per_s: stream.rate_per_s,
  })
  if (retry_after_s > 0)
    postponeStream(
      db,
      stream.id,
      nextDueAt(stream.key, stream.interval_s * 1000, ended_at + retry_after_s * 1000 - 1),
    )
  const check_id = insertCheck(db, {
    stream_id: stream.id,
    started_at,
    ended_at,
    boot,
    cut_reason: reason,
    new_items,
    pages: look.pages,
  })
  const { from_at, until_at } = gapOf(look)
  const missed_estimate = estimateMissed({ from_at, until_at: until_at ?? seen_at }, [
    stream.rate_per_s,
    rateOf(look.rows),
  ])
  insertGap(db, {
    stream_id: stream.id,
    check_id,
    reason,
    from_at,
    until_at: moves ? (until_at ?? seen_at) : null,
    missed_estimate,
    anchors: stream.head?.anchors ?? [],
    recorded_at: ended_at,
  })
}

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
  const from_at = stream.head?.head_created_at ?? null
  insertGap(db, {
    stream_id: stream.id,
    check_id,
    reason: kind,
    from_at,
    until_at: null,
    missed_estimate: estimateMissed({ from_at, until_at: at }, [stream.rate_per_s]),
    anchors: stream.head?.anchors ?? [],
    recorded_at: at,
  })
}
