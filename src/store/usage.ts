import type { Tier } from '../core/price.ts'
import type { UsageHour } from '../core/usage.ts'
import type { Db } from './db.ts'

const HOUR_MS = 3_600_000

/** Counts a finished call, or several that ended alike. Part of the transaction that settles or releases them. */
export function recordUsage(
  db: Db,
  call: {
    customer_id: string
    tier: Tier
    at: number
    billed: boolean
    /** Of all of them. */
    cost_micros: number
    failed: boolean
    /** How many; 1 unless told. */
    calls?: number
  },
): void {
  const { calls = 1 } = call
  db.query(
    `INSERT INTO usage_hours (customer_id, hour_at, tier, calls, billed_calls, cost_micros, errors)
     VALUES ($customer_id, $hour_at, $tier, $calls, $billed, $cost_micros, $errors)
     ON CONFLICT (customer_id, hour_at, tier) DO UPDATE SET
       calls = calls + $calls, billed_calls = billed_calls + $billed,
       cost_micros = cost_micros + $cost_micros, errors = errors + $errors`,
  ).run({
    customer_id: call.customer_id,
    hour_at: Math.floor(call.at / HOUR_MS) * HOUR_MS,
    tier: call.tier,
    calls,
    billed: call.billed ? calls : 0,
    cost_micros: call.cost_micros,
    errors: call.failed ? calls : 0,
  })
}

/** A customer's hours that begin in [from, to), oldest first. */
export function listUsage(db: Db, customer_id: string, from: number, to: number): UsageHour[] {
  return db
    .query<UsageHour, { customer_id: string; from: number; to: number }>(
      `SELECT hour_at, tier, calls, billed_calls, cost_micros, errors FROM usage_hours
        WHERE customer_id = $customer_id AND hour_at >= $from AND hour_at < $to
        ORDER BY hour_at, tier`,
    )
    .all({ customer_id, from, to })
}

/** Everything a customer ever called and paid for. */
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
