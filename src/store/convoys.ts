import { busyRate, type Convoy, type Traveller } from '../core/planner.ts'
import type { Head } from '../core/sight.ts'
import type { StreamKind } from '../core/stream.ts'
import type { Db } from './db.ts'

/** Streams that travel together, as their last round left them. No anchors: they have yet to make one. */
export type ConvoyState = { id: number; kind: StreamKind; head: Head | null; turn: number }

type Row = {
  id: number
  kind: StreamKind
  anchors: string
  head_created_at: number | null
  turn: number
}

/** A convoy by its id; null when there is none. */
export function findConvoy(db: Db, id: number): ConvoyState | null {
  const row = db
    .query<Row, [{ id: number }]>(
      'SELECT id, kind, anchors, head_created_at, turn FROM convoys WHERE id = $id',
    )
    .get({ id })
  if (row === null) return null
  const anchors = JSON.parse(row.anchors) as string[]
  const head = anchors.length === 0 ? null : { anchors, head_created_at: row.head_created_at }
  return { id, kind: row.kind, head, turn: row.turn }
}

/** The next number in the order in which looks began and rounds ended. */
export function nextTurn(db: Db): number {
  const row = db.query<{ n: number }, []>('UPDATE turns SET n = n + 1 RETURNING n').get()
  if (row === null) throw new Error('the counter of turns always has its row')
  return row.n
}

/** Writes down where a round has left its convoy. */
export function moveConvoy(db: Db, id: number, { head, turn }: { head: Head; turn: number }): void {
  db.query(
    'UPDATE convoys SET anchors = $anchors, head_created_at = $head_created_at, turn = $turn WHERE id = $id',
  ).run({
    id,
    turn,
    anchors: JSON.stringify(head.anchors),
    head_created_at: head.head_created_at,
  })
}

/** These streams are looked at by themselves now, before they may travel on. */
export function sendAlone(db: Db, ids: readonly number[], now: number): void {
  db.query(
    `UPDATE streams SET next_check_at = min(next_check_at, $now), in_turn = 0, covered_turn = 0
      WHERE next_check_at IS NOT NULL AND id IN (SELECT value FROM json_each($ids))`,
  ).run({ ids: JSON.stringify(ids), now })
}

/** What a round tells of members that showed nothing new: they were looked at, and are as they were. */
export function touchMembers(
  db: Db,
  ids: readonly number[],
  { now, turn, keep }: { now: number; turn: number; keep: number },
): void {
  db.query(
    `UPDATE streams SET last_check_at = $now, in_turn = $turn, rate_per_s = rate_per_s * $keep
      WHERE next_check_at IS NOT NULL AND id IN (SELECT value FROM json_each($ids))`,
  ).run({ ids: JSON.stringify(ids), now, turn, keep })
}

/** These streams came so fast together that a page was full: until more is known, that is how busy they are. */
export function raiseBusy(db: Db, rushes: readonly { id: number; rate_per_s: number }[]): void {
  const raise = db.query(
    'UPDATE streams SET busy_per_s = max(coalesce(busy_per_s, 0), $rate_per_s) WHERE id = $id',
  )
  for (const it of rushes) raise.run(it)
}

// A place that refuses us is left out of what is asked of several in silence, or spoils it for all.
const REFUSED = `(last_fault LIKE 'forbidden%' OR last_fault LIKE 'not_found%' OR last_fault LIKE 'refused%')`

/** Every stream that is looked at, as a traveller. */
export function listTravellers(db: Db): Traveller[] {
  return db
    .query<Traveller, []>(
      `SELECT id, kind, place, asked_s, convoy_id,
              CASE WHEN last_check_at IS NULL OR ${REFUSED} THEN NULL
                   ELSE coalesce(busy_per_s, rate_per_s) END AS rate_per_s
         FROM streams WHERE next_check_at IS NOT NULL ORDER BY id`,
    )
    .all()
}

/**
 * Writes a plan down. A new convoy takes over where the one stood that most of its members come from: what was a row
 * of theirs then is one still.
 */
export function writeConvoys(
  db: Db,
  travellers: readonly Traveller[],
  convoys: readonly Convoy[],
): void {
  const planned = new Map<number, number>()
  for (const { id, members } of convoys) {
    const convoy_id = id ?? insertConvoy(db, members)
    for (const it of members) planned.set(it.id, convoy_id)
  }
  const move = db.query('UPDATE streams SET convoy_id = $convoy_id WHERE id = $id')
  for (const { id, convoy_id } of travellers) {
    const next = planned.get(id) ?? null
    if (next !== convoy_id) move.run({ id, convoy_id: next })
  }
  db.run(
    'DELETE FROM convoys WHERE id NOT IN (SELECT convoy_id FROM streams WHERE convoy_id IS NOT NULL)',
  )
}

function insertConvoy(db: Db, members: readonly Traveller[]): number {
  const counts = new Map<number, number>()
  for (const { convoy_id } of members)
    if (convoy_id !== null) counts.set(convoy_id, (counts.get(convoy_id) ?? 0) + 1)
  const [from] = [...counts].toSorted((a, b) => b[1] - a[1])
  const old = from === undefined ? null : findConvoy(db, from[0])
  const { lastInsertRowid } = db
    .query(
      `INSERT INTO convoys (kind, anchors, head_created_at, turn)
       VALUES ($kind, $anchors, $head_created_at, $turn)`,
    )
    .run({
      kind: members[0]?.kind ?? 'posts',
      anchors: JSON.stringify(old?.head?.anchors ?? []),
      head_created_at: old?.head?.head_created_at ?? null,
      turn: old?.turn ?? 0,
    })
  return Number(lastInsertRowid)
}

const HOUR_MS = 3_600_000
const HOURS_KEPT = 168

/** Counts new items under the hours in which they were created, of the last week. */
export function countHours(
  db: Db,
  stream_id: number,
  created_at: readonly number[],
  now: number,
): void {
  const oldest = Math.floor(now / HOUR_MS) - HOURS_KEPT
  const add = db.query(
    `INSERT INTO stream_hours (stream_id, hour, items) VALUES ($stream_id, $hour, $items)
     ON CONFLICT DO UPDATE SET items = items + $items`,
  )
  const hours = Map.groupBy(created_at, (at) => Math.floor(at / HOUR_MS))
  for (const [hour, { length: items }] of hours)
    if (hour >= oldest) add.run({ stream_id, hour, items })
}

/** The rate of a stream's busiest hours, in items a second; null while too few hours are known. */
export function busyRateOf(db: Db, stream_id: number, now: number): number | null {
  const hour = Math.floor(now / HOUR_MS)
  const rows = db
    .query<{ hour: number; items: number }, [{ stream_id: number; from: number }]>(
      'SELECT hour, items FROM stream_hours WHERE stream_id = $stream_id AND hour >= $from ORDER BY hour',
    )
    .all({ stream_id, from: hour - HOURS_KEPT })
  const first = rows[0]?.hour
  if (first === undefined) return null
  return busyRate(
    rows.map(({ items }) => items),
    hour - first,
  )
}

/** The rate at which a stream brought items in the same hour a week ago; null when that is not known. */
export function lastWeekRate(db: Db, stream_id: number, at: number): number | null {
  const hour = Math.floor(at / HOUR_MS) - HOURS_KEPT
  const row = db
    .query<{ items: number }, [{ stream_id: number; hour: number }]>(
      'SELECT items FROM stream_hours WHERE stream_id = $stream_id AND hour = $hour',
    )
    .get({ stream_id, hour })
  return row === null ? null : row.items / 3600
}

/** Forgets hours that no rate looks back to. */
export function pruneHours(db: Db, now: number): void {
  db.query('DELETE FROM stream_hours WHERE hour < $hour').run({
    hour: Math.floor(now / HOUR_MS) - 2 * HOURS_KEPT,
  })
}
