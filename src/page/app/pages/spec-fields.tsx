import { useRef } from 'preact/hooks'

import type { FormField, FormPart } from '../form-fields.ts'
import { Check, Choice, Field, type Tied } from '../parts/field.tsx'
import { inFormWords, type Typed } from '../spec.ts'

type SpecPartsProps = {
  parts: readonly FormPart[]
  typed: Typed
  setTyped: (typed: Typed) => void
  errorOf: (field: string) => string | null
}

/** Fields of a filter, part by part. */
export const SpecParts = ({ parts, typed, setTyped, errorOf }: SpecPartsProps) => (
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
            error={saidOf(field, errorOf(field.name))}
          />
        ))}
      </fieldset>
    ))}
  </>
)

const saidOf = (field: FormField, error: string | null): string | null =>
  error && inFormWords(error, field)

/** Those that are needed less often: folded away until something stands there or is wrong. */
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
}

function SpecField({ field, value, change, error }: SpecFieldProps) {
  const { label, hint, kind, options = [] } = field
  if (kind === 'some') return <Some {...{ field, change, error }} value={value} />
  return (
    <Field label={label} hint={hint} error={error}>
      {(tied) => <Input {...{ kind, options, change, tied }} value={String(value)} />}
    </Field>
  )
}

const FLAGS = [
  ['', 'as usual'],
  ['true', 'yes'],
  ['false', 'no'],
] as const

type InputProps = {
  kind: FormField['kind']
  options: readonly (readonly [string, string])[]
  value: string
  change: (value: string) => void
  tied: Tied
}

function Input({ kind, options, value, change, tied }: InputProps) {
  switch (kind) {
    case 'lines':
      return (
        <textarea
          {...tied}
          rows={2}
          spellcheck={false}
          value={value}
          onInput={(event) => change(event.currentTarget.value)}
        />
      )
    case 'one':
      return <Choice {...tied} value={value} options={options} change={change} />
    case 'flag':
      return <Choice<string> {...tied} value={value} options={FLAGS} change={change} />
    case 'names':
    case 'number':
    case 'text':
    case 'label':
    case 'some':
      return (
        <input
          {...tied}
          value={value}
          spellcheck={false}
          autocapitalize="none"
          inputMode={kind === 'number' ? 'numeric' : 'text'}
          onInput={(event) => change(event.currentTarget.value)}
        />
      )
  }
}

function Some({ field, value, change, error }: SpecFieldProps) {
  const chosen = typeof value === 'string' ? [] : value
  const { name, label, hint, options = [] } = field
  return (
    <div class={error ? 'field wrong' : 'field'} role="group" aria-labelledby={`some-${name}`}>
      <span class="label" id={`some-${name}`}>
        {label}
      </span>
      <div class="checks">
        {options.map(([it, words]) => (
          <Check
            key={it}
            label={words}
            checked={chosen.includes(it)}
            change={(on) => change(on ? [...chosen, it] : chosen.filter((other) => other !== it))}
          />
        ))}
      </div>
      {hint && <p class="hint">{hint}</p>}
      {error && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
    </div>
  )
}
