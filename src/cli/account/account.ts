import { command, EXIT, JSON_OPTION, UsageError } from '../command.ts'
import { requestAction } from '../operator.ts'

export const accountRemove = command({
  name: 'account remove',
  summary: 'removes an account with its cookies and password',
  operands: ['[NAME]'],
  options: {
    source: { type: 'string', value: 'NAME', help: 'your account at this source' },
    json: JSON_OPTION,
  },
  examples: ['forumd account remove main', 'forumd account remove --source meta'],
  notes: 'Its session on the platform stays open: sign out there to end it.',
  async run({ values: { source, json }, operands: [name], ...context }) {
    if ((name === undefined) === (source === undefined))
      throw new UsageError('NAME or --source is needed, and not both')
    const answer = await requestAction(
      context,
      {
        route:
          source === undefined
            ? 'POST /accounts/:name/remove'
            : 'POST /sources/:source/account/remove',
      },
      { name, source },
    )
    const removed = source === undefined ? name : `your account at ${source}`
    context.stdout.write(json ? `${JSON.stringify(answer)}\n` : `${removed} is removed\n`)
    return EXIT.done
  },
})
