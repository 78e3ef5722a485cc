import type { Db } from '../db/connection.ts'

/**
 * SQL of the ids of frozen customers: those that are being moved to another instance. Every query that finds work to do
 * leaves them out, so that the two instances never both act. The table is empty nearly always.
 */
export const FROZEN = '(SELECT customer_id FROM customer_moves)'

/**
 * True once the deletion of a moved customer has begun. The receipt has shown that the other instance has all of it: here it
 * may neither go on nor be exported again.
 */
export const isLeaving = (db: Db, customer_id: string): boolean =>
  db
    .query(
      `SELECT 1 FROM customer_moves m JOIN audit a ON a.subject = m.customer_id
        WHERE m.customer_id = $customer_id AND a.kind = 'customer.leaving' AND a.detail ->> 'receipt' = m.receipt`,
    )
    .get({ customer_id }) !== null

/** The message of the triggers that refuse writes for a frozen customer. */
export const FROZEN_MESSAGE = 'the customer is frozen: it is being moved to another instance'

/** True for the error of a trigger that refused a write for a frozen customer. */
export const isFrozenError = (error: unknown): boolean =>
  error instanceof Error && error.message === FROZEN_MESSAGE

/** The instance whose id the delivery ids of a customer are made of: the first one that it was a customer of. */
export function originOf(db: Db, customer_id: string, instance_id: string): string {
  const row = db
    .query<{ origin_id: string | null }, [{ customer_id: string }]>(
      'SELECT origin_id FROM customers WHERE id = $customer_id',
    )
    .get({ customer_id })
  return row?.origin_id ?? instance_id
}
