import { iso } from './instant.ts'
import { type Tier, toUsd } from './price.ts'

type Counts = { calls: number; billed_calls: number; cost_usd: number; errors: number }

/** What came of the calls of one kind within one hour. */
export type UsageHour = {
  /** The hour's first instant. */
  hour_at: number
  tier: Tier
  calls: number
  billed_calls: number
  cost_micros: number
  errors: number
}

/** One bucket of a customer's usage as the interface shows it; `start` is ISO 8601. */
export type Usage = Counts & { start: string; by_tier: Partial<Record<Tier, Counts>> }

const HOUR_MS = 3_600_000
const LENGTH_MS = { hour: HOUR_MS, day: 24 * HOUR_MS }

/** Hours put together into hours or UTC days, oldest first, and their total. A bucket without a call is left out. */
export function bucketed(
  hours: readonly UsageHour[],
  bucket: keyof typeof LENGTH_MS,
): { usage: Usage[]; total: Counts } {
  const length_ms = LENGTH_MS[bucket]
  const starts = Map.groupBy(hours, ({ hour_at }) => Math.floor(hour_at / length_ms) * length_ms)
  const usage = [...starts]
    .toSorted(([a], [b]) => a - b)
    .map(([start, inside]) => ({
      start: iso(start),
      ...sum(inside),
      by_tier: Object.fromEntries(
        [...Map.groupBy(inside, ({ tier }) => tier)].map(([tier, rows]) => [tier, sum(rows)]),
      ),
    }))
  return { usage, total: sum(hours) }
}

/** Added up in micro-dollars, so that no cent is lost on the way. */
function sum(rows: readonly UsageHour[]): Counts {
  const add = (of: (row: UsageHour) => number) => rows.reduce((total, row) => total + of(row), 0)
  return {
    calls: add(({ calls }) => calls),
    billed_calls: add(({ billed_calls }) => billed_calls),
    cost_usd: toUsd(add(({ cost_micros }) => cost_micros)),
    errors: add(({ errors }) => errors),
  }
}
