import type { Db } from '../db/connection.ts'
import { feedScope, monitorScope } from './queue.ts'

/** Items that the archive holds: those that a monitor matched, or all that its feeds show. */
export const ARCHIVE_KEEPS = ['matches', 'feeds', 'nothing'] as const
export type ArchiveKeep = (typeof ARCHIVE_KEEPS)[number]

/**
 * Scopes of a customer: what its monitors matched, removed ones too, and what the feeds of its present monitors showed.
 * Feeds hold public content alone, and a feed made from a filter is that of a monitor with the same filter.
 */
export function scopesOf(db: Db, customer_id: string): string[] {
  const monitors = db
    .query<{ id: string }, [{ customer_id: string }]>(
      'SELECT id FROM monitors WHERE customer_id = $customer_id',
    )
    .all({ customer_id })
  const feeds = db
    .query<{ key: string }, [{ customer_id: string }]>(
      `SELECT DISTINCT f.key FROM monitors m JOIN monitor_feeds mf ON mf.monitor_id = m.id JOIN feeds f ON f.id = mf.feed_id
        WHERE m.customer_id = $customer_id AND m.removed_at IS NULL`,
    )
    .all({ customer_id })
  return [...monitors.map(({ id }) => monitorScope(id)), ...feeds.map(({ key }) => feedScope(key))]
}
