import { Check, Choice, Field, type Tied } from '../parts/field.tsx'
import type { FormField, FormPart, Typed } from '../spec.ts'

type SpecFieldsProps = {
  parts: readonly FormPart[]
  more: readonly FormPart[]
  typed: Typed
  setTyped: (typed: Typed) => void
  errorOf: (field: string) => string | null
}

/** The fields of a filter; what is needed less often is folded away, unless something stands there or is wrong. */
export function SpecFields({ parts, more, typed, setTyped, errorOf }: SpecFieldsProps) {
  const part = ({ title, fields }: FormPart) => (
    <fieldset key={title}>
      <legend>{title}</legend>
      {fields.map((field) => (
        <SpecField
          key={field.name}
          field={field}
          value={typed[field.name] ?? ''}
          change={(value) => setTyped({ ...typed, [field.name]: value })}
          error={errorOf(field.name)}
        />
      ))}
    </fieldset>
  )
  const used = more.some(({ fields }) =>
    fields.some(({ name }) => (typed[name] ?? '').length > 0 || errorOf(name) !== null),
  )
  return (
    <>
      {parts.map(part)}
      <details open={used}>
        <summary>More conditions</summary>
        {more.map(part)}
      </details>
    </>
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
          rows={3}
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
