import type { Item } from '../core/items.ts'
import type { Fault } from '../core/outcome.ts'
import { type CutReason, type Look, startLook } from '../core/sight.ts'
import type { Watch } from '../gateway/watch.ts'
import type { ConvoyState } from '../store/convoys.ts'
import type { Db } from '../store/db.ts'
import { settleRider } from '../store/steps.ts'
import type { Stream } from '../store/streams.ts'
import type { Traveller, Trip } from '../store/trips.ts'
import { type LookDeps, readBack } from './read-back.ts'
import { feedOf, splitRound } from './round.ts'

/** How a check of a stream ended. */
export type Ending =
  | { kind: 'reached' }
  | { kind: 'cut'; reason: CutReason; fault: string | null; retry_after_s: number }

/** What a check of one stream has seen. Instants `*_at` are by our clock, `seen_at` is by the platform's. */
export type Finding = {
  stream: Stream
  look: Look
  items: ReadonlyMap<string, Item>
  ending: Ending
  /** The gap whose loss was looked for. */
  lost_gap: number | null
  started_at: number
  ended_at: number
  seen_at: number
}

/** What a trip has brought: what each stream showed, and where that leaves the convoy. */
export type Report = {
  findings: Finding[]
  /** Null for a stream by itself, and when nothing of the round counts. */
  round: Round | null
  /** When the trip of a stream by itself began, in the order of turns. */
  turn: number
}

/** What a round of several streams leaves behind for the next. */
export type Round = {
  convoy: ConvoyState
  /** All rows of the round, of whatever member; null: it showed none, and the convoy has no anchors any more. */
  look: Look | null
  /** Members that have to be looked at by themselves, because the round proves nothing of them. */
  strays: number[]
  /** Members that were out of step, and are in step again. */
  back: Stream[]
  started_at: number
  ended_at: number
}

/** A trip that was no check at all: nothing of it is written down. `wait_s`: how long there is nobody to ask. */
export type Void = {
  why: 'stale_listing' | 'stopping' | 'over_budget' | 'throttled'
  wait_s: number
}

// An old copy that is served for more than this many intervals is believed: nothing is lost by it, because the
// head only moves to what was read and old anchors stay.
const BELIEVE_INTERVALS = 2.5

/** Makes a trip. Reads only; what it learned is for {@link record}. */
export async function lookAt(deps: LookDeps & { db: Db }, trip: Trip): Promise<Report | Void> {
  const { travellers, riders, convoy, turn } = trip
  if (convoy !== null) return lookAtAll(deps, { travellers, riders, convoy })
  const [only] = travellers
  if (only === undefined) return { why: 'stopping', wait_s: 0 }
  const finding = await lookAtOne(deps, only)
  return 'why' in finding ? finding : { findings: [finding], round: null, turn }
}

async function lookAtOne(
  deps: LookDeps,
  { stream, floor_at, lost }: Traveller,
): Promise<Finding | Void> {
  const { watch, clock } = deps
  const started_at = clock.now()
  const { head } = stream
  const believing = isBelieving(stream, started_at)
  const lost_anchors = lost?.anchors ?? null
  const start = startLook({ head, floor_at, believing, lost: lost_anchors, kind: stream.kind })
  const { look, items, ending } = await readBack(deps, stream, start)
  const lost_gap = lost?.gap_id ?? null
  const finding = (how: Ending): Finding => {
    const ended_at = clock.now()
    const seen_at = ended_at + watch.clock_offset_ms()
    return { stream, look, items, ending: how, lost_gap, started_at, ended_at, seen_at }
  }
  switch (ending.kind) {
    case 'reached':
      return finding({ kind: 'reached' })
    case 'cut':
      return finding(cut(ending.reason))
    case 'empty':
      return finding(await explainEmpty(watch, stream))
    case 'fault':
      return voidBy(ending.fault, look.pages) ?? finding(cutBy(ending.fault))
    case 'stale':
      return { why: 'stale_listing', wait_s: 0 }
    case 'stopping':
      return { why: 'stopping', wait_s: 0 }
  }
}

async function lookAtAll(
  deps: LookDeps & { db: Db },
  { travellers, riders, convoy }: Pick<Trip, 'travellers' | 'riders'> & { convoy: ConvoyState },
): Promise<Report | Void> {
  const { watch, clock, db } = deps
  const started_at = clock.now()
  const floors = travellers.flatMap(({ floor_at }) => floor_at ?? [])
  const floor_at = floors.length === 0 ? null : Math.min(...floors)
  const believing = travellers.every(({ stream }) => isBelieving(stream, started_at))
  const start = startLook({ head: convoy.head, floor_at, believing, kind: convoy.kind })
  const feed = feedOf([...travellers, ...riders])
  const { look, items, ending } = await readBack(deps, feed, start)
  const ended_at = clock.now()
  const at = { started_at, ended_at, seen_at: ended_at + watch.clock_offset_ms() }
  switch (ending.kind) {
    case 'reached':
    case 'cut':
      return splitRound({
        travellers,
        // Some have come home since the round set out, and are as far as it now.
        riders: riders.flatMap(({ stream }) => settleRider(db, stream.id, convoy) ?? []),
        convoy,
        look,
        items,
        at,
        whole: ending.kind === 'reached',
      })
    case 'empty':
      return nothingOf(travellers, convoy, at)
    case 'fault': {
      // Who of them is refused, the platform does not say.
      if (ending.fault.kind === 'forbidden' || ending.fault.kind === 'not_found')
        return nothingOf(travellers, convoy, at)
      const made = cutBy(ending.fault)
      return (
        // Nothing of a round that failed is kept, so nothing speaks for keeping what it had read.
        voidBy(ending.fault, 0) ?? {
          findings: travellers.map(({ stream, floor_at: own_floor }) => ({
            stream,
            look: startLook({ head: stream.head, floor_at: own_floor, believing: false }),
            items: new Map(),
            ending: made,
            lost_gap: null,
            ...at,
          })),
          round: null,
          turn: 0,
        }
      )
    }
    case 'stale':
      return { why: 'stale_listing', wait_s: 0 }
    case 'stopping':
      return { why: 'stopping', wait_s: 0 }
  }
}

/** A round that proves nothing of anybody: each is looked at alone. */
const nothingOf = (
  travellers: readonly Traveller[],
  convoy: ConvoyState,
  { started_at, ended_at }: Pick<Finding, 'started_at' | 'ended_at'>,
): Report => ({
  findings: [],
  round: {
    convoy,
    look: null,
    strays: travellers.map(({ stream }) => stream.id),
    back: [],
    started_at,
    ended_at,
  },
  turn: 0,
})

function isBelieving({ last_check_at, interval_s }: Stream, now: number): boolean {
  const silent_ms = last_check_at === null ? 0 : now - last_check_at
  return silent_ms > BELIEVE_INTERVALS * interval_s * 1000
}

const cut = (reason: CutReason): Ending => ({ kind: 'cut', reason, fault: null, retry_after_s: 0 })

const cutBy = (fault: Fault): Ending => ({
  kind: 'cut',
  reason: 'error',
  fault: faultText(fault),
  retry_after_s: 'retry_after_s' in fault ? (fault.retry_after_s ?? 0) : 0,
})

/**
 * What our own budget did not let us ask is no check that was cut: it is one that is late. So is one that the platform
 * would not answer yet, before anything was read that had better be kept; the next one tells what was lost by waiting.
 */
function voidBy(fault: Fault, pages_read: number): Void | null {
  if (fault.kind !== 'throttled') return null
  const wait_s = fault.retry_after_s ?? 0
  if (fault.unasked) return { why: 'over_budget', wait_s }
  return pages_read === 0 ? { why: 'throttled', wait_s } : null
}

/** A place that shows nothing any more may have been closed; its own page tells. */
async function explainEmpty(watch: Watch, { kind, place }: Stream): Promise<Ending> {
  if (kind !== 'posts' && kind !== 'comments') return cut('empty_listing')
  const verdict = await watch.subforum(place)
  if (verdict.kind !== 'refused') return cut('empty_listing')
  return { ...cutBy({ kind: 'forbidden', reason: null }), ...named(verdict.why) }
}

const named = (why: string | null) => (why === null ? {} : { fault: `refused:${why}` })

/** A fault in a word, such as `throttled` or `forbidden:private`: for the row and the log. */
function faultText(fault: Fault): string {
  if ('reason' in fault && fault.reason !== null) return `${fault.kind}:${fault.reason}`
  if ('status' in fault && fault.status !== null) return `${fault.kind}:${fault.status}`
  return fault.kind
}
