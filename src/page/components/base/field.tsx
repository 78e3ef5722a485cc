import type { ComponentChildren, TargetedInputEvent } from 'preact'
import { useId } from 'preact/hooks'

export type FieldAttributes = { id: string; 'aria-describedby'?: string; 'aria-invalid'?: 'true' }

type FieldProps = {
  label: string
  hint?: string | undefined
  /** The API's error message for this field; null: none. */
  error?: string | null
  children: (attributes: FieldAttributes) => ComponentChildren
}

export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId()
  const about = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ')
  return (
    <div class={error ? 'field wrong' : 'field'}>
      <label for={id}>{label}</label>
      {children({
        id,
        ...(about !== '' && { 'aria-describedby': about }),
        ...(error && { 'aria-invalid': 'true' as const }),
      })}
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error && (
        <p class="error" id={`${id}-error`} role="alert">
          {error}
        </p>
      )}
    </div>
  )
}

type TextFieldProps = Omit<FieldProps, 'children'> & {
  value: string
  change: (value: string) => void
  masked?: boolean
  inputMode?: 'decimal' | 'numeric' | 'url'
  maxLength?: number
  placeholder?: string
  autocapitalize?: 'none'
  spellcheck?: boolean
}

/** A single-line text field; `masked` hides the input. */
export function TextField({
  label,
  hint,
  error = null,
  change,
  masked: veiled = false,
  ...rest
}: TextFieldProps) {
  const input = {
    ...rest,
    onInput: (event: TargetedInputEvent<HTMLInputElement>) => change(event.currentTarget.value),
  }
  return (
    <Field label={label} hint={hint} error={error}>
      {(attributes) =>
        veiled ? (
          <input {...attributes} {...input} type="password" autocomplete="off" />
        ) : (
          <input {...attributes} {...input} />
        )
      }
    </Field>
  )
}

type LinesFieldProps = Omit<FieldProps, 'children'> & {
  value: string
  change: (value: string) => void
  rows: number
  maxLength: number
}

export const LinesField = ({ label, hint, error = null, change, ...rest }: LinesFieldProps) => (
  <Field label={label} hint={hint} error={error}>
    {(attributes) => (
      <textarea {...attributes} {...rest} onInput={(event) => change(event.currentTarget.value)} />
    )}
  </Field>
)

type CheckboxProps = {
  label: ComponentChildren
  checked: boolean
  change: (checked: boolean) => void
  disabled?: boolean
}

export const Checkbox = ({ label, checked, change, disabled = false }: CheckboxProps) => (
  <label class="check">
    <input
      type="checkbox"
      checked={checked}
      disabled={disabled}
      onChange={(event) => change(event.currentTarget.checked)}
    />
    <span>{label}</span>
  </label>
)

type ChoiceProps<T extends string> = Partial<FieldAttributes> & {
  disabled?: boolean
  value: T
  options: readonly (readonly [T, string])[]
  change: (value: T) => void
  'aria-label'?: string
}

export function Choice<T extends string>({
  value,
  options,
  change,
  ...attributes
}: ChoiceProps<T>) {
  return (
    <select
      {...attributes}
      value={value}
      onChange={(event) => {
        const chosen = options.find(([it]) => it === event.currentTarget.value)
        if (chosen) change(chosen[0])
      }}
    >
      {options.map(([it, words]) => (
        <option key={it} value={it}>
          {words}
        </option>
      ))}
    </select>
  )
}

type ChoiceFieldProps<T extends string> = Omit<FieldProps, 'children'> &
  Omit<ChoiceProps<T>, keyof FieldAttributes | 'aria-label'>

export const ChoiceField = <T extends string>({
  label,
  hint,
  error = null,
  ...choice
}: ChoiceFieldProps<T>) => (
  <Field label={label} hint={hint} error={error}>
    {(attributes) => <Choice<T> {...attributes} {...choice} />}
  </Field>
)

export type Options = readonly (readonly [string, string])[]

/** Options of a filter: `all` for none, and the chosen value as `gone` if it is not among the known ones. */
export const filterOptions = (
  all: string,
  known: Options,
  chosen: string,
  gone = chosen,
): Options => [
  ['', all],
  ...known,
  ...(chosen === '' || known.some(([it]) => it === chosen) ? [] : [[chosen, gone] as const]),
]
