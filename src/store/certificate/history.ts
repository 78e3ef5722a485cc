import type { Db } from '../db/connection.ts'

// Records for certificates of coverage beyond the rows of today: health looks back a day, and a certificate many.
// Every function runs within the transaction of the change that it records.

/** Versions kept of one monitor; a caller may edit it in a loop. */
export const VERSIONS_MAX = 200

const utcDay = (at: number): number => Math.floor(at / 86_400_000)

/**
 * Records the present settings and feeds of a monitor, if they differ from those recorded last. `now` by our clock, ms.
 */
export function recordSettings(db: Db, monitor_id: string, now: number): void {
  db.query(
    `INSERT INTO monitor_versions (monitor_id, at, filter_spec, cadence_s, active)
     SELECT m.id, $now, m.filter_spec, m.cadence_s, m.active FROM monitors m
      WHERE m.id = $monitor_id AND NOT EXISTS (
        SELECT 1 FROM monitor_versions v
         WHERE v.id = (SELECT max(id) FROM monitor_versions WHERE monitor_id = m.id)
           AND (v.filter_spec, v.cadence_s, v.active) IS (m.filter_spec, m.cadence_s, m.active))`,
  ).run({ monitor_id, now })
  db.query(
    `DELETE FROM monitor_versions WHERE monitor_id = $monitor_id AND id <=
       (SELECT id FROM monitor_versions WHERE monitor_id = $monitor_id ORDER BY id DESC LIMIT 1 OFFSET ${VERSIONS_MAX})`,
  ).run({ monitor_id })
  db.query(
    `DELETE FROM feed_spans WHERE monitor_id = $monitor_id
       AND ended_at < (SELECT min(at) FROM monitor_versions WHERE monitor_id = $monitor_id)`,
  ).run({ monitor_id })
  // A span claims what its feed has verified by now, and nothing that the feed reads after it.
  db.query(
    `UPDATE feed_spans SET ended_at = $now, until_at = max(from_at, coalesce(
            (SELECT audited_until FROM feeds WHERE id = feed_id),
            (SELECT verified_until FROM feed_streams t WHERE t.feed_id = feed_spans.feed_id), from_at))
      WHERE monitor_id = $monitor_id AND ended_at IS NULL AND NOT EXISTS (
        SELECT 1 FROM monitor_feeds mf JOIN monitors m ON m.id = mf.monitor_id AND m.active = 1
         WHERE mf.monitor_id = $monitor_id AND mf.feed_id = feed_spans.feed_id
           AND mf.active_since = feed_spans.from_at)`,
  ).run({ monitor_id, now })
  db.query(
    `INSERT INTO feed_spans (monitor_id, feed_id, from_at)
     SELECT mf.monitor_id, mf.feed_id, mf.active_since FROM monitor_feeds mf
       JOIN monitors m ON m.id = mf.monitor_id AND m.active = 1
      WHERE mf.monitor_id = $monitor_id
     ON CONFLICT DO UPDATE SET ended_at = NULL, until_at = NULL WHERE ended_at IS NOT NULL AND ended_at = $now`,
  ).run({ monitor_id, now })
}

/** Records a range of creation times that a feed has verified; it replaces the ranges that lie within it. */
export function recordVerified(
  db: Db,
  range: { feed_id: number; from_at: number; until_at: number },
): void {
  if (range.until_at <= range.from_at) return
  db.query(
    'DELETE FROM verified_ranges WHERE feed_id = $feed_id AND from_at > $from_at AND until_at <= $until_at',
  ).run(range)
  db.query(
    `INSERT INTO verified_ranges (feed_id, from_at, until_at) VALUES ($feed_id, $from_at, $until_at)
     ON CONFLICT DO UPDATE SET until_at = max(until_at, $until_at)`,
  ).run(range)
}

/**
 * Records that a stream's step has verified everything created before `until_at`; the step before ended at `before_at`.
 * A range goes on only where no step was incomplete in between.
 */
export function extendVerified(
  db: Db,
  { feed_id, before_at, until_at }: { feed_id: number; before_at: number; until_at: number },
): void {
  const { changes } = db
    .query(
      'UPDATE verified_ranges SET until_at = max(until_at, $until_at) WHERE feed_id = $feed_id AND until_at = $before_at',
    )
    .run({ feed_id, before_at, until_at })
  if (changes === 0) recordVerified(db, { feed_id, from_at: before_at, until_at })
}

/** Counts of a feed's day. */
export type DayCount = 'polls' | 'failed' | 'audits' | 'late_items'

/** Adds to the counts of feeds on the UTC day of `now`. */
export function countToday(
  db: Db,
  feed_ids: readonly number[],
  now: number,
  counts: Partial<Record<DayCount, number>>,
): void {
  if (feed_ids.length === 0) return
  db.query(
    `INSERT INTO feed_days (day, feed_id, polls, failed, audits, late_items)
     SELECT $day, value, $polls, $failed, $audits, $late_items FROM json_each($ids) WHERE true
     ON CONFLICT DO UPDATE SET polls = polls + $polls, failed = failed + $failed,
       audits = audits + $audits, late_items = late_items + $late_items`,
  ).run({
    polls: 0,
    failed: 0,
    audits: 0,
    late_items: 0,
    ...counts,
    day: utcDay(now),
    ids: JSON.stringify(feed_ids),
  })
}

/** Settings of a monitor from `at` on, our clock. */
export type MonitorVersion = { at: number; filter_spec: string; cadence_s: number; active: boolean }

/** The settings of a monitor, oldest first. */
export const listVersions = (db: Db, monitor_id: string): MonitorVersion[] =>
  db
    .query<Omit<MonitorVersion, 'active'> & { active: number }, [{ monitor_id: string }]>(
      'SELECT at, filter_spec, cadence_s, active FROM monitor_versions WHERE monitor_id = $monitor_id ORDER BY id',
    )
    .all({ monitor_id })
    .map((it) => ({ ...it, active: it.active === 1 }))

/**
 * Deletes what no certificate reaches: days, spans, ranges and settings from before `before_at`, and counts of feeds from
 * before `counts_before_at`, which days hold by then. The settings in force at `before_at` stay.
 */
export function pruneHistory(
  db: Db,
  { before_at, counts_before_at }: { before_at: number; counts_before_at: number },
): void {
  db.query('DELETE FROM coverage_days WHERE day < $day').run({ day: utcDay(before_at) })
  db.query('DELETE FROM feed_days WHERE day < $day').run({ day: utcDay(counts_before_at) })
  db.query('DELETE FROM feed_spans WHERE ended_at < $before_at').run({ before_at })
  db.query('DELETE FROM verified_ranges WHERE until_at < $before_at').run({ before_at })
  db.query(
    `DELETE FROM monitor_versions AS old WHERE at < $before_at AND EXISTS (
       SELECT 1 FROM monitor_versions WHERE monitor_id = old.monitor_id AND id > old.id AND at <= $before_at)`,
  ).run({ before_at })
}
