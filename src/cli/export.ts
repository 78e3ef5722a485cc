import { stringify } from 'smol-toml'

import { createWords } from '../core/wire.ts'
import { listCustomers } from '../store/customers.ts'
import { heldBy } from './code/held.ts'
import { toDocument } from './code/write.ts'
import { command, EXIT } from './command.ts'
import { customerNamed } from './customers.ts'
import { withInstance } from './instance.ts'

const HEAD = `# Monitors and webhooks, as \`forumd export\` wrote them; \`forumd apply FILE\` makes it so again.
# No secret is in here. The url of a chat service, or one with a query, is a secret too: where it is missing, write it as
# "env:NAME" or "file:/path" to apply this elsewhere.

`

export const exportCode = command({
  name: 'export',
  summary: 'writes monitors and webhooks as code, for apply',
  options: {
    customer: { type: 'string', value: 'NAME', help: 'only those of this customer' },
    json: { type: 'boolean', help: 'as JSON; TOML unless told' },
  },
  examples: ['forumd export > monitors.toml', 'forumd export --customer acme --json'],
  notes: 'Secrets are never in it. Ids are, so that applying it changes and does not double.',
  async run({ values, ...around }) {
    const document = await withInstance(values.config, around, ({ db, config }) => {
      const { customer } = values
      const wanted = customer === undefined ? listCustomers(db) : [customerNamed(db, customer)]
      const held = wanted.flatMap(({ name }) => heldBy(db, name, config.plans) ?? [])
      return toDocument(held, createWords(config.wire))
    })
    around.stdout.write(
      values.json ? `${JSON.stringify(document, null, 2)}\n` : `${HEAD}${stringify(document)}\n`,
    )
    return EXIT.done
  },
})
