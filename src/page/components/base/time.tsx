import { useEffect, useState } from 'preact/hooks'

import { inFull, since } from '../../lib/format.ts'
import { now, onTime, runEvery } from '../../lib/runtime.ts'

const TICK_MS = 15_000

/** The current time in epoch ms, refreshed every 15 s while the page is visible. */
export function useNow(): number {
  const [at, setAt] = useState(now)
  useEffect(() => {
    const move = () => setAt(now())
    const ends = [runEvery(TICK_MS, move), onTime(move)]
    return () => ends.forEach((end) => end())
  }, [])
  return at
}

type TimeProps = { at: string | null | undefined; none?: string; close?: string; full?: boolean }

/** The relative time of an instant, with the full time as tooltip or, if `full`, before it. `close`: for one within seconds. */
export function Time({ at, none = 'never', close, full = false }: TimeProps) {
  const current = useNow()
  const ms = at ? Date.parse(at) : Number.NaN
  if (!at || Number.isNaN(ms)) return <span class="quiet">{none}</span>
  return (
    <time dateTime={at} title={inFull(ms)} class={full ? 'full' : undefined}>
      {full ? `${inFull(ms)} (${since(ms, current, close)})` : since(ms, current, close)}
    </time>
  )
}
