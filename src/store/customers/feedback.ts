import { type Db, transact } from '../db/connection.ts'

/** Types of feedback. */
export const FEEDBACK_TYPES = ['bug', 'idea', 'missing_capability'] as const
type FeedbackType = (typeof FEEDBACK_TYPES)[number]
/** States of feedback, from its arrival to its end. */
export const FEEDBACK_STATUSES = ['new', 'triaged', 'shipped', 'declined'] as const
export type FeedbackStatus = (typeof FEEDBACK_STATUSES)[number]

/** Most characters of an operator's answer. */
export const RESPONSE_MAX = 8000

/** Feedback of a customer, and the operator's answer. Instants are epoch ms. */
export type Feedback = {
  id: string
  type: FeedbackType
  title: string
  details: string
  /** The part of the service that it concerns, in the customer's words. */
  area: string | null
  evidence: string | null
  status: FeedbackStatus
  response: string | null
  created_at: number
  updated_at: number
}

/** The same as the operator sees it, with the customer. */
export type CustomersFeedback = Feedback & { customer_id: string; customer_name: string }

const COLUMNS = [
  'id',
  'type',
  'title',
  'details',
  'area',
  'evidence',
  'status',
  'response',
  'created_at',
  'updated_at',
]
const columns = COLUMNS.map((name) => `f.${name}`).join(', ')

/** Inserts feedback from a customer. */
export function insertFeedback(
  db: Db,
  row: Pick<Feedback, 'id' | 'type' | 'title' | 'details' | 'area' | 'evidence' | 'created_at'> & {
    customer_id: string
  },
): void {
  db.query(
    `INSERT INTO feedback (id, customer_id, type, title, details, area, evidence, created_at, updated_at)
     VALUES ($id, $customer_id, $type, $title, $details, $area, $evidence, $created_at, $created_at)`,
  ).run(row)
}

/** Number of feedbacks that nothing was done about, and the time of the oldest; null: there is none. */
export const countNewFeedback = (db: Db): { n: number; since_at: number | null } =>
  db
    .query<{ n: number; since_at: number | null }, []>(
      "SELECT count(*) AS n, min(created_at) AS since_at FROM feedback WHERE status = 'new'",
    )
    .get() ?? { n: 0, since_at: null }

/** The number of pieces of feedback stored for a customer, and the bytes of their text. */
export function measureFeedback(db: Db, customer_id: string): { rows: number; bytes: number } {
  const found = db
    .query<{ rows: number; bytes: number }, [{ customer_id: string }]>(
      `SELECT count(*) AS rows,
              coalesce(sum(octet_length(title) + octet_length(details)
                + coalesce(octet_length(area), 0) + coalesce(octet_length(evidence), 0)), 0) AS bytes
         FROM feedback WHERE customer_id = $customer_id`,
    )
    .get({ customer_id })
  return found ?? { rows: 0, bytes: 0 }
}

/** Deletes feedback that was last changed before `before_at`. Returns the number of rows. */
export function pruneFeedback(db: Db, before_at: number): number {
  return db.query('DELETE FROM feedback WHERE updated_at < $before_at').run({ before_at }).changes
}

/** A customer's feedback by its id; null when absent or owned by another customer. */
export function findFeedback(db: Db, customer_id: string, id: string): Feedback | null {
  return db
    .query<Feedback, [{ id: string; customer_id: string }]>(
      `SELECT ${columns} FROM feedback f WHERE f.id = $id AND f.customer_id = $customer_id`,
    )
    .get({ id, customer_id })
}

/** A selection of feedback, newest first. */
export type FeedbackQuery = {
  /** Null: all customers. */
  customer_id: string | null
  status: FeedbackStatus | null
  type: FeedbackType | null
  /** The id of the last row of the page before; null for the newest. */
  after_id: string | null
  limit: number
}

/** Feedback of customers, newest first. */
export function listFeedback(db: Db, query: FeedbackQuery): CustomersFeedback[] {
  const conditions = ['TRUE']
  if (query.customer_id !== null) conditions.push('f.customer_id = $customer_id')
  if (query.status !== null) conditions.push('f.status = $status')
  if (query.type !== null) conditions.push('f.type = $type')
  if (query.after_id !== null) conditions.push('f.id < $after_id')
  const { limit, ...wanted } = query
  const named = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== null))
  return db
    .query<CustomersFeedback, [Record<string, string | number | null>]>(
      `SELECT ${columns}, f.customer_id, c.name AS customer_name
         FROM feedback f JOIN customers c ON c.id = f.customer_id
        WHERE ${conditions.join(' AND ')} ORDER BY f.id DESC LIMIT $limit`,
    )
    .all({ ...named, limit })
}

/**
 * Records the operator's answer and status; absent fields stay unchanged. Returns the updated row; null when there is
 * none of this id.
 */
export function answerFeedback(
  db: Db,
  id: string,
  answer: { status?: FeedbackStatus | undefined; response?: string | null | undefined },
  now: number,
): CustomersFeedback | null {
  return transact(db, () => {
    db.query(
      `UPDATE feedback SET status = coalesce($status, status), updated_at = max($now, updated_at),
              response = CASE WHEN $keeps THEN response ELSE $response END
        WHERE id = $id`,
    ).run({
      id,
      now,
      status: answer.status ?? null,
      keeps: answer.response === undefined ? 1 : 0,
      response: answer.response ?? null,
    })
    return db
      .query<CustomersFeedback, [{ id: string }]>(
        `SELECT ${columns}, f.customer_id, c.name AS customer_name
           FROM feedback f JOIN customers c ON c.id = f.customer_id WHERE f.id = $id`,
      )
      .get({ id })
  })
}
