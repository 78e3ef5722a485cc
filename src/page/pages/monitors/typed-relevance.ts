import type { Monitor } from '../../lib/types.ts'

/** Answers to the question what happens to a match without a verdict, with their labels. */
export const WHEN_DOWN = [
  ['deliver', 'Deliver it without a verdict'],
  ['hold', 'Hold it until there is one'],
] as const

/** The typed rules of the form; an empty prompt is none. */
export type TypedRelevance = {
  prompt: string
  min_score: string
  when_down: (typeof WHEN_DOWN)[number][0]
}

export const toTypedRelevance = (rules: Monitor['relevance'] | undefined): TypedRelevance => ({
  prompt: rules?.prompt ?? '',
  min_score: String(rules?.min_score ?? 0.5),
  when_down: rules?.when_down ?? 'deliver',
})

/** Rules to send; null without a prompt. */
export function toRelevance({ prompt, min_score, when_down }: TypedRelevance): object | null {
  if (prompt.trim() === '') return null
  const typed = min_score.trim()
  return { prompt, min_score: /^\d*\.?\d+$/.test(typed) ? Number(typed) : typed, when_down }
}
