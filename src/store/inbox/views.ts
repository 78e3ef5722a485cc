import { type Db, transact } from '../db/connection.ts'

/** Most saved views of a customer. */
export const VIEWS_MAX = 50

/** A saved filter of the inbox. `filter`: JSON of its given fields. Epoch ms. */
export type InboxView = {
  id: string
  name: string
  filter: string
  key_id: string
  key_name: string | null
  created_at: number
  updated_at: number
}

const COLUMNS = `v.id, v.name, v.filter, v.key_id, v.created_at, v.updated_at,
  (SELECT name FROM api_keys WHERE id = v.key_id) AS key_name`

/** The views of a customer, by name. */
export const listInboxViews = (db: Db, customer_id: string): InboxView[] =>
  db
    .query<InboxView, [{ customer_id: string }]>(
      `SELECT ${COLUMNS} FROM inbox_views v WHERE customer_id = $customer_id ORDER BY name COLLATE NOCASE, id`,
    )
    .all({ customer_id })

/** Reasons for which a view is not saved. */
export type ViewRefusal = 'unknown' | 'name_taken' | 'too_many'

/** A view to save: a new one with all fields, or changed fields of a present one. */
export type SavedView = {
  id: string
  is_new: boolean
  name: string | null
  filter: string | null
}

/** Creates or changes a view. Names are compared without case. */
export function saveInboxView(
  db: Db,
  { customer_id, key_id, now }: { customer_id: string; key_id: string; now: number },
  { id, is_new, name, filter }: SavedView,
): InboxView | ViewRefusal {
  return transact(db, (): InboxView | ViewRefusal => {
    const views = listInboxViews(db, customer_id)
    const present = views.find((it) => it.id === id)
    if (!is_new && present === undefined) return 'unknown'
    const lower = name?.toLowerCase()
    if (views.some((it) => it.id !== id && it.name.toLowerCase() === lower)) return 'name_taken'
    if (is_new && views.length >= VIEWS_MAX) return 'too_many'
    db.query(
      `INSERT INTO inbox_views (id, customer_id, name, filter, key_id, created_at, updated_at)
       VALUES ($id, $customer_id, $name, $filter, $key_id, $now, $now)
       ON CONFLICT (id) DO UPDATE SET name = $name, filter = $filter, key_id = $key_id, updated_at = $now`,
    ).run({
      id,
      customer_id,
      name: name ?? present?.name ?? '',
      filter: filter ?? present?.filter ?? '{}',
      key_id,
      now,
    })
    return listInboxViews(db, customer_id).find((it) => it.id === id) ?? 'unknown'
  })
}

/** Deletes a view; false if there is none. */
export const deleteInboxView = (db: Db, customer_id: string, id: string): boolean =>
  db
    .query('DELETE FROM inbox_views WHERE id = $id AND customer_id = $customer_id')
    .run({ id, customer_id }).changes === 1
