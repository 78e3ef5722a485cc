import { auditAllowance, auditIntervalS, auditStretch } from '../../core/polling/audit.ts'
import { busyRate } from '../../core/polling/batching.ts'
import { type EventKind, type Gap, type PollEvent, WINDOW_MS } from '../../core/polling/coverage.ts'
import type { TruncationReason } from '../../core/polling/cursor.ts'
import type { Arrivals } from '../../core/polling/gap.ts'
import type { Hole } from '../../core/polling/step.ts'
import type { Db } from '../db/connection.ts'

/** An ended check. Epoch milliseconds. */
export type NewCheck = {
  feed_id: number
  started_at: number
  ended_at: number
  cut_reason: TruncationReason | null
  new_items: number
  pages: number
}

/** Inserts a finished or truncated check. */
export function insertCheck(db: Db, row: NewCheck): void {
  db.query(
    `INSERT INTO checks (feed_id, started_at, ended_at, cut_reason, new_items, pages)
     VALUES ($feed_id, $started_at, $ended_at, $cut_reason, $new_items, $pages)`,
  ).run(row)
}

/** A range that a check could not observe. Epoch milliseconds. */
type NewGap = Pick<Hole, 'reason' | 'from_at' | 'until_at' | 'recorded_at' | 'anchor_ids'> & {
  feed_id: number
  missed_estimate: number | null
}

/** Replaces the open gaps before it, which lie within it and must not be estimated twice. */
export function insertGap(db: Db, { anchor_ids = [], ...row }: NewGap): void {
  db.query(
    `UPDATE gaps SET missed_estimate = 0, until_at = coalesce($until_at, until_at)
      WHERE feed_id = $feed_id AND until_at IS NULL AND closed_at IS NULL`,
  ).run({ feed_id: row.feed_id, until_at: row.until_at })
  db.query(
    `INSERT INTO gaps (feed_id, reason, from_at, until_at, missed_estimate, anchor_ids, recorded_at)
     VALUES ($feed_id, $reason, $from_at, $until_at, $missed_estimate, $anchor_ids, $recorded_at)`,
  ).run({ ...row, anchor_ids: JSON.stringify(anchor_ids) })
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
    `UPDATE gaps SET close_attempts = close_attempts + 1, closed_at = CASE WHEN $closed THEN $now END
      WHERE id = $gap_id AND closed_at IS NULL`,
  ).run({ gap_id, closed: closed ? 1 : 0, now })
}

/**
 * Gaps on a monitor's feeds since `since_at`, and older ones of ids that are still open, newest first; on each feed only
 * those from the monitor's start on it.
 * `offset_ms`: milliseconds by which the platform's clock is ahead.
 */
export function listGaps(
  db: Db,
  query: { monitor_id: string; since_at: number; offset_ms: number },
): Gap[] {
  return db
    .query<Gap, [typeof query]>(
      `SELECT s.key AS stream, g.reason, g.recorded_at,
              max(g.from_at, min(ms.active_since, coalesce(g.until_at, ms.active_since))) AS from_at,
              g.until_at, g.missed_estimate, g.closed_at, g.from_id, g.to_id
         FROM monitor_feeds ms
         JOIN feeds s ON s.id = ms.feed_id
         JOIN gaps g ON g.feed_id = ms.feed_id
        WHERE ms.monitor_id = $monitor_id
          AND (g.recorded_at > $since_at OR (g.closed_at IS NULL AND g.from_id IS NOT NULL))
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
      `DELETE FROM checks WHERE id IN (SELECT id FROM checks
        WHERE feed_id = $feed_id AND ended_at < $before_at LIMIT $limit)`,
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

/** Keeps how late items appeared that were found behind the checkpoint. */
export function recordLateness(db: Db, id: number, lateness_ms: number): void {
  db.query('UPDATE feeds SET lateness_ms = $lateness_ms WHERE id = $id').run({ id, lateness_ms })
}

/** Advances the sequence of a feed's items for items that no poll of it has shown. */
export function advanceSeq(db: Db, id: number, next_seq: number): void {
  db.query('UPDATE feeds SET next_seq = $next_seq WHERE id = $id').run({ id, next_seq })
}

/** Makes a feed's next audit due at once: there is evidence that it lists more than polls have seen. */
export function requestAudit(db: Db, id: number, now: number): void {
  db.query('UPDATE feeds SET audit_due_at = min(audit_due_at, $now) WHERE id = $id').run({
    id,
    now,
  })
}

/** Due time of the next audit; Infinity when no feed is polled. */
export function nextAuditDueAt(db: Db, full: readonly string[] = []): number {
  const row = db
    .query<{ due_at: number | null }, [{ full: string }]>(
      `SELECT min(audit_due_at) AS due_at FROM feeds
        WHERE next_check_at IS NOT NULL AND source NOT IN (SELECT value FROM json_each($full))`,
    )
    .get({ full: JSON.stringify(full) })
  return row?.due_at ?? Infinity
}

/**
 * Sets the audit interval of every polled listing of a source: by its cadence, stretched to what the budget allows.
 * @returns Requests a minute that audits may make.
 */
export function planAudits(
  db: Db,
  {
    source,
    configured_s,
    per_minute,
  }: { source: string; configured_s: number; per_minute: number },
): number {
  const feeds = db
    .query<
      { id: number; cadence_s: number; requests: number; before_s: number },
      [{ source: string }]
    >(
      // The first page of a feed that is polled individually is a poll anyway.
      `SELECT id, requested_interval_s AS cadence_s, audit_interval_s AS before_s,
              CASE WHEN poll_batch_id IS NULL THEN max(0, coalesce(state ->> '$.audit_pages', 1) - 1)
                   ELSE coalesce(state ->> '$.audit_pages', 1) END AS requests
         FROM feeds WHERE next_check_at IS NOT NULL AND kind <> 'all' AND source = $source`,
    )
    .all({ source })
    .map((it) => ({ ...it, interval_s: auditIntervalS(it.cadence_s, configured_s) }))
  const { polls_per_minute } = db
    .query<{ polls_per_minute: number }, [{ source: string }]>(
      `SELECT coalesce(sum(60.0 / interval_s), 0) AS polls_per_minute
         FROM (SELECT max(interval_s) AS interval_s FROM feeds
                WHERE next_check_at IS NOT NULL AND kind <> 'all' AND source = $source GROUP BY coalesce(-poll_batch_id, id))`,
    )
    .get({ source }) ?? { polls_per_minute: 0 }
  const single_polls_per_minute = feeds.reduce((sum, { cadence_s }) => sum + 60 / cadence_s, 0)
  const allowance = auditAllowance({ per_minute, polls_per_minute, single_polls_per_minute })
  const stretch = auditStretch(feeds, allowance)
  const set = db.query(
    `UPDATE feeds SET audit_interval_s = $interval_s,
            audit_due_at = min(audit_due_at, coalesce(audited_at + 1000 * $interval_s, audit_due_at)) WHERE id = $id`,
  )
  for (const { id, interval_s, before_s } of feeds) {
    const stretched_s = Math.ceil(interval_s * stretch)
    if (stretched_s !== before_s) set.run({ id, interval_s: stretched_s })
  }
  return allowance
}

const HOUR_MS = 3_600_000

const RETENTION_HOURS = 168

export function countHours(
  db: Db,
  feed_id: number,
  created_at: readonly number[],
  now: number,
): void {
  const oldest = Math.floor(now / HOUR_MS) - RETENTION_HOURS
  const add = db.query(
    `INSERT INTO feed_hours (feed_id, hour, items) VALUES ($feed_id, $hour, $items)
     ON CONFLICT DO UPDATE SET items = items + $items`,
  )
  const hours = Map.groupBy(created_at, (at) => Math.floor(at / HOUR_MS))
  for (const [hour, { length: items }] of hours)
    if (hour >= oldest) add.run({ feed_id, hour, items })
}

/** The rate of a feed's busiest hours, in items a second; null while too few hours are known. */
export function busyRateOf(db: Db, feed_id: number, now: number): number | null {
  const hour = Math.floor(now / HOUR_MS)
  const rows = db
    .query<{ hour: number; items: number }, [{ feed_id: number; from: number }]>(
      'SELECT hour, items FROM feed_hours WHERE feed_id = $feed_id AND hour >= $from ORDER BY hour',
    )
    .all({ feed_id, from: hour - RETENTION_HOURS })
  const first = rows[0]?.hour
  if (first === undefined) return null
  return busyRate(
    rows.map(({ items }) => items),
    hour - first,
  )
}

/** A feed's rate in the same hour a week ago; null when unknown. */
export function lastWeekRate(db: Db, feed_id: number, at: number): number | null {
  const hour = Math.floor(at / HOUR_MS) - RETENTION_HOURS
  const row = db
    .query<{ items: number }, [{ feed_id: number; hour: number }]>(
      'SELECT items FROM feed_hours WHERE feed_id = $feed_id AND hour = $hour',
    )
    .get({ feed_id, hour })
  return row === null ? null : row.items / 3600
}

export function pruneHours(db: Db, now: number): void {
  db.query('DELETE FROM feed_hours WHERE hour < $hour').run({
    hour: Math.floor(now / HOUR_MS) - 2 * RETENTION_HOURS,
  })
}

/** Shortest span before a gap over which rates are measured, ms. */
const WINDOW_MIN_MS = 60_000
const ROWS_MAX = 5000
/**
 * A gap begins this long before the poll that it follows; later polls saw rows in it that lie above the missing ones.
 */
const FIRST_SEEN_MS = 61_000

/** Items of a feed that had been seen before a gap, as far back as the gap is long. Instants by the platform's clock. */
export function listArrivals(
  db: Db,
  feed_id: number,
  gap: { from_at: number; until_at: number },
): Pick<Arrivals, 'before' | 'known_from_at'> {
  const window_from_at = gap.from_at - Math.max(WINDOW_MIN_MS, gap.until_at - gap.from_at)
  const before = db
    .query<{ created_at: number }, [Record<string, number>]>(
      `SELECT created_at FROM feed_items
        WHERE feed_id = $feed_id AND created_at >= $window_from_at AND created_at < $until_at
          AND (created_at <= $from_at OR first_seen_at <= $seen_until_at)
        ORDER BY created_at DESC LIMIT ${ROWS_MAX}`,
    )
    .all({
      feed_id,
      window_from_at,
      ...gap,
      seen_until_at: gap.from_at + FIRST_SEEN_MS,
    })
    .map(({ created_at }) => created_at)
  const oldest = db
    .query<{ at: number | null }, [{ feed_id: number }]>(
      'SELECT min(created_at) AS at FROM feed_items WHERE feed_id = $feed_id',
    )
    .get({ feed_id })
  // A feed that never showed an item is not quiet but unknown.
  const known =
    oldest === null || oldest.at === null || oldest.at >= gap.until_at ? null : oldest.at
  const limit_at = before.length === ROWS_MAX ? (before.at(-1) ?? window_from_at) : window_from_at
  return { before, known_from_at: known === null ? null : Math.max(limit_at, known) }
}
