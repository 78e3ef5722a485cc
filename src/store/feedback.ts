import { type Db, transact } from './db.ts'

/** What feedback may be (contract 7). */
export const FEEDBACK_TYPES = ['bug', 'idea', 'missing_capability'] as const
type FeedbackType = (typeof FEEDBACK_TYPES)[number]
/** What may become of it. */
export const FEEDBACK_STATUSES = ['new', 'triaged', 'shipped', 'declined'] as const
export type FeedbackStatus = (typeof FEEDBACK_STATUSES)[number]

/** Characters of an operator's answer. */
export const RESPONSE_MAX = 8000

/** What a customer tells the operator, and what the operator says to it. Instants are epoch ms. */
export type Feedback = {
  id: string
  type: FeedbackType
  title: string
  details: string
  /** What it is about, in the customer's words. */
  area: string | null
  evidence: string | null
  status: FeedbackStatus
  response: string | null
  created_at: number
  updated_at: number
}

/** The same as the operator sees it. */
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

/** Writes down what a customer says. */
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

/** What a customer said, by its id; null when it is absent or somebody else's. */
export function findFeedback(db: Db, customer_id: string, id: string): Feedback | null {
  return db
    .query<Feedback, [{ id: string; customer_id: string }]>(
      `SELECT ${columns} FROM feedback f WHERE f.id = $id AND f.customer_id = $customer_id`,
    )
    .get({ id, customer_id })
}

/** Which feedback is wanted, the newest first. */
export type FeedbackQuery = {
  /** Null: of every customer. */
  customer_id: string | null
  status: FeedbackStatus | null
  type: FeedbackType | null
  /** The id of the last row of the page before; null for the newest. */
  after_id: string | null
  limit: number
}

/** What customers said, the newest first. */
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
 * Notes what the operator makes of it; what is left out stays as it is. Returns it as it is then; null when there is
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
