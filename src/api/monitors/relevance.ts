import * as z from 'zod'

import { iso } from '../../core/base/time.ts'
import { allCalls, reservedCalls } from '../../core/relevance/calls.ts'
import { MODEL_FAULTS, type ModelReport, OVERDUE_MS } from '../../core/relevance/judgement.ts'
import type { Db } from '../../store/db/connection.ts'
import { countJudgements, findJudgement, measureWaiting } from '../../store/relevance/judgements.ts'

const DAY_MS = 86_400_000

const limitOf = (calls: number): number | null => (calls === 0 ? null : calls)

/** State of the operator's model and the calls of this UTC day beside their limits; null: none is configured. */
export function toModel(report: ModelReport | null) {
  if (report === null) return null
  const { model, is_up, fault, since_at, calls } = report
  return {
    name: model,
    status: is_up ? ('up' as const) : ('down' as const),
    fault,
    down_since: iso(since_at),
    calls_today: { used: allCalls(calls), limit: limitOf(calls.limits.all) },
  }
}

/** The same for a customer, with its own calls. */
const toModelOf = (report: ModelReport | null, customer_id: string) => {
  const model = toModel(report)
  if (model === null || report === null) return null
  const { calls } = report
  return {
    ...model,
    your_calls_today: {
      used: calls.used.get(customer_id) ?? 0,
      reserved: reservedCalls(calls),
      limit: limitOf(calls.limits.customer),
    },
  }
}

export function relevanceHealth(
  db: Db,
  {
    monitor_id,
    customer_id,
    now,
    model,
  }: { monitor_id: string; customer_id: string; now: number; model: ModelReport | null },
) {
  const { waiting, since_at, limited, limited_until } = measureWaiting(db, { monitor_id })
  const counts = countJudgements(db, { monitor_id, since_at: now - DAY_MS })
  const age_ms = since_at === null ? null : Math.max(0, now - since_at)
  return {
    waiting,
    oldest_waiting_s: age_ms === null ? null : Math.floor(age_ms / 1000),
    overdue: age_ms !== null && age_ms >= OVERDUE_MS,
    held_by_limit: limited,
    held_until: iso(limited_until),
    relevant_24h: counts.relevant,
    irrelevant_24h: counts.irrelevant,
    unjudged_24h: counts.unjudged,
    model: toModelOf(model, customer_id),
  }
}

/** The result of an item at a monitor, or why there is none yet; null: it was not to be judged. */
export function judgementOf(db: Db, at: { monitor_id: string; item_id: string }) {
  const found = findJudgement(db, at)
  if (found === null || found.outcome === 'abandoned') return null
  const { outcome, next_attempt_at, ...rest } = found
  return {
    ...rest,
    outcome: outcome ?? ('waiting' as const),
    at: iso(found.at),
    next_attempt_at: iso(next_attempt_at),
  }
}

const faultShape = () => z.enum(MODEL_FAULTS).nullable().describe('Why there is no verdict.')

/** Shape of {@link judgementOf}, for the document. */
export const judgementShape = () =>
  z
    .object({
      outcome: z
        .enum(['relevant', 'irrelevant', 'unjudged', 'waiting'])
        .describe('unjudged: delivered without a verdict. waiting: there is none yet.'),
      score: z.number().nullable().describe('From 0, not relevant, to 1.'),
      min_score: z.number().nullable().describe('Minimum of the monitor at that time.'),
      reason: z.string().nullable().describe("The model's words."),
      model: z.string().nullable().describe('Name of the model.'),
      fault: faultShape(),
      at: z.string().meta({ format: 'date-time', description: 'While waiting: since when.' }),
      next_attempt_at: z.string().nullable().meta({
        format: 'date-time',
        description: 'When it is judged, or judged again; null: it has a result.',
      }),
    })
    .meta({ title: 'Judgement' })

const limitShape = () => z.int().nullable().describe('Null: no limit.')

/** Shape of {@link toModelOf}, for the document. */
const modelShape = () =>
  z
    .object({
      name: z.string().describe('Name of the model.'),
      status: z.enum(['up', 'down']).describe('down: it cannot be used now.'),
      fault: faultShape(),
      down_since: z
        .string()
        .nullable()
        .meta({ format: 'date-time', description: 'First fault of the outage; null: it is up.' }),
      calls_today: z
        .object({
          used: z.int().describe('Calls of all customers.'),
          limit: limitShape(),
        })
        .describe('Calls in this UTC day.'),
      your_calls_today: z
        .object({
          used: z.int().describe('Calls for your monitors.'),
          reserved: z.int().describe('Calls that others leave to you.'),
          limit: limitShape(),
        })
        .describe('Your calls in this UTC day.'),
    })
    .nullable()
    .describe('Null: the operator has configured none.')

/** Shape of {@link relevanceHealth}, for the document. */
export const relevanceHealthShape = () =>
  z
    .object({
      waiting: z.int().describe('Matches that wait for a verdict.'),
      oldest_waiting_s: z
        .int()
        .nullable()
        .describe('Seconds for which the oldest of them has waited; null: none does.'),
      overdue: z.boolean().describe('True if one has waited for a day or longer.'),
      held_by_limit: z
        .int()
        .describe('Of those that wait: held, because the calls of the day are used.'),
      held_until: z
        .string()
        .nullable()
        .meta({ format: 'date-time', description: 'When they are judged; null: none is held.' }),
      relevant_24h: z.int().describe('Delivered with a verdict.'),
      irrelevant_24h: z.int().describe('Suppressed as irrelevant.'),
      unjudged_24h: z.int().describe('Delivered without a verdict.'),
      model: modelShape(),
    })
    .describe('Absent if the monitor has no relevance rules and nothing waits.')
