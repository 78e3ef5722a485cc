import * as z from 'zod'

import { iso } from '../../core/base/time.ts'
import { toUsd } from '../../core/limits/price.ts'
import {
  MODEL_FAULTS,
  type ModelLimits,
  type ModelReport,
  OVERDUE_MS,
} from '../../core/relevance/judgement.ts'
import type { Db } from '../../store/db/connection.ts'
import {
  countJudgements,
  findJudgement,
  JUDGEMENT_OUTCOMES,
} from '../../store/relevance/judgements.ts'
import { findWaiting, measureWaiting } from '../../store/relevance/waiting.ts'

const DAY_MS = 86_400_000

/** Use of the operator's model in this UTC day beside its limits; null: none is configured. */
export function toModel(report: ModelReport | null) {
  if (report === null) return null
  const { model, is_up, fault, since_at, used, limits } = report
  const today = (of: keyof ModelLimits, value = (it: number) => it) => ({
    used: value(used[of]),
    limit: limits[of] === 0 ? null : value(limits[of]),
  })
  return {
    name: model,
    status: is_up ? ('up' as const) : ('down' as const),
    fault,
    down_since: iso(since_at),
    today: {
      calls: today('calls'),
      tokens: today('tokens'),
      cost_usd: today('cost_micros', toUsd),
    },
  }
}

/** Health of the judging of a monitor's matches. */
export function relevanceHealth(
  db: Db,
  { monitor_id, now, model }: { monitor_id: string; now: number; model: ModelReport | null },
) {
  const { waiting, since_at } = measureWaiting(db, monitor_id)
  const counts = countJudgements(db, { monitor_id, since_at: now - DAY_MS })
  const age_ms = since_at === null ? null : Math.max(0, now - since_at)
  return {
    waiting,
    oldest_waiting_s: age_ms === null ? null : Math.floor(age_ms / 1000),
    overdue: age_ms !== null && age_ms >= OVERDUE_MS,
    relevant_24h: counts.relevant,
    irrelevant_24h: counts.irrelevant,
    unjudged_24h: counts.unjudged,
    cached_24h: counts.cached,
    model: toModel(model),
  }
}

/** The result of an item at a monitor, or why there is none yet; null: it was not to be judged. */
export function judgementOf(db: Db, at: { monitor_id: string; item_id: string }) {
  const found = findJudgement(db, at)
  if (found !== null) {
    const { outcome, score, min_score, reason, model, cached, fault } = found
    const times = { at: iso(found.at), next_attempt_at: null }
    return { outcome, score, min_score, reason, model, cached: cached === 1, fault, ...times }
  }
  const waiting = findWaiting(db, at)
  if (waiting === null) return null
  return {
    outcome: 'waiting' as const,
    score: null,
    min_score: null,
    reason: null,
    model: null,
    cached: false,
    fault: waiting.last_fault,
    at: iso(waiting.since_at),
    next_attempt_at: iso(waiting.next_attempt_at),
  }
}

const faultShape = () =>
  z.enum(MODEL_FAULTS).nullable().meta({ description: 'Why there is no verdict.' })

/** Shape of {@link judgementOf}, for the document. */
export const judgementShape = () =>
  z.object({
    outcome: z.enum([...JUDGEMENT_OUTCOMES, 'waiting']).meta({
      description: 'unjudged: delivered without a verdict. waiting: there is none yet.',
    }),
    score: z.number().nullable().meta({ description: 'From 0, not relevant, to 1.' }),
    min_score: z.number().nullable().meta({ description: 'Minimum of the monitor at that time.' }),
    reason: z.string().nullable().meta({ description: "The model's words." }),
    model: z.string().nullable().meta({ description: 'Name of the model.' }),
    cached: z.boolean().meta({ description: 'True if it was used again, without a call.' }),
    fault: faultShape(),
    at: z.string().meta({ format: 'date-time', description: 'While waiting: since when.' }),
    next_attempt_at: z.string().nullable().meta({
      format: 'date-time',
      description: 'When it is judged, or judged again; null: it has a result.',
    }),
  })

const use = (amount: z.ZodNumber, what: string) =>
  z
    .object({
      used: amount.meta({ description: 'Used and reserved.' }),
      limit: amount.nullable().meta({ description: 'Null: no limit.' }),
    })
    .meta({ description: what })

/** Shape of {@link toModel}, for the document. */
const modelShape = () =>
  z
    .object({
      name: z.string().meta({ description: 'Name of the model.' }),
      status: z.enum(['up', 'down']).meta({ description: 'down: it cannot be used now.' }),
      fault: faultShape(),
      down_since: z
        .string()
        .nullable()
        .meta({ format: 'date-time', description: 'First fault of the outage; null: it is up.' }),
      today: z
        .object({
          calls: use(z.int(), 'Calls.'),
          tokens: use(z.int(), 'Tokens read and written.'),
          cost_usd: use(z.number(), 'US dollars by the configured prices.'),
        })
        .meta({
          description:
            'Use of all monitors in this UTC day, calls under way at the most they can cost.',
        }),
    })
    .nullable()
    .meta({ description: 'Null: the operator has configured none.' })

/** Shape of {@link relevanceHealth}, for the document. */
export const relevanceHealthShape = () =>
  z
    .object({
      waiting: z.int().meta({ description: 'Matches that wait for a verdict.' }),
      oldest_waiting_s: z
        .int()
        .nullable()
        .meta({ description: 'Seconds for which the oldest of them has waited; null: none does.' }),
      overdue: z.boolean().meta({ description: 'True if one has waited for a day or longer.' }),
      relevant_24h: z.int().meta({ description: 'Delivered with a verdict.' }),
      irrelevant_24h: z.int().meta({ description: 'Suppressed as irrelevant.' }),
      unjudged_24h: z.int().meta({ description: 'Delivered without a verdict.' }),
      cached_24h: z.int().meta({ description: 'Of those with a verdict: without a call.' }),
      model: modelShape(),
    })
    .meta({ description: 'Absent if the monitor has no relevance rules and nothing waits.' })
