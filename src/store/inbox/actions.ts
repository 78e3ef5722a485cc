import {
  type InboxChange,
  type InboxFilter,
  type InboxPosition,
  type InboxState,
  spanOf,
} from '../../core/inbox/filter.ts'
import type { FilterEdit } from '../../core/inbox/mute.ts'
import { type Db, transact } from '../db/connection.ts'
import { findInboxStates, type InboxStateRow, listChangeable } from './list.ts'

/** Most items that one change of a filter alters, which takes milliseconds. */
const CHANGED_MAX = 3000
const EXAMINED_MAX = 30_000
export const UNDO_MS = 86_400_000
const ACTIONS_KEPT = 10_000
const SAMPLE = 10

/** Kinds of actions: of a person, its undoing, a state that followed from a comment, and the edit of a filter. */
export const INBOX_ACTIONS = ['update', 'undo', 'answered', 'mute'] as const
type ActionKind = (typeof INBOX_ACTIONS)[number]

type Group = [state: InboxState, starred: 0 | 1, label: string | null, item_ids: string[]]

/** The customer and the key of an action, its new id, and the time, epoch ms. */
export type InboxActor = { customer_id: string; key_id: string; id: string; now: number }

/** Outcome of a change. `rows`: the changed items as they were. `next`: where a further call continues; null: the end. */
export type InboxChanged = {
  rows: InboxStateRow[]
  unchanged: number
  unknown_ids: string[]
  next: InboxPosition | null
}

/** Items of a change: by their ids, or those of a filter after a position. */
export type InboxSelection =
  { ids: readonly string[] } | { filter: InboxFilter; after: InboxPosition | null }

/** Changes items and records the action, in one transaction. Without a changed item nothing is recorded. */
export function changeInbox(
  db: Db,
  actor: InboxActor,
  which: InboxSelection,
  change: InboxChange,
  kind: 'update' | 'answered' = 'update',
): InboxChanged {
  return transact(db, () => {
    const found = select(db, actor.customer_id, which, change)
    if (found.rows.length === 0) return found
    const seq = insertInboxAction(db, actor, { kind, change, rows: found.rows, undoes: null })
    db.query(
      `UPDATE inbox_items SET state = coalesce($state, state), starred = coalesce($starred, starred),
              label = CASE WHEN $sets_label THEN $label ELSE label END,
              changed_at = $now, changed_by = $key_id, action = $seq
        WHERE row IN (SELECT value FROM json_each($rows))`,
    ).run({
      ...valuesOf(change),
      label: change.label ?? null,
      sets_label: change.label === undefined ? 0 : 1,
      now: actor.now,
      key_id: actor.key_id,
      seq,
      rows: JSON.stringify(found.rows.map(({ row }) => row)),
    })
    return found
  })
}

const valuesOf = ({ state, starred }: InboxChange) => ({
  state: state ?? null,
  starred: starred === undefined ? null : starred ? (1 as const) : (0 as const),
})

function select(
  db: Db,
  customer_id: string,
  which: InboxSelection,
  change: InboxChange,
): InboxChanged {
  const values = valuesOf(change)
  if ('filter' in which) {
    const { filter, after } = which
    const { rows, examined_to } = listChangeable(
      db,
      {
        customer_id,
        filter,
        span: spanOf(filter, after),
        limit: CHANGED_MAX,
        examined: EXAMINED_MAX,
      },
      { ...values, ...(change.label !== undefined && { label: change.label }) },
    )
    const next = rows.length === CHANGED_MAX ? (rows.at(-1) ?? null) : examined_to
    return { rows, unchanged: 0, unknown_ids: [], next }
  }
  const found = findInboxStates(db, customer_id, which.ids)
  const known = new Set(found.map(({ item_id }) => item_id))
  const rows = found.filter(
    ({ state, starred, label }) =>
      (values.state !== null && state !== values.state) ||
      (values.starred !== null && starred !== values.starred) ||
      (change.label !== undefined && label !== change.label),
  )
  return {
    rows,
    unchanged: found.length - rows.length,
    unknown_ids: [...new Set(which.ids)].filter((id) => !known.has(id)),
    next: null,
  }
}

export type InboxMute = FilterEdit & { monitor_id: string }

/** Inserts an action with the states before it, and deletes the oldest beyond the bound. Returns its seq. */
function insertInboxAction(
  db: Db,
  { customer_id, key_id, id, now }: InboxActor,
  {
    kind,
    change,
    rows,
    undoes,
  }: {
    kind: ActionKind
    change: InboxChange | { mute: InboxMute }
    rows: readonly InboxStateRow[]
    undoes: string | null
  },
): number {
  const groups = new Map<string, Group>()
  for (const { state, starred, label, item_id } of rows) {
    const key = JSON.stringify([state, starred, label])
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [state, starred, label, [item_id]])
    else group[3].push(item_id)
  }
  const { lastInsertRowid } = db
    .query(
      `INSERT INTO inbox_actions (id, customer_id, key_id, at, kind, change, items, sample, previous, undoes)
       VALUES ($id, $customer_id, $key_id, $at, $kind, $change, $items, $sample, $previous, $undoes)`,
    )
    .run({
      id,
      customer_id,
      key_id,
      at: now,
      kind,
      change: JSON.stringify(change),
      items: rows.length,
      sample: JSON.stringify(rows.slice(0, SAMPLE).map(({ item_id }) => item_id)),
      previous: JSON.stringify([...groups.values()]),
      undoes,
    })
  db.query(
    `DELETE FROM inbox_actions WHERE seq <= (SELECT seq FROM inbox_actions
        WHERE customer_id = $customer_id ORDER BY seq DESC LIMIT 1 OFFSET ${ACTIONS_KEPT})
        AND customer_id = $customer_id`,
  ).run({ customer_id })
  return Number(lastInsertRowid)
}

export type UndoRefusal = 'unknown' | 'undone' | 'too_old'

/**
 * The outcome of an undoing: restored items, and those that were changed since or are gone. `mute`: the action edited a
 * filter, and nothing is undone yet.
 */
export type Undone = { restored: number; skipped: number } | { mute: InboxMute }

type StoredAction = Pick<InboxAction, 'seq' | 'at' | 'change' | 'undone_by'> & {
  previous: string | null
}

/** Restores the states before an action, in items that no later action has changed. Recorded as an action itself. */
export function undoInbox(db: Db, actor: InboxActor, action_id: string): Undone | UndoRefusal {
  const { customer_id, key_id, now } = actor
  return transact(db, (): Undone | UndoRefusal => {
    const action = db
      .query<StoredAction, [{ id: string; customer_id: string }]>(
        'SELECT seq, at, change, previous, undone_by FROM inbox_actions WHERE id = $id AND customer_id = $customer_id',
      )
      .get({ id: action_id, customer_id })
    if (action === null) return 'unknown'
    if (action.undone_by !== null) return 'undone'
    if (action.previous === null || now - action.at > UNDO_MS) return 'too_old'
    const { mute }: { mute?: InboxMute } = JSON.parse(action.change)
    if (mute !== undefined) return { mute }
    const groups: Group[] = JSON.parse(action.previous)
    const ids = groups.flatMap(([, , , of]) => of)
    const current = new Map(
      findInboxStates(db, customer_id, ids).map((it) => [it.item_id, it] as const),
    )
    const unchanged = db
      .query<{ row: number }, [{ rows: string; seq: number }]>(
        `SELECT i.row FROM json_each($rows) k CROSS JOIN inbox_items i ON i.row = k.value WHERE i.action = $seq`,
      )
      .all({ rows: JSON.stringify([...current.values()].map(({ row }) => row)), seq: action.seq })
    const own = new Set(unchanged.map(({ row }) => row))
    const rows = [...current.values()].filter(({ row }) => own.has(row))
    const seq = insertInboxAction(db, actor, { kind: 'undo', change: {}, rows, undoes: action_id })
    const restore = db.query(
      `UPDATE inbox_items SET state = $state, starred = $starred, label = $label,
              changed_at = $now, changed_by = $key_id, action = $seq
        WHERE row IN (SELECT value FROM json_each($rows))`,
    )
    for (const [state, starred, label, of] of groups) {
      const mine = of.flatMap((id) => current.get(id)?.row ?? []).filter((row) => own.has(row))
      restore.run({ state, starred, label, now, key_id, seq, rows: JSON.stringify(mine) })
    }
    markUndone(db, actor, action_id)
    return { restored: rows.length, skipped: ids.length - rows.length }
  })
}

const markUndone = (db: Db, { id, customer_id }: InboxActor, action_id: string) =>
  db
    .query(
      'UPDATE inbox_actions SET undone_by = $id WHERE id = $action_id AND customer_id = $customer_id',
    )
    .run({ id, customer_id, action_id })

/** Records the edit of a filter, in the transaction of the edit. `undoes`: the edit that it takes back; null: none. */
export function recordMute(db: Db, actor: InboxActor, mute: InboxMute, undoes: string | null) {
  const kind = undoes === null ? 'mute' : 'undo'
  insertInboxAction(db, actor, { kind, change: { mute }, rows: [], undoes })
  if (undoes !== null) markUndone(db, actor, undoes)
}

export type InboxAction = {
  seq: number
  id: string
  key_id: string
  key_name: string | null
  at: number
  kind: ActionKind
  /** JSON of {@link InboxChange}, or of the {@link InboxMute} in its field `mute`. */
  change: string
  items: number
  /** JSON list of the first ids. */
  sample: string
  undoable: 0 | 1
  undoes: string | null
  undone_by: string | null
}

/** Actions of a customer before a seq, newest first. */
export const listInboxActions = (
  db: Db,
  query: { customer_id: string; key_id: string | null; before: number; limit: number },
): InboxAction[] =>
  db
    .query<InboxAction, [typeof query]>(
      `SELECT a.seq, a.id, a.key_id, k.name AS key_name, a.at, a.kind, a.change, a.items, a.sample,
              a.previous IS NOT NULL AND a.undone_by IS NULL AS undoable, a.undoes, a.undone_by
         FROM inbox_actions a LEFT JOIN api_keys k ON k.id = a.key_id
        WHERE a.customer_id = $customer_id AND a.seq < $before AND ($key_id IS NULL OR a.key_id = $key_id)
        ORDER BY a.seq DESC LIMIT $limit + 0`,
    )
    .all(query)

/** The newest item and the newest action of a customer: they change with arrivals and with actions. */
export const inboxVersion = (
  db: Db,
  customer_id: string,
): { item: number | null; action: number | null } =>
  db
    .query<{ item: number | null; action: number | null }, [{ customer_id: string }]>(
      `SELECT (SELECT row FROM inbox_items INDEXED BY inbox_items_time WHERE customer_id = $customer_id
                ORDER BY matched_at DESC, row DESC LIMIT 1) AS item,
              (SELECT max(seq) FROM inbox_actions WHERE customer_id = $customer_id) AS action`,
    )
    .get({ customer_id }) ?? { item: null, action: null }

/** Deletes actions from before an instant, and the former states of those that cannot be undone any more. */
export function pruneInboxActions(db: Db, { before_at, now }: { before_at: number; now: number }) {
  transact(db, () => {
    db.query(
      `UPDATE inbox_actions SET previous = NULL WHERE previous IS NOT NULL AND at < $before_at`,
    ).run({ before_at: now - UNDO_MS })
    // The newest stays, because it holds the sequence.
    db.query(
      'DELETE FROM inbox_actions WHERE at < $before_at AND seq < (SELECT max(seq) FROM inbox_actions)',
    ).run({ before_at })
  })
}
