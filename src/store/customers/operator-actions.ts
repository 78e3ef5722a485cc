import { type Db, transact } from '../db/connection.ts'

/** Time for which actions are kept, ms. The triggers of the table have the same. */
export const ACTIONS_KEEP_MS = 400 * 86_400_000

/** An action of an operator, with the key and the address that it came from. Epoch milliseconds. */
export type OperatorAction = {
  seq: number
  at: number
  key_id: string
  /** Name and first characters of the key at that time. */
  key_name: string | null
  key_prefix: string
  address: string
  /** Subject and change, such as `plan.changed`. */
  action: string
  subject: string
  subject_name: string | null
  /** JSON object, without secrets. */
  detail: string
}

/** Appends an action. Part of the transaction of the change that it describes. */
export function insertAction(db: Db, action: Omit<OperatorAction, 'seq'>): void {
  db.query(
    `INSERT INTO operator_actions (at, key_id, key_name, key_prefix, address, action, subject, subject_name, detail)
     VALUES ($at, $key_id, $key_name, $key_prefix, $address, $action, $subject, $subject_name, $detail)`,
  ).run(action)
}

/** Actions, newest first; those before `before` when it is not null. */
export function listActions(
  db: Db,
  { before, limit }: { before: number | null; limit: number },
): OperatorAction[] {
  return db
    .query<OperatorAction, { before: number; limit: number }>(
      `SELECT seq, at, key_id, key_name, key_prefix, address, action, subject, subject_name, detail
         FROM operator_actions WHERE seq < $before ORDER BY seq DESC LIMIT $limit`,
    )
    .all({ before: before ?? Number.MAX_SAFE_INTEGER, limit })
}

/** Deletes actions from before an instant, epoch ms. Younger rows cannot be deleted. */
export function pruneActions(db: Db, before_at: number): void {
  transact(db, () =>
    db
      .query(
        `DELETE FROM operator_actions WHERE at < $before_at
            AND at < CAST(unixepoch('subsec') * 1000 AS INTEGER) - ${ACTIONS_KEEP_MS}`,
      )
      .run({ before_at }),
  )
}
