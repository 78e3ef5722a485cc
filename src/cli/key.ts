import { iso } from '../core/instant.ts'
import { listCustomers } from '../store/customers.ts'
import { listKeys, revokeKey } from '../store/keys.ts'
import { command, EXIT, JSON_OPTION, Refusal } from './command.ts'
import { customerNamed } from './customers.ts'
import { withInstance } from './instance.ts'
import { table } from './table.ts'

export const keyList = command({
  name: 'key list',
  summary: 'shows keys by their first characters, never whole',
  options: {
    customer: { type: 'string', value: 'NAME', help: 'only those of this customer' },
    json: JSON_OPTION,
  },
  examples: ['forumd key list', 'forumd key list --customer acme --json'],
  async run({ values, ...around }) {
    const keys = await withInstance(values.config, around, ({ db }) => {
      const names = new Map(listCustomers(db).map(({ id, name }) => [id, name]))
      const { customer } = values
      return listKeys(db, customer === undefined ? undefined : customerNamed(db, customer).id).map(
        ({ customer_id, created_at, expires_at, last_used_at, revoked_at, ...key }) => ({
          ...key,
          // A removed customer keeps its closed keys, under its id.
          customer: customer_id === null ? null : (names.get(customer_id) ?? customer_id),
          created_at: iso(created_at),
          expires_at: iso(expires_at),
          last_used_at: iso(last_used_at),
          revoked_at: iso(revoked_at),
        }),
      )
    })
    around.stdout.write(
      values.json
        ? `${JSON.stringify({ keys })}\n`
        : table(
            keys.map(({ id, prefix, customer, name, scopes, expires_at, revoked_at }) => ({
              id,
              begins: prefix,
              customer: customer ?? '(operator)',
              name,
              scopes: scopes.join(','),
              expires_at,
              revoked_at,
            })),
            'There is no key yet: forumd key create --customer NAME makes one.',
          ),
    )
    return EXIT.done
  },
})

export const keyRevoke = command({
  name: 'key revoke',
  summary: 'closes a key, in a running daemon at once',
  operands: ['KEY_ID'],
  options: {},
  examples: ['forumd key revoke key_01912d68-783e-7a03-8467-5661c1243ad4'],
  async run({ values, operands: [id = ''], ...around }) {
    const revoked = await withInstance(values.config, around, ({ db, now }) =>
      revokeKey(db, id, now),
    )
    if (!revoked) throw new Refusal(`there is no open key with the id "${id}": see forumd key list`)
    around.stdout.write(`${id} is revoked\n`)
    return EXIT.done
  },
})
