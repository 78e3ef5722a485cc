import { useState } from 'preact/hooks'

import type { ApiResult, Failure } from '../lib/api.ts'

export type Action = {
  busy: boolean
  failure: Failure | null
  /** Runs the action and keeps its failure until the next run. */
  run: <T>(work: () => Promise<ApiResult<T>>) => Promise<ApiResult<T>>
  clear: () => void
}

export function useAction(): Action {
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<Failure | null>(null)
  async function run<T>(work: () => Promise<ApiResult<T>>): Promise<ApiResult<T>> {
    setBusy(true)
    setFailure(null)
    const answer = await work()
    setBusy(false)
    if (!answer.ok) setFailure(answer.failure)
    return answer
  }
  return { busy, failure, run, clear: () => setFailure(null) }
}
