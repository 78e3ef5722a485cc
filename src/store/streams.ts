import type { Head } from '../core/sight.ts'
import type { StreamKind } from '../core/stream.ts'
import type { Db } from './db.ts'

/** A watched feed of the platform. `head` is null until a check of it has finished. */
export type Stream = {
  id: number
  key: string
  kind: StreamKind
  place: string
  /** How often it is looked at. */
  interval_s: number
  /** The fastest cadence asked of it. */
  asked_s: number
  /** How far the platform has slowed it: 1 is as planned. */
  slowed: number
  /** No active monitor watches it. */
  asleep: boolean
  head: Head | null
  next_seq: number
  last_check_at: number | null
  last_fault: string | null
  /** New items a second: as of late, and in its busiest hours. */
  rate_per_s: number | null
  busy_per_s: number | null
  created_at: number
  /** When a row of it was last seen, by our clock. */
  shown_at: number | null
  /** When the newest row that was last seen of it was created. */
  top_at: number | null
  /** When it was last looked at alone, and met. */
  alone_at: number | null
  /** Whom it travels with, the round of theirs it was last whole in, and the turn of its last finished look alone. */
  convoy_id: number | null
  in_turn: number
  covered_turn: number
}

/** A stream as it is stored. */
export type StreamRow = Omit<Stream, 'head' | 'asleep'> & {
  anchors: string
  head_created_at: number | null
  next_check_at: number | null
}

/** The columns of a {@link StreamRow}. */
export const STREAM_COLUMNS = `id, key, kind, place, interval_s, asked_s, slowed, anchors, head_created_at, next_seq,
  next_check_at, last_check_at, last_fault, rate_per_s, busy_per_s, created_at, shown_at, top_at, alone_at, convoy_id, in_turn, covered_turn`

/** A stored row as a stream. */
export const streamOf = ({
  anchors,
  head_created_at,
  next_check_at,
  ...row
}: StreamRow): Stream => ({
  ...row,
  asleep: next_check_at === null,
  head:
    row.last_check_at === null
      ? null
      : { anchors: JSON.parse(anchors) as string[], head_created_at },
})

/** A stream by its id; null when there is none. */
export function findStream(db: Db, id: number): Stream | null {
  const row = db
    .query<StreamRow, [{ id: number }]>(`SELECT ${STREAM_COLUMNS} FROM streams WHERE id = $id`)
    .get({ id })
  return row && streamOf(row)
}

/** A stream by its key; null when there is none. */
export function findStreamByKey(db: Db, key: string): Stream | null {
  const row = db
    .query<StreamRow, [{ key: string }]>(`SELECT ${STREAM_COLUMNS} FROM streams WHERE key = $key`)
    .get({ key })
  return row && streamOf(row)
}

/** Puts a stream's next check off, never forward; a sleeping one sleeps on. */
export function postponeStream(db: Db, id: number, until: number): void {
  db.query(
    'UPDATE streams SET next_check_at = max(next_check_at, $until) WHERE id = $id AND next_check_at IS NOT NULL',
  ).run({ id, until })
}

/** Sets how far the platform has slowed a stream. */
export function slowStream(db: Db, id: number, pace: { slowed: number; interval_s: number }): void {
  db.query('UPDATE streams SET slowed = $slowed, interval_s = $interval_s WHERE id = $id').run({
    id,
    ...pace,
  })
}

/** When the next stream is due; Infinity when all are asleep. */
export function nextStreamDueAt(db: Db): number {
  const row = db
    .query<{ due_at: number | null }, []>('SELECT min(next_check_at) AS due_at FROM streams')
    .get()
  return row?.due_at ?? Infinity
}

/** What a check changes of its stream, beside the head. */
export type Moved = Pick<
  Stream,
  | 'next_seq'
  | 'last_check_at'
  | 'last_fault'
  | 'rate_per_s'
  | 'busy_per_s'
  | 'slowed'
  | 'interval_s'
  | 'shown_at'
  | 'top_at'
  | 'alone_at'
  | 'in_turn'
  | 'covered_turn'
>

/** Moves a stream to where a check left it. */
export function moveHead(db: Db, id: number, { head, ...rest }: Moved & { head: Head }): void {
  db.query(
    `UPDATE streams SET anchors = $anchors, head_created_at = $head_created_at, next_seq = $next_seq,
            last_check_at = $last_check_at, last_fault = $last_fault, rate_per_s = $rate_per_s,
            busy_per_s = $busy_per_s, slowed = $slowed, interval_s = $interval_s, shown_at = $shown_at, top_at = $top_at, alone_at = $alone_at,
            in_turn = $in_turn, covered_turn = $covered_turn
      WHERE id = $id`,
  ).run({
    ...rest,
    id,
    anchors: JSON.stringify(head.anchors),
    head_created_at: head.head_created_at,
  })
}

/**
 * Moves what the wall clock dates by the jump it made, so that ages and due times go on as if it had not. What was written
 * since, by the clock as it is now, is moved no further than to there, and waits an interval at most.
 */
export function rebaseStreams(db: Db, jump_ms: number, now: number): void {
  db.query(
    `UPDATE streams SET next_check_at = min(next_check_at + $jump_ms, max(next_check_at, $now + 1000 * interval_s)),
            last_check_at = min(last_check_at + $jump_ms, $now), created_at = min(created_at + $jump_ms, $now),
            shown_at = min(shown_at + $jump_ms, $now), alone_at = min(alone_at + $jump_ms, $now)`,
  ).run({ jump_ms, now })
}

/** No stream waits longer than its own interval, whatever the clock did while nobody was running. */
export function clampStreams(db: Db, now: number): void {
  db.query(
    `UPDATE streams SET next_check_at = min(next_check_at, $now + 1000 * interval_s),
            last_check_at = min(last_check_at, $now), shown_at = min(shown_at, $now),
            alone_at = min(alone_at, $now) WHERE next_check_at IS NOT NULL`,
  ).run({ now })
}
