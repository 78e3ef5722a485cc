import { toUsd } from '../core/price.ts'
import { command, EXIT, JSON_OPTION } from './command.ts'
import { customerNamed, grant } from './customers.ts'
import { withInstance } from './instance.ts'
import { parseDollars, showDollars } from './money.ts'

export const creditAdd = command({
  name: 'credit add',
  summary: 'adds to the balance of a customer',
  operands: ['NAME', 'USD'],
  options: {
    note: { type: 'string', value: 'TEXT', help: 'what it was for; shown in its payments' },
    json: JSON_OPTION,
  },
  examples: ['forumd credit add acme 25', 'forumd credit add acme 0.5 --note "invoice 17"'],
  async run({ values, operands: [name = '', usd = ''], ...around }) {
    parseDollars(usd)
    const { note } = values
    const { balance_micros } = await withInstance(values.config, around, (opened) =>
      grant(opened, customerNamed(opened.db, name), {
        plan: undefined,
        credits: usd,
        ...(note === undefined ? {} : { note }),
      }),
    )
    around.stdout.write(
      values.json
        ? `${JSON.stringify({ customer: name, credits_remaining: toUsd(balance_micros) })}\n`
        : `${name} has ${showDollars(balance_micros)}\n`,
    )
    return EXIT.done
  },
})
