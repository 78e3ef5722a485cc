import { recordSettings } from '../certificate/history.ts'
import type { Db } from '../db/connection.ts'
import { FIRST_POLL_SEQ, updateFeedPace } from '../monitoring/feeds.ts'

type Value = string | number | Uint8Array | null
type Row = Record<string, Value>

/** A feed as it was when its customer was frozen: rows of `feeds` and `feed_streams`. */
export type FeedPosition = { feed: Row; stream: Row | null }

/** A feed of a position here: `new` with it, or there before, `asleep` or `live` for other monitors. */
export type PlacedFeed = { id: number; state: 'new' | 'asleep' | 'live' }

/** Columns that order the polls of one instance. */
const OWN_ORDER = { poll_batch_id: null, synced_epoch: 0, covered_epoch: 0 }

const insert = (db: Db, table: string, row: Row): number => {
  const columns = Object.keys(row)
  const { lastInsertRowid } = db
    .query(
      `INSERT OR REPLACE INTO ${table} (${columns.join(', ')}) VALUES (${columns.map((it) => `$${it}`).join(', ')})`,
    )
    .run(row)
  return Number(lastInsertRowid)
}

/**
 * Finds or creates the feed of a position. One that nothing watches here takes the position over: the next poll goes on
 * there. A live one keeps its own.
 */
export function placeFeed(db: Db, { feed, stream }: FeedPosition): PlacedFeed {
  const { id: _, ...row } = feed
  const found = db
    .query<{ id: number; next_check_at: number | null; next_seq: number }, [{ key: Value }]>(
      'SELECT id, next_check_at, next_seq FROM feeds WHERE key = $key',
    )
    .get({ key: row['key'] ?? null })
  if (found !== null && found.next_check_at !== null) return { id: found.id, state: 'live' }
  if (found === null) {
    const id = insert(db, 'feeds', { ...row, ...OWN_ORDER, next_check_at: null })
    if (stream !== null) insert(db, 'feed_streams', { ...stream, feed_id: id })
    return { id, state: 'new' }
  }
  const taken: Row = {
    ...row,
    ...OWN_ORDER,
    next_check_at: null,
    next_seq: Math.max(Number(row['next_seq']), found.next_seq),
  }
  const columns = Object.keys(taken).filter((it) => it !== 'key')
  db.query(
    `UPDATE feeds SET ${columns.map((it) => `${it} = $${it}`).join(', ')} WHERE key = $key`,
  ).run(taken)
  if (stream !== null) insert(db, 'feed_streams', { ...stream, feed_id: found.id })
  return { id: found.id, state: 'asleep' }
}

/** Items before a position that may be listed late are read again; the match ledger prevents counting one twice. */
const OVERLAP_MS = 60_000

/**
 * Makes the monitors of a customer go on at the positions of their feeds. On a live feed they begin again at its position:
 * the next poll reads back to it for them. A live stream goes back to it. Runs within a transaction.
 *
 * @param placed the feeds by the numbers that the positions have; absent: the feeds of this database.
 */
export function resumeFeeds(
  db: Db,
  {
    customer_id,
    positions,
    placed = new Map(),
    now,
  }: {
    customer_id: string
    positions: readonly FeedPosition[]
    placed?: Map<number, PlacedFeed>
    now: number
  },
): void {
  const keys: string[] = []
  for (const position of positions) {
    const { feed, stream } = position
    const { id, state } = placed.get(Number(feed['id'])) ?? placeFeed(db, position)
    keys.push(String(feed['key']))
    // It was polled until its customer was frozen: a reset by the pace would begin at the present end.
    if (state !== 'live' && feed['next_check_at'] !== null)
      db.query(
        `UPDATE feeds SET next_check_at = $now, audit_due_at = iif(kind = 'stream', NULL, $now) WHERE id = $id`,
      ).run({ id, now })
    if (state === 'live') beginAt(db, { customer_id, feed_id: id, feed, stream })
  }
  const monitors = db
    .query<{ id: string }, [{ customer_id: string }]>(
      'SELECT id FROM monitors WHERE customer_id = $customer_id AND removed_at IS NULL',
    )
    .all({ customer_id })
  for (const { id } of monitors) recordSettings(db, id, now)
  updateFeedPace(db, now, keys)
}

function beginAt(
  db: Db,
  { customer_id, feed_id, feed, stream }: FeedPosition & { customer_id: string; feed_id: number },
): void {
  if (stream !== null) {
    // Steps read on from here; what other monitors have had of it is in their ledgers.
    db.query(
      `UPDATE feed_streams SET state = $state WHERE feed_id = $feed_id AND verified_until > $verified_until`,
    ).run({
      feed_id,
      state: stream['state'] ?? null,
      verified_until: stream['verified_until'] ?? null,
    })
    return
  }
  const seen_at = feed['last_seen_at']
  if (typeof seen_at !== 'number') return
  db.query(
    `UPDATE monitor_feeds SET active_since = max(active_since, $since), active_from_seq = ${FIRST_POLL_SEQ}
      WHERE feed_id = $feed_id AND active_from_seq <> ${FIRST_POLL_SEQ}
        AND monitor_id IN (SELECT id FROM monitors WHERE customer_id = $customer_id)`,
  ).run({
    feed_id,
    customer_id,
    // Whole seconds, as the times of items are.
    since: Math.floor((seen_at - Number(feed['lateness_ms']) - OVERLAP_MS) / 1000) * 1000,
  })
}
