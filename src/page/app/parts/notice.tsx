import type { ComponentChildren } from 'preact'

import type { Failure } from '../api.ts'

type NoticeProps = { tone: 'good' | 'warn' | 'bad' | 'plain'; children: ComponentChildren }

/** Something that has to be read now. What is bad is read out at once. */
export const Notice = ({ tone, children }: NoticeProps) => (
  <div class={`notice ${tone}`} role={tone === 'bad' ? 'alert' : 'status'}>
    {children}
  </div>
)

/** What went wrong, and another try where one helps. Nothing when nothing did. */
export function Trouble({ failure, again }: { failure: Failure | null; again?: () => void }) {
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

/** What the API says, as a sentence: it ends, and begins with a capital unless with the name of a field. */
export const sentence = (text: string): string =>
  (/^[a-z]+[_.[]/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1)) +
  (/[.!?…]$/.test(text) ? '' : '.')

/** What went wrong, told beside the field of `fields` that it is about, or as the `rest` when it is about none of them. */
export function placed(failure: Failure | null, fields: readonly string[]) {
  const at = fields.find((field) => field === failure?.field)
  return {
    errorOf: (field: string) => (failure && at === field ? sentence(failure.message) : null),
    rest: at === undefined ? failure : null,
  }
}

/** A place where nothing is yet, which says how something comes there. */
export const Empty = ({ title, children }: { title: string; children?: ComponentChildren }) => (
  <div class="empty">
    <p class="empty-title">{title}</p>
    {children}
  </div>
)

/** Holds the place of rows that are on their way, so that nothing jumps when they come. */
export const Waiting = ({ rows = 3, label = 'Loading' }: { rows?: number; label?: string }) => (
  <div class="waiting" role="status" aria-label={label}>
    {Array.from({ length: rows }, (_, at) => (
      <div key={at} class="bone" />
    ))}
  </div>
)
