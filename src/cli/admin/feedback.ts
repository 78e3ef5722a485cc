import { iso } from '../../core/base/time.ts'
import {
  answerFeedback,
  FEEDBACK_STATUSES,
  FEEDBACK_TYPES,
  listFeedback,
  RESPONSE_MAX,
} from '../../store/customers/feedback.ts'
import { command, CommandRefusal, EXIT, JSON_OPTION, UsageError } from '../command.ts'
import { withInstance } from '../configuration.ts'
import { LIMIT_OPTION, parseChoice, parseLimit } from '../inputs.ts'
import { escapeControl, table } from '../output.ts'
import { customerNamed } from './customer.ts'

export const feedbackList = command({
  name: 'feedback list',
  summary: 'lists feedback of customers, newest first',
  options: {
    status: { type: 'string', value: 'STATUS', help: `one of ${FEEDBACK_STATUSES.join(', ')}` },
    type: { type: 'string', value: 'TYPE', help: `one of ${FEEDBACK_TYPES.join(', ')}` },
    customer: { type: 'string', value: 'NAME', help: 'feedback of this customer only' },
    limit: LIMIT_OPTION,
    json: { type: 'boolean', help: 'answer as JSON, with the details' },
  },
  examples: ['forumd feedback list --status new', 'forumd feedback list --json --limit 1000'],
  async run({ values, ...context }) {
    const { customer, limit } = values
    const rows_max = parseLimit(limit)
    const status = parseChoice('status', values.status, FEEDBACK_STATUSES)
    const type = parseChoice('type', values.type, FEEDBACK_TYPES)
    const rows = await withInstance(context, ({ db }) =>
      listFeedback(db, {
        customer_id: customer === undefined ? null : customerNamed(db, customer).id,
        status,
        type,
        after_id: null,
        limit: rows_max,
      }),
    )
    const views = rows.map((row) => ({
      id: row.id,
      customer: row.customer_name,
      type: row.type,
      status: row.status,
      title: row.title,
      details: row.details,
      area: row.area,
      evidence: row.evidence,
      response: row.response,
      created_at: iso(row.created_at),
      updated_at: iso(row.updated_at),
    }))
    context.stdout.write(
      values.json
        ? `${JSON.stringify({ feedback: views })}\n`
        : table(
            views.map(({ id, customer: of, type: kind, status: stands, title, created_at }) => ({
              id,
              customer: of,
              type: kind,
              status: stands,
              title,
              created_at,
            })),
            'There is no such feedback.',
          ),
    )
    return EXIT.done
  },
})

export const feedbackAnswer = command({
  name: 'feedback answer',
  summary: 'answers the feedback of a customer',
  operands: ['ID'],
  options: {
    status: { type: 'string', value: 'STATUS', help: `one of ${FEEDBACK_STATUSES.join(', ')}` },
    response: {
      type: 'string',
      value: 'TEXT',
      help: 'response that the customer sees; - reads standard input',
    },
    json: JSON_OPTION,
  },
  examples: [
    'forumd feedback answer fb_0199a000-0000-7000-8000-000000000001 --status triaged',
    'forumd feedback answer fb_0199a000-0000-7000-8000-000000000001 --status shipped --response "in 1.1"',
  ],
  notes: 'An omitted option leaves its field unchanged.',
  async run({ values, operands: [id = ''], ...context }) {
    const status = parseChoice('status', values.status, FEEDBACK_STATUSES)
    const response = values.response === '-' ? await context.readStdin() : values.response
    if (status === null && response === undefined)
      throw new UsageError('--status STATUS or --response TEXT is needed')
    if (response !== undefined && (response.trim() === '' || response.length > RESPONSE_MAX))
      throw new UsageError(`--response must have 1 to ${RESPONSE_MAX} characters`)
    const answered = await withInstance(context, ({ db, now }) =>
      answerFeedback(db, id, { status: status ?? undefined, response: response?.trim() }, now),
    )
    if (answered === null)
      throw new CommandRefusal(`there is no feedback "${id}": see forumd feedback list`)
    context.stdout.write(
      values.json
        ? `${JSON.stringify({ id, status: answered.status, response: answered.response })}\n`
        : `${escapeControl(answered.title)}: ${answered.status}${answered.response === null ? '' : `, “${answered.response}”`}\n`,
    )
    return EXIT.done
  },
})
