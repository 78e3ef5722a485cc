import { isAhead, judgeFreshness, type Plan } from '../core/gate.ts'
import type { Item } from '../core/items.ts'
import type { CutReason } from '../core/stream.ts'
import { allCut } from '../store/checks.ts'
import { transact } from '../store/db.ts'
import { insertMatch } from '../store/matches.ts'
import { endFirstLooks, listWatchers, recordMatchAt, type Watcher } from '../store/monitors.ts'
import { insertSeen, listSeen } from '../store/seen.ts'
import { findStream, FIRST_LOOK, type Stream } from '../store/streams.ts'
import { listTargets } from '../store/webhooks.ts'
import type { Finding } from './check.ts'
import { emit, type EmitDeps } from './emit.ts'
import type { Filters } from './filters.ts'
import { movesOn, recordCut, recordReached, recordUnwritten, type Unwritten } from './position.ts'

// One transaction for all that a check has learned: items seen, matches, deliveries, the head, what was missed.
// Before its commit nothing has happened and the next check finds the same; after it no match can be lost.
// The other way, a queue between the reader and the matcher, would have to be as durable and would be a second truth.

export type RecordDeps = EmitDeps & {
  /** The id of this run. */
  boot: string
  filters: Filters
  plan_of: (name: string) => Plan
  freshness_ms: number
}

/** What was written down: rows new to the stream, matches, and deliveries to be sent. */
export type Recorded = {
  new_items: number
  matched: number
  pending: number
  cut: CutReason | null
}

const NOTHING: Recorded = { new_items: 0, matched: 0, pending: 0, cut: null }

/** An emptiness that so many checks in a row have confirmed is no fault of the platform's. */
const EMPTY_BELIEVED_AFTER = 10

/** Writes a finished or cut check down. */
export function record(
  deps: RecordDeps,
  finding: Finding,
  unwritten: Unwritten | null = null,
): Recorded {
  const { db } = deps
  const { ending } = finding
  if (ending.kind === 'void') return NOTHING
  return transact(db, () => {
    const stream = findStream(db, finding.stream.id)
    // It fell asleep while it was looked at, or began a new life: this look belongs to nobody.
    if (stream === null || stream.asleep || stream.created_at !== finding.stream.created_at)
      return NOTHING
    if (unwritten !== null) recordUnwritten(db, stream, unwritten, deps.boot)
    const seen = writeSeen(deps, stream, finding)
    const matching = matchAll(deps, stream, finding, seen)
    const believed =
      ending.kind === 'cut' &&
      ending.reason === 'empty_listing' &&
      allCut(db, stream.id, 'empty_listing', EMPTY_BELIEVED_AFTER)
    const { next_seq } = seen
    const new_items = seen.fresh.size
    const position = { boot: deps.boot, next_seq, new_items }
    if (ending.kind === 'reached' || believed)
      recordReached(db, stream, finding, { ...position, emptied: believed })
    else recordCut(db, stream, finding, ending, position)
    endLooks(deps, stream, finding, next_seq - 1)
    return {
      new_items,
      cut: ending.kind === 'cut' && !believed ? ending.reason : null,
      ...matching,
    }
  })
}

type Seen = {
  /** What this stream had never shown before. */
  fresh: ReadonlySet<string>
  /** When each item of the check was first seen, platform clock. */
  first_seen: ReadonlyMap<string, number>
  next_seq: number
}

/** Notes every row of every page, oldest first. */
function writeSeen({ db }: RecordDeps, stream: Stream, { items, seen_at }: Finding): Seen {
  const known = listSeen(db, stream.id, [...items.keys()])
  const first_seen = new Map(known.map((it) => [it.item_id, it.first_seen_at]))
  const fresh = new Set<string>()
  let seq = stream.next_seq
  for (const { name, created_utc } of oldestFirst(items)) {
    if (first_seen.has(name)) continue
    const row = { stream_id: stream.id, item_id: name, seq, created_at: created_utc * 1000 }
    insertSeen(db, { ...row, first_seen_at: seen_at })
    fresh.add(name)
    first_seen.set(name, seen_at)
    seq += 1
  }
  return { fresh, first_seen, next_seq: seq }
}

const oldestFirst = (items: Finding['items']): Item[] =>
  [...items.values()].toReversed().toSorted((a, b) => a.created_utc - b.created_utc)

/** Puts what is new to each monitor through its filter, and writes down what follows. */
function matchAll(
  deps: RecordDeps,
  stream: Stream,
  finding: Finding,
  { fresh, first_seen }: Seen,
): { matched: number; pending: number } {
  const total = { matched: 0, pending: 0 }
  if (fresh.size === 0 && finding.look.floor_at === null) return total
  const items = oldestFirst(finding.items)
  for (const watcher of listWatchers(deps.db, stream.id)) {
    // A monitor that begins here takes what others have seen before it; the ledger keeps that from counting twice.
    const begins = watcher.active_from_seq === FIRST_LOOK
    const candidates = items.filter(
      (it) =>
        (begins || fresh.has(it.name)) &&
        isAhead({ name: it.name, created_at: it.created_utc * 1000 }, watcher),
    )
    if (candidates.length === 0) continue
    const found = matchFor(deps, stream, finding, watcher, candidates, first_seen)
    total.matched += found.matched
    total.pending += found.pending
  }
  return total
}

function matchFor(
  deps: RecordDeps,
  stream: Stream,
  { ended_at: now }: Finding,
  watcher: Watcher,
  candidates: readonly Item[],
  first_seen: ReadonlyMap<string, number>,
): { matched: number; pending: number } {
  const { db } = deps
  const { id: monitor_id, customer_id } = watcher
  const filter = deps.filters(watcher)
  const total = { matched: 0, pending: 0 }
  if (filter === null) return total
  const hits = candidates.filter(
    (item) =>
      filter.matches(item) &&
      insertMatch(db, { monitor_id, item_id: item.name, stream_id: stream.id, matched_at: now }),
  )
  if (hits.length === 0) return total
  const targets = listTargets(db, customer_id, watcher.webhook_ids, monitor_id)
  const ceiling = deps.plan_of(watcher.plan).daily_deliveries
  for (const item of hits) {
    const created_at = item.created_utc * 1000
    const first_seen_at = first_seen.get(item.name) ?? created_at
    const stale = judgeFreshness({ created_at, first_seen_at }, deps.freshness_ms)
    const { spec } = filter
    total.pending += emit(deps, {
      monitor_id,
      customer_id,
      spec,
      item,
      stale,
      targets,
      ceiling,
      now,
    })
  }
  recordMatchAt(db, monitor_id, now)
  return { ...total, matched: hits.length }
}

/** The first look of a monitor is over when a check that aimed at where it begins has read as far as it could. */
function endLooks(
  { db }: RecordDeps,
  stream: Stream,
  { look, ending }: Finding,
  last_seq: number,
): void {
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
