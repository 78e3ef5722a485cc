import type { Late } from '../core/filter-late.ts'
import type { Item } from '../core/items.ts'
import type { Db } from './db.ts'
import type { Watcher } from './monitors.ts'
import { readIds, type WatcherRow } from './monitors.ts'

/** An item that matches but for a score or a number of comments that it may still reach. */
export type Candidate = {
  watcher: Watcher
  item: Item
  stream_id: number
  late: Late
  first_seen_at: number
  /** Platform clock: from then on it is too old. */
  until_at: number
}

/** Notes an item to be asked about again; nothing when it is noted already, or has matched. */
export function insertCandidate(db: Db, it: Candidate, now: number): void {
  const { watcher, item, late, ...row } = it
  db.query(
    `INSERT OR IGNORE INTO candidates
       (monitor_id, item_id, stream_id, item, min_score, min_comments, first_seen_at, until_at, asked_at)
     SELECT $monitor_id, $item_id, $stream_id, $item, $min_score, $min_comments, $first_seen_at, $until_at, $now
      WHERE NOT EXISTS (SELECT 1 FROM matches WHERE monitor_id = $monitor_id AND item_id = $item_id)`,
  ).run({
    ...row,
    ...late,
    monitor_id: watcher.id,
    item_id: item.name,
    item: JSON.stringify(item),
    now,
  })
}

/** Items that were asked about before `before_at`, longest ago first, each once. */
export function listDueCandidates(db: Db, before_at: number, limit: number): string[] {
  return db
    .query<{ item_id: string }, [{ before_at: number; limit: number }]>(
      `SELECT item_id FROM candidates WHERE asked_at <= $before_at
        GROUP BY item_id ORDER BY min(asked_at), item_id LIMIT $limit`,
    )
    .all({ before_at, limit })
    .map(({ item_id }) => item_id)
}

/** When the longest unasked candidate was last asked about; Infinity when there is none. */
export function oldestAskedAt(db: Db): number {
  const row = db
    .query<{ at: number | null }, []>('SELECT min(asked_at) AS at FROM candidates')
    .get()
  return row?.at ?? Infinity
}

type Row = WatcherRow & {
  item: string
  stream_id: number
  min_score: number | null
  min_comments: number | null
  first_seen_at: number
  until_at: number
}

/** The candidates of these items, of monitors that are still active. */
export function listCandidates(db: Db, item_ids: readonly string[]): Candidate[] {
  return db
    .query<Row, [{ ids: string }]>(
      `SELECT c.item, c.stream_id, c.min_score, c.min_comments, c.first_seen_at, c.until_at,
              m.id, m.customer_id, u.plan, m.webhook_ids, m.baseline_item_id, m.updated_at,
              m.active_since, 0 AS active_from_seq
         FROM candidates c
         JOIN monitors m ON m.id = c.monitor_id AND m.active = 1 AND m.removed_at IS NULL
         JOIN customers u ON u.id = m.customer_id AND u.removed_at IS NULL
        WHERE c.item_id IN (SELECT value FROM json_each($ids)) ORDER BY m.created_at, m.id`,
    )
    .all({ ids: JSON.stringify(item_ids) })
    .map((row) => {
      const { item, stream_id, min_score, min_comments, first_seen_at, until_at, ...watcher } = row
      return {
        watcher: { ...watcher, webhook_ids: readIds(watcher.webhook_ids) },
        item: JSON.parse(item) as Item,
        stream_id,
        late: { min_score, min_comments },
        first_seen_at,
        until_at,
      }
    })
}

/** These items have been asked about. */
export function touchCandidates(db: Db, item_ids: readonly string[], now: number): void {
  db.query(
    'UPDATE candidates SET asked_at = $now WHERE item_id IN (SELECT value FROM json_each($ids))',
  ).run({ ids: JSON.stringify(item_ids), now })
}

/** A candidate has reached what it had to. */
export function deleteCandidate(db: Db, monitor_id: string, item_id: string): void {
  db.query('DELETE FROM candidates WHERE monitor_id = $monitor_id AND item_id = $item_id').run({
    monitor_id,
    item_id,
  })
}

/** Forgets candidates that are too old by now, or whose monitor is not active any more. `now`: platform clock. */
export function pruneCandidates(db: Db, now: number): void {
  db.query(
    `DELETE FROM candidates WHERE until_at < $now
        OR monitor_id NOT IN (SELECT id FROM monitors WHERE active = 1 AND removed_at IS NULL)`,
  ).run({ now })
}

/** Moves what our clock dates by the jump it made, and no further than to now: some may have been asked about since. */
export function rebaseCandidates(db: Db, jump_ms: number, now: number): void {
  db.query('UPDATE candidates SET asked_at = min(asked_at + $jump_ms, $now)').run({ jump_ms, now })
}

/** Nobody waits for an instant that lies ahead because the clock was put back. */
export function clampCandidates(db: Db, now: number): void {
  db.query('UPDATE candidates SET asked_at = min(asked_at, $now)').run({ now })
}
