import { CEILING_ROWS_A_DAY, utcDay } from '../../core/limits/plan.ts'
import type { DeliveryCounts } from '../../core/polling/health.ts'
import { insertRows } from '../db/bulk.ts'
import { type Db, foreignChanges } from '../db/connection.ts'
import { messageOf, unpackBody } from '../delivery/messages.ts'
import { forgetItem } from '../erasure/kept-items.ts'

/** `edition`: creation, epoch s, of an item under an id that another one had; absent: of the first. */
export type NewMatch = {
  monitor_id: string
  /** Row of the message with this item alone. */
  message: number | null
  item_id: string
  feed_id: number
  matched_at: number
  edition?: number | undefined
}

/**
 * Inserts matches into the ledger. Returns those of items that their monitor has not matched before. Messages of former items
 * under the same ids stay known by these.
 */
export function insertMatches(
  db: Db,
  matches: readonly NewMatch[],
): Pick<NewMatch, 'monitor_id' | 'item_id'>[] {
  const again = matches.filter(({ edition = 0 }) => edition > 0)
  if (again.length > 0)
    db.query(
      `INSERT OR IGNORE INTO message_items (item_id, message)
       SELECT m.item_id, m.message FROM json_each($again) w
         JOIN matches m ON m.monitor_id = w.value ->> 'monitor_id' AND m.item_id = w.value ->> 'item_id'
        WHERE m.message IS NOT NULL`,
    ).run({ again: JSON.stringify(again) })
  return insertRows(db, matches, {
    into: 'INSERT INTO matches (monitor_id, item_id, message, feed_id, matched_at, edition)',
    values: '(?, ?, ?, ?, ?, ?)',
    after: `ON CONFLICT DO UPDATE SET message = excluded.message, feed_id = excluded.feed_id,
                matched_at = excluded.matched_at, edition = excluded.edition
             WHERE excluded.edition > edition RETURNING monitor_id, item_id`,
    bind: (it) => [
      it.monitor_id,
      it.item_id,
      it.message,
      it.feed_id,
      it.matched_at,
      it.edition ?? 0,
    ],
  })
}

/** Notes that these matches have no message of their own. */
export function forgetMessages(
  db: Db,
  matches: readonly Pick<NewMatch, 'monitor_id' | 'item_id'>[],
): void {
  if (matches.length === 0) return
  db.query(
    `UPDATE matches SET message = NULL
      WHERE (item_id, monitor_id) IN (SELECT value ->> 'item_id', value ->> 'monitor_id' FROM json_each($matches))`,
  ).run({ matches: JSON.stringify(matches) })
}

/** Names a match within a transaction. */
export const matchKey = (monitor_id: string, item_id: string): string => `${monitor_id} ${item_id}`

/** Editions of matched items under ids that others had before, by {@link matchKey}. */
export type Editions = ReadonlyMap<string, number>

export const findEditions = (
  db: Db,
  matches: readonly Pick<NewMatch, 'monitor_id' | 'item_id'>[],
): Editions =>
  new Map(
    db
      .query<{ monitor_id: string; item_id: string; edition: number }, [{ matches: string }]>(
        `SELECT m.monitor_id, m.item_id, m.edition
           FROM json_each($matches) w
           JOIN matches m ON m.monitor_id = w.value ->> 'monitor_id' AND m.item_id = w.value ->> 'item_id'
          WHERE m.edition > 0`,
      )
      .all({ matches: JSON.stringify(matches) })
      .map((it) => [matchKey(it.monitor_id, it.item_id), it.edition]),
  )

/** Deliveries of a monitor on a UTC day, and its ceiling. */
export type Wanted = { monitor_id: string; day: number; n: number; ceiling: number }

/** Reserves deliveries. Returns how many of each the ceiling allows, in their order. */
export function reserveDeliveries(db: Db, wanted: readonly Wanted[]): number[] {
  if (wanted.length === 0) return []
  const whole = db
    .query<{ monitor_id: string; day: number }, [{ wanted: string }]>(
      `INSERT INTO monitor_days (monitor_id, day, deliveries)
       SELECT w.monitor_id, w.day, w.n
         FROM (SELECT value ->> 'monitor_id' AS monitor_id, value ->> 'day' AS day, value ->> 'n' AS n,
                      value ->> 'ceiling' AS ceiling FROM json_each($wanted)) w
         LEFT JOIN monitor_days d ON d.monitor_id = w.monitor_id AND d.day = w.day
        WHERE coalesce(d.deliveries, 0) + w.n <= w.ceiling
       ON CONFLICT DO UPDATE SET deliveries = deliveries + excluded.deliveries
       RETURNING monitor_id, day`,
    )
    .all({ wanted: JSON.stringify(wanted) })
  const complete = new Set(whole.map(({ monitor_id, day }) => `${monitor_id} ${day}`))
  return wanted.map((it) =>
    complete.has(`${it.monitor_id} ${it.day}`) ? it.n : reserveRest(db, it),
  )
}

/** Reserves what the ceiling leaves of a day. Returns its number. */
function reserveRest(db: Db, { monitor_id, day, ceiling }: Wanted): number {
  const before =
    db
      .query<{ n: number }, [{ monitor_id: string; day: number }]>(
        'SELECT deliveries AS n FROM monitor_days WHERE monitor_id = $monitor_id AND day = $day',
      )
      .get({ monitor_id, day })?.n ?? 0
  const rest = Math.max(0, ceiling - before)
  if (rest > 0)
    db.query(
      `INSERT INTO monitor_days (monitor_id, day, deliveries) VALUES ($monitor_id, $day, $rest)
       ON CONFLICT DO UPDATE SET deliveries = deliveries + $rest`,
    ).run({ monitor_id, day, rest })
  return rest
}

/** Counts a delivery suppressed by the ceiling. True while a row for it is still to be stored. */
export function countCeiling(
  db: Db,
  { monitor_id, day }: { monitor_id: string; day: number },
): boolean {
  const row = db
    .query<{ n: number }, [{ monitor_id: string; day: number }]>(
      `INSERT INTO monitor_days (monitor_id, day, ceiling_suppressed) VALUES ($monitor_id, $day, 1)
       ON CONFLICT DO UPDATE SET ceiling_suppressed = ceiling_suppressed + 1
       RETURNING ceiling_suppressed AS n`,
    )
    .get({ monitor_id, day })
  return row !== null && row.n <= CEILING_ROWS_A_DAY
}

/** True when a day within the time since `since_at` had more ceiling suppressions than are stored. */
export function ceilingCapped(
  db: Db,
  { monitor_id, since_at }: { monitor_id: string; since_at: number },
): boolean {
  return (
    db
      .query(
        `SELECT 1 FROM monitor_days
          WHERE monitor_id = $monitor_id AND day >= $day AND ceiling_suppressed > ${CEILING_ROWS_A_DAY}`,
      )
      .get({ monitor_id, day: utcDay(since_at) }) !== null
  )
}

// A row may end long after it was written, when the daemon was down or it was redelivered.
const ENDS_WITHIN_MS = 15 * 86_400_000

/**
 * A monitor's deliveries by final status since `since_at`. Suppressed ones end when written, all others with their
 * last attempt. Failed counts refusals of receivers, not deliveries that were never sent.
 */
export function countDeliveries(
  db: Db,
  { monitor_id, since_at }: { monitor_id: string; since_at: number },
): DeliveryCounts {
  const ended_counts = db
    .query<
      Pick<DeliveryCounts, 'delivered' | 'dead' | 'failed'>,
      [{ monitor_id: string; since_at: number; earliest_at: number }]
    >(
      `SELECT (SELECT count(*) FROM deliveries
                WHERE monitor_id = $monitor_id AND delivered_at > $since_at) AS delivered,
              count(*) FILTER (WHERE status = 'dead') AS dead,
              count(*) FILTER (WHERE status = 'failed') AS failed
         FROM deliveries d
        WHERE monitor_id = $monitor_id AND created_at > $earliest_at AND status IN ('dead', 'failed')
          AND coalesce(last_error, '') NOT IN ('webhook_paused', 'webhook_deleted')
          AND coalesce((SELECT ended_at FROM attempts WHERE delivery_row = d.row ORDER BY n DESC LIMIT 1),
                created_at) > $since_at`,
    )
    .get({ monitor_id, since_at, earliest_at: since_at - ENDS_WITHIN_MS })
  const suppressed_counts = db
    .query<
      Pick<DeliveryCounts, 'ceiling' | 'stale' | 'low_relevance' | 'irrelevant' | 'unknown'>,
      [{ monitor_id: string; since_at: number }]
    >(
      `SELECT count(*) FILTER (WHERE reason = 'delivery_ceiling') AS ceiling,
              count(*) FILTER (WHERE reason = 'stale_item') AS stale,
              count(*) FILTER (WHERE reason = 'low_relevance') AS low_relevance,
              count(*) FILTER (WHERE reason = 'irrelevant') AS irrelevant,
              count(*) FILTER (WHERE reason IS NULL
                OR reason NOT IN ('delivery_ceiling', 'stale_item', 'low_relevance', 'item_deleted', 'irrelevant', 'unjudged')) AS unknown
         FROM deliveries
        WHERE monitor_id = $monitor_id AND created_at > $since_at AND status = 'suppressed'`,
    )
    .get({ monitor_id, since_at })
  if (ended_counts === null || suppressed_counts === null)
    throw new Error('the aggregate query returned no row')
  return { ...ended_counts, ...suppressed_counts }
}

/** Creation of the newest delivery of a match of a monitor, of any status; null when it has none. */
export function lastDeliveryAt(db: Db, monitor_id: string): number | null {
  return (
    db
      .query<{ created_at: number }, [{ monitor_id: string }]>(
        `SELECT d.created_at FROM deliveries d JOIN messages g ON g.row = ${messageOf('d.row')}
          WHERE d.monitor_id = $monitor_id AND g.event IS NULL ORDER BY d.created_at DESC LIMIT 1`,
      )
      .get({ monitor_id })?.created_at ?? null
  )
}

/** A match of the pull API. `seq` counts from 1 within the monitor; `body` is the body that a webhook would get. */
export type MatchBody = { seq: number; body: Uint8Array; matched_at: number }

/**
 * Continues every monitor's sequence from the instant of a restore. Its previous position is unknown, and a client
 * that had read further would miss the next matches. Each monitor's newest match is stored once more.
 */
export function skipAhead(db: Db, now: number): void {
  db.query(
    `UPDATE messages AS it SET seq = $now
      WHERE seq < $now AND seq = (SELECT max(seq) FROM messages WHERE monitor_id = it.monitor_id)`,
  ).run({ now })
}

/** A monitor's matches after `seq`, oldest first. */
export function listMatchesAfter(
  db: Db,
  query: { monitor_id: string; seq: number; limit: number },
): MatchBody[] {
  return db
    .query<MatchBody, [typeof query]>(
      `SELECT seq, body, matched_at FROM messages
        WHERE monitor_id = $monitor_id AND seq > $seq AND body IS NOT NULL ORDER BY seq LIMIT $limit`,
    )
    .all(query)
    .map(unpack)
}

/** A monitor's newest matches, newest first. */
export function listNewestMatches(
  db: Db,
  query: { monitor_id: string; limit: number },
): MatchBody[] {
  return db
    .query<MatchBody, [typeof query]>(
      `SELECT seq, body, matched_at FROM messages
        WHERE monitor_id = $monitor_id AND seq IS NOT NULL AND body IS NOT NULL ORDER BY seq DESC LIMIT $limit`,
    )
    .all(query)
    .map(unpack)
}

const unpack = (it: MatchBody): MatchBody => ({ ...it, body: unpackBody(it.body) })

/**
 * Identifies the state of a monitor's `limit` newest matches without reading their bodies. It changes when one was
 * added, removed or blanked, and after any write of another process, such as `forumd purge`.
 */
export function matchesVersion(db: Db, query: { monitor_id: string; limit: number }): string {
  const found = db
    .query<Record<'newest' | 'oldest' | 'rows' | 'bytes', number | null>, [typeof query]>(
      `SELECT max(seq) AS newest, min(seq) AS oldest, count(*) AS rows, sum(bytes) AS bytes FROM (
         SELECT seq, length(body) AS bytes FROM messages
          WHERE monitor_id = $monitor_id AND seq IS NOT NULL AND body IS NOT NULL ORDER BY seq DESC LIMIT $limit)`,
    )
    .get(query)
  return JSON.stringify([found, foreignChanges(db)])
}

/** The seq of a monitor's newest match; 0 before the first. */
export function newestSeq(db: Db, monitor_id: string): number {
  return (
    db
      .query<{ seq: number | null }, [{ monitor_id: string }]>(
        'SELECT max(seq) AS seq FROM messages WHERE monitor_id = $monitor_id',
      )
      .get({ monitor_id })?.seq ?? 0
  )
}

/** An item that a feed has shown: its position in the feed's order, and when it was first seen (epoch ms). */
export type SeenItem = {
  item_id: string
  seq: number
  first_seen_at: number
  found_by: FoundBy
  /** Epoch ms, by the clock of the feed. */
  created_at: number
  /** Digest of its place and text as they were matched last; null: not kept. */
  digest: string | null
}

/** Items among these that a feed has shown, by its id. */
export type SeenBy = ReadonlyMap<number, readonly SeenItem[]>

export const listSeen = (
  db: Db,
  feeds: readonly { feed_id: number; item_ids: readonly string[] }[],
): SeenBy =>
  Map.groupBy(
    // CROSS JOIN fixes this order: otherwise SQLite reads all items of the feeds.
    db
      .query<SeenItem & { feed_id: number }, [{ feeds: string }]>(
        `SELECT i.feed_id, i.item_id, seq, created_at, first_seen_at, found_by, digest
           FROM json_each($feeds) f CROSS JOIN json_each(f.value, '$.item_ids') w
          CROSS JOIN feed_items i ON i.feed_id = f.value ->> 'feed_id' AND i.item_id = w.value`,
      )
      .all({ feeds: JSON.stringify(feeds.filter(({ item_ids }) => item_ids.length > 0)) }),
    ({ feed_id }) => feed_id,
  )

/** Ids of these items that polls of these feeds have shown. Items that only other feeds have shown prove no position. */
export function findPolled(
  db: Db,
  feed_ids: readonly number[],
  item_ids: readonly string[],
): ReadonlySet<string> {
  // CROSS JOIN fixes this order: otherwise SQLite reads all items of the feeds.
  const rows = db
    .query<{ item_id: string }, [{ feed_ids: string; item_ids: string }]>(
      `SELECT DISTINCT i.item_id FROM json_each($feed_ids) f
         CROSS JOIN json_each($item_ids) w
         CROSS JOIN feed_items i ON i.feed_id = f.value AND i.item_id = w.value
        WHERE i.found_by <> 'other_feed'`,
    )
    .all({ feed_ids: JSON.stringify(feed_ids), item_ids: JSON.stringify(item_ids) })
  return new Set(rows.map(({ item_id }) => item_id))
}

/** Ways in which an item is found: by a poll, by an audit, or through another feed that shows the same place. */
export const FOUND_BY = ['poll', 'audit', 'other_feed'] as const
type FoundBy = (typeof FOUND_BY)[number]

export type NewSeen = {
  feed_id: number
  item_id: string
  seq: number
  created_at: number
  first_seen_at: number
  found_by: FoundBy
  digest?: string
}

/** Inserts items that their feed has not shown before. */
export const insertSeen = (db: Db, rows: readonly NewSeen[]): void =>
  void insertRows(db, rows, {
    into: 'INSERT OR IGNORE INTO feed_items (feed_id, item_id, seq, created_at, first_seen_at, found_by, digest)',
    values: '(?, ?, ?, ?, ?, ?, ?)',
    bind: (it) => [
      it.feed_id,
      it.item_id,
      it.seq,
      it.created_at,
      it.first_seen_at,
      it.found_by,
      it.digest ?? null,
    ],
  })

/** Forgets an item whose id was given to another one. */
export function forgetSeen(db: Db, row: { feed_id: number; item_id: string }): void {
  db.query('DELETE FROM feed_items WHERE feed_id = $feed_id AND item_id = $item_id').run(row)
  forgetItem(db, row.item_id)
}

export function markChanged(
  db: Db,
  row: { feed_id: number; item_id: string; digest: string },
): void {
  db.query(
    'UPDATE feed_items SET digest = $digest WHERE feed_id = $feed_id AND item_id = $item_id',
  ).run(row)
}

/** Records that a feed now lists items that only other feeds had shown. */
export function markListed(db: Db, feed_id: number, item_ids: readonly string[]): void {
  db.query<never, { feed_id: number; ids: string }>(
    `UPDATE feed_items SET found_by = 'poll'
      WHERE feed_id = $feed_id AND found_by = 'other_feed'
        AND item_id IN (SELECT value FROM json_each($ids))`,
  ).run({ feed_id, ids: JSON.stringify(item_ids) })
}

/**
 * Number of distinct items created since `since_at` (platform clock) that a monitor's feeds have shown. Only searches
 * can show the same item twice.
 */
export function countSeen(db: Db, query: { monitor_id: string; since_at: number }): number {
  const row = db
    .query<{ placed: number; found: number }, [typeof query]>(
      `SELECT count(*) FILTER (WHERE s.kind <> 'search') AS placed,
              count(DISTINCT CASE s.kind WHEN 'search' THEN i.item_id END) AS found
         FROM monitor_feeds ms
         JOIN feeds s ON s.id = ms.feed_id
         JOIN feed_items i ON i.feed_id = ms.feed_id
          AND i.created_at > $since_at AND i.created_at >= ms.active_since AND i.found_by <> 'other_feed'
        WHERE ms.monitor_id = $monitor_id`,
    )
    .get(query)
  return (row?.placed ?? 0) + (row?.found ?? 0)
}

/**
 * Deletes at most `limit` seen items of a feed created before `before_at`, but keeps its newest `keep`. Returns the
 * number of rows.
 */
export function pruneSeen(
  db: Db,
  old: { feed_id: number; before_at: number; keep: number; limit: number },
): number {
  return db
    .query<never, [typeof old]>(
      `DELETE FROM feed_items WHERE feed_id = $feed_id AND item_id IN (
         SELECT item_id FROM feed_items
          WHERE feed_id = $feed_id AND created_at < $before_at
            AND seq < (SELECT next_seq FROM feeds WHERE id = $feed_id) - $keep
          LIMIT $limit)`,
    )
    .run(old).changes
}
