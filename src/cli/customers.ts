/** What several commands do with customers, over the store's plain functions. */
import type { Config } from '../config/schema.ts'
import type { Random } from '../outside.ts'
import {
  type Customer,
  findCustomer,
  findCustomerByName,
  insertCustomer,
  setPlan,
  setUnlimited,
} from '../store/customers.ts'
import type { Db } from '../store/db.ts'
import { insertPayment } from '../store/payments.ts'
import { Refusal } from './command.ts'
import { parseName, parsePlan } from './inputs.ts'
import { parseDollars } from './money.ts'

/** The customer of this name. Throws Refusal when there is none. */
export function customerNamed(db: Db, name: string): Customer {
  const customer = findCustomerByName(db, name)
  if (customer) return customer
  throw new Refusal(`there is no customer "${name}": see forumd customer list`)
}

/** What is asked for a customer. */
export type Wanted = {
  name: string
  plan: string | undefined
  /** US dollars to add, `unlimited`, or nothing. */
  credits: string | undefined
}

/** What `--credits` asks for, in micro-dollars, before anything is written. */
export const parseCredits = (text: string | undefined): number | 'unlimited' | null => {
  if (text === undefined) return null
  return text === 'unlimited' ? 'unlimited' : parseDollars(text)
}

/** Makes a new customer with its starting credit. Its name must be free. */
export function makeCustomer(
  { db, config, now, random }: { db: Db; config: Config; now: number; random: Random },
  { name, plan }: Pick<Wanted, 'name' | 'plan'>,
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

/** Brings a customer to the plan and the credits that were asked for, and answers it as it is then. */
export function grant(
  { db, config, now, random }: { db: Db; config: Config; now: number; random: Random },
  { id }: Customer,
  { plan, credits, note }: Omit<Wanted, 'name'> & { note?: string },
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
  throw new Refusal('the customer was removed meanwhile')
}
