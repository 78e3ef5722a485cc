import { errorCode } from '../core/error-code.ts'
import { apiKey } from '../core/ids.ts'
import { toUsd } from '../core/price.ts'
import { type Customer, findCustomerByName } from '../store/customers.ts'
import { transact } from '../store/db.ts'
import { insertKey } from '../store/keys.ts'
import {
  type Call,
  command,
  EXIT,
  JSON_OPTION,
  type Option,
  Refusal,
  UsageError,
} from './command.ts'
import { grant, makeCustomer, parseCredits } from './customers.ts'
import { parseExpiry, parseName, parseScopes, parseToken } from './inputs.ts'
import { type Opened, withInstance } from './instance.ts'
import { showDollars } from './money.ts'

const OPTIONS = {
  customer: { type: 'string', value: 'NAME', help: 'whose key it is; made when it is new' },
  credits: {
    type: 'string',
    value: 'USD|unlimited',
    help: 'added to what the customer has; a new one has the starting credit',
  },
  plan: { type: 'string', value: 'NAME', help: 'one of [plans]; the customer is moved to it' },
  scopes: { type: 'string', value: 'LIST', help: 'of read,write,monitor; without it all three' },
  expires: { type: 'string', value: 'ISO', help: 'when the key closes by itself' },
  name: { type: 'string', value: 'TEXT', help: 'what it is for; shown in key list' },
  operator: { type: 'boolean', help: 'a key for /operator (fo_...), of no customer' },
  json: JSON_OPTION,
} as const satisfies Record<string, Option>

type Issue = Call<typeof OPTIONS>

export const keyCreate = command({
  name: 'key create',
  summary: 'makes an API key and shows it, once',
  options: OPTIONS,
  examples: [
    'forumd key create --customer me',
    'forumd key create --customer acme --credits 25 --scopes read,monitor --expires 2027-01-31',
    'KEY=$(forumd key create --customer me --credits unlimited)',
    'forumd key create --operator --name "my own"',
  ],
  notes:
    'The key alone goes to standard output, the rest to standard error. Only its hash is kept: it cannot be shown again.',
  run: (call) => issue(call, null),
})

export const keyImport = command({
  name: 'key import',
  summary: 'takes a key that clients use already, from standard input',
  options: OPTIONS,
  examples: ['forumd key import --customer acme < key.txt'],
  notes:
    'Clients that move here then change nothing but the address. 16 to 256 visible characters.',
  async run(call) {
    if (call.stdinIsTerminal) call.warn('Paste the key, then press Enter and Ctrl-D:')
    return issue(call, parseToken(await call.readStdin()))
  },
})

async function issue({ values, ...around }: Issue, imported: string | null): Promise<number> {
  const issued = await withInstance(values.config, around, (opened) => {
    const { db, now, random } = opened
    const scopes = parseScopes(values.scopes)
    const expires_at = parseExpiry(values.expires, now)
    const token = imported ?? apiKey(values.operator ? 'operator' : 'customer', random.bytes(32))
    const key_id = `key_${random.uuid()}`
    return transact(db, () => {
      const customer = holderOf(opened, values)
      insert(opened, {
        id: key_id,
        customer_id: customer?.id ?? null,
        token,
        name: values.name ?? null,
        scopes,
        created_at: now,
        expires_at,
      })
      return { token, key_id, customer }
    })
  })
  show(issued, { ...around, json: values.json, imported: imported !== null })
  return EXIT.done
}

/** The customer a key is for, as it is after what was asked; null for an operator's key. */
function holderOf(opened: Opened, { operator, customer, plan, credits }: Issue['values']) {
  if (operator) {
    if (customer !== undefined || plan !== undefined || credits !== undefined)
      throw new UsageError(
        'an operator key belongs to no customer: leave out --customer, --plan and --credits',
      )
    return null
  }
  if (customer === undefined)
    throw new UsageError('--customer NAME is needed, or --operator for a key of your own')
  parseName(customer)
  parseCredits(credits)
  const known = findCustomerByName(opened.db, customer)
  return grant(opened, known ?? makeCustomer(opened, { name: customer, plan }), { plan, credits })
}

function insert({ db }: Opened, key: Parameters<typeof insertKey>[1]) {
  try {
    insertKey(db, key)
  } catch (error) {
    if (errorCode(error) === 'SQLITE_CONSTRAINT_UNIQUE')
      throw new Refusal('this key is known here already, open or closed', { cause: error })
    throw error
  }
}

function show(
  { token, key_id, customer }: { token: string; key_id: string; customer: Customer | null },
  {
    stdout,
    warn,
    json,
    imported,
  }: Pick<Issue, 'stdout' | 'warn'> & { json: boolean; imported: boolean },
) {
  if (json) {
    const { name = null, plan = null, balance_micros = null } = customer ?? {}
    const credits_remaining = balance_micros === null ? null : toUsd(balance_micros)
    const shown = { key: token, key_id, customer: name, plan, credits_remaining }
    stdout.write(`${JSON.stringify(shown)}\n`)
    return
  }
  if (customer) {
    const { name, plan, unlimited, balance_micros } = customer
    warn(`${name}, plan ${plan}, ${unlimited ? 'unlimited' : showDollars(balance_micros)}`)
  }
  warn(
    imported ? `The key is taken in as ${key_id}.` : `${key_id}. The key is shown once; keep it:`,
  )
  if (!imported) stdout.write(`${token}\n`)
}
