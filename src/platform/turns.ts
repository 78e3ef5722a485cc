import type { Clock } from '../outside.ts'
import type { Call } from './platform.ts'

/** Runs work of the same eyes one after another; null when a turn did not come before the call's deadline. */
export type Turns = <T>(call: Call, work: () => Promise<T>) => Promise<T | null>

/** For calls of which the platform takes one at a time from one user. */
export function createTurns(clock: Clock): Turns {
  const lines = new Map<string, Promise<void>>()

  return async (call, work) => {
    const { id } = call.eyes
    const before = lines.get(id)
    const mine = Promise.withResolvers<void>()
    // Who gives up waiting still keeps those behind him in line.
    const line = Promise.all([before, mine.promise]).then(() => undefined)
    lines.set(id, line)
    void line.then(() => {
      if (lines.get(id) === line) lines.delete(id)
    })
    try {
      if (before && !(await inTime(before, call))) return null
      return await work()
    } finally {
      mine.resolve()
    }
  }

  async function inTime(before: Promise<void>, { deadline_at, signal }: Call): Promise<boolean> {
    const given = new AbortController()
    const stop = signal ? AbortSignal.any([signal, given.signal]) : given.signal
    const waited = clock.sleep(Math.max(0, deadline_at - clock.now()), stop).then(() => false)
    const come = await Promise.race([before.then(() => true), waited])
    given.abort()
    return come
  }
}
