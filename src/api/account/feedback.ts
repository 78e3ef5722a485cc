import { Elysia } from 'elysia'
import * as z from 'zod'

import { ApiError } from '../../core/base/errors.ts'
import { once } from '../../core/base/lazy.ts'
import { iso } from '../../core/base/time.ts'
import {
  FEEDBACK_STATUSES,
  FEEDBACK_TYPES,
  findFeedback,
  insertFeedback,
  measureFeedback,
} from '../../store/customers/feedback.ts'
import type { Db } from '../../store/db/connection.ts'
import type { RouteContext } from '../context.ts'
import { bodySchema } from '../http/fields.ts'
import { answers, refuses } from '../openapi/route-docs.ts'

const TITLE_MAX = 120
const DETAILS_MAX = 8000
const AREA_MAX = 60
const EVIDENCE_MAX = 8000

const sentence = (name: string, max: number) => `${name} must be text of 1 to ${max} characters`

const text = (name: string, max: number) =>
  z
    .string({
      error: ({ input }) => (input === undefined ? `${name} is required` : sentence(name, max)),
    })
    .trim()
    .min(1, sentence(name, max))
    .max(max, sentence(name, max))

/** An optional or null text of a body. */
const maybeText = (name: string, max: number) =>
  z
    .string({ error: `${sentence(name, max)}, or null` })
    .trim()
    .min(1, `${sentence(name, max)}, or null`)
    .max(max, `${sentence(name, max)}, or null`)
    .nullable()
    .optional()

const EVIDENCE = `evidence must be text or an object of 1 to ${EVIDENCE_MAX} characters, or null`

/** Evidence as text; an object is stored as its JSON. */
const evidenceField = () =>
  z
    .union([z.string().trim(), z.record(z.string(), z.unknown())], { error: EVIDENCE })
    .transform((given) => (typeof given === 'string' ? given : JSON.stringify(given)))
    .refine((it) => it.length > 0 && it.length <= EVIDENCE_MAX, EVIDENCE)
    .nullable()
    .optional()
    .describe('Text, or an object, which is stored and shown as its JSON text.')

const enumField = <const V extends readonly [string, ...string[]]>(name: string, values: V) =>
  z.enum(values, {
    error: ({ input }) =>
      `${name} ${input === undefined ? 'is required: ' : 'must be '}one of ${values.join(', ')}`,
  })

const feedbackBody = bodySchema(() => ({
  type: enumField('type', FEEDBACK_TYPES),
  title: text('title', TITLE_MAX),
  details: text('details', DETAILS_MAX),
  area: maybeText('area', AREA_MAX),
  evidence: evidenceField(),
}))

// Used by the OpenAPI document only.
/** Response schemas of feedback, created at the first call. */
const shapes = once(() => {
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
    response: z.string().nullable().describe("The operator's answer; null: none yet."),
    created_at: instant,
    updated_at: instant,
  })
  return { sent, feedback }
})

/**
 * Keys of `[limits]` that bound the stored feedback of one customer, read at each call; 0: no
 * limit.
 */
export type FeedbackLimits = { feedback_rows: number; feedback_kib: number; feedback_days: number }

const KIB = 1024

/** @throws {ApiError} feedback_exhausted if a limit would be exceeded */
function checkRoom(
  used: { rows: number; bytes: number },
  bytes: number,
  { feedback_rows, feedback_kib, feedback_days }: FeedbackLimits,
): void {
  const full = (limit: number, what: string) =>
    new ApiError('feedback_exhausted', {
      message: `a customer may have ${what} stored${feedback_days === 0 ? '' : `; each is deleted ${feedback_days} days after its last change`}`,
      extra: { limit },
    })
  if (feedback_rows > 0 && used.rows >= feedback_rows)
    throw full(feedback_rows, `${feedback_rows} pieces of feedback`)
  if (feedback_kib > 0 && used.bytes + bytes > feedback_kib * KIB)
    throw full(feedback_kib, `${feedback_kib} KiB of feedback`)
}

/** Routes for a customer's feedback to the operator and its answer; free. */
export const feedback = (
  { keyed, clock, random }: RouteContext,
  {
    db,
    limits,
    notify,
  }: {
    db: Db
    limits: FeedbackLimits
    notify: (event: string, fields: Readonly<Record<string, unknown>>) => void
  },
) =>
  new Elysia({ name: 'feedback' })
    .use(keyed)
    .post(
      '/feedback',
      ({ customer, body: { area = null, evidence = null, ...input } }) => {
        const said = [input.title, input.details, area ?? '', evidence ?? ''].join('')
        checkRoom(measureFeedback(db, customer.id), Buffer.byteLength(said), limits)
        const id = `fb_${random.uuid()}`
        const created_at = clock.now()
        const received = { ...input, id, area, evidence }
        insertFeedback(db, { ...received, customer_id: customer.id, created_at })
        notify('feedback.received', { ...received, customer: customer.name })
        return { id, status: 'new', created_at: iso(created_at) }
      },
      {
        body: feedbackBody,
        detail: {
          summary: 'Send feedback to the operator',
          tags: ['Feedback'],
          operationId: 'sendFeedback',
          ...answers(() => shapes().sent),
          ...refuses('feedback_exhausted'),
        },
      },
    )
    .get(
      '/feedback/:id',
      ({ customer, params: { id } }) => {
        const found = findFeedback(db, customer.id, id)
        if (found === null)
          throw new ApiError('NOT_FOUND', { message: 'there is no such feedback' })
        const { created_at, updated_at, ...rest } = found
        return { ...rest, created_at: iso(created_at), updated_at: iso(updated_at) }
      },
      {
        detail: {
          summary: 'One feedback and its answer',
          tags: ['Feedback'],
          operationId: 'findFeedback',
          ...answers(() => shapes().feedback),
          ...refuses('NOT_FOUND'),
        },
      },
    )
