import { type EventKind, type PollEvent, WINDOW_MS } from '../core/coverage.ts'
import type { Db } from './db.ts'

/** Writes down something that may have hidden items; without a stream it concerns all of them. */
export function insertEvent(
  db: Db,
  event: { kind: EventKind; stream_id: number | null; at: number; until_at: number | null },
): void {
  db.query(
    'INSERT INTO events (kind, stream_id, at, until_at) VALUES ($kind, $stream_id, $at, $until_at)',
  ).run(event)
}

// A clock that was put back leaves an event that begins after it ends; either end counts.
const REACH_MS = 30 * WINDOW_MS

/** The events that touch a monitor's streams and reach past `since_at`, newest first. */
export function listEvents(db: Db, query: { monitor_id: string; since_at: number }): PollEvent[] {
  return db
    .query<PollEvent, [{ monitor_id: string; since_at: number; from_at: number }]>(
      `SELECT e.kind, e.at, e.until_at, s.key AS stream FROM events e
         LEFT JOIN streams s ON s.id = e.stream_id
        WHERE e.at > $from_at AND max(e.at, coalesce(e.until_at, e.at)) > $since_at
          AND (e.stream_id IS NULL
               OR e.stream_id IN (SELECT stream_id FROM monitor_streams WHERE monitor_id = $monitor_id))
        ORDER BY e.at DESC, e.id DESC`,
    )
    .all({ ...query, from_at: query.since_at - REACH_MS })
}

/** Forgets events older than `before_at`, but for restores: the first match of a monitor counts on from the last of them. */
export function pruneEvents(db: Db, before_at: number): void {
  db.query(
    `DELETE FROM events
      WHERE max(at, coalesce(until_at, at)) < $before_at AND kind <> 'restore_detected'`,
  ).run({ before_at })
}
