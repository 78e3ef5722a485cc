import type { Item } from '../core/items.ts'
import { FULL_PAGE } from '../core/planner.ts'
import { type CutReason, headAfter } from '../core/sight.ts'
import { nextDueAt } from '../core/stream.ts'
import { allCut, healOpenGaps } from '../store/checks.ts'
import {
  countHours,
  moveConvoy,
  nextTurn,
  raiseBusy,
  sendAlone,
  touchMembers,
} from '../store/convoys.ts'
import { type Db, transact } from '../store/db.ts'
import { endFirstLooks, listWatchers } from '../store/monitors.ts'
import { insertSeen, listSeen } from '../store/seen.ts'
import { FIRST_LOOK } from '../store/stream-life.ts'
import { findStream, postponeStream, type Stream } from '../store/streams.ts'
import { phaseKey } from '../store/trips.ts'
import type { Ending, Finding, Report, Round } from './check.ts'
import { deliver, type DeliverDeps } from './deliver.ts'
import { type Hit, matchAll, type Seen } from './match.ts'
import {
  isNewHour,
  movesOn,
  rateIn,
  recordCut,
  recordReached,
  recordUnwritten,
  type Unwritten,
} from './position.ts'

// One transaction for all that a check has learned: items seen, matches, deliveries, the head, what was missed.
// Before its commit nothing has happened and the next check finds the same; after it no match can be lost.
// The other way, a queue between the reader and the matcher, would have to be as durable and would be a second truth.

export type RecordDeps = DeliverDeps & {
  /** The id of this run. */
  boot: string
}

/** What was written down: rows new to their streams, matches, and deliveries to be sent. */
export type Recorded = { new_items: number; matched: number; pending: number; cut: CutReason[] }

/** An emptiness that so many checks in a row have confirmed is no fault of the platform's. */
const EMPTY_BELIEVED_AFTER = 10
/** What an hour without news leaves of a rate, as {@link smooth} would, one check at a time. */
const QUIET_KEEPS = 0.8

/** Writes down what a trip has brought. */
export function record(
  deps: RecordDeps,
  report: Report,
  unwritten: ReadonlyMap<number, Unwritten> = new Map(),
): Recorded {
  const { db } = deps
  return transact(db, () => {
    const recorded: Recorded = { new_items: 0, matched: 0, pending: 0, cut: [] }
    const hits: Hit[] = []
    const in_turn = report.round === null ? 0 : nextTurn(db)
    const quiet: number[] = []
    const rushes: { id: number; rate_per_s: number }[] = []
    for (const finding of report.findings) {
      const stream = findStream(db, finding.stream.id)
      // It fell asleep while it was looked at, or began a new life: this look belongs to nobody.
      if (stream === null || stream.asleep || stream.created_at !== finding.stream.created_at)
        continue
      const late = unwritten.get(stream.id)
      if (late !== undefined) recordUnwritten(db, stream, late, deps.boot)
      else if (in_turn > 0 && isQuiet(stream, finding)) {
        quiet.push(stream.id)
        continue
      }
      const at = { turn: report.turn, in_turn }
      const { new_items, cut, found } = recordOne(deps, stream, finding, at)
      recorded.new_items += new_items
      const rate_per_s = rateIn(stream, finding, new_items)
      if (rate_per_s !== null) rushes.push({ id: stream.id, rate_per_s })
      if (cut !== null) recorded.cut.push(cut)
      hits.push(...found)
    }
    if (report.round !== null) {
      const { ended_at: now } = report.round
      if (recorded.new_items > FULL_PAGE) raiseBusy(db, rushes)
      touchMembers(db, quiet, { now, turn: in_turn, keep: QUIET_KEEPS })
      healOpenGaps(db, quiet, now)
      recordRound(db, report.round, in_turn)
    }
    const { matched, pending } = deliver(deps, hits)
    return { ...recorded, matched, pending }
  })
}

/** A member of a round that showed nothing, and has nothing to be put right. */
const isQuiet = (stream: Stream, { items, look, ended_at }: Finding): boolean =>
  items.size === 0 &&
  look.floor_at === null &&
  stream.slowed === 1 &&
  stream.last_fault === null &&
  !isNewHour(stream, ended_at)

type One = { new_items: number; cut: CutReason | null; found: Hit[] }

/** Writes a finished or cut check of one stream down. */
function recordOne(
  deps: RecordDeps,
  stream: Stream,
  finding: Finding,
  at: { turn: number; in_turn: number },
): One {
  const { db, boot } = deps
  const { ending, seen_at } = finding
  const seen = writeSeen(db, stream, finding)
  const found = matchAll(deps, stream, finding, seen)
  const believed = ending.kind === 'cut' && isBelieved(db, stream, ending)
  const { next_seq, fresh } = seen
  const new_items = fresh.size
  const created_at = [...fresh].map((name) => (finding.items.get(name)?.created_utc ?? 0) * 1000)
  countHours(db, stream.id, created_at, seen_at)
  const position = { boot, next_seq, new_items, ...at }
  if (ending.kind === 'reached' || believed)
    recordReached(db, stream, finding, { ...position, emptied: believed })
  else recordCut(db, stream, finding, ending, position)
  endLooks(db, stream, finding, next_seq - 1)
  return { new_items, cut: ending.kind === 'cut' && !believed ? ending.reason : null, found }
}

const isBelieved = (db: Db, { id }: Stream, { reason }: Extract<Ending, { kind: 'cut' }>) =>
  reason === 'empty_listing' && allCut(db, id, 'empty_listing', EMPTY_BELIEVED_AFTER)

/** Where the convoy goes on from, and who has to be looked at alone before it does. */
function recordRound(db: Db, round: Round, turn: number): void {
  const { convoy, look, strays, back, started_at, ended_at } = round
  const nowhere = { anchors: [], head_created_at: convoy.head?.head_created_at ?? null }
  const head = look === null ? nowhere : headAfter(look, look.met)
  moveConvoy(db, convoy.id, { head, turn })
  sendAlone(db, strays, ended_at)
  // They are due with the round from now on, and not once more by themselves.
  for (const it of back)
    postponeStream(db, it.id, nextDueAt(phaseKey(it), it.interval_s * 1000, started_at))
}

/** Notes every row of every page, oldest first. */
function writeSeen(db: Db, stream: Stream, { items, seen_at }: Finding): Seen {
  const known = listSeen(db, stream.id, [...items.keys()])
  const first_seen = new Map(known.map((it) => [it.item_id, it.first_seen_at]))
  const fresh = new Set<string>()
  let seq = stream.next_seq
  const ordered = oldestFirst(items)
  for (const { name, created_utc } of ordered) {
    if (first_seen.has(name)) continue
    const row = { stream_id: stream.id, item_id: name, seq, created_at: created_utc * 1000 }
    insertSeen(db, { ...row, first_seen_at: seen_at })
    fresh.add(name)
    first_seen.set(name, seen_at)
    seq += 1
  }
  return { ordered, fresh, first_seen, next_seq: seq }
}

const oldestFirst = (items: Finding['items']): Item[] =>
  [...items.values()].toReversed().toSorted((a, b) => a.created_utc - b.created_utc)

/** The first look of a monitor is over when a check that aimed at where it begins has read as far as it could. */
function endLooks(db: Db, stream: Stream, { look, ending }: Finding, last_seq: number): void {
  const { floor_at } = look
  if (floor_at === null || (ending.kind === 'cut' && !movesOn(ending.reason))) return
  const begun = listWatchers(db, stream.id).filter(
    (it) => it.active_from_seq === FIRST_LOOK && it.active_since >= floor_at,
  )
  endFirstLooks(
    db,
    stream.id,
    begun.map(({ id }) => id),
    last_seq,
  )
}
