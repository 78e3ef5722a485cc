import type { Db } from '../db/connection.ts'

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

const COLUMNS = 'id, type, title, details, area, evidence, status, response, created_at, updated_at'

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

/** Feedback that is not answered, with the name of its customer, the oldest first. */
export const listNewFeedback = (
  db: Db,
  limit: number,
): (Pick<Feedback, 'id' | 'type' | 'title' | 'details' | 'created_at'> & { customer: string })[] =>
  db
    .query<ReturnType<typeof listNewFeedback>[number], [{ limit: number }]>(
      `SELECT f.id, f.type, f.title, f.details, f.created_at, c.name AS customer
         FROM feedback f JOIN customers c ON c.id = f.customer_id
        WHERE f.status = 'new' ORDER BY f.id LIMIT $limit + 0`,
    )
    .all({ limit })

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
      `SELECT ${COLUMNS} FROM feedback WHERE id = $id AND customer_id = $customer_id`,
    )
    .get({ id, customer_id })
}

/** Records the operator's answer. Returns the title of the feedback; null when there is none of this id. */
export const answerFeedback = (
  db: Db,
  answer: { id: string; response: string; status: FeedbackStatus },
  now: number,
): string | null =>
  db
    .query<{ title: string }, [typeof answer & { now: number }]>(
      `UPDATE feedback SET status = $status, response = $response, updated_at = max($now, updated_at)
        WHERE id = $id RETURNING title`,
    )
    .get({ ...answer, now })?.title ?? null
