import type { Suppressed } from '../delivery/envelope.ts'
import type { ModelVerdict } from './answer.ts'
import type { DayCalls } from './calls.ts'
import type { RelevanceRules } from './rules.ts'

/**
 * Reasons for which there is no verdict. `refused`: the service answered with an error. `too_slow`: the match has waited
 * for as long as it may. `limit_calls`: its customer has no further call of the day.
 */
export const MODEL_FAULTS = [
  'not_configured',
  'unreachable',
  'timeout',
  'refused',
  'too_large',
  'invalid_answer',
  'too_slow',
  'limit_calls',
] as const
export type ModelFault = (typeof MODEL_FAULTS)[number]

export type RelevanceResult =
  ({ kind: 'verdict'; model: string } & ModelVerdict) | { kind: 'fault'; fault: ModelFault }

/** Field `judgement` of a delivered item. */
export type ItemJudgement = {
  status: 'judged' | 'unavailable'
  score: number | null
  min_score: number
  reason: string | null
  model: string | null
  fault: ModelFault | null
}

export const toJudgement = (
  judged: RelevanceResult,
  { min_score }: RelevanceRules,
): ItemJudgement =>
  judged.kind === 'fault'
    ? {
        status: 'unavailable',
        score: null,
        min_score,
        reason: null,
        model: null,
        fault: judged.fault,
      }
    : {
        status: 'judged',
        score: judged.score,
        min_score,
        reason: judged.reason,
        model: judged.model,
        fault: null,
      }

/** The suppression of a match below its monitor's minimum; null: it is delivered. */
export function judgeRelevance(
  judged: RelevanceResult,
  { min_score }: RelevanceRules,
): Suppressed | null {
  if (judged.kind === 'fault' || judged.score >= min_score) return null
  return { reason: 'irrelevant', score: judged.score, min_score }
}

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
/** Longest time until a held match is judged again. */
const RETRY_MAX_MS = 6 * 3_600_000
export const OVERDUE_MS = DAY_MS

/** Milliseconds until a held match is judged again after as many failed calls for it. `fraction` is in [0, 1). */
export const retryDelay = (failures: number, fraction: number): number =>
  Math.round(
    Math.min(RETRY_MAX_MS, MINUTE_MS * 2 ** Math.max(0, failures - 1)) * (0.8 + 0.4 * fraction),
  )

/** Start of the next UTC day. */
export const nextDayAt = (now: number): number => (Math.floor(now / DAY_MS) + 1) * DAY_MS

/**
 * State of the model by the outcomes of calls. `strikes`: faults in a row that an item may have caused. Open until
 * `until` (monotonic ms) after `opens` faults in a row of the service itself.
 */
export type ModelState = {
  strikes: number
  opens: number
  until: number
  fault: ModelFault | null
  /** Epoch ms of the first fault in the row. */
  since_at: number | null
}

export const MODEL_UP: ModelState = { strikes: 0, opens: 0, until: 0, fault: null, since_at: null }

const STRIKES_MAX = 5
const PAUSE_MS = 5_000
const PAUSE_MAX_MS = 5 * MINUTE_MS

/**
 * The state after a failed call. `by_item`: one item can cause the fault by its text, so alone it must not keep the model
 * from the others. `asked_ms`: the service's Retry-After, 0 without one.
 */
export function afterFault(
  state: ModelState,
  fault: ModelFault,
  at: { now: number; mono: number; fraction: number; asked_ms: number; by_item: boolean },
): ModelState {
  const strikes = state.strikes + 1
  const since_at = state.since_at ?? at.now
  if (at.by_item && state.opens === 0 && strikes < STRIKES_MAX)
    return { ...state, strikes, fault, since_at }
  const pause_ms = Math.min(PAUSE_MAX_MS, PAUSE_MS * 2 ** state.opens) * (0.8 + 0.4 * at.fraction)
  const until = at.mono + Math.max(pause_ms, at.asked_ms)
  return { strikes, opens: Math.min(state.opens + 1, 16), until, fault, since_at }
}

/** State of the operator's model, and the calls of this UTC day by customer. */
export type ModelReport = {
  model: string
  is_up: boolean
  fault: ModelFault | null
  /** Epoch ms of the first fault. */
  since_at: number | null
  calls: DayCalls
}
