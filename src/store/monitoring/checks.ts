import { type EventKind, type Gap, type PollEvent, WINDOW_MS } from '../../core/polling/coverage.ts'
import type { TruncationReason } from '../../core/polling/cursor.ts'
import type { Db } from '../db/connection.ts'

/** An ended check. Epoch milliseconds. */
export type NewCheck = {
  feed_id: number
  started_at: number
  ended_at: number
  run_id: string
  cut_reason: TruncationReason | null
  new_items: number
  pages: number
}

/** Inserts a finished or truncated check; returns its id. */
export function insertCheck(db: Db, row: NewCheck): number {
  const { lastInsertRowid } = db
    .query(
      `INSERT INTO checks (feed_id, started_at, ended_at, run_id, cut_reason, new_items, pages)
       VALUES ($feed_id, $started_at, $ended_at, $run_id, $cut_reason, $new_items, $pages)`,
    )
    .run(row)
  return Number(lastInsertRowid)
}

/** A range that a check could not observe. Epoch milliseconds. */
export type NewGap = {
  feed_id: number
  check_id: number
  reason: TruncationReason
  from_at: number | null
  /** Null while no newer row has been read: the gap is open, and the next finished check closes it. */
  until_at: number | null
  missed_estimate: number | null
  /** The checkpoint that was not reached. */
  anchor_ids: readonly string[]
  recorded_at: number
}

/**
 * Inserts the gap of a truncated check. It replaces the open gaps before it, which lie within it and must not be
 * estimated twice.
 */
export function insertGap(db: Db, { anchor_ids, ...row }: NewGap): void {
  db.query(
    `UPDATE gaps SET missed_estimate = 0, until_at = coalesce($until_at, until_at)
      WHERE feed_id = $feed_id AND until_at IS NULL AND closed_at IS NULL`,
  ).run({ feed_id: row.feed_id, until_at: row.until_at })
  db.query(
    `INSERT INTO gaps (feed_id, check_id, reason, from_at, until_at, missed_estimate, anchor_ids, recorded_at)
     VALUES ($feed_id, $check_id, $reason, $from_at, $until_at, $missed_estimate, $anchor_ids, $recorded_at)`,
  ).run({ ...row, anchor_ids: JSON.stringify(anchor_ids) })
}

/**
 * Start of the open gaps of a feed: no check since has reached the checkpoint. Null: there is none; `from_at` null:
 * unknown.
 */
export function openGapSince(db: Db, feed_id: number): { from_at: number | null } | null {
  return db
    .query<{ from_at: number | null }, [{ feed_id: number }]>(
      `SELECT from_at FROM gaps WHERE feed_id = $feed_id AND until_at IS NULL AND closed_at IS NULL
        ORDER BY id LIMIT 1`,
    )
    .get({ feed_id })
}

/** Closes open gaps of these feeds, whose checkpoints were reached: nothing created during the outage is missing. */
export function closeOpenGaps(db: Db, stream_ids: readonly number[], now: number): void {
  db.query(
    `UPDATE gaps SET closed_at = $now, until_at = $now
      WHERE feed_id IN (SELECT value FROM json_each($ids)) AND until_at IS NULL AND closed_at IS NULL`,
  ).run({ ids: JSON.stringify(stream_ids), now })
}

/** Records a later check that searched for the missing rows of a gap; `closed`: it found them. */
export function recordGapRetry(db: Db, gap_id: number, closed: boolean, now: number): void {
  db.query(
    `UPDATE gaps SET close_attempts = close_attempts + 1, closed_at = CASE WHEN $healed THEN $now END
      WHERE id = $gap_id AND closed_at IS NULL`,
  ).run({ gap_id, healed: closed ? 1 : 0, now })
}

/** True when the last `count` checks of a feed were all truncated for this reason. */
export function allTruncated(
  db: Db,
  feed_id: number,
  reason: TruncationReason,
  count: number,
): boolean {
  const row = db
    .query<{ n: number }, [{ feed_id: number; reason: string; count: number }]>(
      `SELECT count(*) AS n FROM (
         SELECT cut_reason FROM checks WHERE feed_id = $feed_id ORDER BY ended_at DESC, id DESC LIMIT $count)
        WHERE cut_reason = $reason`,
    )
    .get({ feed_id, reason, count })
  return row !== null && row.n === count
}

/**
 * Gaps on a monitor's feeds since `since_at`, newest first; on each feed only those from the monitor's start on it.
 * `offset_ms`: milliseconds by which the item clock is ahead.
 */
export function listGaps(
  db: Db,
  query: { monitor_id: string; since_at: number; offset_ms: number },
): Gap[] {
  return db
    .query<Gap, [typeof query]>(
      `SELECT s.key AS stream, g.reason, g.recorded_at,
              max(g.from_at, min(ms.active_since, coalesce(g.until_at, ms.active_since))) AS from_at,
              g.until_at, g.missed_estimate, g.closed_at
         FROM monitor_feeds ms
         JOIN feeds s ON s.id = ms.feed_id
         JOIN gaps g ON g.feed_id = ms.feed_id
        WHERE ms.monitor_id = $monitor_id AND g.recorded_at > $since_at
          AND g.recorded_at >= ms.active_since - $offset_ms
        ORDER BY g.recorded_at DESC, g.id DESC`,
    )
    .all(query)
}

type PruneRange = { feed_id: number; before_at: number; limit: number }

/**
 * Deletes gaps of a feed older than `before_at`, and then checks, at most `limit` of each. Returns the number of rows.
 */
export function pruneChecks(db: Db, old: PruneRange): number {
  const gaps = db
    .query<never, [PruneRange]>(
      `DELETE FROM gaps WHERE id IN (SELECT id FROM gaps
        WHERE feed_id = $feed_id AND recorded_at < $before_at LIMIT $limit)`,
    )
    .run(old).changes
  const checks = db
    .query<never, [PruneRange]>(
      `DELETE FROM checks WHERE id IN (SELECT c.id FROM checks c
        WHERE c.feed_id = $feed_id AND c.ended_at < $before_at
          AND NOT EXISTS (SELECT 1 FROM gaps g WHERE g.check_id = c.id) LIMIT $limit)`,
    )
    .run(old).changes
  return gaps + checks
}

/** Inserts an event that may have hidden items; without a feed it concerns all of them. */
export function insertEvent(
  db: Db,
  event: { kind: EventKind; feed_id: number | null; at: number; until_at: number | null },
): void {
  db.query(
    'INSERT INTO observation_events (kind, feed_id, at, until_at) VALUES ($kind, $feed_id, $at, $until_at)',
  ).run(event)
}

// After the clock was set back an event may begin after it ends; either end counts.
const EVENT_LOOKBACK_MS = 30 * WINDOW_MS

/** Events on a monitor's feeds that reach past `since_at`, newest first. */
export function listEvents(db: Db, query: { monitor_id: string; since_at: number }): PollEvent[] {
  return db
    .query<PollEvent, [{ monitor_id: string; since_at: number; from_at: number }]>(
      `SELECT e.kind, e.at, e.until_at, s.key AS stream FROM observation_events e
         LEFT JOIN feeds s ON s.id = e.feed_id
        WHERE e.at > $from_at AND max(e.at, coalesce(e.until_at, e.at)) > $since_at
          AND (e.feed_id IS NULL
               OR e.feed_id IN (SELECT feed_id FROM monitor_feeds WHERE monitor_id = $monitor_id))
        ORDER BY e.at DESC, e.id DESC`,
    )
    .all({ ...query, from_at: query.since_at - EVENT_LOOKBACK_MS })
}

/**
 * Deletes events older than `before_at` except restores: the sequence of a monitor's first match continues from the
 * latest of them.
 */
export function pruneEvents(db: Db, before_at: number): void {
  db.query(
    `DELETE FROM observation_events
      WHERE max(at, coalesce(until_at, at)) < $before_at AND kind <> 'restore_detected'`,
  ).run({ before_at })
}
