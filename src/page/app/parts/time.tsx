import { useEffect, useState } from 'preact/hooks'

import { every, now, onTime } from '../outside.ts'
import { inFull, since } from '../show.ts'

const TICK_MS = 15_000

/** The time, moving on while it is looked at. */
export function useNow(): number {
  const [at, setAt] = useState(now)
  useEffect(() => {
    const move = () => setAt(now())
    const ends = [every(TICK_MS, move), onTime(move)]
    return () => ends.forEach((end) => end())
  }, [])
  return at
}

/** How long ago an instant is; in full for who points at it. */
export function Time({ at, none = 'never' }: { at: string | null | undefined; none?: string }) {
  const current = useNow()
  const ms = at ? Date.parse(at) : Number.NaN
  if (!at || Number.isNaN(ms)) return <span class="quiet">{none}</span>
  return (
    <time dateTime={at} title={inFull(ms)}>
      {since(ms, current)}
    </time>
  )
}
