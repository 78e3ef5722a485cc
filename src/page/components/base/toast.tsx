import { useEffect, useState } from 'preact/hooks'

import { runAfter } from '../../lib/runtime.ts'

// Confirmations are shown in a corner of the page and announced by screen readers.

let display: (text: string) => void = () => {}

/** Registers the renderer of notifications. */
function onNotify(then: (text: string) => void): void {
  display = then
}

/** Shows a confirmation for 6 s. */
export const notify = (text: string): void => display(text)

const TOAST_MS = 6000

/** The container of confirmations. */
export function Toast() {
  const [text, setText] = useState('')
  useEffect(() => onNotify(setText), [])
  useEffect(() => (text === '' ? undefined : runAfter(TOAST_MS, () => setText(''))), [text])
  return (
    <div class={text === '' ? 'said' : 'said shown'} role="status" aria-live="polite">
      {text}
    </div>
  )
}
