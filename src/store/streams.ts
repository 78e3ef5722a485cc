import { intervalOf } from '../core/planner.ts'
import type { Head } from '../core/sight.ts'
import { streamKey, type StreamKind } from '../core/stream.ts'
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

export type StreamRow = Omit<Stream, 'head' | 'asleep'> & {
  anchors: string
  head_created_at: number | null
  next_check_at: number | null
}

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

/**
 * Lets a monitor watch these places, beginning afresh on each: everything from `active_since` on is its own,
 * whether or not somebody else's check has seen it.
 */
export function attachStreams(
  db: Db,
  monitor_id: string,
  places: readonly { kind: StreamKind; place: string }[],
  { active_since, cadence_s, now }: { active_since: number; cadence_s: number; now: number },
): void {
  for (const { kind, place } of places) {
    const key = streamKey({ kind, place })
    db.query(
      `INSERT OR IGNORE INTO streams (key, kind, place, interval_s, asked_s, created_at)
       VALUES ($key, $kind, $place, $cadence_s, $cadence_s, $now)`,
    ).run({ key, kind, place, cadence_s, now })
    db.query(
      `INSERT OR REPLACE INTO monitor_streams (monitor_id, stream_id, active_since, active_from_seq)
       SELECT $monitor_id, id, $active_since, ${FIRST_LOOK} FROM streams WHERE key = $key`,
    ).run({ monitor_id, key, active_since })
  }
}

/** What active_from_seq is until a check has read back to where the monitor begins. */
export const FIRST_LOOK = -1

/** Takes a monitor off all streams but those of `keep`. */
export function detachStreams(db: Db, monitor_id: string, keep: readonly string[] = []): void {
  db.query(
    `DELETE FROM monitor_streams WHERE monitor_id = $monitor_id AND stream_id NOT IN
       (SELECT id FROM streams WHERE key IN (SELECT value FROM json_each($keep)))`,
  ).run({ monitor_id, keep: JSON.stringify(keep) })
}

/** Begins anew, from `active_since`, on every stream of a monitor. */
export function restartStreams(db: Db, monitor_id: string, active_since: number): void {
  db.query(
    `UPDATE monitor_streams SET active_since = $active_since, active_from_seq = ${FIRST_LOOK}
      WHERE monitor_id = $monitor_id`,
  ).run({ monitor_id, active_since })
}

/** The keys of the streams a monitor watches. */
export function listStreamKeys(db: Db, monitor_id: string): string[] {
  return db
    .query<{ key: string }, [{ monitor_id: string }]>(
      `SELECT key FROM monitor_streams JOIN streams ON streams.id = stream_id
        WHERE monitor_id = $monitor_id ORDER BY stream_id`,
    )
    .all({ monitor_id })
    .map(({ key }) => key)
}

type Asked = Pick<Stream, 'id' | 'asked_s' | 'slowed' | 'busy_per_s'> & {
  next_check_at: number | null
  fastest_s: number | null
}

/** How often a stream is looked at, with all that is known of it. */
export const paceOf = (it: Pick<Stream, 'asked_s' | 'slowed' | 'busy_per_s'>): number =>
  Math.round(intervalOf(it.asked_s, it.busy_per_s) * it.slowed)

/**
 * Sets the pace of these streams, or of all, by the fastest cadence asked of each. One that nobody asks for any more
 * falls asleep; one that somebody asks for again begins a new life, with nothing to catch up on.
 */
export function settleStreams(db: Db, now: number, keys: readonly string[] | null = null): void {
  const rows = db
    .query<Asked, [{ keys: string | null }]>(
      `SELECT s.id, s.asked_s, s.slowed, s.busy_per_s, s.next_check_at,
              (SELECT min(m.cadence_s) FROM monitor_streams ms
                 JOIN monitors m ON m.id = ms.monitor_id AND m.active = 1 AND m.removed_at IS NULL
                 JOIN customers c ON c.id = m.customer_id AND c.removed_at IS NULL
                WHERE ms.stream_id = s.id) AS fastest_s
         FROM streams s ${keys === null ? 'WHERE $keys IS NULL' : 'WHERE key IN (SELECT value FROM json_each($keys))'}`,
    )
    .all({ keys: keys === null ? null : JSON.stringify(keys) })
  for (const { id, asked_s, slowed, busy_per_s, next_check_at, fastest_s } of rows) {
    if (fastest_s === null) {
      if (next_check_at !== null)
        db.query('UPDATE streams SET next_check_at = NULL, convoy_id = NULL WHERE id = $id').run({
          id,
        })
    } else if (next_check_at === null) {
      const interval_s = paceOf({ asked_s: fastest_s, slowed: 1, busy_per_s })
      db.query(
        `UPDATE streams SET asked_s = $fastest_s, interval_s = $interval_s, slowed = 1, next_check_at = $now,
                anchors = '[]', head_created_at = NULL, last_check_at = NULL, last_fault = NULL, created_at = $now,
                shown_at = NULL, top_at = NULL, alone_at = NULL, convoy_id = NULL, in_turn = 0, covered_turn = 0
          WHERE id = $id`,
      ).run({ id, fastest_s, interval_s, now })
      closeGaps(db, id, now)
    } else if (asked_s !== fastest_s) {
      const interval_s = paceOf({ asked_s: fastest_s, slowed, busy_per_s })
      // Only streams of one pace travel together.
      db.query(
        `UPDATE streams SET asked_s = $fastest_s, interval_s = $interval_s, convoy_id = NULL,
                next_check_at = min(next_check_at, $now + 1000 * $interval_s) WHERE id = $id`,
      ).run({ id, fastest_s, interval_s, now })
    }
  }
}

/** What was still open when a stream fell asleep is not looked for in its new life, and was never met. */
function closeGaps(db: Db, stream_id: number, now: number): void {
  db.query(
    `UPDATE gaps SET until_at = coalesce(until_at, $now), anchors = '[]'
      WHERE stream_id = $stream_id AND healed_at IS NULL`,
  ).run({ stream_id, now })
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
 * Moves what the wall clock dates by the jump it made, so that ages and due times go on as if it had not.
 */
export function rebaseStreams(db: Db, jump_ms: number): void {
  db.query(
    `UPDATE streams SET next_check_at = next_check_at + $jump_ms,
            last_check_at = last_check_at + $jump_ms, created_at = created_at + $jump_ms,
            shown_at = shown_at + $jump_ms, alone_at = alone_at + $jump_ms`,
  ).run({ jump_ms })
}

/** No stream waits longer than its own interval, whatever the clock did while nobody was running. */
export function clampStreams(db: Db, now: number): void {
  db.query(
    `UPDATE streams SET next_check_at = min(next_check_at, $now + 1000 * interval_s),
            last_check_at = min(last_check_at, $now), shown_at = min(shown_at, $now),
            alone_at = min(alone_at, $now) WHERE next_check_at IS NOT NULL`,
  ).run({ now })
}
