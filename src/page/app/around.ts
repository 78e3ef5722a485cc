import { createContext } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'

import { listen, tellTime } from './outside.ts'
import type { Snapshot, Who } from './own-types.ts'

const Signed = createContext<Who | null>(null)
const Now = createContext<Live>({ snapshot: null, broken: false })

/** What happens in the house just now; `broken` while the line to it is down. */
export type Live = { snapshot: Snapshot | null; broken: boolean }

/** Tells all below it who is signed in. */
export const SignedIn = Signed.Provider
/** Tells all below it what happens now. */
export const LiveNow = Now.Provider

/** Who is signed in. Pages are shown to nobody else. */
export function useWho(): Who {
  const who = useContext(Signed)
  if (who === null) throw new Error('a page was shown to nobody')
  return who
}

/** What happens in the house just now. */
export const useLive = (): Live => useContext(Now)

/** Keeps the line to the daemon open for as long as it is used. */
export function useLine(): Live {
  const [live, setLive] = useState<Live>({ snapshot: null, broken: false })
  useEffect(
    () =>
      listen('/dashboard/live', 'snapshot', {
        heard: (data) => {
          const snapshot: Snapshot = JSON.parse(data)
          tellTime(Date.parse(snapshot.at))
          setLive({ snapshot, broken: false })
        },
        down: (broken) => setLive((it) => ({ ...it, broken })),
      }),
    [],
  )
  return live
}
