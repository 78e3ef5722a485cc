import { useState } from 'preact/hooks'

import { Time } from '../../components/base/time.tsx'
import { FormFields, type FormState } from '../../components/form.tsx'
import { toSpec, type Typed } from '../../lib/filter-spec.ts'
import { count } from '../../lib/format.ts'
import type { FormField, Health } from '../../lib/types.ts'

const WHEN_DOWN = [
  ['deliver', 'Deliver it without a verdict'],
  ['hold', 'Hold it until there is one'],
] as const
const DEFAULTS = { min_score: '0.5', when_down: 'deliver' }

type RelevanceFieldsProps = Omit<FormState, 'errorOf'> & { error: string | null }

/** Fields for the judgement by the operator's model, collapsed until they are used. */
export function RelevanceFields({ fields, typed, setTyped, error }: RelevanceFieldsProps) {
  const has_prompt = String(typed['prompt'] ?? '').trim() !== ''
  const [was_used] = useState(has_prompt)
  return (
    <details open={was_used || error !== null}>
      <summary>Judge matches by a model</summary>
      <FormFields
        fields={fields
          .filter(({ name }) => has_prompt || name === 'prompt')
          .map((it) => (it.name === 'when_down' ? { ...it, options: WHEN_DOWN } : it))}
        typed={{ ...DEFAULTS, ...typed }}
        setTyped={setTyped}
        errorOf={(field) => (field === 'prompt' ? error : null)}
      />
    </details>
  )
}

/** Rules to send; null without a prompt. */
export const toRelevance = (fields: readonly FormField[], typed: Typed): object | null =>
  String(typed['prompt'] ?? '').trim() === '' ? null : toSpec({ ...DEFAULTS, ...typed }, fields)

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
