import { useEffect, useState } from 'preact/hooks'

import { after } from '../outside.ts'
import { onSay } from '../say.ts'

const SAID_MS = 6000

/** The corner where what was done is said. */
export function Said() {
  const [text, setText] = useState('')
  useEffect(() => onSay(setText), [])
  useEffect(() => (text === '' ? undefined : after(SAID_MS, () => setText(''))), [text])
  return (
    <div class={text === '' ? 'said' : 'said shown'} role="status" aria-live="polite">
      {text}
    </div>
  )
}
