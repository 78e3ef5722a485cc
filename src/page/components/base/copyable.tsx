import { useEffect, useRef, useState } from 'preact/hooks'

import { runAfter } from '../../lib/runtime.ts'
import { Icon } from './icon.tsx'

const COPIED_MS = 2500

export function Copyable({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false)
  const box = useRef<HTMLInputElement>(null)
  useEffect(() => (copied ? runAfter(COPIED_MS, () => setCopied(false)) : undefined), [copied])
  async function copy() {
    box.current?.select()
    // Without TLS browsers hide the clipboard API; `execCommand` copies the selected text.
    try {
      await navigator.clipboard.writeText(text)
      setCopied(true)
    } catch {
      setCopied(document.execCommand('copy'))
    }
  }
  return (
    <div class="copyable">
      <input
        ref={box}
        class="code"
        readOnly
        value={text}
        aria-label={label}
        onFocus={(event) => event.currentTarget.select()}
      />
      <button type="button" onClick={() => void copy()}>
        <Icon name={copied ? 'check' : 'copy'} />{' '}
        <span aria-live="polite">{copied ? 'Copied' : 'Copy'}</span>
      </button>
    </div>
  )
}

/** A secret that is shown only once, with a button that confirms it was stored. */
export const Secret = ({ text, close }: { text: string; close: () => void }) => (
  <>
    <Copyable text={text} label="Secret" />
    <div class="actions">
      <button type="button" class="main" onClick={close}>
        {' '}
        I have stored it{' '}
      </button>
    </div>
  </>
)
