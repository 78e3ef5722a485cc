import { useState } from 'preact/hooks'

import type { Answer, Failure } from './api.ts'

/** Something that a button does. */
export type Deed = {
  busy: boolean
  failure: Failure | null
  /** Does it, once at a time, and keeps what went wrong until the next. */
  run: <T>(work: () => Promise<Answer<T>>) => Promise<Answer<T>>
  clear: () => void
}

/** Something that a button does: whether it is under way, and what went wrong. */
export function useDeed(): Deed {
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<Failure | null>(null)
  async function run<T>(work: () => Promise<Answer<T>>): Promise<Answer<T>> {
    setBusy(true)
    setFailure(null)
    const answer = await work()
    setBusy(false)
    if (!answer.ok) setFailure(answer.failure)
    return answer
  }
  return { busy, failure, run, clear: () => setFailure(null) }
}
