import type { Tier } from '../core/price.ts'
import { type Db, transact } from './db.ts'
import { recordUsage } from './usage.ts'

/** A price put on hold, in micro-dollars. */
export type Hold = {
  id: string
  customer_id: string
  tier: Tier
  /** The price, in micro-dollars. */
  amount_micros: number
}

/** How a held call ended: billed or not, and whether its answer was an error. */
export type Ending = { billed: boolean; failed: boolean; now: number }

/**
 * One transaction, or a part of the one under way: a savepoint of its own would cost as much as what is written. Whoever
 * has begun that one must let it fail as a whole.
 */
const within = <T>(db: Db, work: () => T extends PromiseLike<unknown> ? never : T): T =>
  db.inTransaction ? work() : transact(db, work)

/** Takes a price off a balance; null when it does not cover it. Of an unlimited customer nothing is taken. */
const take = (db: Db, { customer_id, amount_micros }: Omit<Hold, 'id'>) =>
  db
    .query<{ amount: number; balance: number }, { id: string; amount: number }>(
      `UPDATE customers
          SET balance_micros = balance_micros - iif(unlimited = 1, 0, $amount)
        WHERE id = $id AND removed_at IS NULL AND (unlimited = 1 OR balance_micros >= $amount)
      RETURNING iif(unlimited = 1, 0, $amount) AS amount, balance_micros AS balance`,
    )
    .get({ id: customer_id, amount: amount_micros })

/** Takes the price before the work starts. False when the balance does not cover it. An unlimited customer is held at 0. */
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
 * Bills calls of one price whose answers are at hand: there is nothing to hold the price for, so that each is billed
 * whole or not at all. Returns the balance that remains after each, in their order; the last ones are missing where it
 * does not cover their price, and those are not counted.
 */
export function charge(db: Db, wanted: Omit<Hold, 'id'>, calls: number, now: number): number[] {
  const { customer_id, tier, amount_micros } = wanted
  return within(db, () => {
    const taken = take(db, { customer_id, tier, amount_micros: amount_micros * calls })
    // Not all of them, but perhaps some.
    if (!taken) return calls > 1 ? oneByOne(db, wanted, calls, now) : []
    const { amount, balance } = taken
    const call = { customer_id, tier, at: now, billed: true, failed: false }
    recordUsage(db, { ...call, cost_micros: amount, calls })
    return Array.from({ length: calls }, (_, n) => balance + (amount / calls) * (calls - 1 - n))
  })
}

function oneByOne(db: Db, wanted: Omit<Hold, 'id'>, calls: number, now: number): number[] {
  const remaining: number[] = []
  while (remaining.length < calls) {
    const after = charge(db, wanted, 1, now)
    if (after.length === 0) break
    remaining.push(...after)
  }
  return remaining
}

/**
 * Ends a held call: bills it or gives the money back, and counts it. Returns the balance that remains; null when
 * there is no such hold, so that ending a call twice changes nothing.
 */
export function endHold(db: Db, id: string, { billed, failed, now }: Ending): number | null {
  return within(db, () => {
    const held = db
      .query<Omit<Hold, 'id'>, [string]>(
        'DELETE FROM holds WHERE id = ? RETURNING customer_id, tier, amount_micros',
      )
      .get(id)
    if (!held) return null
    const back = billed ? 0 : held.amount_micros
    const row = db
      .query<{ balance_micros: number }, { id: string; back: number }>(
        `UPDATE customers SET balance_micros = balance_micros + $back
          WHERE id = $id RETURNING balance_micros`,
      )
      .get({ id: held.customer_id, back })
    const cost_micros = held.amount_micros - back
    const { customer_id, tier } = held
    recordUsage(db, { customer_id, tier, at: now, billed, cost_micros, failed })
    return row?.balance_micros ?? 0
  })
}

/** The call is not billed: the money goes back. Returns the balance that remains, null for an unknown hold. */
export const release = (db: Db, id: string, now: number): number | null =>
  endHold(db, id, { billed: false, failed: true, now })

/** At start, a hold left behind belongs to a call that died with the process: gives all back and tells how many. */
export function releaseAll(db: Db, now: number): number {
  return transact(db, () => {
    const ids = db.query<{ id: string }, []>('SELECT id FROM holds').all()
    for (const { id } of ids) release(db, id, now)
    return ids.length
  })
}

// What a balance is off by from what payments, costs and holds add up to.
const OFF_BY = `c.balance_micros
           - (SELECT coalesce(sum(amount_micros), 0) FROM payments WHERE customer_id = c.id)
           + (SELECT coalesce(sum(cost_micros), 0) FROM usage_hours WHERE customer_id = c.id)
           + (SELECT coalesce(sum(amount_micros), 0) FROM holds WHERE customer_id = c.id)`

/** Customers whose balance is not what payments, costs and holds add up to: always none, or something is broken. */
export const listUnbalanced = (db: Db): { customer_id: string; off_by_micros: number }[] =>
  db
    .query<{ customer_id: string; off_by_micros: number }, []>(
      `SELECT * FROM (SELECT c.id AS customer_id, ${OFF_BY} AS off_by_micros FROM customers c)
        WHERE off_by_micros <> 0`,
    )
    .all()

/** Whether one customer is among them. */
export const isUnbalanced = (db: Db, customer_id: string): boolean =>
  db
    .query<{ one: 1 }, [{ customer_id: string }]>(
      `SELECT 1 AS one FROM customers c WHERE c.id = $customer_id AND ${OFF_BY} <> 0`,
    )
    .get({ customer_id }) !== null
