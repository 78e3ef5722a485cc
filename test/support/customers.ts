import { insertCustomer } from '../../src/store/customers/customers.ts'
import { insertKey, type Scope } from '../../src/store/customers/keys.ts'
import type { Db } from '../../src/store/db/connection.ts'

/** Adds a customer of the plan `entry`, by default without credit. */
export const addCustomer = (db: Db, id: string, { name = id, at = 0, credits_micros = 0 } = {}) =>
  insertCustomer(db, {
    id,
    name,
    plan: 'entry',
    created_at: at,
    starting_credit_micros: credits_micros,
    payment_id: `pay_${id}`,
  })

type Key = {
  token: string
  scopes?: readonly Scope[]
  id?: string
  name?: string | null
  at?: number
  expires_at?: number | null
}

/** Adds a key of a customer; null: of an operator. */
export function addKey(db: Db, customer_id: string | null, key: Key): void {
  const { token, scopes = [], id = `key_${token}`, name = null, at = 0, expires_at = null } = key
  insertKey(db, { id, customer_id, token, name, scopes, created_at: at, expires_at })
}
