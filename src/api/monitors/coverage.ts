import * as z from 'zod'

import { invalid } from '../../core/base/errors.ts'
import { once } from '../../core/base/lazy.ts'
import { iso } from '../../core/base/time.ts'
import { DAY_MS, secondsOf } from '../../core/polling/days.ts'
import { coverageContext } from '../../gateway/watch.ts'
import type { Customer } from '../../store/customers/customers.ts'
import { listCoverage } from '../../store/monitoring/coverage-days.ts'
import type { RouteContext } from '../context.ts'
import { querySchema, required } from '../http/fields.ts'
import { type MonitorDeps, requireMonitor } from './edit.ts'

/** Days of one answer, and those without `from`. */
const DAYS_MAX = 100
const DAYS_DEFAULT = 30

export const coverageQuery = querySchema(() => ({
  id: required('id', { max: 64 }),
  from: dayField('from'),
  to: dayField('to'),
}))

const dayField = (name: string) => {
  const sentence = `${name} must be a day of UTC such as 2026-01-31`
  return z
    .string({ error: sentence })
    .refine((text) => /^\d{4}-\d\d-\d\d$/.test(text) && dayOf(text) !== null, sentence)
    .optional()
    .meta({ type: 'string', format: 'date' })
}

/** Days since the epoch; null: no such day. */
function dayOf(text: string): number | null {
  const at = Date.parse(text)
  return Number.isNaN(at) || !iso(at).startsWith(text) ? null : at / DAY_MS
}
const dayText = (day: number): string => iso(day * DAY_MS).slice(0, 10)

type Days = { from?: string | undefined; to?: string | undefined }

function daysOf({ from, to }: Days, today: number): { first: number; last: number } {
  const last = to === undefined ? today : (dayOf(to) ?? today)
  const first = from === undefined ? last - DAYS_DEFAULT + 1 : (dayOf(from) ?? last)
  if (last > today) throw invalid('to', `to must not be after today, ${dayText(today)} UTC`)
  if (first > last) throw invalid('from', 'from must not be after to')
  if (last - first >= DAYS_MAX)
    throw invalid(
      'from',
      `from and to may cover at most ${DAYS_MAX} days: ask for ${dayText(last - DAYS_MAX + 1)} or later, and for the days before it in another call`,
    )
  return { first, last }
}

/**
 * Coverage of a customer's monitor by day.
 * @throws {ApiError} NOT_FOUND for a monitor of another customer or an absent one; INVALID_REQUEST for days that cannot be
 * answered
 */
export function coverageDays(
  { clock }: Pick<RouteContext, 'clock'>,
  { db, watches }: Pick<MonitorDeps, 'db' | 'watches'>,
  customer: Pick<Customer, 'id'>,
  { id, ...query }: Days & { id: string },
) {
  const monitor = requireMonitor(db, customer.id, id)
  const now = clock.now()
  const context = coverageContext(watches)
  const { first, last } = daysOf(query, Math.floor((now + context.offset_ms) / DAY_MS))
  return {
    id,
    from: dayText(first),
    to: dayText(last),
    days: listCoverage(db, monitor, { first, last, now }, context).map((it) => ({
      day: dayText(it.day),
      ...secondsOf(it),
      gaps: it.gaps.map(({ from, until, status, reason }) => ({
        from: iso(from),
        until: iso(until),
        status,
        reason,
      })),
    })),
  }
}

const seconds = (description: string) => z.int().min(0).meta({ description })

export const coverageShape = once(() => {
  const day = z.string().meta({ format: 'date', description: 'Day of UTC.' })
  const instant = z.string().meta({ format: 'date-time', description: 'ISO 8601, UTC.' })
  return z.object({
    id: z.string(),
    from: day,
    to: day,
    days: z.array(
      z.object({
        day,
        complete_s: seconds('Seconds whose creation times are verified and have no gap.'),
        not_verified_s: seconds('Seconds that were watched and are not complete: see gaps.'),
        unwatched_s: seconds('Seconds before the start of the monitor, paused or not recorded.'),
        gaps: z
          .array(
            z.object({
              from: instant,
              until: instant,
              status: z
                .enum(['degraded', 'partial', 'unknown'])
                .describe(
                  'degraded: a poll was cut; partial: read but not verified; unknown: not watched.',
                ),
              reason: z.string(),
            }),
          )
          .describe('All that is not complete, oldest first.'),
      }),
    ),
  })
})
