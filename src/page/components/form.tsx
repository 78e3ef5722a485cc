import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'

import { type ApiResult, callApi } from '../lib/api.ts'
import { type Typed, valueOf } from '../lib/filter-spec.ts'
import { randomName } from '../lib/runtime.ts'
import type { FormField } from '../lib/types.ts'
import { CallDialog } from './base/dialog.tsx'
import { Checkbox, Choice, Field, type FieldAttributes } from './base/field.tsx'

type FormInputProps = {
  field: FormField
  value: string | readonly string[]
  change: (value: string | readonly string[]) => void
  error?: string | null
  hint?: string | undefined
  disabled?: boolean
}

/** One field of a form as the daemon publishes it. */
export function FormInput({
  field,
  value,
  change,
  error = null,
  hint = field.hint,
  disabled = false,
}: FormInputProps) {
  const { name, label, kind, options = [] } = field
  if (kind === 'check')
    return (
      <Checkbox
        label={label}
        checked={value === 'true'}
        change={(on) => change(on ? 'true' : '')}
      />
    )
  if (kind !== 'some')
    return (
      <Field label={label} hint={hint} error={error}>
        {(attributes) => (
          <Input
            {...{ field, change }}
            attributes={{ ...attributes, disabled }}
            value={String(value)}
          />
        )}
      </Field>
    )
  const chosen = typeof value === 'string' ? [] : value
  return (
    <div class={error ? 'field wrong' : 'field'} role="group" aria-labelledby={`some-${name}`}>
      <span class="label" id={`some-${name}`}>
        {label}
      </span>
      <div class="checks">
        {options.map(([it, words]) => (
          <Checkbox
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

type InputProps = {
  field: FormField
  value: string
  change: (value: string) => void
  attributes: FieldAttributes & { disabled: boolean }
}

function Input({ field, value, change, attributes }: InputProps) {
  const { kind, options = [], fallback = '' } = field
  const text = {
    ...attributes,
    value,
    spellcheck: false,
    placeholder: fallback && `default: ${fallback}`,
  }
  switch (kind) {
    case 'lines':
    case 'area':
      return (
        <textarea
          {...text}
          rows={kind === 'area' ? 5 : 2}
          onInput={(event) => change(event.currentTarget.value)}
        />
      )
    case 'one':
    case 'flag':
      return (
        <Choice<string>
          {...attributes}
          value={value}
          options={
            kind === 'one'
              ? options
              : [
                  ['', `default: ${fallback}`],
                  ['true', 'yes'],
                  ['false', 'no'],
                ]
          }
          change={change}
        />
      )
    case 'names':
    case 'number':
    case 'text':
    case 'label':
    case 'secret':
    case 'check':
    case 'some':
      return (
        <input
          {...text}
          {...(kind === 'secret' && { type: 'password', autocomplete: 'off' })}
          autocapitalize="none"
          inputMode={kind === 'number' ? 'decimal' : 'text'}
          onInput={(event) => change(event.currentTarget.value)}
        />
      )
  }
}

export type FormState = {
  fields: readonly FormField[]
  typed: Typed
  setTyped: (typed: Typed) => void
  errorOf: (field: string) => string | null
}

export const FormFields = ({ fields, typed, setTyped, errorOf }: FormState) => (
  <>
    {fields.map((field) => (
      <FormInput
        key={field.name}
        field={field}
        value={typed[field.name] ?? ''}
        change={(value) => setTyped({ ...typed, [field.name]: value })}
        error={errorOf(field.name)}
      />
    ))}
  </>
)

/** The typed values by field; fields that are empty now and were not in `before` are null, unchanged ones are left out. */
function bodyOf(
  fields: readonly FormField[],
  typed: Typed,
  before: Typed = {},
): { [field: string]: unknown } {
  return Object.fromEntries(
    fields.flatMap((field) => {
      const was = before[field.name] ?? ''
      const now = typed[field.name] ?? ''
      if (String(now) === String(was)) return []
      if (field.kind === 'check') return [[field.name, now === 'true']]
      if (field.kind === 'some') return [[field.name, now]]
      return [[field.name, valueOf(field, now) ?? null]]
    }),
  )
}

type FormDialogProps<T> = {
  title: string
  does: string
  doing?: string
  fields: readonly FormField[] | ((typed: Typed) => readonly FormField[])
  /** Values at the start, of which only changed ones are sent. */
  before?: Typed
  /** Other values at the start, which are sent. */
  start?: Typed
  path: string
  /** Values that no field has. */
  more?: object | ((typed: Typed) => object)
  done: (value: T) => void
  close: () => void
  after?: (errorOf: (field: string) => string | null) => ComponentChildren
  children?:
    ComponentChildren | ((typed: Typed, setTyped: (typed: Typed) => void) => ComponentChildren)
}

/** A dialog with the fields of one call, each error beside its field. */
export function SchemaDialog<T>({
  fields: given,
  before = {},
  start = {},
  path,
  more = {},
  children,
  after,
  ...rest
}: FormDialogProps<T>) {
  const [typed, setTyped] = useState({ ...before, ...start })
  // A repeat of the same values after a lost answer is the same call.
  const [name, setName] = useState(randomName)
  const fields = typeof given === 'function' ? given(typed) : given
  const change = (next: Typed) => {
    setTyped(next)
    setName(randomName())
  }
  const call = (): Promise<ApiResult<T>> =>
    callApi<T>(path, {
      method: 'POST',
      body: {
        ...bodyOf(fields, typed, before),
        ...(typeof more === 'function' ? more(typed) : more),
      },
      headers: { 'idempotency-key': name },
    })
  return (
    <CallDialog<T> {...rest} fields={fields.map((it) => it.name)} call={call}>
      {(errorOf) => (
        <>
          {typeof children === 'function' ? children(typed, change) : children}
          <FormFields {...{ fields, typed, errorOf }} setTyped={change} />
          {after?.(errorOf)}
        </>
      )}
    </CallDialog>
  )
}
