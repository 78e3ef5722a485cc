import * as z from 'zod'

import { DRAFT_ACTIONS, DRAFT_STATES, type DraftAction, type DraftState } from '../core/draft.ts'
import { once } from '../core/once.ts'
import { type Db, transact } from './db.ts'

/** What a program wants to write. Instants are epoch ms. */
export type Draft = {
  id: string
  customer_id: string
  customer_name: string
  key_id: string
  action: DraftAction
  body: Record<string, unknown>
  state: DraftState
  /** The account of the pool that it was approved for; null where a session was sent with the approval. */
  account: string | null
  /** What the write was answered with, last. */
  answer: Record<string, unknown> | null
  created_at: number
  expires_at: number
  decided_at: number | null
}

/** So many of one customer may be undecided at a time. */
export const DRAFTS_OPEN_MAX = 100
/** Those that are over are kept so long. */
const KEPT_MS = 30 * 86_400_000

const rowShape = once(() => {
  const json = z.record(z.string(), z.unknown())
  return z.object({
    id: z.string(),
    customer_id: z.string(),
    customer_name: z.string(),
    key_id: z.string(),
    action: z.enum(DRAFT_ACTIONS),
    body: z.string().transform((text) => json.parse(JSON.parse(text))),
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

const DRAFTS = `SELECT d.id, d.customer_id, c.name AS customer_name, d.key_id, d.action, d.body, d.state, d.account,
       d.answer, d.created_at, d.expires_at, d.decided_at
  FROM drafts d JOIN customers c ON c.id = d.customer_id`

/** Writes down a draft, and forgets those that are long over. False when its customer has too many undecided ones. */
export function insertDraft(
  db: Db,
  {
    body,
    ...row
  }: Pick<Draft, 'id' | 'customer_id' | 'key_id' | 'action' | 'body' | 'created_at' | 'expires_at'>,
): boolean {
  return transact(db, () => {
    db.query("DELETE FROM drafts WHERE created_at < $before AND state <> 'running'").run({
      before: row.created_at - KEPT_MS,
    })
    const open = db
      .query<{ open: number }, [{ customer_id: string; now: number }]>(
        `SELECT count(*) AS open FROM drafts
          WHERE customer_id = $customer_id AND state IN ('waiting', 'queued') AND expires_at > $now`,
      )
      .get({ customer_id: row.customer_id, now: row.created_at })
    if ((open?.open ?? 0) >= DRAFTS_OPEN_MAX) return false
    db.query(
      `INSERT INTO drafts (id, customer_id, key_id, action, body, created_at, expires_at)
       VALUES ($id, $customer_id, $key_id, $action, $body, $created_at, $expires_at)`,
    ).run({ ...row, body: JSON.stringify(body) })
    return true
  })
}

/** A draft by its id; null when it is absent, or of another customer than the one asked for. */
export function findDraft(db: Db, id: string, customer_id: string | null): Draft | null {
  const row = db
    .query(`${DRAFTS} WHERE d.id = $id AND ($customer_id IS NULL OR d.customer_id = $customer_id)`)
    .get({ id, customer_id })
  return row === null ? null : rowShape().parse(row)
}

/** Which drafts are wanted. */
export type DraftQuery = {
  /** Null: of every customer. */
  customer_id: string | null
  /** Only those that nobody has decided on, and that have not ended. */
  waiting: boolean
  now: number
  /** The id of the last row of the page before; null for the newest. */
  after_id: string | null
  limit: number
}

/** Drafts, the newest first. */
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
 * Moves a draft on that is still in the state it is expected in and has not ended; whether it was there to be moved. Of
 * two that want to approve the same draft, one hears false.
 */
export function moveDraft(
  db: Db,
  id: string,
  move: { from: 'waiting' | 'queued'; to: DraftState; account?: string | null; now: number },
): boolean {
  const { account = null, ...rest } = move
  const { changes } = db
    .query(
      `UPDATE drafts SET state = $to, account = coalesce($account, account), decided_at = $now
        WHERE id = $id AND state = $from AND expires_at > $now`,
    )
    .run({ id, account, ...rest })
  return changes > 0
}

/** Writes down how the write of a running draft was answered, and what becomes of the draft. */
export function endDraft(
  db: Db,
  id: string,
  { state, answer }: { state: 'done' | 'failed' | 'waiting'; answer: Record<string, unknown> },
): void {
  // One that waits again waits for anybody.
  db.query(
    `UPDATE drafts SET state = $state, answer = $answer,
            account = CASE WHEN $state = 'waiting' THEN NULL ELSE account END,
            decided_at = CASE WHEN $state = 'waiting' THEN NULL ELSE decided_at END
      WHERE id = $id AND state = 'running'`,
  ).run({ id, state, answer: JSON.stringify(answer) })
}

/** Drafts that were approved beside the daemon and are to be begun, the oldest first. */
export function queuedDrafts(db: Db, now: number): Draft[] {
  return db
    .query(`${DRAFTS} WHERE d.state = 'queued' AND d.expires_at > $now ORDER BY d.id`)
    .all({ now })
    .map((row) => rowShape().parse(row))
}

/** Ends the drafts that a daemon was at when it ended: whether they were written, nobody knows. */
export function failRunningDrafts(db: Db, answer: Record<string, unknown>): number {
  return db
    .query("UPDATE drafts SET state = 'failed', answer = $answer WHERE state = 'running'")
    .run({ answer: JSON.stringify(answer) }).changes
}
