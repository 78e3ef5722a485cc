import { answerFeedback, FEEDBACK_STATUSES, RESPONSE_MAX } from '../../store/customers/feedback.ts'
import { command, CommandRefusal, EXIT, UsageError } from '../command.ts'
import { withInstance } from '../configuration.ts'
import { parseChoice } from '../inputs.ts'
import { escapeControl } from '../output.ts'

export const feedbackAnswer = command({
  name: 'feedback answer',
  summary: 'answers the feedback of a customer',
  operands: ['ID', 'TEXT'],
  options: {
    status: {
      type: 'string',
      value: 'STATUS',
      help: `one of ${FEEDBACK_STATUSES.join(', ')}; triaged by default`,
    },
  },
  examples: ['forumd feedback answer fb_0199a000-0000-7000-8000-000000000001 - < answer.txt'],
  notes:
    'The customer reads the answer by GET /feedback/ID. A later answer replaces it. The id is in the notice of the feedback and in the problems of the dashboard.',
  async run({ values, operands: [id = '', text = ''], ...context }) {
    const status = parseChoice('status', values.status, FEEDBACK_STATUSES) ?? 'triaged'
    const response = (text === '-' ? await context.readStdin() : text).trim()
    if (response === '' || response.length > RESPONSE_MAX)
      throw new UsageError(`TEXT must have 1 to ${RESPONSE_MAX} characters`)
    const title = await withInstance(context, ({ db, now }) =>
      answerFeedback(db, { id, response, status }, now),
    )
    if (title === null) throw new CommandRefusal(`there is no feedback "${id}"`)
    context.stdout.write(`${escapeControl(title)}: ${status}, answered\n`)
    return EXIT.done
  },
})
