import { ApiError, invalid } from '../../core/base/errors.ts'
import type { FilterSpec } from '../../core/filter/fields.ts'
import type { EvaluatePatterns } from '../../core/pattern/evaluate.ts'
import type { PatternJudge } from '../../patterns/judge.ts'

/** A pass that exceeds its time leaves the rest to the next one. */
const PASSES_MAX = 5
const FIELD = 'filter_spec.regex'

/**
 * Checks that the patterns of a filter are affordable on worst-case texts.
 * @throws {ApiError} INVALID_REQUEST naming the pattern
 */
export async function checkPatternCost(
  patterns: PatternJudge,
  { regex, case_sensitive }: FilterSpec,
  customer_id: string,
): Promise<void> {
  if (regex.length > 0) checkTrialBudget(patterns, customer_id)
  const pattern = await patterns.tooExpensive(regex, case_sensitive, customer_id)
  if (pattern === null) return
  const field = `${FIELD}[${regex.indexOf(pattern)}]`
  const remedy =
    'use shorter repetitions, such as .{0,40} instead of .{200}, or begin it with a word'
  throw invalid(field, `${field}: the pattern ${pattern} takes too long on some texts; ${remedy}`)
}

/**
 * Runs `work` with its patterns evaluated outside the event loop. `work` runs more than once, and
 * only its last result counts.
 * @throws {ApiError} INVALID_REQUEST if they exceed the time limit of a trial
 */
export async function withPatterns<T>(
  patterns: PatternJudge,
  customer_id: string,
  work: (evaluatePatterns: EvaluatePatterns) => T,
): Promise<T> {
  const { verdicts, judge } = patterns
  for (let pass = 0; pass < PASSES_MAX; pass++) {
    verdicts.takeNeeds()
    const result = work(verdicts.evaluate)
    const needs = verdicts.takeNeeds()
    if (needs.length === 0) return result
    checkTrialBudget(patterns, customer_id)
    const too_slow = await judge(needs, { owner: () => customer_id, kind: 'trial' })
    if (too_slow.length > 0) break
  }
  throw trialTooSlow()
}

/** @throws {ApiError} rate_limited if it is used up */
function checkTrialBudget(patterns: PatternJudge, customer_id: string): void {
  const wait_ms = patterns.waitOf(customer_id)
  if (wait_ms === 0) return
  throw new ApiError('rate_limited', {
    message:
      'the patterns that you have tried took too much processor time; wait, or try cheaper ones',
    retry_after_s: Math.ceil(wait_ms / 1000),
  })
}

const trialTooSlow = (): ApiError =>
  invalid(
    FIELD,
    `${FIELD}: its patterns take too long on the items that are there now; use fewer patterns, or shorter repetitions`,
  )
