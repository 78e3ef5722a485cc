import { useEffect, useState } from 'preact/hooks'

import { runAfter } from '../../lib/runtime.ts'

// Confirmations are shown in a corner of the page and announced by screen readers.

/** A button of a confirmation. `key`: the key that does the same. */
type ToastAction = { label: string; key: string; run: () => void }

type Message = { text: string; action: ToastAction | null }

let display: (message: Message) => void = () => {}

function onNotify(then: (message: Message) => void): void {
  display = then
}

/** Shows a confirmation for 6 s, or 12 s with a button that takes it back. */
export const notify = (text: string, action: ToastAction | null = null): void =>
  display({ text, action })

const NOTHING: Message = { text: '', action: null }
const TOAST_MS = 6000
const WITH_ACTION_MS = 12_000

export function Toast() {
  const [message, setMessage] = useState(NOTHING)
  const { text, action } = message
  useEffect(() => onNotify(setMessage), [])
  useEffect(() => {
    if (text === '') return
    return runAfter(action ? WITH_ACTION_MS : TOAST_MS, () => setMessage(NOTHING))
  }, [message])
  function act(run: () => void) {
    setMessage(NOTHING)
    run()
  }
  return (
    <div class={text === '' ? 'said' : 'said shown'} role="status" aria-live="polite">
      {text}
      {action && (
        <button type="button" class="plain" onClick={() => act(action.run)}>
          {action.label} <kbd aria-hidden="true">{action.key}</kbd>
        </button>
      )}
    </div>
  )
}
