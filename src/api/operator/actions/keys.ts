import * as z from 'zod'

import { ApiError, errorCode, invalid } from '../../../core/base/errors.ts'
import { apiKey } from '../../../core/base/ids.ts'
import { iso } from '../../../core/base/time.ts'
import { formatUsd, toUsd } from '../../../core/limits/price.ts'
import type { Random } from '../../../runtime/runtime.ts'
import {
  type Customer,
  findCustomer,
  findCustomerByName,
  listCustomers,
  updateCustomer,
} from '../../../store/customers/customers.ts'
import {
  DEFAULT_SCOPES,
  insertKey,
  type Key,
  listKeys,
  OWNER_SCOPES,
  revokeKey,
  type Scope,
  SCOPES,
} from '../../../store/customers/keys.ts'
import { insertSignInLink, LINK_VALID_MS } from '../../../store/customers/web-sessions.ts'
import { type Db, transact } from '../../../store/db/connection.ts'
import { maybeInstant } from '../../http/fields.ts'
import { action, type ActionDeps, type Call } from '../action.ts'
import {
  creditsField,
  customerName,
  customerOf,
  maybeText,
  newCustomer,
  planField,
  planNamed,
  topUp,
} from './customers.ts'

const KEY_BYTES = 32
const KEY_NAME_MAX = 100
const KEYS_MAX = 100

type Made = { db: Db; random: Random; now: number }

/** Creates a key for a customer or (null) the operator. */
export function newKey(
  { db, random, now }: Made,
  key: { customer_id: string | null; name: string | null } & Partial<{
    token: string
    scopes: readonly Scope[]
    expires_at: number | null
  }>,
): { id: string; token: string } {
  const { customer_id, scopes = DEFAULT_SCOPES, expires_at = null } = key
  const id = `key_${random.uuid()}`
  const token =
    key.token ?? apiKey(customer_id === null ? 'operator' : 'customer', random.bytes(KEY_BYTES))
  insertKey(db, { ...key, id, token, scopes, expires_at, created_at: now })
  return { id, token }
}

const SCOPES_RULE = `scopes must be a list of ${SCOPES.join(', ')}`
const keyFields = () => ({
  customer: customerName('customer')
    .optional()
    .describe('owner of the key; created when it does not exist'),
  credits: creditsField().describe(
    'US dollars to add, or unlimited; a new customer also has the starting credit',
  ),
  plan: planField().optional().describe('one of [plans], set for the customer'),
  scopes: z
    .preprocess(
      (given) => (typeof given === 'string' ? given.split(',').map((it) => it.trim()) : given),
      z
        .array(z.enum(SCOPES, SCOPES_RULE), SCOPES_RULE)
        .min(1, SCOPES_RULE)
        .max(SCOPES.length, SCOPES_RULE),
    )
    .optional()
    .describe(`comma-separated, of ${SCOPES.join(', ')} (default: the first four)`),
  expires_at: maybeInstant('expires_at').nullable().describe('time at which the key expires'),
  name: maybeText('name', KEY_NAME_MAX).describe('purpose, shown by key list'),
  operator: z
    .boolean('operator must be true or false')
    .default(false)
    .describe('key for /operator (fo_...), without a customer'),
})

type KeyInput = {
  customer?: string
  credits?: number | 'unlimited'
  plan?: string
  scopes?: readonly Scope[]
  expires_at?: number | null
  name?: string | null
  operator: boolean
}

/** The customer of a key, with the requested changes; null for an operator key. */
function holderOf(call: Call<KeyInput>, now: number): Customer | null {
  const { db, input, plans, record } = call
  const { customer: named, plan, credits } = input
  if (input.operator) {
    for (const [field, value] of Object.entries({ customer: named, plan, credits }))
      if (value !== undefined)
        throw invalid(field, `${field} must be left out: an operator key has no customer`)
    return null
  }
  if (named === undefined)
    throw invalid('customer', 'customer is required, or operator for a key of the operator')
  if (plan !== undefined) planNamed(call, plan)
  const found = findCustomer(db, named) ?? findCustomerByName(db, named)
  // An id that is not found is a removed customer, not a name.
  if (found === null && named.startsWith('cus_')) customerOf(db, named)
  const { id } =
    found ??
    newCustomer(
      { ...call, now },
      { name: named, plan: plan ?? plans().default_plan, unlimited: false },
    )
  if (found === null)
    record({ action: 'customer.created', subject: id, subject_name: named, detail: {} })
  if (plan !== undefined) updateCustomer(db, id, { plan })
  if (credits === 'unlimited') updateCustomer(db, id, { unlimited: true })
  else if (credits !== undefined) topUp(call, id, credits, null)
  return customerOf(db, id)
}

function issue(call: Call<KeyInput>, imported: string | null) {
  const { db, clock, random, input, record } = call
  const now = clock.now()
  const { expires_at = null } = input
  if (expires_at !== null && expires_at <= now)
    throw invalid('expires_at', 'expires_at must be in the future')
  return transact(db, () => {
    const customer = holderOf(call, now)
    const is_valid = (it: Key) => it.revoked_at === null && (it.expires_at ?? Infinity) > now
    if (customer !== null && listKeys(db, customer.id).filter(is_valid).length >= KEYS_MAX)
      throw invalid('customer', `a customer may have at most ${KEYS_MAX} valid keys: revoke one`)
    const wanted: readonly string[] = input.scopes ?? DEFAULT_SCOPES
    const scopes = SCOPES.filter((it) => wanted.includes(it))
    const name = input.name === '' ? null : (input.name ?? null)
    const { id, token } = newKey(
      { db, random, now },
      {
        customer_id: customer?.id ?? null,
        name,
        scopes,
        expires_at,
        ...(imported !== null && { token: imported }),
      },
    )
    record({
      action: 'key.created',
      subject: id,
      subject_name: name,
      detail: { customer: customer?.name ?? null, scopes: scopes.join(' ') },
    })
    return {
      ...(imported === null && { key: token }),
      key_id: id,
      name,
      scopes,
      expires_at: iso(expires_at),
      customer: customer?.name ?? null,
      plan: customer?.plan ?? null,
      credits_remaining: customer && toUsd(customer.balance_micros),
      unlimited: customer?.unlimited ?? false,
    }
  })
}

type Issued = ReturnType<typeof issue>

const customerLine = ({ customer, plan, unlimited, credits_remaining }: Issued): string[] =>
  customer === null
    ? []
    : [`${customer}, plan ${plan}, ${unlimited ? 'unlimited' : formatUsd(credits_remaining ?? 0)}`]

export const createKey = action<KeyInput>({
  command: 'key create',
  summary: 'creates an API key and prints it once',
  route: 'POST /keys',
  operands: [],
  fields: keyFields,
  examples: [
    'forumd key create --customer me',
    'forumd key create --customer acme --credits 25 --scopes read,monitor --expires-at 2027-01-31',
    'KEY=$(forumd key create --customer me --credits unlimited)',
    'forumd key create --operator --name "my own"',
  ],
  notes:
    'The key alone goes to standard output, the rest to standard error. Only its hash is stored: it cannot be printed again.',
  run: (call) => issue(call, null),
  print: (it: Issued) => ({
    value: it.key ?? '',
    notes: [...customerLine(it), `${it.key_id}. The key is printed once; store it:`],
  }),
})

const KEY_RULE = 'key must be 16 to 256 visible ASCII characters on one line'

export const importKey = action<KeyInput & { key: string }>({
  command: 'key import',
  summary: 'imports a key that clients have, from standard input',
  route: 'POST /keys/import',
  operands: [],
  stdin: 'key',
  fields: () => ({
    ...keyFields(),
    key: z
      .string(KEY_RULE)
      .trim()
      .regex(/^[\x21-\x7e]{16,256}$/, KEY_RULE),
  }),
  examples: ['forumd key import --customer acme < key.txt'],
  notes:
    'Clients that migrate then change only the address. A key has 16 to 256 visible characters.',
  run(call) {
    try {
      return issue(call, call.input.key)
    } catch (error) {
      if (errorCode(error) !== 'SQLITE_CONSTRAINT_UNIQUE') throw error
      throw invalid('key', 'this key exists already, active or revoked')
    }
  },
  print: (it: Issued) => ({
    value: null,
    notes: [...customerLine(it), `The key is imported as ${it.key_id}.`],
  }),
})

export const revoke = action<{ key: string }>({
  command: 'key revoke',
  summary: 'revokes a key at once',
  route: 'POST /keys/:key/revoke',
  operands: ['key'],
  examples: ['forumd key revoke key_01912d68-783e-7a03-8467-5661c1243ad4'],
  run: ({ db, clock, input: { key: id }, record }) =>
    transact(db, () => {
      const key = listKeys(db).find((it) => it.id === id)
      if (key === undefined || !revokeKey(db, id, clock.now()))
        throw new ApiError('NOT_FOUND', {
          message: `there is no active key with the id "${id.slice(0, 80)}"`,
        })
      record({ action: 'key.revoked', subject: id, subject_name: key.name })
      return { key_id: id, revoked: true }
    }),
  print: ({ key_id }: { key_id: string }) => `${key_id} is revoked`,
})

function keyList({ db }: ActionDeps, customer: string | undefined) {
  const names = new Map(listCustomers(db).map(({ id, name }) => [id, name]))
  const of = customer === undefined ? undefined : customerOf(db, customer).id
  return {
    keys: listKeys(db, of).map(({ customer_id, ...key }) => ({
      ...key,
      // The revoked keys of a removed customer are listed under its id.
      customer: customer_id === null ? null : (names.get(customer_id) ?? customer_id),
      created_at: iso(key.created_at),
      expires_at: iso(key.expires_at),
      last_used_at: iso(key.last_used_at),
      revoked_at: iso(key.revoked_at),
    })),
  }
}

const SHORT: { [scopes: string]: string } = {
  [DEFAULT_SCOPES.join()]: 'default',
  [OWNER_SCOPES.join()]: 'owner',
}

const stateOf = ({
  revoked_at,
  expires_at,
}: {
  revoked_at: string | null
  expires_at: string | null
}): string => {
  if (revoked_at !== null) return `revoked ${revoked_at.slice(0, 10)}`
  return expires_at === null ? 'active' : `until ${expires_at.slice(0, 10)}`
}

/** The text in at most `width` columns. */
const cut = (text: string, width: number): string => Bun.sliceAnsi(text, 0, width, '…')

export const keys = action<{ customer?: string }>({
  command: 'key list',
  summary: 'lists keys by their first characters',
  route: 'GET /keys',
  operands: [],
  fields: () => ({
    customer: customerName('customer')
      .optional()
      .describe('only those that belong to this customer'),
  }),
  examples: ['forumd key list', 'forumd key list --customer acme --json'],
  run: (call) => keyList(call, call.input.customer),
  print: ({ keys: listed }: ReturnType<typeof keyList>) => ({
    // With these widths the columns fit a terminal of 80; an id takes half of it.
    rows: listed.map((it) => ({
      begins: it.prefix,
      customer: cut(it.customer ?? '(operator)', 14),
      scopes: cut(SHORT[it.scopes.join()] ?? it.scopes.join(','), 19),
      state: stateOf(it),
      name: cut(it.name ?? '-', 14),
    })),
    below: listed.map(({ id }) => id),
    none: 'There is no key yet: create one with forumd key create --customer NAME.',
  }),
})

/** 128 bits: more than enough for a quarter of an hour, and the link fits a line. */
const LINK_BYTES = 16
const MINUTE_MS = 60_000

/** A link that signs a browser in; `customer` is null for the operator. */
type SignInLink = { url: string; customer: string | null; key_id: string }

/**
 * Creates a one-time link to the dashboard at `url`, for a customer, for the operator, or (null) for the only customer, else
 * the operator. The token is in the fragment, which browsers send to no server, so that no log of a proxy has it.
 */
export function createSignInLink(
  made: Made,
  { as, url }: { as: { customer: string } | 'operator' | null; url: string },
): SignInLink {
  const { key_id, customer } = linkHolder(made, as)
  const token = Buffer.from(made.random.bytes(LINK_BYTES)).toString('base64url')
  insertSignInLink(made.db, { token, key_id }, made.now)
  // An address of all interfaces is none that a browser can open.
  const origin = url
    .replace('//0.0.0.0:', '//127.0.0.1:')
    .replace('//[::]:', '//[::1]:')
    .replace(/\/$/, '')
  return { url: `${origin}/dashboard/sign-in#${token}`, customer, key_id }
}

function linkHolder(
  made: Made,
  as: { customer: string } | 'operator' | null,
): Omit<SignInLink, 'url'> {
  const { db, now } = made
  const customers = listCustomers(db)
  const [only] = customers.length === 1 ? customers : []
  const chosen = as !== null && as !== 'operator' ? customerOf(db, as.customer) : null
  const customer = chosen ?? (as === null ? only : undefined)
  if (customer !== undefined) {
    const key = newestKey(listKeys(db, customer.id), now)
    if (key !== undefined) return { key_id: key.id, customer: customer.name }
    if (chosen !== null)
      throw invalid(
        'customer',
        `${customer.name} has no active key: create one with forumd key create --customer ${customer.name}`,
      )
  }
  const operators = listKeys(db).filter(({ customer_id }) => customer_id === null)
  // A key that only holds sessions: it is not printed.
  const key =
    newestKey(operators, now) ?? newKey(made, { customer_id: null, name: 'sign-in links' })
  return { key_id: key.id, customer: null }
}

/** The active key with the most scopes, then the newest: its session can do the most. */
const newestKey = (listed: readonly Key[], now: number): Key | undefined =>
  listed
    .filter(({ revoked_at, expires_at }) => revoked_at === null && (expires_at ?? Infinity) > now)
    .toSorted((a, b) => b.scopes.length - a.scopes.length || b.created_at - a.created_at)[0]

export const linkSentence = ({ customer }: SignInLink): string =>
  `Sign in to the dashboard${customer === null ? ' as the operator' : ` as ${customer}`} (once, within ${LINK_VALID_MS / MINUTE_MS} minutes):`

export const signInLink = action<{ customer?: string; operator: boolean }>({
  command: 'key sign-in-link',
  summary: 'prints a one-time link that signs a browser in',
  route: 'POST /sign-in-links',
  operands: [],
  fields: () => ({
    customer: customerName('customer').optional().describe('sign in as this customer'),
    operator: keyFields().operator.describe('sign in as the operator'),
  }),
  examples: ['forumd key sign-in-link', 'forumd key sign-in-link --operator'],
  notes:
    'The link is valid for 15 minutes and for one sign-in, and only its hash is stored. Without an option it signs in as the only customer, or as the operator if there are several or none. The session belongs to the newest active key of that customer: revoking the key ends it. An operator without a key gets one, which is not printed.',
  run({ db, clock, random, public_url, input: { customer, operator }, record }) {
    if (operator && customer !== undefined)
      throw invalid('operator', 'operator and customer exclude each other')
    const as = operator ? 'operator' : customer === undefined ? null : { customer }
    return transact(db, () => {
      const made = { db, random, now: clock.now() }
      const link = createSignInLink(made, { as, url: public_url() })
      const { key_id, customer: name } = link
      record({ action: 'sign_in_link.created', subject: key_id, subject_name: name })
      return link
    })
  },
  print: (link: SignInLink) => ({ value: link.url, notes: [linkSentence(link)] }),
})
