import * as z from 'zod'

import { ApiError } from '../../../core/base/errors.ts'
import {
  answerFeedback,
  FEEDBACK_STATUSES,
  type FeedbackStatus,
  RESPONSE_MAX,
} from '../../../store/customers/feedback.ts'
import { transact } from '../../../store/db/connection.ts'
import { action } from '../action.ts'

const TEXT_RULE = `text must have 1 to ${RESPONSE_MAX} characters`
const STATUS_RULE = `status must be one of ${FEEDBACK_STATUSES.join(', ')}`

export const answer = action<{ id: string; text: string; status: FeedbackStatus }>({
  command: 'feedback answer',
  summary: 'answers the feedback of a customer',
  route: 'POST /feedback/:id/answer',
  operands: ['id', 'text'],
  fields: () => ({
    text: z.string(TEXT_RULE).trim().min(1, TEXT_RULE).max(RESPONSE_MAX, TEXT_RULE),
    status: z
      .enum(FEEDBACK_STATUSES, STATUS_RULE)
      .default('triaged')
      .describe(`one of ${FEEDBACK_STATUSES.join(', ')}; triaged by default`),
  }),
  examples: ['forumd feedback answer fb_0199a000-0000-7000-8000-000000000001 - < answer.txt'],
  notes:
    'The customer reads the answer by GET /feedback/ID. A later answer replaces it. The id is in the notice of the feedback and in the problems of the dashboard. TEXT may be - for standard input.',
  run: ({ db, clock, input: { id, text, status }, record }) =>
    transact(db, () => {
      const title = answerFeedback(db, { id, response: text, status }, clock.now())
      if (title === null)
        throw new ApiError('NOT_FOUND', { message: `there is no feedback "${id.slice(0, 80)}"` })
      record({ action: 'feedback.answered', subject: id, subject_name: title, detail: { status } })
      return { id, title, status }
    }),
  print: ({ title, status }: { title: string; status: string }) => `${title}: ${status}, answered`,
})
