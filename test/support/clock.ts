import type { Clock } from '../../src/runtime/runtime.ts'

export type FakeClock = Clock & {
  advance(ms: number): Promise<void>
  /** Moves the wall clock alone, as an operator or a bad time server would. */
  jump(ms: number): void
  /** Number of sleepers. */
  waiting(): number
}

/**
 * A clock that advances on request only. Sleepers wake in order, and each one's work is done
 * before the next wakes: `settled` says when the work is done.
 */
export function fakeClock(
  settle: () => Promise<void>,
  start = Date.parse('2026-01-01T00:00:00Z'),
): FakeClock {
  let elapsed = 0
  let wall = start
  const sleepers = new Set<{ at: number; wake: () => void }>()

  return {
    now: () => wall + elapsed,
    mono: () => elapsed,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve()
        const wake = () => {
          sleepers.delete(sleeper)
          signal?.removeEventListener('abort', wake)
          resolve()
        }
        const sleeper = { at: elapsed + ms, wake }
        sleepers.add(sleeper)
        signal?.addEventListener('abort', wake)
      }),
    jump(ms) {
      wall += ms
    },
    waiting: () => sleepers.size,
    async advance(ms) {
      await settle()
      const end = elapsed + ms
      for (;;) {
        const next = [...sleepers].toSorted((a, b) => a.at - b.at)[0]
        if (!next || next.at > end) break
        elapsed = Math.max(elapsed, next.at)
        next.wake()
        await settle()
      }
      elapsed = end
      await settle()
    },
  }
}
