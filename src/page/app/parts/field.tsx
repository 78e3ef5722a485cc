import type { ComponentChildren, TargetedInputEvent } from 'preact'
import { useId } from 'preact/hooks'

/** What ties an input to the words about it. */
export type Tied = { id: string; 'aria-describedby'?: string; 'aria-invalid'?: 'true' }

type FieldProps = {
  label: string
  hint?: string | undefined
  /** What the API said of this field; null when nothing. */
  error?: string | null
  children: (tied: Tied) => ComponentChildren
}

/** A label, an input, a hint, and what is wrong with what stands in it. */
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
  veiled?: boolean
  inputMode?: 'decimal' | 'numeric' | 'url'
  maxLength?: number
  autocapitalize?: 'none'
  spellcheck?: boolean
}

/** A field of one line of text; `veiled` shows none of what is typed. */
export function TextField({
  label,
  hint,
  error = null,
  change,
  veiled = false,
  ...told
}: TextFieldProps) {
  const input = {
    ...told,
    onInput: (event: TargetedInputEvent<HTMLInputElement>) => change(event.currentTarget.value),
  }
  return (
    <Field label={label} hint={hint} error={error}>
      {(tied) =>
        veiled ? (
          <input {...tied} {...input} type="password" autocomplete="off" />
        ) : (
          <input {...tied} {...input} />
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

/** A field of several lines of text. */
export const LinesField = ({ label, hint, error = null, change, ...told }: LinesFieldProps) => (
  <Field label={label} hint={hint} error={error}>
    {(tied) => (
      <textarea {...tied} {...told} onInput={(event) => change(event.currentTarget.value)} />
    )}
  </Field>
)

type CheckProps = {
  label: ComponentChildren
  checked: boolean
  change: (checked: boolean) => void
  disabled?: boolean
}

/** Yes or no. */
export const Check = ({ label, checked, change, disabled = false }: CheckProps) => (
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

type ChoiceProps<T extends string> = Partial<Tied> & {
  value: T
  options: readonly (readonly [T, string])[]
  change: (value: T) => void
  'aria-label'?: string
}

/** One of a few. */
export function Choice<T extends string>({ value, options, change, ...tied }: ChoiceProps<T>) {
  return (
    <select
      {...tied}
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
