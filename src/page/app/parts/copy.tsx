import { useEffect, useRef, useState } from 'preact/hooks'

import { after } from '../outside.ts'
import { Icon } from './icon.tsx'

const SAID_MS = 2500

/** A text to be taken along whole, with a button that does it. */
export function Copyable({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false)
  const box = useRef<HTMLInputElement>(null)
  useEffect(() => (copied ? after(SAID_MS, () => setCopied(false)) : undefined), [copied])
  async function copy() {
    box.current?.select()
    // Over plain http browsers hide the clipboard: then the text is selected, and the keyboard copies it.
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
