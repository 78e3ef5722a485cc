import type { Thresholds } from '../../core/filter/spec.ts'
import { type Item, itemKey } from '../../core/forum/items.ts'
import type { Db } from '../db/connection.ts'
import { readIds, type Watcher, type WatcherRow } from './monitors.ts'

/** An item that matches except for a threshold that it may still reach. */
export type MatchCandidate = {
  watcher: Watcher
  item: Item
  feed_id: number
  thresholds: Thresholds
  first_seen_at: number
  /** Platform clock: instant from which it is too old. */
  until_at: number
}

/** Inserts a candidate for rechecks; does nothing when it exists already or has matched. */
export function insertCandidate(db: Db, it: MatchCandidate, now: number): void {
  const { watcher, item, thresholds, ...row } = it
  db.query(
    `INSERT OR IGNORE INTO candidates
       (monitor_id, item_id, feed_id, item, min_score, min_comments, first_seen_at, until_at, rechecked_at)
     SELECT $monitor_id, $item_id, $feed_id, $item, $min_score, $min_comments, $first_seen_at, $until_at, $now
      WHERE NOT EXISTS (SELECT 1 FROM matches WHERE monitor_id = $monitor_id AND item_id = $item_id)`,
  ).run({
    ...row,
    ...thresholds,
    monitor_id: watcher.id,
    item_id: itemKey(item),
    item: JSON.stringify(item),
    now,
  })
}

/** Items last rechecked before `before_at`, longest ago first, each once. */
export function listDueCandidates(db: Db, before_at: number, limit: number): string[] {
  return db
    .query<{ item_id: string }, [{ before_at: number; limit: number }]>(
      `SELECT item_id FROM candidates WHERE rechecked_at <= $before_at
        GROUP BY item_id ORDER BY min(rechecked_at), item_id LIMIT $limit`,
    )
    .all({ before_at, limit })
    .map(({ item_id }) => item_id)
}

/** Last recheck of the candidate that waited longest; Infinity when there is none. */
export function oldestRecheckAt(db: Db): number {
  const row = db
    .query<{ at: number | null }, []>('SELECT min(rechecked_at) AS at FROM candidates')
    .get()
  return row?.at ?? Infinity
}

type Row = WatcherRow & {
  item: string
  feed_id: number
  min_score: number | null
  min_comments: number | null
  first_seen_at: number
  until_at: number
}

export function listCandidates(db: Db, item_ids: readonly string[]): MatchCandidate[] {
  return db
    .query<Row, [{ ids: string }]>(
      `SELECT c.item, c.feed_id, c.min_score, c.min_comments, c.first_seen_at, c.until_at,
              m.id, m.customer_id, u.plan, m.webhook_ids, m.baseline_item_id, m.updated_at, m.attention,
              m.relevance, m.active_since, 0 AS active_from_seq
         FROM candidates c
         JOIN monitors m ON m.id = c.monitor_id AND m.active = 1 AND m.removed_at IS NULL
         JOIN customers u ON u.id = m.customer_id AND u.removed_at IS NULL
        WHERE c.item_id IN (SELECT value FROM json_each($ids)) ORDER BY m.created_at, m.id`,
    )
    .all({ ids: JSON.stringify(item_ids) })
    .map((row) => {
      const { item, feed_id, min_score, min_comments, first_seen_at, until_at, ...watcher } = row
      return {
        watcher: { ...watcher, webhook_ids: readIds(watcher.webhook_ids) },
        item: JSON.parse(item) as Item,
        feed_id,
        thresholds: { min_score, min_comments },
        first_seen_at,
        until_at,
      }
    })
}

export function touchCandidates(db: Db, item_ids: readonly string[], now: number): void {
  db.query(
    'UPDATE candidates SET rechecked_at = $now WHERE item_id IN (SELECT value FROM json_each($ids))',
  ).run({ ids: JSON.stringify(item_ids), now })
}

export function deleteCandidate(db: Db, monitor_id: string, item_id: string): void {
  db.query('DELETE FROM candidates WHERE monitor_id = $monitor_id AND item_id = $item_id').run({
    monitor_id,
    item_id,
  })
}

/** Deletes the candidates of items that are gone, of every monitor. */
export function deleteCandidates(db: Db, item_ids: readonly string[]): void {
  if (item_ids.length === 0) return
  db.query('DELETE FROM candidates WHERE item_id IN (SELECT value FROM json_each($ids))').run({
    ids: JSON.stringify(item_ids),
  })
}

/** Deletes candidates that are too old, or whose monitor is no longer active. `now`: platform clock. */
export function pruneCandidates(db: Db, now: number): void {
  db.query(
    `DELETE FROM candidates WHERE until_at < $now
        OR monitor_id NOT IN (SELECT id FROM monitors WHERE active = 1 AND removed_at IS NULL)`,
  ).run({ now })
}

/** Shifts instants of the local clock by a jump, but not past now: some candidates may have been rechecked since. */
export function rebaseCandidates(db: Db, jump_ms: number, now: number): void {
  db.query('UPDATE candidates SET rechecked_at = min(rechecked_at + $jump_ms, $now)').run({
    jump_ms,
    now,
  })
}

/** Limits instants to now: the clock may have been set back. */
export function clampCandidates(db: Db, now: number): void {
  db.query('UPDATE candidates SET rechecked_at = min(rechecked_at, $now)').run({ now })
}
