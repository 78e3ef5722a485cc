import { createContext } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'

import { addListener, syncClock } from '../lib/runtime.ts'
import type { Snapshot, UserSession } from '../lib/types.ts'

const CurrentUserContext = createContext<UserSession | null>(null)
const LiveContext = createContext<Live>({ snapshot: null, broken: false })

/** The latest snapshot of the daemon; `broken` while the event stream is disconnected. */
export type Live = { snapshot: Snapshot | null; broken: boolean }

export const CurrentUser = CurrentUserContext.Provider
export const LiveNow = LiveContext.Provider

/** @throws {Error} no user is signed in */
export function useCurrentUser(): UserSession {
  const user = useContext(CurrentUserContext)
  if (user === null) throw new Error('a page was rendered without a signed-in user')
  return user
}

export const useLive = (): Live => useContext(LiveContext)

export function useLiveConnection(): Live {
  const [live, setLive] = useState<Live>({ snapshot: null, broken: false })
  useEffect(
    () =>
      addListener('/dashboard/live', 'snapshot', {
        onData: (data) => {
          const snapshot: Snapshot = JSON.parse(data)
          syncClock(Date.parse(snapshot.at))
          setLive({ snapshot, broken: false })
        },
        down: (broken) => setLive((it) => ({ ...it, broken })),
      }),
    [],
  )
  return live
}
