import type { ComponentChildren } from 'preact'

import type { Failure } from '../../lib/api.ts'

type NoticeProps = { tone: 'good' | 'warn' | 'bad' | 'plain'; children: ComponentChildren }

/** A highlighted message. Screen readers announce the tone `bad` immediately. */
export const Notice = ({ tone, children }: NoticeProps) => (
  <div class={`notice ${tone}`} role={tone === 'bad' ? 'alert' : 'status'}>
    {children}
  </div>
)

/** An error message, with a retry button for retryable errors. Renders nothing for null. */
export function ErrorNotice({ failure, again }: { failure: Failure | null; again?: () => void }) {
  if (failure === null) return null
  const worth = again && (failure.status === 0 || failure.status === 429 || failure.status >= 500)
  return (
    <Notice tone="bad">
      <p>{sentence(failure.message)}</p>
      {failure.hint && <p>{sentence(failure.hint)}</p>}
      {worth && (
        <button type="button" class="small" onClick={again}>
          Try again
        </button>
      )}
    </Notice>
  )
}

/** Formats an API message as a sentence: final period, and a capital unless it starts with a field name. */
export const sentence = (text: string): string =>
  (/^[a-z]+[_.[]/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1)) +
  (/[.!?…]$/.test(text) ? '' : '.')

/** A hint as sentences; one that ends with lines of a configuration gets no period. */
const inFull = (hint: string): string =>
  hint.includes('\n') ? sentence(`${hint}.`).slice(0, -1) : sentence(hint)

/** Assigns errors to the matching fields of `fields`; `rest` is the failure if one of them matches no field. */
export function assignErrors(failure: Failure | null, fields: readonly string[]) {
  const errors = failure?.errors ?? []
  const other = errors.find((it) => !fields.includes(it.field))
  return {
    errorOf(field: string): string | null {
      const found = errors.find((it) => it.field === field)
      if (found === undefined) return null
      const hint = failure?.field === field ? failure.hint : null
      return sentence(found.message) + (hint === null ? '' : `\n${inFull(hint)}`)
    },
    rest:
      failure === null || (errors.length > 0 && other === undefined)
        ? null
        : { ...failure, message: other?.message ?? failure.message },
  }
}

/** A placeholder for an empty list, with a hint how to fill it. */
export const EmptyState = ({
  title,
  children,
}: {
  title: string
  children?: ComponentChildren
}) => (
  <div class="empty">
    <p class="empty-title">{title}</p>
    {children}
  </div>
)

export const Skeleton = ({ rows = 3, label = 'Loading' }: { rows?: number; label?: string }) => (
  <div class="waiting" role="status" aria-label={label}>
    {Array.from({ length: rows }, (_, at) => (
      <div key={at} class="bone" />
    ))}
  </div>
)
