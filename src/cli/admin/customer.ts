/** Operations on customers that several commands share. */
import type { Config } from '../../config/schema.ts'
import { iso } from '../../core/base/time.ts'
import { toUsd } from '../../core/limits/price.ts'
import type { Random } from '../../runtime/runtime.ts'
import {
  type Customer,
  findCustomer,
  findCustomerByName,
  insertCustomer,
  listCustomers,
  removeCustomer,
  setPlan,
  setUnlimited,
} from '../../store/customers/customers.ts'
import { listKeys } from '../../store/customers/keys.ts'
import { insertPayment, sumUsage } from '../../store/customers/ledger.ts'
import { type Db, transact } from '../../store/db/connection.ts'
import { command, CommandRefusal, EXIT, JSON_OPTION } from '../command.ts'
import { withInstance } from '../configuration.ts'
import { formatDollars, parseDollars, parseName, parsePlan } from '../inputs.ts'
import { card, table } from '../output.ts'

/** @throws {CommandRefusal} No customer has this name. */
export function customerNamed(db: Db, name: string): Customer {
  const customer = findCustomerByName(db, name)
  if (customer) return customer
  throw new CommandRefusal(`there is no customer "${name}": see forumd customer list`)
}

export type CustomerOptions = {
  name: string
  plan: string | undefined
  /** US dollars to add, or `unlimited`; undefined: no change. */
  credits: string | undefined
}

/** The value of `--credits`, in micro-dollars; null when absent. */
export const parseCredits = (text: string | undefined): number | 'unlimited' | null => {
  if (text === undefined) return null
  return text === 'unlimited' ? 'unlimited' : parseDollars(text)
}

/** Creates a customer with its starting credit. Its name must be free. */
export function createCustomer(
  { db, config, now, random }: { db: Db; config: Config; now: number; random: Random },
  { name, plan }: Pick<CustomerOptions, 'name' | 'plan'>,
): Customer {
  return insertCustomer(db, {
    id: `cus_${random.uuid()}`,
    name: parseName(name),
    plan: parsePlan(plan ?? config.billing.default_plan, config),
    created_at: now,
    starting_credit_micros: config.billing.starting_credit_micros,
    payment_id: `pay_${random.uuid()}`,
  })
}

/** @throws {CommandRefusal} The customer was removed meanwhile. */
export function setPlanAndCredits(
  { db, config, now, random }: { db: Db; config: Config; now: number; random: Random },
  { id }: Customer,
  { plan, credits, note }: Omit<CustomerOptions, 'name'> & { note?: string },
): Customer {
  if (plan !== undefined) setPlan(db, id, parsePlan(plan, config))
  const amount = parseCredits(credits)
  if (amount === 'unlimited') setUnlimited(db, id, true)
  else if (amount !== null)
    insertPayment(db, {
      id: `pay_${random.uuid()}`,
      customer_id: id,
      kind: 'top_up',
      amount_micros: amount,
      note: note ?? null,
      created_at: now,
    })
  const customer = findCustomer(db, id)
  if (customer) return customer
  throw new CommandRefusal('the customer was removed meanwhile')
}

const balanceOf = ({ unlimited, balance_micros }: Customer) =>
  unlimited ? 'unlimited' : formatDollars(balance_micros)

const toJson = ({ id, name, plan, balance_micros, unlimited, created_at }: Customer) => ({
  id,
  name,
  plan,
  credits_remaining: toUsd(balance_micros),
  unlimited,
  created_at: iso(created_at),
})

export const customerCreate = command({
  name: 'customer create',
  summary: 'creates a customer, without a key',
  operands: ['NAME'],
  options: {
    plan: { type: 'string', value: 'NAME', help: 'one of [plans] (default: the default plan)' },
    credits: {
      type: 'string',
      value: 'USD|unlimited',
      help: 'credits to add to the starting credit',
    },
    json: JSON_OPTION,
  },
  examples: [
    'forumd customer create acme',
    'forumd customer create acme --plan entry --credits 25',
  ],
  async run({ values, operands: [name = ''], ...context }) {
    const { plan, credits } = values
    parseName(name)
    parseCredits(credits)
    const customer = await withInstance(context, (opened) =>
      transact(opened.db, () => {
        if (findCustomerByName(opened.db, name) !== null)
          throw new CommandRefusal(`there is a customer "${name}" already`)
        return setPlanAndCredits(opened, createCustomer(opened, { name, plan }), { plan, credits })
      }),
    )
    context.stdout.write(
      values.json
        ? `${JSON.stringify(toJson(customer))}\n`
        : `${name} is a customer on plan ${customer.plan} with ${balanceOf(customer)}\n`,
    )
    return EXIT.done
  },
})

export const customerList = command({
  name: 'customer list',
  summary: 'lists customers',
  options: { json: JSON_OPTION },
  examples: ['forumd customer list', 'forumd customer list --json | jq .customers'],
  async run({ values, ...context }) {
    const customers = await withInstance(context, ({ db }) => listCustomers(db))
    context.stdout.write(
      values.json
        ? `${JSON.stringify({ customers: customers.map(toJson) })}\n`
        : table(
            customers.map((it) => ({
              name: it.name,
              plan: it.plan,
              balance: balanceOf(it),
              created_at: iso(it.created_at),
              id: it.id,
            })),
            'There is no customer yet: create one with its key by forumd key create --customer NAME.',
          ),
    )
    return EXIT.done
  },
})

export const customerShow = command({
  name: 'customer show',
  summary: 'shows one customer: plan, balance, usage, keys',
  operands: ['NAME'],
  options: { json: JSON_OPTION },
  examples: ['forumd customer show acme'],
  async run({ values, operands: [name = ''], ...context }) {
    const details = await withInstance(context, ({ db, now }) => {
      const customer = customerNamed(db, name)
      const { calls, cost_micros } = sumUsage(db, customer.id)
      const open = listKeys(db, customer.id).filter(
        ({ revoked_at, expires_at }) => revoked_at === null && (expires_at ?? Infinity) > now,
      )
      return { customer, calls, cost_micros, keys: open.length }
    })
    const { customer, calls, cost_micros, keys } = details
    context.stdout.write(
      values.json
        ? `${JSON.stringify({
            ...toJson(customer),
            credits_used: toUsd(cost_micros),
            total_requests: calls,
            keys,
          })}\n`
        : card({
            name: customer.name,
            id: customer.id,
            plan: customer.plan,
            balance: balanceOf(customer),
            used: formatDollars(cost_micros),
            requests: calls,
            'open keys': keys,
            created_at: iso(customer.created_at),
          }),
    )
    return EXIT.done
  },
})

export const customerSetPlan = command({
  name: 'customer set-plan',
  summary: 'moves a customer to another plan',
  operands: ['NAME', 'PLAN'],
  options: {},
  examples: ['forumd customer set-plan acme pro'],
  notes: 'On a plan smaller than its use the customer keeps its monitors and cannot add more.',
  async run({ operands: [name = '', plan = ''], ...context }) {
    await withInstance(context, ({ db, config }) =>
      setPlan(db, customerNamed(db, name).id, parsePlan(plan, config)),
    )
    context.stdout.write(`${name} is on plan ${plan}\n`)
    return EXIT.done
  },
})

export const customerRemove = command({
  name: 'customer remove',
  summary: 'revokes the keys of a customer and stops its monitors',
  operands: ['NAME'],
  options: {},
  examples: ['forumd customer remove acme'],
  notes: 'Its ledger is kept.',
  async run({ operands: [name = ''], ...context }) {
    await withInstance(context, ({ db, now }) =>
      removeCustomer(db, customerNamed(db, name).id, now),
    )
    context.stdout.write(`${name} is removed\n`)
    return EXIT.done
  },
})

export const creditAdd = command({
  name: 'credit add',
  summary: 'adds credits to the balance of a customer',
  operands: ['NAME', 'USD'],
  options: {
    note: { type: 'string', value: 'TEXT', help: 'purpose, shown in the payments of the customer' },
    json: JSON_OPTION,
  },
  examples: ['forumd credit add acme 25', 'forumd credit add acme 0.5 --note "invoice 17"'],
  async run({ values, operands: [name = '', usd = ''], ...context }) {
    parseDollars(usd)
    const { note } = values
    const { balance_micros } = await withInstance(context, (opened) =>
      setPlanAndCredits(opened, customerNamed(opened.db, name), {
        plan: undefined,
        credits: usd,
        ...(note === undefined ? {} : { note }),
      }),
    )
    context.stdout.write(
      values.json
        ? `${JSON.stringify({ customer: name, credits_remaining: toUsd(balance_micros) })}\n`
        : `${name} has ${formatDollars(balance_micros)}\n`,
    )
    return EXIT.done
  },
})
