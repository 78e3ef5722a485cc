import { useState } from 'preact/hooks'

import { ChoiceField, LinesField, TextField } from '../../components/base/field.tsx'
import { Time } from '../../components/base/time.tsx'
import { count } from '../../lib/format.ts'
import type { Health } from '../../lib/types.ts'
import { toRelevance, type TypedRelevance, WHEN_DOWN } from './typed-relevance.ts'

const PROMPT_MAX = 2000

/** Fields for the judgement by the operator's model, collapsed until they are used. */
export function RelevanceFields({
  typed,
  setTyped,
  error,
}: {
  typed: TypedRelevance
  setTyped: (typed: TypedRelevance) => void
  error: string | null
}) {
  const [was_used] = useState(toRelevance(typed) !== null)
  const set = (change: Partial<TypedRelevance>) => setTyped({ ...typed, ...change })
  return (
    <details open={was_used || error !== null}>
      <summary>Judge matches by a model</summary>
      <LinesField
        label="Relevant are"
        hint="Describes to the model of this service which matches you want. Empty: no model is used."
        error={error}
        rows={4}
        maxLength={PROMPT_MAX}
        value={typed.prompt}
        change={(prompt) => set({ prompt })}
      />
      {typed.prompt.trim() !== '' && (
        <>
          <TextField
            label="Minimum score"
            hint="0 to 1. Matches with a lower one are listed and not sent."
            inputMode="decimal"
            value={typed.min_score}
            change={(min_score) => set({ min_score })}
          />
          <ChoiceField
            label="A match that the model cannot judge"
            value={typed.when_down}
            options={WHEN_DOWN}
            change={(when_down) => set({ when_down })}
          />
        </>
      )}
    </details>
  )
}

/** Results of the model in 24 hours, and what waits for it. */
export function RelevanceStats({ health }: { health: Health }) {
  const { relevance } = health
  if (relevance === undefined) return null
  const { model } = relevance
  const results: [number, string][] = [
    [relevance.relevant_24h, 'relevant'],
    [relevance.irrelevant_24h, 'irrelevant, not sent'],
    [relevance.unjudged_24h, 'sent without a verdict'],
    [relevance.waiting, 'waiting for a verdict'],
  ]
  return (
    <section aria-labelledby="judged">
      <h2 id="judged">Judged by a model in 24 hours</h2>
      <p>
        {results.map(([n, what]) => `${count(n)} ${what}`).join(', ')}.
        {relevance.overdue && ' The oldest has waited for a day or longer.'}
      </p>
      {relevance.held_by_limit > 0 && (
        <p>
          Held: model limit reached, {count(relevance.held_by_limit)} waiting
          {relevance.held_until !== null && (
            <>
              , until <Time at={relevance.held_until} />
            </>
          )}
          .
        </p>
      )}
      <p class="quiet">
        {model === null
          ? 'No model is configured.'
          : model.status === 'up'
            ? `Model: ${model.name}.`
            : `The model ${model.name} cannot be used: ${(model.fault ?? 'unreachable').replaceAll('_', ' ')}.`}
      </p>
    </section>
  )
}
