import type { Gap } from '../core/coverage.ts'
import type { CutReason } from '../core/sight.ts'
import type { Db } from './db.ts'

/** A check as it ended. Epoch milliseconds. */
export type NewCheck = {
  stream_id: number
  started_at: number
  ended_at: number
  boot: string
  cut_reason: CutReason | null
  new_items: number
  pages: number
}

/** Writes down one finished or cut check; returns its id. */
export function insertCheck(db: Db, row: NewCheck): number {
  const { lastInsertRowid } = db
    .query(
      `INSERT INTO checks (stream_id, started_at, ended_at, boot, cut_reason, new_items, pages)
       VALUES ($stream_id, $started_at, $ended_at, $boot, $cut_reason, $new_items, $pages)`,
    )
    .run(row)
  return Number(lastInsertRowid)
}

/** A stretch that a check could not see. Epoch milliseconds. */
export type NewGap = {
  stream_id: number
  check_id: number
  reason: CutReason
  from_at: number | null
  /** Null while nothing newer has been read: the gap is open, and the next finished check closes it. */
  until_at: number | null
  missed_estimate: number | null
  /** The head that should have been reached. */
  anchors: readonly string[]
  recorded_at: number
}

/**
 * Writes down what a cut check did not see. It takes over from the gaps still open before it: they lie
 * within it, and are not to be estimated twice.
 */
export function insertGap(db: Db, { anchors, ...row }: NewGap): void {
  db.query(
    `UPDATE gaps SET missed_estimate = 0, until_at = coalesce($until_at, until_at)
      WHERE stream_id = $stream_id AND until_at IS NULL AND healed_at IS NULL`,
  ).run({ stream_id: row.stream_id, until_at: row.until_at })
  db.query(
    `INSERT INTO gaps (stream_id, check_id, reason, from_at, until_at, missed_estimate, anchors, recorded_at)
     VALUES ($stream_id, $check_id, $reason, $from_at, $until_at, $missed_estimate, $anchors, $recorded_at)`,
  ).run({ ...row, anchors: JSON.stringify(anchors) })
}

/**
 * From when on the gaps that are still open on a stream reach: no check has met the head since. Null: there is none;
 * `from_at` null: it is not known.
 */
export function openGapSince(db: Db, stream_id: number): { from_at: number | null } | null {
  return db
    .query<{ from_at: number | null }, [{ stream_id: number }]>(
      `SELECT from_at FROM gaps WHERE stream_id = $stream_id AND until_at IS NULL AND healed_at IS NULL
        ORDER BY id LIMIT 1`,
    )
    .get({ stream_id })
}

/** Checks reached the heads of these streams: nothing that was created while they could not be reached is missing. */
export function healOpenGaps(db: Db, stream_ids: readonly number[], now: number): void {
  db.query(
    `UPDATE gaps SET healed_at = $now, until_at = $now
      WHERE stream_id IN (SELECT value FROM json_each($ids)) AND until_at IS NULL AND healed_at IS NULL`,
  ).run({ ids: JSON.stringify(stream_ids), now })
}

/** A later check has looked for what was lost in a gap, and reached it or not. */
export function recordHealing(db: Db, gap_id: number, healed: boolean, now: number): void {
  db.query(
    `UPDATE gaps SET heal_tries = heal_tries + 1, healed_at = CASE WHEN $healed THEN $now END
      WHERE id = $gap_id AND healed_at IS NULL`,
  ).run({ gap_id, healed: healed ? 1 : 0, now })
}

/** Whether the last `count` checks of a stream were all cut for this reason. */
export function allCut(db: Db, stream_id: number, reason: CutReason, count: number): boolean {
  const row = db
    .query<{ n: number }, [{ stream_id: number; reason: string; count: number }]>(
      `SELECT count(*) AS n FROM (
         SELECT cut_reason FROM checks WHERE stream_id = $stream_id ORDER BY ended_at DESC, id DESC LIMIT $count)
        WHERE cut_reason = $reason`,
    )
    .get({ stream_id, reason, count })
  return row !== null && row.n === count
}

/**
 * The gaps on a monitor's streams since `since_at`, newest first; on each stream only those of the time in
 * which the monitor was on it. `offset_ms`: how far the platform's clock is ahead.
 */
export function listGaps(
  db: Db,
  query: { monitor_id: string; since_at: number; offset_ms: number },
): Gap[] {
  return db
    .query<Gap, [typeof query]>(
      `SELECT s.key AS stream, g.reason, g.recorded_at, g.from_at, g.until_at, g.missed_estimate, g.healed_at
         FROM monitor_streams ms
         JOIN streams s ON s.id = ms.stream_id
         JOIN gaps g ON g.stream_id = ms.stream_id
        WHERE ms.monitor_id = $monitor_id AND g.recorded_at > $since_at
          AND g.recorded_at >= ms.active_since - $offset_ms
        ORDER BY g.recorded_at DESC, g.id DESC`,
    )
    .all(query)
}

type Old = { stream_id: number; before_at: number; limit: number }

/** Forgets gaps of a stream older than `before_at`, and then checks, at most `limit` of each. Returns how many. */
export function pruneChecks(db: Db, old: Old): number {
  const gaps = db
    .query<never, [Old]>(
      `DELETE FROM gaps WHERE id IN (SELECT id FROM gaps
        WHERE stream_id = $stream_id AND recorded_at < $before_at LIMIT $limit)`,
    )
    .run(old).changes
  const checks = db
    .query<never, [Old]>(
      `DELETE FROM checks WHERE id IN (SELECT c.id FROM checks c
        WHERE c.stream_id = $stream_id AND c.ended_at < $before_at
          AND NOT EXISTS (SELECT 1 FROM gaps g WHERE g.check_id = c.id) LIMIT $limit)`,
    )
    .run(old).changes
  return gaps + checks
}
