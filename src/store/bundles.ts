import { hasRoom } from '../core/bundle.ts'
import type { Db } from './db.ts'

/** Matches that wait for company. `webhook_id` null: for who comes to fetch them. */
export type Bundle = {
  id: number
  customer_id: string
  monitor_id: string
  webhook_id: string | null
  /** The customer's; null when the customer is gone. */
  plan: string | null
}

type Open = { id: number; items: number; bytes: number }

/**
 * Puts a match into the bundle of its monitor and target, or opens one that closes `window_ms` from now. Where it
 * does not fit any more, that one closes at once and the next is opened.
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
  if (open !== null && !hasRoom(open, bytes)) closeBundle(db, open.id, now)
  const bundle_id =
    open !== null && hasRoom(open, bytes) ? open.id : openBundle(db, to, now, now + window_ms)
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

/** Bundles that are to be delivered now, the oldest first. */
export function listClosed(db: Db, now: number, limit: number): Bundle[] {
  return db
    .query<Bundle, [{ now: number; limit: number }]>(
      `SELECT b.id, b.customer_id, b.monitor_id, b.webhook_id, c.plan FROM bundles b
         LEFT JOIN customers c ON c.id = b.customer_id AND c.removed_at IS NULL
        WHERE b.close_at <= $now ORDER BY b.close_at, b.id LIMIT $limit`,
    )
    .all({ now, limit })
}

/** When the next bundle closes; Infinity when none is open. */
export function nextCloseAt(db: Db): number {
  const row = db.query<{ at: number | null }, []>('SELECT min(close_at) AS at FROM bundles').get()
  return row?.at ?? Infinity
}

/** What is in a bundle, oldest first. */
export function listBundled(db: Db, bundle_id: number): { item_id: string; body: string }[] {
  return db
    .query<{ item_id: string; body: string }, [{ bundle_id: number }]>(
      'SELECT item_id, body FROM bundle_items WHERE bundle_id = $bundle_id ORDER BY created_at, item_id',
    )
    .all({ bundle_id })
}

/** Forgets a bundle, in the transaction that delivers it. */
export function deleteBundle(db: Db, id: number): void {
  db.query('DELETE FROM bundle_items WHERE bundle_id = $id').run({ id })
  db.query('DELETE FROM bundles WHERE id = $id').run({ id })
}

/** Moves the times at which bundles close by the jump that the clock made; those that were opened since are right as they are. */
export function rebaseBundles(db: Db, jump_ms: number, now: number): void {
  db.query(
    `UPDATE bundles SET close_at = close_at + $jump_ms, opened_at = opened_at + $jump_ms
      WHERE opened_at + $jump_ms <= $now`,
  ).run({ jump_ms, now })
}

/** No bundle waits longer than the longest window, whatever the clock did while nobody was running. */
export function clampBundles(db: Db, now: number, longest_ms: number): void {
  db.query('UPDATE bundles SET close_at = min(close_at, $latest)').run({ latest: now + longest_ms })
}
