import { type Db, transact } from '../db/connection.ts'
import { insertPayment } from './ledger.ts'

/** The holder of API keys and a balance. Money in micro-dollars, instants in epoch ms. */
export type Customer = {
  id: string
  name: string
  plan: string
  balance_micros: number
  unlimited: boolean
  created_at: number
}

type Row = Omit<Customer, 'unlimited'> & { unlimited: number }

const COLUMNS = 'id, name, plan, balance_micros, unlimited, created_at'

const fromRow = (row: Row): Customer => ({ ...row, unlimited: row.unlimited === 1 })

/**
 * Inserts a customer and, when it is not zero, books the starting credit as its first payment.
 * @throws {SQLiteError} when the name is taken
 */
export function insertCustomer(
  db: Db,
  row: {
    id: string
    name: string
    plan: string
    unlimited?: boolean
    created_at: number
    starting_credit_micros: number
    payment_id: string
  },
): Customer {
  return transact(db, () => {
    db.query(
      `INSERT INTO customers (id, name, plan, balance_micros, unlimited, created_at)
       VALUES ($id, $name, $plan, 0, $unlimited, $created_at)`,
    ).run({
      id: row.id,
      name: row.name,
      plan: row.plan,
      unlimited: row.unlimited === true ? 1 : 0,
      created_at: row.created_at,
    })
    if (row.starting_credit_micros > 0)
      insertPayment(db, {
        id: row.payment_id,
        customer_id: row.id,
        kind: 'signup_credit',
        amount_micros: row.starting_credit_micros,
        note: null,
        created_at: row.created_at,
      })
    const customer = findCustomer(db, row.id)
    if (customer === null) throw new Error('the customer was inserted but cannot be read back')
    return customer
  })
}

/** The customer of this id; null when absent or removed. */
export function findCustomer(db: Db, id: string): Customer | null {
  const row = db
    .query<Row, [string]>(`SELECT ${COLUMNS} FROM customers WHERE id = ? AND removed_at IS NULL`)
    .get(id)
  return row ? fromRow(row) : null
}

/** The customer of this name; null when absent or removed. */
export function findCustomerByName(db: Db, name: string): Customer | null {
  const row = db
    .query<Row, [string]>(`SELECT ${COLUMNS} FROM customers WHERE name = ? AND removed_at IS NULL`)
    .get(name)
  return row ? fromRow(row) : null
}

/** Every customer that is not removed, oldest first. */
export function listCustomers(db: Db): Customer[] {
  return db
    .query<Row, []>(
      `SELECT ${COLUMNS} FROM customers WHERE removed_at IS NULL ORDER BY created_at, id`,
    )
    .all()
    .map(fromRow)
}

/**
 * Changes a customer; false when there is no such customer.
 * @throws {SQLiteError} when the name is taken
 */
export function updateCustomer(
  db: Db,
  id: string,
  { name, plan, unlimited }: Partial<Pick<Customer, 'name' | 'plan' | 'unlimited'>>,
): boolean {
  return transact(
    db,
    () =>
      db
        .query(
          `UPDATE customers SET name = coalesce($name, name), plan = coalesce($plan, plan),
                  unlimited = coalesce($unlimited, unlimited)
            WHERE id = $id AND removed_at IS NULL`,
        )
        .run({
          id,
          name: name ?? null,
          plan: plan ?? null,
          unlimited: unlimited === undefined ? null : Number(unlimited),
        }).changes > 0,
  )
}

/**
 * Removes a customer: its keys stop working, its monitors stop, and its name becomes free. Its ledger stays. False
 * when there is no such customer.
 */
export function removeCustomer(db: Db, id: string, now: number): boolean {
  return transact(db, () => {
    const { changes } = db
      .query(
        `UPDATE customers SET removed_at = $now, name = name || ' (removed ' || id || ')'
          WHERE id = $id AND removed_at IS NULL`,
      )
      .run({ id, now })
    if (changes === 0) return false
    db.query(
      'UPDATE api_keys SET revoked_at = $now WHERE customer_id = $id AND revoked_at IS NULL',
    ).run({ id, now })
    db.query(
      'UPDATE monitors SET active = 0, removed_at = $now WHERE customer_id = $id AND removed_at IS NULL',
    ).run({ id, now })
    return true
  })
}
