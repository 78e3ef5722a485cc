import * as z from 'zod'

import { ApiError, invalid } from '../../../core/base/errors.ts'
import { CUSTOMER_NAME_RULE, isCustomerName } from '../../../core/base/text.ts'
import { iso } from '../../../core/base/time.ts'
import { bodyHash, IDEMPOTENCY_HEADER } from '../../../core/limits/idempotency.ts'
import { formatUsd, parseUsd, toUsd, USD_RULE } from '../../../core/limits/price.ts'
import {
  type Customer,
  findCustomer,
  findCustomerByName,
  insertCustomer,
  removeCustomer,
  updateCustomer,
} from '../../../store/customers/customers.ts'
import { claimName, findNamedWrite } from '../../../store/customers/idempotency.ts'
import { insertPayment } from '../../../store/customers/ledger.ts'
import { type Db, transact } from '../../../store/db/connection.ts'
import { action, type ActionDeps } from '../action.ts'

const NOTE_MAX = 200

const textField = (name: string, rule: string) =>
  z.string({
    error: ({ input }) =>
      input === undefined ? `${name} is required: ${rule}` : `${name} must be ${rule}`,
  })

export const maybeText = (name: string, max: number) => {
  const sentence = `${name} must be text of at most ${max} characters, or null`
  return z.string({ error: sentence }).trim().max(max, sentence).nullable().optional()
}

export const customerName = (field: string) =>
  textField(field, CUSTOMER_NAME_RULE).refine(
    isCustomerName,
    `${field} must be ${CUSTOMER_NAME_RULE}`,
  )

export const planField = () => textField('plan', 'the name of a plan')

/** US dollars as micro-dollars, or the word. */
const dollars = <const W extends string = never>(name: string, word?: W) => {
  const rule = word === undefined ? USD_RULE : `${USD_RULE}, or ${word}`
  return z
    .union([z.string(), z.number()], {
      error: ({ input }) =>
        input === undefined ? `${name} is required: ${rule}` : `${name} must be ${rule}`,
    })
    .transform((given, context) => {
      if (word !== undefined && given === word) return word
      const micros = parseUsd(String(given).trim())
      if (micros !== null) return micros
      context.addIssue(`${name} must be ${rule}`)
      return z.NEVER
    })
}

/** A customer by its id or its name. */
export function customerOf(db: Db, named: string): Customer {
  const customer = findCustomer(db, named) ?? findCustomerByName(db, named)
  if (customer) return customer
  throw new ApiError('NOT_FOUND', { message: `there is no customer "${named.slice(0, 80)}"` })
}

/** @throws {ApiError} unless no customer has this name */
export function requireFree(db: Db, field: string, name: string): void {
  if (findCustomerByName(db, name) !== null)
    throw invalid(field, `${field}: there is a customer "${name}" already`)
}

export function planNamed({ plans }: ActionDeps, name: string): string {
  const { names } = plans()
  if (names.includes(name)) return name
  throw invalid('plan', `plan must be one of ${names.join(', ')}`)
}

export const toRow = ({ id, name, plan, balance_micros, unlimited, created_at }: Customer) => ({
  id,
  name,
  plan,
  credits_remaining: toUsd(balance_micros),
  unlimited,
  created_at: iso(created_at),
})
type Shown = ReturnType<typeof toRow>

const balanceOf = ({ unlimited, credits_remaining }: Shown): string =>
  unlimited ? 'unlimited' : formatUsd(credits_remaining)

export const creditsField = () => dollars('credits', 'unlimited').optional()

/** Creates a customer with its starting credit. Its name must be free. */
export const newCustomer = (
  {
    db,
    random,
    now,
    starting_credit_micros,
  }: Pick<ActionDeps, 'db' | 'random' | 'starting_credit_micros'> & { now: number },
  row: Pick<Customer, 'name' | 'plan' | 'unlimited'>,
): Customer =>
  insertCustomer(db, {
    ...row,
    id: `cus_${random.uuid()}`,
    created_at: now,
    starting_credit_micros,
    payment_id: `pay_${random.uuid()}`,
  })

export const topUp = (
  { db, random, clock }: ActionDeps,
  customer_id: string,
  amount_micros: number,
  note: string | null,
) =>
  insertPayment(db, {
    id: `pay_${random.uuid()}`,
    customer_id,
    kind: 'top_up',
    amount_micros,
    note,
    created_at: clock.now(),
  })

export const create = action<{ name: string; plan?: string; credits?: number | 'unlimited' }>({
  command: 'customer create',
  summary: 'creates a customer, without a key',
  route: 'POST /customers',
  operands: ['name'],
  fields: () => ({
    name: customerName('name'),
    plan: planField().optional().describe('one of [plans] (default: the default plan)'),
    credits: creditsField().describe('US dollars to add to the starting credit, or unlimited'),
  }),
  examples: [
    'forumd customer create acme',
    'forumd customer create acme --plan entry --credits 25',
  ],
  run: (call) =>
    transact(call.db, () => {
      const { db, input, plans, record } = call
      const { name, credits } = input
      const plan = planNamed(call, input.plan ?? plans().default_plan)
      requireFree(db, 'name', name)
      const { id } = newCustomer(
        { ...call, now: call.clock.now() },
        { name, plan, unlimited: credits === 'unlimited' },
      )
      if (typeof credits === 'number') topUp(call, id, credits, null)
      record({ action: 'customer.created', subject: id, subject_name: name, detail: { plan } })
      return toRow(customerOf(db, id))
    }),
  print: (answer: Shown) =>
    `${answer.name} is a customer on plan ${answer.plan} with ${balanceOf(answer)}`,
})

export const setPlan = action<{ customer: string; plan: string }>({
  command: 'customer set-plan',
  summary: 'moves a customer to another plan',
  route: 'POST /customers/:customer/plan',
  operands: ['customer', 'plan'],
  fields: () => ({ plan: planField() }),
  examples: ['forumd customer set-plan acme pro'],
  notes: 'On a plan smaller than its use the customer keeps its monitors and cannot add more.',
  run: (call) =>
    transact(call.db, () => {
      const { db, input, record } = call
      const before = customerOf(db, input.customer)
      const plan = planNamed(call, input.plan)
      if (plan !== before.plan) {
        updateCustomer(db, before.id, { plan })
        record({
          action: 'plan.changed',
          subject: before.id,
          subject_name: before.name,
          detail: { from: before.plan, to: plan },
        })
      }
      return toRow(customerOf(db, before.id))
    }),
  print: ({ name, plan }: Shown) => `${name} is on plan ${plan}`,
})

export const remove = action<{ customer: string }>({
  command: 'customer remove',
  summary: 'revokes the keys of a customer and stops its monitors',
  route: 'POST /customers/:customer/remove',
  operands: ['customer'],
  examples: ['forumd customer remove acme'],
  notes: 'Its ledger is kept.',
  run: ({ db, clock, input, record }) =>
    transact(db, () => {
      const { id, name } = customerOf(db, input.customer)
      removeCustomer(db, id, clock.now())
      record({ action: 'customer.removed', subject: id, subject_name: name })
      return { id, name, removed: true }
    }),
  print: ({ name }: { name: string }) => `${name} is removed`,
})

export const addCredit = action<{ customer: string; usd: number; note?: string | null }>({
  command: 'credit add',
  summary: 'adds credits to the balance of a customer',
  route: 'POST /customers/:customer/credits',
  operands: ['customer', 'usd'],
  fields: () => ({
    usd: dollars('usd'),
    note: maybeText('note', NOTE_MAX).describe('purpose, shown in the payments of the customer'),
  }),
  examples: ['forumd credit add acme 25', 'forumd credit add acme 0.5 --note "invoice 17"'],
  run(call) {
    const { db, clock, input, record, idempotency_key } = call
    const { usd: amount_micros, note = null } = input
    // Without a name, a request that is sent twice would be booked twice.
    if (idempotency_key === null)
      throw invalid(
        IDEMPOTENCY_HEADER,
        `${IDEMPOTENCY_HEADER} is required: a text that a repeat of this call has again`,
      )
    return transact(db, () => {
      const { id, name } = customerOf(db, input.customer)
      const named = { key_id: call.key_id, route: 'operator credits', name: idempotency_key }
      const body_hash = bodyHash({ id, amount_micros, note })
      const repeated = findNamedWrite(db, named, clock.now())
      if (repeated !== null) {
        if (!Buffer.from(repeated.body_hash).equals(body_hash))
          throw new ApiError('IDEMPOTENCY_MISMATCH', {
            message: 'this Idempotency-Key was used with a different body',
          })
        // The name is stored in the transaction of the payment: a stored name is a made payment.
        call.set.headers['idempotent-replayed'] = 'true'
        return toRow(customerOf(db, id))
      }
      claimName(db, { ...named, body_hash }, clock.now())
      topUp(call, id, amount_micros, note === '' ? null : note)
      record({
        action: 'credits.added',
        subject: id,
        subject_name: name,
        detail: { usd: toUsd(amount_micros) },
      })
      return toRow(customerOf(db, id))
    })
  },
  print: (answer: Shown) => `${answer.name} has ${balanceOf(answer)}`,
})
