import { nextDueAt } from '../core/stream.ts'
import { type ConvoyState, findConvoy, nextTurn } from './convoys.ts'
import type { Db } from './db.ts'
import { isInStep } from './steps.ts'
import { FIRST_LOOK } from './stream-life.ts'
import { type Stream, STREAM_COLUMNS, streamOf, type StreamRow } from './streams.ts'

/** A stream that is to be looked at now, with what this look is to reach. */
export type Traveller = {
  stream: Stream
  /** How far back monitors that begin here want it to read; null when none begins. */
  floor_at: number | null
  /** The gap of an earlier check that this one tries to close; null when there is none. */
  lost: Lost | null
}

/** A gap that may still be closed: the ids that were not reached. */
type Lost = { gap_id: number; anchors: readonly string[] }

/**
 * One look: at a stream, or at several in one request. `riders`: members that are out of step, and are asked for with
 * the others because it costs nothing; the round may bring them back. `turn`: when it began, in the order of turns.
 */
export type Trip = {
  travellers: Traveller[]
  riders: Traveller[]
  convoy: ConvoyState | null
  turn: number
}

/** Due streams that are looked through for trips; more are due only when nobody was there for long. */
const LOOKED_THROUGH = 2000
/** A monitor that begins further back than so many intervals makes its stream read alone. */
const FLOOR_INTERVALS = 3

/** What is under way: streams, and convoys whose round it is. */
export type UnderWay = { streams: ReadonlySet<number>; convoys: ReadonlySet<number> }

/**
 * Takes up to `limit` trips of due streams, longest waiting first, and puts each stream off to its next turn. Streams
 * of one convoy go together. One that has to be looked at alone before it may travel on waits for a round that is
 * made meanwhile: only what is seen after the round proves that it is as far as the others. It waits no longer than
 * its interval: where rounds take as long as theirs, there is always one.
 */
export function claimTrips(
  db: Db,
  { now, limit, under_way }: { now: number; limit: number; under_way: UnderWay },
): Trip[] {
  const due = db
    .query<StreamRow, [{ now: number; count: number }]>(
      `SELECT ${STREAM_COLUMNS} FROM streams WHERE next_check_at <= $now
        ORDER BY next_check_at, id LIMIT $count`,
    )
    .all({ now, count: LOOKED_THROUGH + under_way.streams.size })
  if (due.length === 0) return []
  const wants = wantsOf(db, now)
  const taken = new Set(under_way.streams)
  const rounds = new Set(under_way.convoys)
  const trips: Trip[] = []
  const go = (trip: Trip): void => {
    for (const { stream } of trip.travellers) taken.add(stream.id)
    putOff(db, trip, now)
    trips.push(trip)
  }
  const alone: Traveller[] = []
  for (const row of due) {
    if (trips.length >= limit) break
    if (taken.has(row.id)) continue
    const it = toTraveller(row, wants)
    const round = rounds.has(row.convoy_id ?? 0) ? null : roundOf(db, it, { wants, taken, now })
    if (round !== null) {
      rounds.add(round.convoy?.id ?? 0)
      go(round)
    } else if (isLate(row, now)) go(byItself(db, it))
    else alone.push(it)
  }
  for (const it of alone) {
    if (trips.length >= limit) break
    if (taken.has(it.stream.id) || rounds.has(it.stream.convoy_id ?? 0)) continue
    go(byItself(db, it))
  }
  return trips
}

const byItself = (db: Db, it: Traveller): Trip => ({
  travellers: [it],
  riders: [],
  convoy: null,
  turn: nextTurn(db),
})

/** Whether a stream should have been looked at a whole interval ago. */
const isLate = ({ next_check_at, interval_s }: StreamRow, now: number): boolean =>
  next_check_at !== null && now - next_check_at >= interval_s * 1000

type Wants = { floors: ReadonlyMap<number, number>; lost: ReadonlyMap<number, Lost> }
type Around = { wants: Wants; taken: ReadonlySet<number>; now: number }

const toTraveller = (row: StreamRow, { floors, lost }: Wants): Traveller => ({
  stream: streamOf(row),
  floor_at: floors.get(row.id) ?? null,
  lost: lost.get(row.id) ?? null,
})

/** The round that a due stream goes on; null when it goes alone. */
function roundOf(db: Db, first: Traveller, around: Around): Trip | null {
  const { convoy_id } = first.stream
  const convoy = convoy_id === null ? null : findConvoy(db, convoy_id)
  if (convoy === null || !mayTravel(first, convoy, around.now)) return null
  const travellers: Traveller[] = []
  const riders: Traveller[] = []
  for (const row of listMembers(db, convoy.id)) {
    const it = toTraveller(row, around.wants)
    if (!around.taken.has(row.id) && mayTravel(it, convoy, around.now)) travellers.push(it)
    else if (mayRide(it)) riders.push(it)
  }
  return travellers.length > 1 ? { travellers, riders, convoy, turn: 0 } : null
}

/** Whether a member out of step may be asked for with the others: it wants nothing of its own, and is not refused. */
const mayRide = ({ stream, floor_at, lost }: Traveller): boolean =>
  stream.head !== null && floor_at === null && lost === null && stream.last_fault === null

/**
 * Whether a look at the convoy proves anything of this member: it was whole in the last round, or by itself since
 * then. Then whatever stood in that round is as good an anchor for it as a row of its own.
 */
function mayTravel({ stream, floor_at, lost }: Traveller, convoy: ConvoyState, now: number) {
  const { head, interval_s } = stream
  const reaches =
    floor_at === null || floor_at > now - FLOOR_INTERVALS * Math.max(60, interval_s) * 1000
  return (
    head !== null && lost === null && reaches && (convoy.turn === 0 || isInStep(stream, convoy))
  )
}

const listMembers = (db: Db, convoy_id: number): StreamRow[] =>
  db
    .query<StreamRow, [{ convoy_id: number }]>(
      `SELECT ${STREAM_COLUMNS} FROM streams
        WHERE convoy_id = $convoy_id AND next_check_at IS NOT NULL ORDER BY place`,
    )
    .all({ convoy_id })

/** The key that gives a stream its phase: that of its convoy, so that its members are due together. */
export const phaseKey = ({ key, convoy_id }: Pick<Stream, 'key' | 'convoy_id'>): string =>
  convoy_id === null ? key : `convoy:${convoy_id}`

function putOff(db: Db, { travellers }: Trip, now: number): void {
  const interval_s = Math.max(...travellers.map(({ stream }) => stream.interval_s))
  const put = db.query('UPDATE streams SET next_check_at = $at WHERE id = $id')
  for (const { stream } of travellers)
    put.run({ id: stream.id, at: nextDueAt(phaseKey(stream), interval_s * 1000, now) })
}

const HEAL_MS = 3_600_000
const HEAL_TRIES_MAX = 3

/** What looks are to reach beyond their heads, of all streams: few have anything of the kind. */
function wantsOf(db: Db, now: number): Wants {
  const floors = db
    .query<{ stream_id: number; floor_at: number }, []>(
      `SELECT ms.stream_id, min(ms.active_since) AS floor_at FROM monitor_streams ms
         JOIN monitors m ON m.id = ms.monitor_id AND m.active = 1 AND m.removed_at IS NULL
        WHERE ms.active_from_seq = ${FIRST_LOOK} GROUP BY ms.stream_id`,
    )
    .all()
  const lost = db
    .query<{ id: number; stream_id: number; anchors: string }, [{ since: number }]>(
      `SELECT id, stream_id, anchors FROM gaps
        WHERE healed_at IS NULL AND until_at IS NOT NULL AND anchors <> '[]'
          AND heal_tries < ${HEAL_TRIES_MAX} AND recorded_at > $since ORDER BY id`,
    )
    .all({ since: now - HEAL_MS })
  return {
    floors: new Map(floors.map((it) => [it.stream_id, it.floor_at])),
    lost: new Map(
      lost.map(({ id, stream_id, anchors }) => [
        stream_id,
        { gap_id: id, anchors: JSON.parse(anchors) as string[] },
      ]),
    ),
  }
}
