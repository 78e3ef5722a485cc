import * as z from 'zod'

import type { Archive } from '../../archive/archive.ts'
import { invalid } from '../../core/base/errors.ts'
import { iso } from '../../core/base/time.ts'
import { placesOf } from '../../core/filter/feeds.ts'
import type { FilterSpec } from '../../core/filter/fields.ts'
import { renderFilterSpec } from '../../core/filter/parse.ts'
import type { Naming } from '../../core/forum/naming.ts'
import { effectiveCadence, type Plan } from '../../core/limits/plan.ts'
import type { Watches } from '../../gateway/watch.ts'
import type { BacktestResult, Comparison, DayCounts } from '../../store/archive/backtest.ts'
import { ARCHIVE_KEEPS, scopesOf } from '../../store/archive/scopes.ts'
import type { Customer } from '../../store/customers/customers.ts'
import type { Db } from '../../store/db/connection.ts'
import { listTargets } from '../../store/delivery/targets.ts'
import { fromArchive } from '../archive/routes.ts'

const DAY_MS = 86_400_000
const WINDOW_DAYS_MAX = 90
const WINDOW = `window must be a number of days from 1d to ${WINDOW_DAYS_MAX}d, such as 30d`

export const windowField = () =>
  z
    .string({ error: WINDOW })
    .refine((it) => /^[1-9]\d?d$/.test(it) && Number.parseInt(it) <= WINDOW_DAYS_MAX, WINDOW)
    .optional()
    .meta({
      type: 'string',
      pattern: '^[1-9][0-9]?d$',
      description: `Days of the past, 1d to ${WINDOW_DAYS_MAX}d: tries the filter on the archive instead of the present feeds.`,
    })

export type BacktestDeps = {
  db: Db
  archive: Pick<Archive, 'backtest' | 'settings'>
  plan_of: (name: string) => Plan
  watches: Watches
}

/** A filter, the filter beside it, and the days to try them on. */
export type BacktestInput = {
  spec: FilterSpec
  compare: FilterSpec | null
  window: string
  limit: number
  /** The platform's time, epoch ms. */
  now: number
}

/** Tries a filter on the customer's part of the archive. `work_ms`: time in the thread. */
export async function runBacktest(
  words: Naming,
  { db, archive, plan_of, watches }: BacktestDeps,
  customer: Customer,
  { spec, compare, window, limit, now }: BacktestInput,
) {
  const from_at = now - Number.parseInt(window) * DAY_MS
  const scopes = scopesOf(db, customer.id)
  const part = { from_at, to_at: now, scopes }
  const result = await fromArchive(archive.backtest({ ...part, spec, compare, limit }))
  const covered_days = coveredDays(result, from_at, now)
  const plan = plan_of(customer.plan)
  const { scanned, matched, low_relevance, not_yet, work_ms } = result
  return {
    work_ms,
    answer: {
      filter_spec: renderFilterSpec(spec, words),
      matches: result.rows,
      matched,
      low_relevance,
      not_yet,
      scanned,
      truncated: result.scanned_until !== null,
      terms: result.terms,
      criteria: [],
      estimate_per_day: perDay(matched, covered_days),
      feeds: [],
      feeds_left_out: 0,
      item: null,
      window: {
        from: iso(from_at),
        to: iso(now),
        basis: archive.settings.keep,
        oldest: iso(result.oldest_at),
        scanned_until: iso(result.scanned_until),
      },
      days: daysOf(result.days),
      deliveries: {
        ...deliveriesOf(result.days, covered_days, {
          targets: listTargets(db, customer.id, null).length,
          ceiling: plan.daily_deliveries,
        }),
        polls_per_day: pollsPerDay(spec, watches, effectiveCadence(plan, null)),
      },
      compare: compare && result.compare && comparisonOf(words, compare, result.compare),
    },
  }
}

/** Days of the window that were tested and that the archive reaches back to; null: none. */
function coveredDays(
  { oldest_at, scanned_until }: BacktestResult,
  from_at: number,
  now: number,
): number | null {
  if (oldest_at === null) return null
  const since = Math.max(from_at, oldest_at, scanned_until ?? from_at)
  return since >= now ? null : (now - since) / DAY_MS
}

/** A count per day, with one decimal below ten; null: no day is known. */
function perDay(count: number, days: number | null): number | null {
  if (days === null) return null
  // Less than an hour says nothing of a day.
  const rate = count / Math.max(days, 1 / 24)
  return rate < 10 ? Math.round(rate * 10) / 10 : Math.round(rate)
}

const daysOf = (days: DayCounts) =>
  days.map(({ day, matched }) => ({ date: iso(day * DAY_MS).slice(0, 10), matched }))

/** Deliveries to all present targets, and those beyond the ceiling of a day. */
function deliveriesOf(
  days: DayCounts,
  covered_days: number | null,
  { targets, ceiling }: { targets: number; ceiling: number },
) {
  const daily = days.map(({ deliveries }) => deliveries * targets)
  const total = daily.reduce((sum, it) => sum + it, 0)
  return {
    per_day: perDay(total, covered_days),
    targets,
    daily_ceiling: ceiling,
    days_over_ceiling: daily.filter((it) => it > ceiling).length,
    over_ceiling: daily.reduce((sum, it) => sum + Math.max(0, it - ceiling), 0),
  }
}

/** Requests a day for the feeds of a filter, at the cadence of the plan. Feeds that others share cost nothing more. */
const pollsPerDay = (spec: FilterSpec, watches: Watches, cadence_s: number): number =>
  Math.round((placesOf(spec, watches).length * 86_400) / cadence_s)

const comparisonOf = (words: Naming, spec: FilterSpec, { days, ...counts }: Comparison) => ({
  filter_spec: renderFilterSpec(spec, words),
  ...counts,
  days: daysOf(days),
})

/** @throws {ApiError} INVALID_REQUEST naming the field */
export function checkPreviewFields(input: {
  window?: string | undefined
  compare?: unknown
  item_id?: string | undefined
}): void {
  if (input.window === undefined && input.compare !== undefined)
    throw invalid('compare', 'compare must be left out without window')
  if (input.window !== undefined && input.item_id !== undefined)
    throw invalid('item_id', 'item_id must be left out beside window')
}

const count = () => z.int()
const row = () => z.looseObject({})
const dayCounts = () =>
  z
    .array(
      z.object({
        date: z.iso.date().describe('Day of UTC.'),
        matched: count().describe('Matches created on it.'),
      }),
    )
    .describe('Every day of the window, oldest first.')

export const backtestShape = () => ({
  window: z
    .object({
      from: z.iso.datetime().describe('Start of the window.'),
      to: z.iso.datetime().describe('End of the window.'),
      basis: z
        .enum(ARCHIVE_KEEPS)
        .describe('Items that the archive keeps: with matches, only what your monitors matched.'),
      oldest: z.iso
        .datetime()
        .nullable()
        .describe('Creation of the oldest archived item of the window; null: there is none.'),
      scanned_until: z.iso
        .datetime()
        .nullable()
        .describe('Time ran out: only what was created after this was tested.'),
    })
    .optional()
    .describe('With window: the time that was tested.'),
  days: dayCounts().optional(),
  deliveries: z
    .object({
      per_day: z.number().nullable().describe('To all targets; null: no data.'),
      targets: count().describe('Your active webhooks.'),
      daily_ceiling: count().describe('Deliveries a day that the plan allows.'),
      days_over_ceiling: count().describe('Days on which that is exceeded.'),
      over_ceiling: count().describe('Deliveries that would have been withheld.'),
      polls_per_day: count().describe(
        'Requests for the feeds of the filter, unless other monitors share them.',
      ),
    })
    .optional()
    .describe('With window: expected deliveries. They cost no credits.'),
  compare: z
    .object({
      filter_spec: z.looseObject({}).describe('The second filter.'),
      matched: count().describe('Its matches.'),
      both: count().describe('Items that both filters match.'),
      only_first: count().describe('Items that only the first filter matches.'),
      only_second: count().describe('Items that only the second filter matches.'),
      samples: z
        .object({
          only_first: z.array(row()).describe('The newest of them.'),
          only_second: z.array(row()).describe('The newest of them.'),
        })
        .describe('Items that one filter matches and the other does not.'),
      days: dayCounts(),
    })
    .nullable()
    .optional()
    .describe('With compare: the second filter beside the first.'),
})
