import { Elysia } from 'elysia'

import { ApiError } from '../core/errors.ts'
import { iso } from '../core/instant.ts'
import type { Db } from '../store/db.ts'
import { findFeedback, insertFeedback, listFeedback } from '../store/feedback.ts'
import { feedbackBody, listQuery, shapes, toFeedback, toPage } from './feedback-shape.ts'
import type { Infra } from './infra.ts'
import { answers, refuses } from './openapi.ts'

/** What a customer tells the operator, and reads the answers of; free. */
export const feedback = ({ keyed, clock, random }: Infra, db: Db) =>
  new Elysia({ name: 'feedback' })
    .use(keyed)
    .post(
      '/feedback',
      ({ customer, body: { area = null, evidence = null, ...said } }) => {
        const id = `fb_${random.uuid()}`
        const created_at = clock.now()
        insertFeedback(db, {
          ...said,
          id,
          area,
          evidence,
          customer_id: customer.id,
          created_at,
        })
        return { id, status: 'new', created_at: iso(created_at) }
      },
      {
        body: feedbackBody,
        detail: {
          summary: 'Tell the operator what is broken, missing or could be better',
          tags: ['Feedback'],
          operationId: 'sendFeedback',
          ...answers(() => shapes().sent),
        },
      },
    )
    .get(
      '/feedback',
      ({ customer, query: { status = null, type = null, cursor = null, limit } }) => {
        const wanted = { customer_id: customer.id, status, type, after_id: cursor }
        return toPage(listFeedback(db, { ...wanted, limit: limit + 1 }), limit, toFeedback)
      },
      {
        query: listQuery,
        detail: {
          summary: 'What you told the operator, newest first',
          tags: ['Feedback'],
          operationId: 'listFeedback',
          ...answers(() => shapes().page),
        },
      },
    )
    .get(
      '/feedback/:id',
      ({ customer, params: { id } }) => {
        const found = findFeedback(db, customer.id, id)
        if (found) return toFeedback(found)
        throw new ApiError('NOT_FOUND', { message: 'there is no such feedback' })
      },
      {
        detail: {
          summary: 'One piece of feedback, and its answer',
          tags: ['Feedback'],
          operationId: 'findFeedback',
          ...answers(() => shapes().feedback),
          ...refuses('NOT_FOUND'),
        },
      },
    )
