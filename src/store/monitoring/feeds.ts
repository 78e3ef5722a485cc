import { auditIntervalS } from '../../core/polling/audit.ts'
import { intervalOf } from '../../core/polling/batching.ts'
import { feedKey, sourceOf, type WatchedFeed } from '../../core/polling/feed.ts'
import type { Feed } from '../../core/polling/step.ts'
import type { Db } from '../db/connection.ts'

export const watchedPlaces = (db: Db, customer_id: string): string[] =>
  db
    .query<{ place: string }, [{ customer_id: string }]>(
      `SELECT DISTINCT f.place FROM monitors m
         JOIN monitor_feeds mf ON mf.monitor_id = m.id JOIN feeds f ON f.id = mf.feed_id
        WHERE m.customer_id = $customer_id AND m.removed_at IS NULL AND f.kind IN ('posts', 'comments')`,
    )
    .all({ customer_id })
    .map(({ place }) => place)

export type StoredFeed = Omit<Feed, 'asleep'> & { next_check_at: number | null }

/** The columns of a {@link StoredFeed}. */
export const FEED_COLUMNS = `id, key, source, kind, place, interval_s, requested_interval_s, backoff_factor, state, next_seq,
  next_check_at, last_check_at, last_seen_at, last_fault, rate_per_s, peak_rate_per_s, created_at, poll_batch_id, synced_epoch,
  audit_due_at, audit_interval_s, audited_at, audited_from, audited_until, lateness_ms`

/** SQL for the columns of `IdColumns` that the position of a feed `s` holds. */
export const POSITION_COLUMNS = `s.state ->> '$.proof' AS proof,
  s.state ->> '$.verified_from' AS verified_from, s.state ->> '$.verified_until' AS verified_until,
  s.state ->> '$.proven.from_id' AS proven_from, s.state ->> '$.proven.to_id' AS proven_to,
  s.state ->> '$.behind.from_id' AS behind_from, s.state ->> '$.behind.to_id' AS behind_to,
  s.state ->> '$.partial' AS partial, s.state ->> '$.changes' AS changes,
  s.state ->> '$.reread_since' AS reread_since, s.state ->> '$.reread_done_at' AS reread_done_at`

export const toFeed = ({ next_check_at, ...row }: StoredFeed): Feed => ({
  ...row,
  asleep: next_check_at === null,
})

/** These feeds by their ids. */
export const findFeeds = (db: Db, ids: readonly number[]): Map<number, Feed> =>
  new Map(
    db
      .query<StoredFeed, [{ ids: string }]>(
        `SELECT ${FEED_COLUMNS} FROM feeds WHERE id IN (SELECT value FROM json_each($ids))`,
      )
      .all({ ids: JSON.stringify(ids) })
      .map((row) => [row.id, toFeed(row)]),
  )

/** A feed by its key; null when there is none. */
export function findFeedByKey(db: Db, key: string): Feed | null {
  const row = db
    .query<StoredFeed, [{ key: string }]>(`SELECT ${FEED_COLUMNS} FROM feeds WHERE key = $key`)
    .get({ key })
  return row && toFeed(row)
}

/** Postpones a feed's next check, never advances it; an unpolled feed stays unpolled. */
export function postponeFeed(db: Db, id: number, until: number): void {
  db.query(
    'UPDATE feeds SET next_check_at = max(next_check_at, $until) WHERE id = $id AND next_check_at IS NOT NULL',
  ).run({ id, until })
}

/** Sets a feed's next check, earlier or later; an unpolled feed stays unpolled. */
export function scheduleFeed(db: Db, id: number, at: number): void {
  db.query('UPDATE feeds SET next_check_at = $at WHERE id = $id AND next_check_at IS NOT NULL').run(
    { id, at },
  )
}

/** Makes feeds due now whose last poll did not reach the platform. */
export function pollUnreached(db: Db, now: number): void {
  db.query(
    `UPDATE feeds SET next_check_at = min(next_check_at, $now)
      WHERE next_check_at IS NOT NULL AND (last_fault IN ('unavailable', 'timeout') OR last_fault GLOB 'unavailable:[a-z]*')`,
  ).run({ now })
}

export function slowFeed(
  db: Db,
  id: number,
  pace: { backoff_factor: number; interval_s: number },
): void {
  db.query(
    'UPDATE feeds SET backoff_factor = $backoff_factor, interval_s = $interval_s WHERE id = $id',
  ).run({
    id,
    ...pace,
  })
}

/**
 * Due time of the next feed; Infinity when there is none. A step of one that is read by ids may take longer than its
 * interval, and does not count while it lasts. `listings` false: only those count.
 */
export function nextFeedDueAt(
  db: Db,
  {
    in_progress = new Set(),
    full = [],
  }: { in_progress?: ReadonlySet<number>; full?: readonly string[] } = {},
): number {
  const row = db
    .query<{ due_at: number }, [{ busy: string; full: string }]>(
      `SELECT next_check_at AS due_at FROM feeds
        WHERE next_check_at IS NOT NULL
          AND iif(kind = 'all', id NOT IN (SELECT value FROM json_each($busy)), source NOT IN (SELECT value FROM json_each($full)))
        ORDER BY next_check_at LIMIT 1`,
    )
    .get({ busy: JSON.stringify([...in_progress]), full: JSON.stringify(full) })
  return row?.due_at ?? Infinity
}

export type FeedProgress = Pick<
  Feed,
  | 'state'
  | 'next_seq'
  | 'last_check_at'
  | 'last_seen_at'
  | 'last_fault'
  | 'rate_per_s'
  | 'peak_rate_per_s'
  | 'backoff_factor'
  | 'interval_s'
  | 'synced_epoch'
  | 'audit_due_at'
  | 'audited_at'
  | 'audited_from'
  | 'audited_until'
  | 'lateness_ms'
>

export function advanceFeed(db: Db, id: number, progress: FeedProgress): void {
  db.query(
    `UPDATE feeds SET state = $state, next_seq = $next_seq, last_check_at = $last_check_at, last_seen_at = $last_seen_at,
            last_fault = $last_fault, rate_per_s = $rate_per_s, peak_rate_per_s = $peak_rate_per_s,
            backoff_factor = $backoff_factor, interval_s = $interval_s, synced_epoch = $synced_epoch,
            audit_due_at = $audit_due_at, audited_at = $audited_at, audited_from = $audited_from,
            audited_until = $audited_until, lateness_ms = $lateness_ms
      WHERE id = $id`,
  ).run({ id, ...progress })
}

/**
 * Shifts instants of the wall clock by a jump, so that ages and due times continue unchanged. Instants written since
 * the jump move no further than to now, and no wait exceeds one interval.
 */
export function rebaseFeeds(db: Db, jump_ms: number, now: number): void {
  db.query(
    `UPDATE feeds SET next_check_at = min(next_check_at + $jump_ms, max(next_check_at, $now + 1000 * interval_s)),
            last_check_at = min(last_check_at + $jump_ms, $now), created_at = min(created_at + $jump_ms, $now),
            audit_due_at = min(audit_due_at + $jump_ms, max(audit_due_at, $now + 1000 * audit_interval_s)),
            audited_at = min(audited_at + $jump_ms, $now)`,
  ).run({ jump_ms, now })
}

/** Limits every wait to the feed's interval: the clock may have changed while the daemon was down. */
export function clampFeeds(db: Db, now: number): void {
  db.query(
    `UPDATE feeds SET next_check_at = min(next_check_at, $now + 1000 * interval_s),
            last_check_at = min(last_check_at, $now), audited_at = min(audited_at, $now),
            audit_due_at = min(audit_due_at, $now + 1000 * audit_interval_s) WHERE next_check_at IS NOT NULL`,
  ).run({ now })
}

// Assignment of monitors to feeds, which determines the interval of each feed and whether it is polled at all.

/**
 * Adds these places to a monitor, starting fresh on each: every item from `active_since` on is new to it, whether or
 * not another monitor's check has seen it.
 */
export function attachFeeds(
  db: Db,
  monitor_id: string,
  places: readonly WatchedFeed[],
  { active_since, cadence_s, now }: { active_since: number; cadence_s: number; now: number },
): void {
  const audit_interval_s = auditIntervalS(cadence_s, 0)
  for (const it of places) {
    const key = feedKey(it)
    const { kind, place } = it
    db.query(
      `INSERT OR IGNORE INTO feeds (key, source, kind, place, interval_s, requested_interval_s, audit_interval_s, created_at)
       VALUES ($key, $source, $kind, $place, $cadence_s, $cadence_s, $audit_interval_s, $now)`,
    ).run({ key, source: sourceOf(it), kind, place, cadence_s, audit_interval_s, now })
    db.query(
      `INSERT OR REPLACE INTO monitor_feeds (monitor_id, feed_id, active_since, active_from_seq)
       SELECT $monitor_id, id, $active_since, ${FIRST_POLL_SEQ} FROM feeds WHERE key = $key`,
    ).run({ monitor_id, key, active_since })
  }
}

/** Value of active_from_seq until a check has read back to the monitor's start. */
export const FIRST_POLL_SEQ = -1

export function detachFeeds(db: Db, monitor_id: string, keep: readonly string[] = []): void {
  db.query(
    `DELETE FROM monitor_feeds WHERE monitor_id = $monitor_id AND feed_id NOT IN
       (SELECT id FROM feeds WHERE key IN (SELECT value FROM json_each($keep)))`,
  ).run({ monitor_id, keep: JSON.stringify(keep) })
}

export function restartFeeds(db: Db, monitor_id: string, active_since: number): void {
  db.query(
    `UPDATE monitor_feeds SET active_since = $active_since, active_from_seq = ${FIRST_POLL_SEQ}
      WHERE monitor_id = $monitor_id`,
  ).run({ monitor_id, active_since })
}

export function listFeedKeys(db: Db, monitor_id: string): string[] {
  return db
    .query<{ key: string }, [{ monitor_id: string }]>(
      `SELECT key FROM monitor_feeds JOIN feeds ON feeds.id = feed_id
        WHERE monitor_id = $monitor_id ORDER BY feed_id`,
    )
    .all({ monitor_id })
    .map(({ key }) => key)
}

type FeedDemand = Pick<
  Feed,
  'id' | 'requested_interval_s' | 'backoff_factor' | 'peak_rate_per_s'
> & {
  next_check_at: number | null
  fastest_s: number | null
}

/** The poll interval of a feed from all known facts. */
export const paceOf = (
  it: Pick<Feed, 'requested_interval_s' | 'backoff_factor' | 'peak_rate_per_s'>,
): number => Math.round(intervalOf(it.requested_interval_s, it.peak_rate_per_s) * it.backoff_factor)

/**
 * Sets the interval of these feeds, or of all, by the fastest cadence of their monitors. A feed without monitors is no
 * longer polled; one that gets a monitor again starts over, with nothing to catch up on.
 */
export function updateFeedPace(db: Db, now: number, keys: readonly string[] | null = null): void {
  const rows = db
    .query<FeedDemand, [{ keys: string | null }]>(
      `SELECT s.id, s.requested_interval_s, s.backoff_factor, s.peak_rate_per_s, s.next_check_at,
              (SELECT min(m.cadence_s) FROM monitor_feeds ms
                 JOIN monitors m ON m.id = ms.monitor_id AND m.active = 1 AND m.removed_at IS NULL
                 JOIN customers c ON c.id = m.customer_id AND c.removed_at IS NULL
                WHERE ms.feed_id = s.id) AS fastest_s
         FROM feeds s ${keys === null ? 'WHERE $keys IS NULL' : 'WHERE key IN (SELECT value FROM json_each($keys))'}`,
    )
    .all({ keys: keys === null ? null : JSON.stringify(keys) })
  for (const {
    id,
    requested_interval_s,
    backoff_factor,
    peak_rate_per_s,
    next_check_at,
    fastest_s,
  } of rows) {
    if (fastest_s === null) {
      if (next_check_at !== null)
        db.query('UPDATE feeds SET next_check_at = NULL, poll_batch_id = NULL WHERE id = $id').run({
          id,
        })
    } else if (next_check_at === null) {
      const interval_s = paceOf({
        requested_interval_s: fastest_s,
        backoff_factor: 1,
        peak_rate_per_s,
      })
      db.query(
        `UPDATE feeds SET requested_interval_s = $fastest_s, interval_s = $interval_s, backoff_factor = 1, next_check_at = $now,
                last_check_at = NULL, last_seen_at = NULL, last_fault = NULL, created_at = $now,
                poll_batch_id = NULL, synced_epoch = 0, audit_due_at = iif(kind = 'all', NULL, $now),
                audited_at = NULL, audited_from = NULL, audited_until = NULL, state = NULL
          WHERE id = $id`,
      ).run({ id, fastest_s, interval_s, now })
      closeGaps(db, id, now)
    } else if (requested_interval_s !== fastest_s) {
      const interval_s = paceOf({
        requested_interval_s: fastest_s,
        backoff_factor,
        peak_rate_per_s,
      })
      // A batch contains only feeds of one interval.
      db.query(
        `UPDATE feeds SET requested_interval_s = $fastest_s, interval_s = $interval_s, poll_batch_id = NULL,
                next_check_at = min(next_check_at, $now + 1000 * $interval_s) WHERE id = $id`,
      ).run({ id, fastest_s, interval_s, now })
    }
  }
}

/** Closes the gaps left open when polling of a feed stopped: they are not searched for after a restart. */
function closeGaps(db: Db, feed_id: number, now: number): void {
  db.query(
    `UPDATE gaps SET until_at = coalesce(until_at, $now), anchor_ids = '[]', retry_at = NULL
      WHERE feed_id = $feed_id AND closed_at IS NULL`,
  ).run({ feed_id, now })
}
