import { intervalOf } from '../core/planner.ts'
import { streamKey, type StreamKind } from '../core/stream.ts'
import type { Db } from './db.ts'
import type { Stream } from './streams.ts'

// Who watches which stream, and what follows from that: how often it is looked at, and whether at all.

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
