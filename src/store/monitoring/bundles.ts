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
}

type Open = { id: number; items: number; bytes: number }

/**
 * Adds a match to the open bundle of its monitor and target, or opens one that closes `window_ms` from now. If it no
 * longer fits, that bundle closes at once and another is opened.
 */
export function putIntoBundle(
  db: Db,
  to: { customer_id: string; monitor_id: string; webhook_id: string | null },
  item: { item_id: string; created_at: number; body: string },
  { now, window_ms }: { now: number; window_ms: number },
): void {
  const bytes = Buffer.byteLength(item.body)
  const { monitor_id, webhook_id } = to
  const open = db
    .query<Open, [{ monitor_id: string; webhook_id: string | null; now: number }]>(
      `SELECT id, items, bytes FROM bundles WHERE monitor_id = $monitor_id AND webhook_id IS $webhook_id AND close_at > $now
        ORDER BY id DESC LIMIT 1`,
    )
    .get({ monitor_id, webhook_id, now })
  if (open !== null && !fitsBundle(open, bytes)) closeBundle(db, open.id, now)
  const bundle_id =
    open !== null && fitsBundle(open, bytes) ? open.id : openBundle(db, to, now, now + window_ms)
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
  close_at: number,
): number {
  const { lastInsertRowid } = db
    .query(
      `INSERT INTO bundles (customer_id, monitor_id, webhook_id, opened_at, close_at)
       VALUES ($customer_id, $monitor_id, $webhook_id, $now, $close_at)`,
    )
    .run({ ...to, now, close_at })
  return Number(lastInsertRowid)
}

const closeBundle = (db: Db, id: number, now: number): void =>
  void db.query('UPDATE bundles SET close_at = $now WHERE id = $id').run({ id, now })

/** Bundles that are due, oldest first. */
export function listClosed(db: Db, now: number, limit: number): Bundle[] {
  return db
    .query<Bundle, [{ now: number; limit: number }]>(
      `SELECT b.id, b.customer_id, b.monitor_id, b.webhook_id, c.plan FROM bundles b
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

/** Shifts the closing times of bundles by a clock jump; bundles opened after the jump stay unchanged. */
export function rebaseBundles(db: Db, jump_ms: number, now: number): void {
  db.query(
    `UPDATE bundles SET close_at = close_at + $jump_ms, opened_at = opened_at + $jump_ms
      WHERE opened_at + $jump_ms <= $now`,
  ).run({ jump_ms, now })
}

/** Limits every wait to the longest window: the clock may have changed while the daemon was down. */
export function clampBundles(db: Db, now: number, longest_ms: number): void {
  db.query('UPDATE bundles SET close_at = min(close_at, $latest)').run({ latest: now + longest_ms })
}
