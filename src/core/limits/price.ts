import { iso } from '../base/time.ts'

export type Tier = 'read' | 'deep_search' | 'vote' | 'write' | 'dm'

/** Millionths of a dollar per call. */
export type PriceMicros = Readonly<Record<Tier, number>>

/** Converts micro-dollars to dollars for JSON: at most six decimals. */
/** US dollars with two to six decimals. */
export const formatUsd = (usd: number): string => `${usd.toFixed(6).replace(/0{1,4}$/, '')} USD`

export const toUsd = (micros: number): number => micros / 1e6

const USD_MAX = 1_000_000_000

/** Rule for an amount, as the rest of a sentence. */
export const USD_RULE = 'US dollars above 0 with at most 6 decimals, such as 5 or 0.25'

/** Parses US dollars such as `12.5` exactly, to 12,500,000 micro-dollars; null if malformed, 0 or too large. */
export function parseUsd(text: string): number | null {
  const [, whole = '', decimals = ''] = /^(\d{1,10})(?:\.(\d{1,6}))?$/.exec(text) ?? []
  const micros = Number(whole) * 1_000_000 + Number(decimals.padEnd(6, '0'))
  return whole === '' || micros === 0 || micros > USD_MAX * 1_000_000 ? null : micros
}

type Counts = { calls: number; billed_calls: number; cost_usd: number; errors: number }

export type UsageHour = {
  hour_at: number
  tier: Tier
  calls: number
  billed_calls: number
  cost_micros: number
  errors: number
}

/** Public bucket of a customer's usage; `start` is ISO 8601. */
export type Usage = Counts & { start: string; by_tier: Partial<Record<Tier, Counts>> }

const HOUR_MS = 3_600_000
const LENGTH_MS = { hour: HOUR_MS, day: 24 * HOUR_MS }

/** Groups hours into hours or UTC days, oldest first, with a total. Omits empty buckets. */
export function bucketed(
  hours: readonly UsageHour[],
  bucket: keyof typeof LENGTH_MS,
): { usage: Usage[]; total: Counts } {
  const length_ms = LENGTH_MS[bucket]
  const starts = Map.groupBy(hours, ({ hour_at }) => Math.floor(hour_at / length_ms) * length_ms)
  const usage = [...starts]
    .toSorted(([a], [b]) => a - b)
    .map(([start, bucket_hours]) => ({
      start: iso(start),
      ...sum(bucket_hours),
      by_tier: Object.fromEntries(
        [...Map.groupBy(bucket_hours, ({ tier }) => tier)].map(([tier, rows]) => [tier, sum(rows)]),
      ),
    }))
  return { usage, total: sum(hours) }
}

/** Summed in micro-dollars to avoid rounding errors. */
function sum(rows: readonly UsageHour[]): Counts {
  const add = (of: (row: UsageHour) => number) => rows.reduce((total, row) => total + of(row), 0)
  return {
    calls: add(({ calls }) => calls),
    billed_calls: add(({ billed_calls }) => billed_calls),
    cost_usd: toUsd(add(({ cost_micros }) => cost_micros)),
    errors: add(({ errors }) => errors),
  }
}
