import type { Config } from '../../config/schema.ts'
import type { Random } from '../../runtime/runtime.ts'
import {
  type Customer,
  findCustomer,
  findCustomerByName,
  insertCustomer,
  updateCustomer,
} from '../../store/customers/customers.ts'
import { insertPayment } from '../../store/customers/ledger.ts'
import type { Db } from '../../store/db/connection.ts'
import { CommandRefusal } from '../command.ts'
import { parseDollars, parseName, parsePlan } from '../inputs.ts'

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
  { plan, credits }: Omit<CustomerOptions, 'name'>,
): Customer {
  if (plan !== undefined) updateCustomer(db, id, { plan: parsePlan(plan, config) })
  const amount = parseCredits(credits)
  if (amount === 'unlimited') updateCustomer(db, id, { unlimited: true })
  else if (amount !== null)
    insertPayment(db, {
      id: `pay_${random.uuid()}`,
      customer_id: id,
      kind: 'top_up',
      amount_micros: amount,
      note: null,
      created_at: now,
    })
  const customer = findCustomer(db, id)
  if (customer) return customer
  throw new CommandRefusal('the customer was removed meanwhile')
}
