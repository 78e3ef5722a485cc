import * as z from 'zod'

import { once } from '../../core/base/lazy.ts'
import {
  DRAFT_ACTIONS,
  DRAFT_STATES,
  type DraftAction,
  type DraftState,
} from '../../core/forum/draft.ts'
import { type Db, transact } from '../db/connection.ts'

/** A write proposed by a program, for a person to approve. Instants are epoch ms. */
export type Draft = {
  id: string
  customer_id: string
  customer_name: string
  key_id: string
  action: DraftAction
  body: Record<string, unknown>
  /** Name of the further source that it is for; null: the source of the accounts. */
  source: string | null
  state: DraftState
  /** The pool account for which it was approved; null when the approval brought a session. */
  account: string | null
  /** The last answer to the write. */
  answer: Record<string, unknown> | null
  created_at: number
  expires_at: number
  decided_at: number | null
}

export const DRAFTS_OPEN_MAX = 100
const RETENTION_MS = 30 * 86_400_000

const rowShape = once(() => {
  const json = z.record(z.string(), z.unknown())
  return z.object({
    id: z.string(),
    customer_id: z.string(),
    customer_name: z.string(),
    key_id: z.string(),
    action: z.enum(DRAFT_ACTIONS),
    body: z.string().transform((text) => json.parse(JSON.parse(text))),
    source: z.string().nullable(),
    state: z.enum(DRAFT_STATES),
    account: z.string().nullable(),
    answer: z
      .string()
      .nullable()
      .transform((text) => (text === null ? null : json.parse(JSON.parse(text)))),
    created_at: z.number(),
    expires_at: z.number(),
    decided_at: z.number().nullable(),
  })
})

const DRAFTS = `SELECT d.id, d.customer_id, c.name AS customer_name, d.key_id, d.action, d.body, d.source, d.state,
       d.account, d.answer, d.created_at, d.expires_at, d.decided_at
  FROM drafts d JOIN customers c ON c.id = d.customer_id`

/** Inserts a draft, and deletes those past their retention. False when its customer has too many undecided ones. */
export function insertDraft(
  db: Db,
  {
    body,
    ...row
  }: Pick<
    Draft,
    'id' | 'customer_id' | 'key_id' | 'action' | 'body' | 'source' | 'created_at' | 'expires_at'
  >,
): boolean {
  return transact(db, () => {
    db.query("DELETE FROM drafts WHERE created_at < $before AND state <> 'running'").run({
      before: row.created_at - RETENTION_MS,
    })
    const open = db
      .query<{ open: number }, [{ customer_id: string; now: number }]>(
        `SELECT count(*) AS open FROM drafts
          WHERE customer_id = $customer_id AND state = 'waiting' AND expires_at > $now`,
      )
      .get({ customer_id: row.customer_id, now: row.created_at })
    if ((open?.open ?? 0) >= DRAFTS_OPEN_MAX) return false
    db.query(
      `INSERT INTO drafts (id, customer_id, key_id, action, body, source, created_at, expires_at)
       VALUES ($id, $customer_id, $key_id, $action, $body, $source, $created_at, $expires_at)`,
    ).run({ ...row, body: JSON.stringify(body) })
    return true
  })
}

/** A draft by its id; null when absent or owned by another customer. `customer_id` null: any customer. */
export function findDraft(db: Db, id: string, customer_id: string | null): Draft | null {
  const row = db
    .query(`${DRAFTS} WHERE d.id = $id AND ($customer_id IS NULL OR d.customer_id = $customer_id)`)
    .get({ id, customer_id })
  return row === null ? null : rowShape().parse(row)
}

export type DraftQuery = {
  /** Null: all customers. */
  customer_id: string | null
  /** True: only undecided drafts that have not expired. */
  waiting: boolean
  now: number
  /** The id of the last row of the page before; null for the newest. */
  after_id: string | null
  limit: number
}

export function listDrafts(db: Db, { waiting, ...query }: DraftQuery): Draft[] {
  const { now, ...others } = query
  const rows = db
    .query(
      `${DRAFTS} WHERE ($customer_id IS NULL OR d.customer_id = $customer_id)
          AND ($after_id IS NULL OR d.id < $after_id)
          ${waiting ? "AND d.state = 'waiting' AND d.expires_at > $now" : ''}
        ORDER BY d.id DESC LIMIT $limit`,
    )
    .all({ ...others, ...(waiting && { now }) })
  return rows.map((row) => rowShape().parse(row))
}

/**
 * Moves a draft on if it is waiting and has not expired. Returns true when it did: of two
 * concurrent approvals only one succeeds.
 */
export function moveDraft(
  db: Db,
  id: string,
  move: { to: DraftState; account?: string | null; now: number },
): boolean {
  const { account = null, ...rest } = move
  const { changes } = db
    .query(
      `UPDATE drafts SET state = $to, account = coalesce($account, account), decided_at = $now
        WHERE id = $id AND state = 'waiting' AND expires_at > $now`,
    )
    .run({ id, account, ...rest })
  return changes > 0
}

/** Records the answer to a running draft's write, and the draft's next state. */
export function endDraft(
  db: Db,
  id: string,
  { state, answer }: { state: 'done' | 'failed' | 'waiting'; answer: Record<string, unknown> },
): void {
  // A draft that waits again may be claimed by any process.
  db.query(
    `UPDATE drafts SET state = $state, answer = $answer,
            account = CASE WHEN $state = 'waiting' THEN NULL ELSE account END,
            decided_at = CASE WHEN $state = 'waiting' THEN NULL ELSE decided_at END
      WHERE id = $id AND state = 'running'`,
  ).run({ id, state, answer: JSON.stringify(answer) })
}

/** Fails the drafts that were running when the last daemon ended: the outcome of their writes is unknown. */
export function failRunningDrafts(db: Db, answer: Record<string, unknown>): number {
  return db
    .query("UPDATE drafts SET state = 'failed', answer = $answer WHERE state = 'running'")
    .run({ answer: JSON.stringify(answer) }).changes
}
