import type { Db } from './db.ts'

/** An item that a stream has shown: its place in the order of the stream, and when it was first seen (epoch ms). */
export type SeenItem = { item_id: string; seq: number; first_seen_at: number }

/** Which of these items a stream has seen before. */
export function listSeen(db: Db, stream_id: number, item_ids: readonly string[]): SeenItem[] {
  return db
    .query<SeenItem, [{ stream_id: number; ids: string }]>(
      `SELECT item_id, seq, first_seen_at FROM stream_items
        WHERE stream_id = $stream_id AND item_id IN (SELECT value FROM json_each($ids))`,
    )
    .all({ stream_id, ids: JSON.stringify(item_ids) })
}

/** Notes an item as seen; false when it was. */
export function insertSeen(
  db: Db,
  row: {
    stream_id: number
    item_id: string
    seq: number
    created_at: number
    first_seen_at: number
  },
): boolean {
  return (
    db
      .query(
        `INSERT OR IGNORE INTO stream_items (stream_id, item_id, seq, created_at, first_seen_at)
         VALUES ($stream_id, $item_id, $seq, $created_at, $first_seen_at)`,
      )
      .run(row).changes === 1
  )
}

/**
 * How many distinct items a monitor's streams have shown that were created since `since_at` (platform clock).
 * Only searches can show the same item twice.
 */
export function countSeen(db: Db, query: { monitor_id: string; since_at: number }): number {
  const row = db
    .query<{ placed: number; found: number }, [typeof query]>(
      `SELECT count(*) FILTER (WHERE s.kind <> 'search') AS placed,
              count(DISTINCT CASE s.kind WHEN 'search' THEN i.item_id END) AS found
         FROM monitor_streams ms
         JOIN streams s ON s.id = ms.stream_id
         JOIN stream_items i ON i.stream_id = ms.stream_id
          AND i.created_at > $since_at AND i.created_at >= ms.active_since
        WHERE ms.monitor_id = $monitor_id`,
    )
    .get(query)
  return (row?.placed ?? 0) + (row?.found ?? 0)
}

/** Forgets at most `limit` items of a stream created before `before_at`, but keeps its newest `keep`. Returns how many. */
export function pruneSeen(
  db: Db,
  old: { stream_id: number; before_at: number; keep: number; limit: number },
): number {
  return db
    .query<never, [typeof old]>(
      `DELETE FROM stream_items WHERE stream_id = $stream_id AND item_id IN (
         SELECT item_id FROM stream_items
          WHERE stream_id = $stream_id AND created_at < $before_at
            AND seq < (SELECT next_seq FROM streams WHERE id = $stream_id) - $keep
          LIMIT $limit)`,
    )
    .run(old).changes
}
