import type { Clock } from '../../src/runtime/runtime.ts'

/** Clock that advances from one sleeper to the next without waiting in real time. */
export type VirtualClock = Clock & {
  /** Runs until `until` of the monotonic clock and wakes sleepers in order. */
  runTo(until: number): Promise<void>
  /** Moves the wall clock alone. */
  jump(ms: number): void
}

type Sleeper = { at: number; order: number; wake: () => void }

const quiet = () => new Promise<void>((resolve) => void setImmediate(resolve))

export function virtualClock(start: number): VirtualClock {
  let elapsed = 0
  let wall = start
  let order = 0
  const sleepers: Sleeper[] = []

  const place = (sleeper: Sleeper): void => {
    let low = 0
    let high = sleepers.length
    while (low < high) {
      const middle = (low + high) >> 1
      const other = sleepers[middle]
      if (
        other !== undefined &&
        (other.at < sleeper.at || (other.at === sleeper.at && other.order < sleeper.order))
      )
        low = middle + 1
      else high = middle
    }
    sleepers.splice(low, 0, sleeper)
  }

  return {
    now: () => wall + elapsed,
    mono: () => elapsed,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve()
        const wake = () => {
          const at = sleepers.indexOf(sleeper)
          if (at !== -1) sleepers.splice(at, 1)
          signal?.removeEventListener('abort', wake)
          resolve()
        }
        const sleeper = { at: elapsed + Math.max(0, Math.ceil(ms)), order: order++, wake }
        place(sleeper)
        signal?.addEventListener('abort', wake)
      }),
    jump(ms) {
      wall += ms
    },
    async runTo(until) {
      await quiet()
      for (let next = sleepers[0]; next !== undefined && next.at <= until; next = sleepers[0]) {
        elapsed = Math.max(elapsed, next.at)
        next.wake()
        await quiet()
      }
      elapsed = until
      await quiet()
    },
  }
}
