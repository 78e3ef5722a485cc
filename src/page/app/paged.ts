import { useEffect, useState } from 'preact/hooks'

import { ask, type Failure } from './api.ts'
import { useAsk } from './ask.ts'

type Paged = { next_cursor: string | null }

type Pages<P> = {
  /** Those that were asked for so far, the newest first. */
  pages: readonly P[]
  /** Nothing has come yet. */
  first: boolean
  failure: Failure | null
  again: () => void
  /** Whether there are older ones, whether they are on their way, and what asks for them. */
  more: boolean
  busy: boolean
  older: () => void
}

/** A list that the API gives page by page, the newest first. */
export function usePaged<P extends Paged>(
  asked: string,
  { every_ms = 0 }: { every_ms?: number } = {},
): Pages<P> {
  const [older, setOlder] = useState<P[]>([])
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<Failure | null>(null)
  // Once there are older pages, a newer first one would leave a gap before them.
  const newest = useAsk<P>(asked, { every_ms: older.length > 0 ? 0 : every_ms })
  useEffect(() => {
    setOlder([])
    setFailure(null)
  }, [asked])
  const pages = newest.value ? [newest.value, ...older] : []
  const next = pages.at(-1)?.next_cursor ?? null
  async function load() {
    if (next === null) return
    setBusy(true)
    const answer = await ask<P>(`${asked}&cursor=${encodeURIComponent(next)}`)
    setBusy(false)
    setFailure(answer.ok ? null : answer.failure)
    if (answer.ok) setOlder([...older, answer.value])
  }
  return {
    pages,
    first: newest.value === undefined && newest.failure === null,
    failure: failure ?? newest.failure,
    // What is loaded of older ones may have changed with it.
    again: () => {
      setOlder([])
      newest.again()
    },
    more: next !== null,
    busy,
    older: () => void load(),
  }
}
