import type { Clock } from '../../outside.ts'

/** A place among few. `leave` must be called once. */
type Seat = { leave(): void }

/** At most so many at once; whoever comes later waits in line. */
export type Seats = {
  /** Null when none came free in time, or when the signal aborts. */
  take(deadline_at: number, signal?: AbortSignal): Promise<Seat | null>
}

/** Makes `count` seats, given out in the order of asking. */
export function createSeats(count: number, clock: Clock): Seats {
  let free = count
  const line: (() => void)[] = []

  function seat(): Seat {
    free -= 1
    let left = false
    return {
      leave() {
        if (left) return
        left = true
        free += 1
        line.shift()?.()
      },
    }
  }

  return {
    async take(deadline_at, signal) {
      if (signal?.aborted) return null
      if (free > 0 && line.length === 0) return seat()
      const over = new AbortController()
      const give_up = () => over.abort()
      signal?.addEventListener('abort', give_up)
      let mine: Seat | null = null
      const called = new Promise<void>((resolve) => {
        const call = () => {
          // Taken while being called, so that nobody who comes in between can take it away.
          mine = seat()
          resolve()
        }
        line.push(call)
        over.signal.addEventListener('abort', () => {
          const at = line.indexOf(call)
          if (at !== -1) line.splice(at, 1)
        })
      })
      await Promise.race([called, clock.sleep(deadline_at - clock.now(), over.signal)])
      over.abort()
      signal?.removeEventListener('abort', give_up)
      return mine
    },
  }
}
