import { type Db, transact } from './db.ts'

/** Why a balance may change (contract 4). */
export const PAYMENT_KINDS = ['signup_credit', 'top_up', 'adjustment'] as const
type PaymentKind = (typeof PAYMENT_KINDS)[number]

/** A change of a balance, in micro-dollars. Epoch milliseconds. */
export type Payment = {
  id: string
  customer_id: string
  kind: PaymentKind
  /** Below zero only for an adjustment. */
  amount_micros: number
  note: string | null
  created_at: number
}

/** A payment would push the balance below zero; nothing was written. */
export class BalanceTooLow extends Error {
  override name = 'BalanceTooLow'
}

/** Books a payment and moves the balance with it. Throws BalanceTooLow when a negative one does not fit. */
export function insertPayment(db: Db, payment: Payment): void {
  transact(db, () => {
    const { changes } = db
      .query(
        `UPDATE customers SET balance_micros = balance_micros + $amount
          WHERE id = $id AND removed_at IS NULL AND balance_micros + $amount >= 0`,
      )
      .run({ id: payment.customer_id, amount: payment.amount_micros })
    if (changes === 0)
      throw new BalanceTooLow('no such customer, or its balance does not cover the adjustment')
    db.query(
      `INSERT INTO payments (id, customer_id, kind, amount_micros, note, created_at)
       VALUES ($id, $customer_id, $kind, $amount_micros, $note, $created_at)`,
    ).run(payment)
  })
}

/** A customer's payments, newest first; at most `limit`. */
export function listPayments(db: Db, customer_id: string, limit: number): Payment[] {
  return db
    .query<Payment, [string, number]>(
      `SELECT id, customer_id, kind, amount_micros, note, created_at FROM payments
        WHERE customer_id = ? ORDER BY created_at DESC, id DESC LIMIT ?`,
    )
    .all(customer_id, limit)
}
