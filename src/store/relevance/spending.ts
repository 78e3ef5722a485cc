import { utcDay } from '../../core/limits/plan.ts'
import { exceeded, type ModelLimits } from '../../core/relevance/judgement.ts'
import type { Db } from '../db/connection.ts'

// Calls, tokens and money of the model by UTC day. A call is reserved at the most that it can cost before it is sent, and
// settled by its answer. A call that a crash cut off stays reserved: its answer may have been billed.

/** A reserved call: what it adds to its day until it is settled. */
export type Reservation = { day: number; tokens: number; cost_micros: number }

type Day = ModelLimits & { largest_tokens: number; largest_cost_micros: number }

const NONE: Day = {
  calls: 0,
  tokens: 0,
  cost_micros: 0,
  largest_tokens: 0,
  largest_cost_micros: 0,
}

/** Calls, tokens and micro-dollars of a day, reserved ones included. */
export const findModelDay = (db: Db, day: number): Day =>
  db
    .query<Day, [{ day: number }]>(
      `SELECT calls, tokens, cost_micros, largest_tokens, largest_cost_micros FROM relevance_days WHERE day = $day`,
    )
    .get({ day }) ?? NONE

/**
 * Reserves a call, or names the limit that it would exceed. A service that has charged more than a call can cost is
 * expected to do so again that day. Belongs into a transaction.
 */
export function reserveCall(
  db: Db,
  limits: ModelLimits,
  most: { tokens: number; cost_micros: number },
  now: number,
): Reservation | ReturnType<typeof exceeded> {
  const day = utcDay(now)
  const used = findModelDay(db, day)
  const tokens = Math.max(most.tokens, used.largest_tokens)
  const cost_micros = Math.max(most.cost_micros, used.largest_cost_micros)
  const limit = exceeded(limits, used, { tokens, cost_micros })
  if (limit !== null) return limit
  db.query(
    `INSERT INTO relevance_days (day, calls, tokens, cost_micros) VALUES ($day, 1, $tokens, $cost_micros)
     ON CONFLICT (day) DO UPDATE SET calls = calls + 1, tokens = tokens + $tokens, cost_micros = cost_micros + $cost_micros`,
  ).run({ day, tokens, cost_micros })
  return { day, tokens, cost_micros }
}

/**
 * Replaces a reservation by what the call has cost. `surplus`: it cost more than it could by its size. `sent` false: it
 * did not reach the service, and does not count.
 */
export function settleCall(
  db: Db,
  reserved: Reservation,
  cost: { tokens: number; cost_micros: number; sent: boolean; surplus: boolean },
): void {
  db.query(
    `UPDATE relevance_days SET calls = calls - $unsent, tokens = tokens + $tokens, cost_micros = cost_micros + $cost_micros,
            largest_tokens = max(largest_tokens, $largest_tokens),
            largest_cost_micros = max(largest_cost_micros, $largest_cost_micros)
      WHERE day = $day`,
  ).run({
    day: reserved.day,
    unsent: cost.sent ? 0 : 1,
    tokens: cost.tokens - reserved.tokens,
    cost_micros: cost.cost_micros - reserved.cost_micros,
    largest_tokens: cost.surplus ? cost.tokens : 0,
    largest_cost_micros: cost.surplus ? cost.cost_micros : 0,
  })
}

/** Deletes the days before one. */
export const pruneModelDays = (db: Db, before_day: number): void =>
  void db.query('DELETE FROM relevance_days WHERE day < $before_day').run({ before_day })
