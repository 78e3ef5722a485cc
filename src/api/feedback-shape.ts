import * as z from 'zod'

import { iso } from '../core/instant.ts'
import { once } from '../core/once.ts'
import {
  type CustomersFeedback,
  type Feedback,
  FEEDBACK_STATUSES,
  FEEDBACK_TYPES,
  RESPONSE_MAX,
} from '../store/feedback.ts'
import { closed, maybeOneOf, query } from './fields.ts'
import { besideShape, pageOf, pageQuery } from './pages.ts'

const TITLE_MAX = 120
const DETAILS_MAX = 8000
const AREA_MAX = 60
const EVIDENCE_MAX = 8000

const sentence = (name: string, max: number) => `${name} must be text of 1 to ${max} characters`

/** A text of a body that has to be there. */
const text = (name: string, max: number) =>
  z
    .string({
      error: ({ input }) => (input === undefined ? `${name} is required` : sentence(name, max)),
    })
    .trim()
    .min(1, sentence(name, max))
    .max(max, sentence(name, max))

/** A text of a body that may be left out, or null. */
const maybeText = (name: string, max: number) =>
  z
    .string({ error: `${sentence(name, max)}, or null` })
    .trim()
    .min(1, `${sentence(name, max)}, or null`)
    .max(max, `${sentence(name, max)}, or null`)
    .nullable()
    .optional()

const chosen = <const V extends readonly [string, ...string[]]>(name: string, values: V) =>
  z.enum(values, {
    error: ({ input }) =>
      `${name} ${input === undefined ? 'is required: ' : 'must be '}one of ${values.join(', ')}`,
  })

/** What a customer sends. */
export const feedbackBody = closed(() => ({
  type: chosen('type', FEEDBACK_TYPES),
  title: text('title', TITLE_MAX),
  details: text('details', DETAILS_MAX),
  area: maybeText('area', AREA_MAX),
  evidence: maybeText('evidence', EVIDENCE_MAX),
}))

/** What the operator answers; one of the two at least. */
export const answerBody = closed(() => ({
  status: maybeOneOf('status', FEEDBACK_STATUSES),
  response: maybeText('response', RESPONSE_MAX),
}))

/** Which of it is listed. */
export const listQuery = query(() => ({
  status: maybeOneOf('status', FEEDBACK_STATUSES),
  type: maybeOneOf('type', FEEDBACK_TYPES),
  ...pageQuery('fb'),
}))

/** A row as its customer sees it. */
export const toFeedback = (row: Feedback) => ({
  id: row.id,
  type: row.type,
  title: row.title,
  details: row.details,
  area: row.area,
  evidence: row.evidence,
  status: row.status,
  response: row.response,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

/** A row as the operator sees it. */
export const toOperator = (row: CustomersFeedback) => ({
  ...toFeedback(row),
  customer: { id: row.customer_id, name: row.customer_name },
})

/** A page of rows, as `show` shows each. */
export function toPage<R extends { id: string }, S>(
  rows: readonly R[],
  rows_max: number,
  show: (row: R) => S,
) {
  const { shown, beside } = pageOf(rows, rows_max)
  return { feedback: shown.map(show), ...beside }
}

// For the document alone.
/** The answers about feedback, as zod schemas; made at the first call. */
export const shapes = once(() => {
  const status = z.enum(FEEDBACK_STATUSES)
  const instant = z.iso.datetime()
  const sent = z.object({ id: z.string(), status, created_at: instant })
  const feedback = z.object({
    id: z.string(),
    type: z.enum(FEEDBACK_TYPES),
    title: z.string(),
    details: z.string(),
    area: z.string().nullable(),
    evidence: z.string().nullable(),
    status,
    response: z.string().nullable().meta({ description: 'What the operator answered.' }),
    created_at: instant,
    updated_at: instant,
  })
  return { sent, feedback, page: z.object({ feedback: z.array(feedback), ...besideShape() }) }
})
