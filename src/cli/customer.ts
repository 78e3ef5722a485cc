import { iso } from '../core/instant.ts'
import { toUsd } from '../core/price.ts'
import {
  type Customer,
  findCustomerByName,
  listCustomers,
  removeCustomer,
  setPlan,
} from '../store/customers.ts'
import { transact } from '../store/db.ts'
import { listKeys } from '../store/keys.ts'
import { sumUsage } from '../store/usage.ts'
import { command, EXIT, JSON_OPTION, Refusal } from './command.ts'
import { customerNamed, grant, makeCustomer, parseCredits } from './customers.ts'
import { parseName, parsePlan } from './inputs.ts'
import { withInstance } from './instance.ts'
import { showDollars } from './money.ts'
import { card, table } from './table.ts'

const balanceOf = ({ unlimited, balance_micros }: Customer) =>
  unlimited ? 'unlimited' : showDollars(balance_micros)

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
  summary: 'makes a customer, with the starting credit and no key yet',
  operands: ['NAME'],
  options: {
    plan: { type: 'string', value: 'NAME', help: 'one of [plans]; without it the default plan' },
    credits: { type: 'string', value: 'USD|unlimited', help: 'added to the starting credit' },
    json: JSON_OPTION,
  },
  examples: [
    'forumd customer create acme',
    'forumd customer create acme --plan entry --credits 25',
  ],
  async run({ values, operands: [name = ''], ...around }) {
    const { plan, credits } = values
    parseName(name)
    parseCredits(credits)
    const customer = await withInstance(values.config, around, (opened) =>
      transact(opened.db, () => {
        if (findCustomerByName(opened.db, name) !== null)
          throw new Refusal(`there is a customer "${name}" already`)
        return grant(opened, makeCustomer(opened, { name, plan }), { plan, credits })
      }),
    )
    around.stdout.write(
      values.json
        ? `${JSON.stringify(toJson(customer))}\n`
        : `${name} is a customer on plan ${customer.plan} with ${balanceOf(customer)}\n`,
    )
    return EXIT.done
  },
})

export const customerList = command({
  name: 'customer list',
  summary: 'shows every customer',
  options: { json: JSON_OPTION },
  examples: ['forumd customer list', 'forumd customer list --json | jq .customers'],
  async run({ values, ...around }) {
    const customers = await withInstance(values.config, around, ({ db }) => listCustomers(db))
    around.stdout.write(
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
            'There is no customer yet: forumd key create --customer NAME makes one with its key.',
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
  async run({ values, operands: [name = ''], ...around }) {
    const shown = await withInstance(values.config, around, ({ db, now }) => {
      const customer = customerNamed(db, name)
      const { calls, cost_micros } = sumUsage(db, customer.id)
      const open = listKeys(db, customer.id).filter(
        ({ revoked_at, expires_at }) => revoked_at === null && (expires_at ?? Infinity) > now,
      )
      return { customer, calls, cost_micros, keys: open.length }
    })
    const { customer, calls, cost_micros, keys } = shown
    around.stdout.write(
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
            used: showDollars(cost_micros),
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
  notes: 'A plan below what the customer uses keeps its monitors, and refuses further ones.',
  async run({ values, operands: [name = '', plan = ''], ...around }) {
    await withInstance(values.config, around, ({ db, config }) =>
      setPlan(db, customerNamed(db, name).id, parsePlan(plan, config)),
    )
    around.stdout.write(`${name} is on plan ${plan}\n`)
    return EXIT.done
  },
})

export const customerRemove = command({
  name: 'customer remove',
  summary: 'ends a customer: its keys close, its monitors stop, its books stay',
  operands: ['NAME'],
  options: {},
  examples: ['forumd customer remove acme'],
  async run({ values, operands: [name = ''], ...around }) {
    await withInstance(values.config, around, ({ db, now }) =>
      removeCustomer(db, customerNamed(db, name).id, now),
    )
    around.stdout.write(`${name} is removed\n`)
    return EXIT.done
  },
})
