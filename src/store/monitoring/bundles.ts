import { digestAt, readAttention } from '../../core/delivery/attention.ts'
import { fitsBundle } from '../../core/delivery/envelope.ts'
import type { Db } from '../db/connection.ts'

/** Matches that wait to be sent together. `webhook_id` null: for the pull API. */
export type Bundle = {
  id: number
  customer_id: string
  monitor_id: string
  webhook_id: string | null
  /** The customer's plan; null when the customer was removed. */
  plan: string | null
  monitor_name: string | null
  attention: string | null
  /** Times of its first match and of its end, epoch ms. */
  opened_at: number
  close_at: number
  /** 1: of a digest. */
  digest: 0 | 1
}

/** Bundles of one digest; then the oldest is sent early, so that a digest stays bounded and loses nothing. */
export const DIGEST_BUNDLES_MAX = 40

type Open = { id: number; items: number; bytes: number }

/**
 * Adds a match to the open bundle of its monitor and target, or opens one that closes at `close_at`. If it no longer
 * fits, another is opened: that of a window closes at once, those of a digest wait for its time.
 */
export function putIntoBundle(
  db: Db,
  to: { customer_id: string; monitor_id: string; webhook_id: string | null },
  item: { item_id: string; created_at: number; body: string },
  { now, close_at, digest }: { now: number; close_at: number; digest: boolean },
): void {
  const bytes = Buffer.byteLength(item.body)
  const { monitor_id, webhook_id } = to
  const open = db
    .query<Open, [{ monitor_id: string; webhook_id: string | null; now: number; digest: number }]>(
      `SELECT id, items, bytes FROM bundles
        WHERE monitor_id = $monitor_id AND webhook_id IS $webhook_id AND digest = $digest AND close_at > $now
        ORDER BY id DESC LIMIT 1`,
    )
    .get({ monitor_id, webhook_id, now, digest: digest ? 1 : 0 })
  const fits = open !== null && fitsBundle(open, bytes)
  if (open !== null && !fits && !digest) closeBundle(db, open.id, now)
  if (!fits && digest) limitDigest(db, to, now)
  const bundle_id = fits ? open.id : openBundle(db, to, now, { close_at, digest })
  db.query(
    `INSERT OR IGNORE INTO bundle_items (bundle_id, item_id, created_at, body)
     VALUES ($bundle_id, $item_id, $created_at, $body)`,
  ).run({ bundle_id, ...item })
  db.query('UPDATE bundles SET items = items + 1, bytes = bytes + $bytes WHERE id = $id').run({
    id: bundle_id,
    bytes: bytes + 1,
  })
}

function openBundle(
  db: Db,
  to: { customer_id: string; monitor_id: string; webhook_id: string | null },
  now: number,
  { close_at, digest }: { close_at: number; digest: boolean },
): number {
  const { lastInsertRowid } = db
    .query(
      `INSERT INTO bundles (customer_id, monitor_id, webhook_id, opened_at, close_at, digest)
       VALUES ($customer_id, $monitor_id, $webhook_id, $now, $close_at, $digest)`,
    )
    .run({ ...to, now, close_at, digest: digest ? 1 : 0 })
  return Number(lastInsertRowid)
}

/** Closes the oldest bundle of a digest that has as many as it may have. */
function limitDigest(
  db: Db,
  { monitor_id, webhook_id }: { monitor_id: string; webhook_id: string | null },
  now: number,
): void {
  const open = db
    .query<{ id: number }, [{ monitor_id: string; webhook_id: string | null; now: number }]>(
      `SELECT id FROM bundles WHERE monitor_id = $monitor_id AND webhook_id IS $webhook_id AND digest = 1
          AND close_at > $now ORDER BY id`,
    )
    .all({ monitor_id, webhook_id, now })
  const [oldest] = open
  if (oldest !== undefined && open.length >= DIGEST_BUNDLES_MAX) closeBundle(db, oldest.id, now)
}

const closeBundle = (db: Db, id: number, now: number): void =>
  void db.query('UPDATE bundles SET close_at = $now WHERE id = $id').run({ id, now })

/** Bundles that are due, oldest first. */
export function listClosed(db: Db, now: number, limit: number): Bundle[] {
  return db
    .query<Bundle, [{ now: number; limit: number }]>(
      `SELECT b.id, b.customer_id, b.monitor_id, b.webhook_id, b.opened_at, b.close_at, b.digest, c.plan,
              m.name AS monitor_name, m.attention FROM bundles b
         JOIN monitors m ON m.id = b.monitor_id
         LEFT JOIN customers c ON c.id = b.customer_id AND c.removed_at IS NULL
        WHERE b.close_at <= $now ORDER BY b.close_at, b.id LIMIT $limit`,
    )
    .all({ now, limit })
}

/** Closing time of the next bundle; Infinity when none is open. */
export function nextCloseAt(db: Db): number {
  const row = db.query<{ at: number | null }, []>('SELECT min(close_at) AS at FROM bundles').get()
  return row?.at ?? Infinity
}

/** The items of a bundle, oldest first. */
export function listBundled(db: Db, bundle_id: number): { item_id: string; body: string }[] {
  return db
    .query<{ item_id: string; body: string }, [{ bundle_id: number }]>(
      'SELECT item_id, body FROM bundle_items WHERE bundle_id = $bundle_id ORDER BY created_at, item_id',
    )
    .all({ bundle_id })
}

/** Deletes a bundle, in the transaction that delivers it. */
export function deleteBundle(db: Db, id: number): void {
  db.query('DELETE FROM bundle_items WHERE bundle_id = $id').run({ id })
  db.query('DELETE FROM bundles WHERE id = $id').run({ id })
}

/**
 * Sets the closing times of digests, of one monitor or of all, by the present rules and clock: at most the next time of
 * the digest, and at once where there is none any more.
 */
export function rescheduleDigests(db: Db, now: number, monitor_id: string | null = null): void {
  type Row = { id: number; webhook_id: string; attention: string | null; close_at: number }
  const rows = db
    .query<Row, [{ monitor_id: string | null; now: number }]>(
      `SELECT b.id, b.webhook_id, m.attention, b.close_at FROM bundles b JOIN monitors m ON m.id = b.monitor_id
        WHERE b.digest = 1 AND b.close_at > $now AND ($monitor_id IS NULL OR b.monitor_id = $monitor_id)`,
    )
    .all({ monitor_id, now })
  const set = db.query('UPDATE bundles SET close_at = $close_at WHERE id = $id')
  for (const { id, webhook_id, attention, close_at: before } of rows) {
    const close_at = digestAt(readAttention(attention), webhook_id, now) ?? now
    if (close_at !== before) set.run({ id, close_at })
  }
}

/** Shifts the closing times of windows by a clock jump; bundles opened after the jump stay unchanged. */
export function rebaseBundles(db: Db, jump_ms: number, now: number): void {
  db.query(
    `UPDATE bundles SET close_at = close_at + $jump_ms, opened_at = opened_at + $jump_ms
      WHERE opened_at + $jump_ms <= $now`,
  ).run({ jump_ms, now })
  rescheduleDigests(db, now)
}

/** Limits the wait of every window to the longest one, and that of digests to their next time: the clock may have changed while the daemon was down. */
export function clampBundles(db: Db, now: number, longest_ms: number): void {
  db.query('UPDATE bundles SET close_at = min(close_at, $latest)').run({
    latest: now + longest_ms,
  })
  rescheduleDigests(db, now)
}
