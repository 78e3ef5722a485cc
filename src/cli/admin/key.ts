import { errorCode } from '../../core/base/errors.ts'
import { apiKey } from '../../core/base/ids.ts'
import { iso } from '../../core/base/time.ts'
import { toUsd } from '../../core/limits/price.ts'
import {
  type Customer,
  findCustomerByName,
  listCustomers,
} from '../../store/customers/customers.ts'
import {
  DEFAULT_SCOPES,
  insertKey,
  listKeys,
  OWNER_SCOPES,
  revokeKey,
  type Scope,
} from '../../store/customers/keys.ts'
import { transact } from '../../store/db/connection.ts'
import {
  command,
  CommandRefusal,
  EXIT,
  type Invocation,
  JSON_OPTION,
  type Option,
  UsageError,
} from '../command.ts'
import { type OpenInstance, withInstance } from '../configuration.ts'
import { formatDollars, parseExpiry, parseName, parseScopes, parseToken } from '../inputs.ts'
import { table } from '../output.ts'
import { createCustomer, customerNamed, parseCredits, setPlanAndCredits } from './customer.ts'

export const keyList = command({
  name: 'key list',
  summary: 'lists keys by their first characters',
  options: {
    customer: { type: 'string', value: 'NAME', help: 'only those of this customer' },
    json: JSON_OPTION,
  },
  examples: ['forumd key list', 'forumd key list --customer acme --json'],
  async run({ values, ...context }) {
    const keys = await withInstance(context, ({ db }) => {
      const names = new Map(listCustomers(db).map(({ id, name }) => [id, name]))
      const { customer } = values
      return listKeys(db, customer === undefined ? undefined : customerNamed(db, customer).id).map(
        ({ customer_id, created_at, expires_at, last_used_at, revoked_at, ...key }) => ({
          ...key,
          // The revoked keys of a removed customer are listed under its id.
          customer: customer_id === null ? null : (names.get(customer_id) ?? customer_id),
          created_at: iso(created_at),
          expires_at: iso(expires_at),
          last_used_at: iso(last_used_at),
          revoked_at: iso(revoked_at),
        }),
      )
    })
    context.stdout.write(values.json ? `${JSON.stringify({ keys })}\n` : keysAsText(keys))
    return EXIT.done
  },
})

type ListedKey = {
  id: string
  prefix: string
  customer: string | null
  name: string | null
  scopes: readonly string[]
  expires_at: string | null
  revoked_at: string | null
}

/** Most columns of the parts that people choose; with the others they fit a terminal of 80. */
const CUSTOMER_WIDTH = 14
const NAME_WIDTH = 14
const SCOPES_WIDTH = 19

const SHORT: { [scopes: string]: string } = {
  [DEFAULT_SCOPES.join()]: 'default',
  [OWNER_SCOPES.join()]: 'owner',
}

/** Two lines for each key, since an id takes half of a terminal. */
function keysAsText(keys: readonly ListedKey[]): string {
  const rows = keys.map(({ prefix, customer, name, scopes, expires_at, revoked_at }) => ({
    begins: prefix,
    customer: cut(customer ?? '(operator)', CUSTOMER_WIDTH),
    scopes: cut(SHORT[scopes.join()] ?? scopes.join(','), SCOPES_WIDTH),
    state:
      revoked_at !== null
        ? `revoked ${dayOf(revoked_at)}`
        : expires_at !== null
          ? `until ${dayOf(expires_at)}`
          : 'active',
    name: cut(name ?? '-', NAME_WIDTH),
  }))
  const [head = '', ...lines] = table(
    rows,
    'There is no key yet: create one with forumd key create --customer NAME.',
  )
    .trimEnd()
    .split('\n')
  const both = lines.flatMap((line, at) => [line, `  ${keys[at]?.id ?? ''}`])
  return `${[head, ...both].join('\n')}\n`
}

const CHARACTERS = new Intl.Segmenter()

/** The text in at most `width` columns, of which a character may take two. */
function cut(text: string, width: number): string {
  if (Bun.stringWidth(text) <= width) return text
  let kept = ''
  for (const { segment } of CHARACTERS.segment(text)) {
    if (Bun.stringWidth(kept + segment) > width - 1) break
    kept += segment
  }
  return `${kept}…`
}

const dayOf = (time: string): string => time.slice(0, 10)

export const keyRevoke = command({
  name: 'key revoke',
  summary: 'revokes a key at once',
  operands: ['KEY_ID'],
  options: {},
  examples: ['forumd key revoke key_01912d68-783e-7a03-8467-5661c1243ad4'],
  async run({ operands: [id = ''], ...context }) {
    const revoked = await withInstance(context, ({ db, now }) => revokeKey(db, id, now))
    if (!revoked)
      throw new CommandRefusal(`there is no active key with the id "${id}": see forumd key list`)
    context.stdout.write(`${id} is revoked\n`)
    return EXIT.done
  },
})

const OPTIONS = {
  customer: {
    type: 'string',
    value: 'NAME',
    help: 'owner of the key; created when it does not exist',
  },
  credits: {
    type: 'string',
    value: 'USD|unlimited',
    help: 'credits to add; a new customer also has the starting credit',
  },
  plan: { type: 'string', value: 'NAME', help: 'one of [plans], set for the customer' },
  scopes: {
    type: 'string',
    value: 'LIST',
    help: 'comma-separated, of read,write,monitor,webhook,approve,operator (default: the first four)',
  },
  expires: { type: 'string', value: 'ISO', help: 'time at which the key expires' },
  name: { type: 'string', value: 'TEXT', help: 'purpose, shown by key list' },
  operator: { type: 'boolean', help: 'key for /operator (fo_...), without a customer' },
  json: JSON_OPTION,
} as const satisfies Record<string, Option>

type Issue = Invocation<typeof OPTIONS>

export const keyCreate = command({
  name: 'key create',
  summary: 'creates an API key and prints it once',
  options: OPTIONS,
  examples: [
    'forumd key create --customer me',
    'forumd key create --customer acme --credits 25 --scopes read,monitor --expires 2027-01-31',
    'KEY=$(forumd key create --customer me --credits unlimited)',
    'forumd key create --operator --name "my own"',
  ],
  notes:
    'The key alone goes to standard output, the rest to standard error. Only its hash is stored: it cannot be printed again.',
  run: (call) => issue(call, null),
})

export const keyImport = command({
  name: 'key import',
  summary: 'imports a key that clients have, from standard input',
  options: OPTIONS,
  examples: ['forumd key import --customer acme < key.txt'],
  notes:
    'Clients that migrate then change only the address. A key has 16 to 256 visible characters.',
  async run(call) {
    if (call.stdinIsTerminal) call.warn('Paste the key, then press Enter and Ctrl-D:')
    return issue(call, parseToken(await call.readStdin()))
  },
})

async function issue({ values, ...context }: Issue, imported: string | null): Promise<number> {
  const issued = await withInstance(context, (opened) => {
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
  printKey(issued, { ...context, json: values.json, imported: imported !== null })
  return EXIT.done
}

/** The customer of a key, with the requested changes; null for an operator key. */
function holderOf(opened: OpenInstance, { operator, customer, plan, credits }: Issue['values']) {
  if (operator) {
    if (customer !== undefined || plan !== undefined || credits !== undefined)
      throw new UsageError('an operator key has no customer: omit --customer, --plan and --credits')
    return null
  }
  if (customer === undefined)
    throw new UsageError('--customer NAME is needed, or --operator for an operator key')
  parseName(customer)
  parseCredits(credits)
  const existing = findCustomerByName(opened.db, customer)
  return setPlanAndCredits(opened, existing ?? createCustomer(opened, { name: customer, plan }), {
    plan,
    credits,
  })
}

/** Creates a key for a customer or (null) the operator. */
export function newKey(
  { db, now, random }: Pick<OpenInstance, 'db' | 'now' | 'random'>,
  {
    customer_id,
    name,
    scopes = DEFAULT_SCOPES,
  }: { customer_id: string | null; name: string; scopes?: readonly Scope[] },
): { id: string; token: string } {
  const id = `key_${random.uuid()}`
  const token = apiKey(customer_id === null ? 'operator' : 'customer', random.bytes(32))
  insertKey(db, { id, customer_id, token, name, scopes, created_at: now, expires_at: null })
  return { id, token }
}

function insert({ db }: OpenInstance, key: Parameters<typeof insertKey>[1]) {
  try {
    insertKey(db, key)
  } catch (error) {
    if (errorCode(error) === 'SQLITE_CONSTRAINT_UNIQUE')
      throw new CommandRefusal('this key exists already, active or revoked', { cause: error })
    throw error
  }
}

function printKey(
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
    const output = { key: token, key_id, customer: name, plan, credits_remaining }
    stdout.write(`${JSON.stringify(output)}\n`)
    return
  }
  if (customer) {
    const { name, plan, unlimited, balance_micros } = customer
    warn(`${name}, plan ${plan}, ${unlimited ? 'unlimited' : formatDollars(balance_micros)}`)
  }
  warn(
    imported
      ? `The key is imported as ${key_id}.`
      : `${key_id}. The key is printed once; store it:`,
  )
  if (!imported) stdout.write(`${token}\n`)
}
