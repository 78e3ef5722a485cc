/** The judgement of the operator's model on a match; `score` null: there is no verdict, because of `fault`. */
export type ShownJudgement = {
  /** From 0 to 1. */
  score: number | null
  reason: string | null
  model: string | null
  fault: string | null
}

const textOf = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? value : null

/** Reads the judgement of a match from its open enrichment; null: its monitor has no rules for a model. */
export function readJudgement(enrichment: { [part: string]: unknown }): ShownJudgement | null {
  const { judgement } = enrichment
  if (typeof judgement !== 'object' || judgement === null) return null
  const { score, reason, model, fault }: { [name: string]: unknown } = { ...judgement }
  return {
    score: typeof score === 'number' ? score : null,
    reason: textOf(reason),
    model: textOf(model),
    fault: textOf(fault),
  }
}

/** A share from 0 to 1 as '82 %'. */
export const percent = (share: number): string => `${Math.round(share * 100)} %`
