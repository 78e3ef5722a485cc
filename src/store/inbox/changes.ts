import type { Db } from '../db/connection.ts'

/** A state of the inboxes: the newest match, action and erasure. */
export type InboxVersion = { match: number; action: number; erasure: number }

/** The state of all inboxes now: three steps of an index each. */
export function inboxVersion(db: Db): InboxVersion {
  const found = db
    .query<{ match: number | null; action: number | null; erasure: number | null }, []>(
      `SELECT (SELECT max(row) FROM inbox_matches) AS match, (SELECT max(seq) FROM inbox_actions) AS action,
              (SELECT max(seq) FROM item_tombstones) AS erasure`,
    )
    .get()
  return { match: found?.match ?? 0, action: found?.action ?? 0, erasure: found?.erasure ?? 0 }
}

/** Most rows of each table that are read for one event. A reader that is further behind reads the list again. */
const BEHIND_MAX = 2000

/** Ids of a customer's items that arrived or changed between two states. `lost`: there are too many to list. */
export type InboxChanges = { arrived: string[]; changed: string[]; lost: boolean }

/** Reads what happened in the inbox of a customer after `from`, up to `to`. */
export function listInboxChanges(
  db: Db,
  customer_id: string,
  from: InboxVersion,
  to: InboxVersion,
): InboxChanges {
  const is_older = to.match < from.match || to.action < from.action || to.erasure < from.erasure
  const is_behind =
    Math.max(to.match - from.match, to.action - from.action, to.erasure - from.erasure) > BEHIND_MAX
  if (is_older || is_behind) return { arrived: [], changed: [], lost: true }
  const matches = db
    .query<
      { item_id: string; is_first: 0 | 1 },
      [{ customer_id: string; after: number; until: number }]
    >(
      `SELECT i.item_id, NOT EXISTS (SELECT 1 FROM inbox_matches WHERE item = m.item AND row <= $after) AS is_first
         FROM inbox_matches m CROSS JOIN inbox_items i ON i.row = m.item
        WHERE m.row > $after AND m.row <= $until AND i.customer_id = $customer_id ORDER BY m.row DESC`,
    )
    .all({ customer_id, after: from.match, until: to.match })
  const acted = db
    .query<
      { previous: string | null; items: number },
      [{ customer_id: string; after: number; until: number }]
    >(
      `SELECT previous, items FROM inbox_actions
        WHERE customer_id = $customer_id AND seq > $after AND seq <= $until ORDER BY seq DESC`,
    )
    .all({ customer_id, after: from.action, until: to.action })
  if (acted.some(({ previous }) => previous === null) || sum(acted) > BEHIND_MAX)
    return { arrived: [], changed: [], lost: true }
  const erased = db
    .query<{ item_id: string }, [{ customer_id: string; after: number; until: number }]>(
      `SELECT t.item_id FROM item_tombstones t CROSS JOIN inbox_items i
           ON i.item_id = t.item_id AND i.customer_id = $customer_id
        WHERE t.seq > $after AND t.seq <= $until ORDER BY t.seq DESC`,
    )
    .all({ customer_id, after: from.erasure, until: to.erasure })
  const arrived = new Set(matches.flatMap((it) => (it.is_first === 1 ? [it.item_id] : [])))
  const changed = new Set([
    ...matches.flatMap((it) => (it.is_first === 1 ? [] : [it.item_id])),
    ...acted.flatMap(({ previous }) => idsIn(previous ?? '[]')),
    ...erased.map(({ item_id }) => item_id),
  ])
  return { arrived: [...arrived], changed: [...changed.difference(arrived)], lost: false }
}

const sum = (rows: readonly { items: number }[]): number =>
  rows.reduce((total, { items }) => total + items, 0)

const idsIn = (previous: string): string[] => {
  const groups: [string, 0 | 1, string | null, string[]][] = JSON.parse(previous)
  return groups.flatMap(([, , , ids]) => ids)
}
