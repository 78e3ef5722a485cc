import { type Head, nextDueAt, streamKey, type StreamKind } from '../core/stream.ts'
import type { Db } from './db.ts'

/** A watched feed of the platform. `head` is null until a check of it has finished. */
export type Stream = {
  id: number
  key: string
  kind: StreamKind
  place: string
  /** How often it is looked at. */
  interval_s: number
  /** No active monitor watches it. */
  asleep: boolean
  head: Head | null
  next_seq: number
  last_check_at: number | null
  last_fault: string | null
  rate_per_s: number | null
  created_at: number
}

type Row = Omit<Stream, 'head' | 'asleep'> & {
  anchors: string
  head_created_at: number | null
  next_check_at: number | null
}

const COLUMNS =
  'id, key, kind, place, interval_s, anchors, head_created_at, next_seq, next_check_at, last_check_at, last_fault, rate_per_s, created_at'

const fromRow = ({ anchors, head_created_at, next_check_at, ...row }: Row): Stream => ({
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
    .query<Row, [{ id: number }]>(`SELECT ${COLUMNS} FROM streams WHERE id = $id`)
    .get({ id })
  return row && fromRow(row)
}

/** A stream by its key; null when there is none. */
export function findStreamByKey(db: Db, key: string): Stream | null {
  const row = db
    .query<Row, [{ key: string }]>(`SELECT ${COLUMNS} FROM streams WHERE key = $key`)
    .get({ key })
  return row && fromRow(row)
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
      `INSERT OR IGNORE INTO streams (key, kind, place, interval_s, created_at)
       VALUES ($key, $kind, $place, $cadence_s, $now)`,
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

type Asked = {
  id: number
  interval_s: number
  next_check_at: number | null
  fastest_s: number | null
}

/**
 * Sets the interval of these streams, or of all, to the fastest cadence asked of each. One that nobody asks for
 * any more falls asleep; one that somebody asks for again begins a new life, with nothing to catch up on.
 */
export function settleStreams(db: Db, now: number, keys: readonly string[] | null = null): void {
  const rows = db
    .query<Asked, [{ keys: string | null }]>(
      `SELECT s.id, s.interval_s, s.next_check_at,
              (SELECT min(m.cadence_s) FROM monitor_streams ms
                 JOIN monitors m ON m.id = ms.monitor_id AND m.active = 1 AND m.removed_at IS NULL
                 JOIN customers c ON c.id = m.customer_id AND c.removed_at IS NULL
                WHERE ms.stream_id = s.id) AS fastest_s
         FROM streams s ${keys === null ? 'WHERE $keys IS NULL' : 'WHERE key IN (SELECT value FROM json_each($keys))'}`,
    )
    .all({ keys: keys === null ? null : JSON.stringify(keys) })
  for (const { id, interval_s, next_check_at, fastest_s } of rows) {
    if (fastest_s === null) {
      if (next_check_at !== null)
        db.query('UPDATE streams SET next_check_at = NULL WHERE id = $id').run({ id })
    } else if (next_check_at === null) {
      db.query(
        `UPDATE streams SET interval_s = $fastest_s, next_check_at = $now, anchors = '[]',
                head_created_at = NULL, last_check_at = NULL, last_fault = NULL, created_at = $now
          WHERE id = $id`,
      ).run({ id, fastest_s, now })
    } else if (interval_s !== fastest_s) {
      db.query(
        `UPDATE streams SET interval_s = $fastest_s,
                next_check_at = min(next_check_at, $now + 1000 * $fastest_s) WHERE id = $id`,
      ).run({ id, fastest_s, now })
    }
  }
}

/** Takes up to `limit` due streams, longest waiting first, and puts each off to its next turn. */
export function claimDueStreams(
  db: Db,
  { now, limit, busy }: { now: number; limit: number; busy: Iterable<number> },
): Stream[] {
  const due = db
    .query<Row, [{ now: number; limit: number; busy: string }]>(
      `SELECT ${COLUMNS} FROM streams
        WHERE next_check_at <= $now AND id NOT IN (SELECT value FROM json_each($busy))
        ORDER BY next_check_at, id LIMIT $limit`,
    )
    .all({ now, limit, busy: JSON.stringify([...busy]) })
  for (const { id, key, interval_s } of due)
    postponeStream(db, id, nextDueAt(key, interval_s * 1000, now))
  return due.map(fromRow)
}

/** Puts a stream's next check off, never forward; a sleeping one sleeps on. */
export function postponeStream(db: Db, id: number, until: number): void {
  db.query(
    'UPDATE streams SET next_check_at = max(next_check_at, $until) WHERE id = $id AND next_check_at IS NOT NULL',
  ).run({ id, until })
}

/** When the next stream is due; Infinity when all are asleep. */
export function nextStreamDueAt(db: Db): number {
  const row = db
    .query<{ due_at: number | null }, []>('SELECT min(next_check_at) AS due_at FROM streams')
    .get()
  return row?.due_at ?? Infinity
}

/** Moves a stream to where a check left it. */
export function moveHead(
  db: Db,
  id: number,
  to: {
    head: Head
    next_seq: number
    last_check_at: number | null
    last_fault: string | null
    rate_per_s: number | null
  },
): void {
  const { head, ...rest } = to
  db.query(
    `UPDATE streams SET anchors = $anchors, head_created_at = $head_created_at, next_seq = $next_seq,
            last_check_at = $last_check_at, last_fault = $last_fault, rate_per_s = $rate_per_s
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
            last_check_at = last_check_at + $jump_ms, created_at = created_at + $jump_ms`,
  ).run({ jump_ms })
}

/** No stream waits longer than its own interval, whatever the clock did while nobody was running. */
export function clampStreams(db: Db, now: number): void {
  db.query(
    `UPDATE streams SET next_check_at = min(next_check_at, $now + 1000 * interval_s),
            last_check_at = min(last_check_at, $now) WHERE next_check_at IS NOT NULL`,
  ).run({ now })
}
