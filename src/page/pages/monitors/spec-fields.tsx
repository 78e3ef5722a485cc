import { useRef } from 'preact/hooks'

import { Checkbox } from '../../components/base/field.tsx'
import { FormInput } from '../../components/form.tsx'
import { useCurrentUser } from '../../hooks/contexts.ts'
import { inFormWords, type Typed } from '../../lib/filter-spec.ts'
import { capabilityText, lackOf, placeHint, proofText, selectedSources } from '../../lib/sources.ts'
import type { FormField, FormPart, Source } from '../../lib/types.ts'

type SpecPartsProps = {
  parts: readonly FormPart[]
  typed: Typed
  setTyped: (typed: Typed) => void
  errorOf: (field: string) => string | null
  sources: readonly Source[]
}

export const SpecParts = ({ parts, typed, setTyped, errorOf, sources }: SpecPartsProps) => (
  <>
    {parts.map(({ title, fields }) => (
      <fieldset key={title}>
        <legend>{title}</legend>
        {fields.map((field) => (
          <SpecField
            key={field.name}
            field={field}
            value={typed[field.name] ?? ''}
            change={(value) => setTyped({ ...typed, [field.name]: value })}
            error={fieldError(field, errorOf(field.name))}
            sources={sources}
            chosen={selectedSources(String(typed['source'] ?? ''), sources)}
          />
        ))}
      </fieldset>
    ))}
  </>
)

const fieldError = (field: FormField, error: string | null): string | null =>
  error && inFormWords(error, field)

/** Less common fields, collapsed until one has a value or an error. */
export function MoreParts(props: SpecPartsProps) {
  const { parts, typed, errorOf } = props
  const used = useRef(false)
  used.current ||= parts.some(({ fields }) =>
    fields.some(({ name }) => (typed[name] ?? '').length > 0 || errorOf(name) !== null),
  )
  return (
    <details open={used.current}>
      <summary>More conditions</summary>
      <SpecParts {...props} />
    </details>
  )
}

type SpecFieldProps = {
  field: FormField
  value: string | readonly string[]
  change: (value: string | readonly string[]) => void
  error: string | null
  sources: readonly Source[]
  chosen: readonly Source[]
}

function SpecField({ field, value, change, error, sources, chosen }: SpecFieldProps) {
  const { words } = useCurrentUser()
  const { name } = field
  const text = String(value)
  if (name === 'source')
    return sources.length < 2 && text === '' ? null : (
      <SourceField {...{ sources, change, error }} value={text} />
    )
  const lack = lackOf(field.needs, chosen)
  // The labels of the form are about a platform of this kind.
  const is_further = chosen.some((it) => it.kind !== 'reddit')
  const hint = name === words.community && is_further ? placeHint(chosen) : field.hint
  return (
    // A value that cannot be used stays editable, so that it can be removed.
    <FormInput
      {...{ field, value, change, error }}
      hint={lack ?? hint}
      disabled={lack !== null && text === ''}
    />
  )
}

type SourceFieldProps = {
  sources: readonly Source[]
  value: string
  change: (value: string) => void
  error: string | null
}

function SourceField({ sources, value, change, error }: SourceFieldProps) {
  const chosen = new Set(selectedSources(value, sources).map(({ name }) => name))
  const all = value.trim() === 'all'
  const known = [...new Set(sources.flatMap((it) => it.capabilities))]
  const toggle = (name: string, on: boolean) => {
    const names = sources.map((it) => it.name).filter((it) => (it === name ? on : chosen.has(it)))
    change(names.join(', '))
  }
  return (
    <div class={error ? 'field wrong' : 'field'} role="group" aria-labelledby="sources">
      <span class="label" id="sources">
        Sources
      </span>
      <div>
        <Checkbox
          label="All sources, including future ones"
          checked={all}
          change={(on) => change(on ? 'all' : '')}
        />
      </div>
      {sources.map((it) => (
        <div key={it.name}>
          <Checkbox
            label={`${it.name} (${it.kind})`}
            checked={chosen.has(it.name)}
            disabled={all || it.proof === null}
            change={(on) => toggle(it.name, on)}
          />
          <p class="hint source-facts">{factsOf(it, known)}</p>
        </div>
      ))}
      {error && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
    </div>
  )
}

function factsOf({ proof, state, capabilities }: Source, known: readonly string[]): string {
  if (proof === null) return 'It cannot be monitored: it has no list that proves completeness.'
  const lacking = known.filter((it) => !capabilities.includes(it)).map(capabilityText)
  return [
    state.status === 'fails' ? 'It cannot be read now.' : '',
    `Completeness is proved by ${proofText(proof)}.`,
    lacking.length > 0 ? `Not supported: ${lacking.join(', ')}.` : '',
  ]
    .filter((it) => it !== '')
    .join(' ')
}
