import type { Tier, UsageHour } from '../../core/limits/price.ts'
import { type Db, transact } from '../db/connection.ts'

const HOUR_MS = 3_600_000

/** Counts a finished call. Part of the transaction that settles or releases it. */
export function recordUsage(
  db: Db,
  call: {
    customer_id: string
    tier: Tier
    at: number
    billed: boolean
    cost_micros: number
    failed: boolean
  },
): void {
  db.query(
    `INSERT INTO usage_hours (customer_id, hour_at, tier, calls, billed_calls, cost_micros, errors)
     VALUES ($customer_id, $hour_at, $tier, 1, $billed, $cost_micros, $errors)
     ON CONFLICT (customer_id, hour_at, tier) DO UPDATE SET
       calls = calls + 1, billed_calls = billed_calls + $billed,
       cost_micros = cost_micros + $cost_micros, errors = errors + $errors`,
  ).run({
    customer_id: call.customer_id,
    hour_at: Math.floor(call.at / HOUR_MS) * HOUR_MS,
    tier: call.tier,
    billed: call.billed ? 1 : 0,
    cost_micros: call.cost_micros,
    errors: call.failed ? 1 : 0,
  })
}

/** A customer's usage hours that begin in [from, to), oldest first. */
export function listUsage(db: Db, customer_id: string, from: number, to: number): UsageHour[] {
  return db
    .query<UsageHour, { customer_id: string; from: number; to: number }>(
      `SELECT hour_at, tier, calls, billed_calls, cost_micros, errors FROM usage_hours
        WHERE customer_id = $customer_id AND hour_at >= $from AND hour_at < $to
        ORDER BY hour_at, tier`,
    )
    .all({ customer_id, from, to })
}

export function sumUsage(db: Db, customer_id: string): { calls: number; cost_micros: number } {
  return (
    db
      .query<{ calls: number; cost_micros: number }, [string]>(
        `SELECT coalesce(sum(calls), 0) AS calls, coalesce(sum(cost_micros), 0) AS cost_micros
           FROM usage_hours WHERE customer_id = ?`,
      )
      .get(customer_id) ?? { calls: 0, cost_micros: 0 }
  )
}

export type Hold = {
  id: string
  customer_id: string
  tier: Tier
  amount_micros: number
}

/** The outcome of a held call: billed or not, and whether its answer was an error. */
export type HoldEnd = { billed: boolean; failed: boolean; now: number }

/**
 * Runs in the current transaction or in a new one. A savepoint would cost as much as the writes. The owner of the
 * outer transaction must let it fail as a whole.
 */
const within = <T>(db: Db, work: () => T extends PromiseLike<unknown> ? never : T): T =>
  db.inTransaction ? work() : transact(db, work)

/** Deducts a price from a balance; null when the balance does not cover it. Unlimited customers pay nothing. */
const take = (db: Db, { customer_id, amount_micros }: Omit<Hold, 'id'>) =>
  db
    .query<{ amount: number; balance: number }, { id: string; amount: number }>(
      `UPDATE customers
          SET balance_micros = balance_micros - iif(unlimited = 1, 0, $amount)
        WHERE id = $id AND removed_at IS NULL AND (unlimited = 1 OR balance_micros >= $amount)
      RETURNING iif(unlimited = 1, 0, $amount) AS amount, balance_micros AS balance`,
    )
    .get({ id: customer_id, amount: amount_micros })

/**
 * Holds the price before the work starts. False when the balance does not cover it. An unlimited customer is held at
 * 0.
 */
export function hold(db: Db, wanted: Hold, now: number): boolean {
  return within(db, () => {
    const taken = take(db, wanted)
    if (!taken) return false
    db.query(
      `INSERT INTO holds (id, customer_id, tier, amount_micros, created_at)
       VALUES ($id, $customer_id, $tier, $amount, $now)`,
    ).run({
      id: wanted.id,
      customer_id: wanted.customer_id,
      tier: wanted.tier,
      amount: taken.amount,
      now,
    })
    return true
  })
}

/**
 * Bills a call whose answer is ready, without a hold. Returns the remaining balance; null when it does not cover the
 * price.
 */
export function charge(db: Db, wanted: Omit<Hold, 'id'>, now: number): number | null {
  const { customer_id, tier } = wanted
  return within(db, () => {
    const taken = take(db, wanted)
    if (!taken) return null
    const { amount: cost_micros, balance } = taken
    recordUsage(db, { customer_id, tier, at: now, billed: true, cost_micros, failed: false })
    return balance
  })
}

/**
 * Ends a held call: bills it or releases the hold, and counts it. Returns the remaining balance; null when there is no
 * such hold, so that a second call changes nothing.
 */
export function endHold(db: Db, id: string, { billed, failed, now }: HoldEnd): number | null {
  return within(db, () => {
    const open_hold = db
      .query<Omit<Hold, 'id'>, [string]>(
        'DELETE FROM holds WHERE id = ? RETURNING customer_id, tier, amount_micros',
      )
      .get(id)
    if (!open_hold) return null
    const back = billed ? 0 : open_hold.amount_micros
    const row = db
      .query<{ balance_micros: number }, { id: string; back: number }>(
        `UPDATE customers SET balance_micros = balance_micros + $back
          WHERE id = $id RETURNING balance_micros`,
      )
      .get({ id: open_hold.customer_id, back })
    const cost_micros = open_hold.amount_micros - back
    const { customer_id, tier } = open_hold
    recordUsage(db, { customer_id, tier, at: now, billed, cost_micros, failed })
    return row?.balance_micros ?? 0
  })
}

/** Releases the hold without billing. Returns the remaining balance, null for an unknown hold. */
export const release = (db: Db, id: string, now: number): number | null =>
  endHold(db, id, { billed: false, failed: true, now })

/**
 * Releases all holds at start: those left behind belong to calls that died with the process. Returns their number.
 */
export function releaseAll(db: Db, now: number): number {
  return transact(db, () => {
    const ids = db.query<{ id: string }, []>('SELECT id FROM holds').all()
    for (const { id } of ids) release(db, id, now)
    return ids.length
  })
}

export const PAYMENT_KINDS = ['signup_credit', 'top_up', 'adjustment'] as const
type PaymentKind = (typeof PAYMENT_KINDS)[number]

/** A change of a balance, in micro-dollars. Epoch milliseconds. */
export type Payment = {
  id: string
  customer_id: string
  kind: PaymentKind
  /** Negative only for an adjustment. */
  amount_micros: number
  note: string | null
  created_at: number
}

/** A payment would push the balance below zero; nothing was written. */
export class BalanceTooLow extends Error {
  override name = 'BalanceTooLow'
}

/** @throws {BalanceTooLow} when the balance does not cover a negative amount */
export function insertPayment(db: Db, payment: Payment): void {
  transact(db, () => {
    const { changes } = db
      .query(
        `UPDATE customers SET balance_micros = balance_micros + $amount
          WHERE id = $id AND removed_at IS NULL AND balance_micros + $amount >= 0`,
      )
      .run({ id: payment.customer_id, amount: payment.amount_micros })
    if (changes === 0)
      throw new BalanceTooLow('no such customer, or the balance does not cover the adjustment')
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
