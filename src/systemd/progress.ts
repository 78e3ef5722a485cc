import type { Turn } from '../loop.ts'
import type { Clock } from '../outside.ts'

/** Something that should have gone on by now. */
export type Stuck = {
  /** The loop, by its name. */
  loop: string
  what: 'turn' | 'wait' | 'work'
  /** How far past its time it is. */
  late_ms: number
}

/** Knows whether the loops that everything depends on still advance. */
export type Progress = {
  /** The same turn, with its beginning and its end noted. */
  watch(loop: string, turn: Turn): Turn
  /** The same work of a loop, which keeps to `limit_ms` by itself unless something is broken. */
  expect<T>(loop: string, limit_ms: number, work: Promise<T>): Promise<T>
  /** What is more than `slack_ms` late, the latest of it; null when everything advances. */
  stuck(slack_ms: number): Stuck | null
}

/** A loop that nobody nudges comes back at least as often (loop.ts). */
const IDLE_MS = 60_000

type Expected = Omit<Stuck, 'late_ms'> & { due_at: number }

/** Notes what is under way, and when each of it has to be over, on the clock that nobody can set. */
export function createProgress({ now, mono }: Pick<Clock, 'now' | 'mono'>): Progress {
  const expected = new Map<object, Expected>()

  return {
    watch(loop, turn) {
      const it = {}
      return async () => {
        expected.set(it, { loop, what: 'turn', due_at: mono() })
        let wait_ms = IDLE_MS
        try {
          const due_at = await turn()
          wait_ms = Math.min(IDLE_MS, Math.max(0, due_at - now()))
          return due_at
        } finally {
          expected.set(it, { loop, what: 'wait', due_at: mono() + wait_ms })
        }
      }
    },

    async expect(loop, limit_ms, work) {
      const it = {}
      expected.set(it, { loop, what: 'work', due_at: mono() + limit_ms })
      try {
        return await work
      } finally {
        expected.delete(it)
      }
    },

    stuck(slack_ms) {
      const at = mono() - slack_ms
      let worst: Expected | null = null
      for (const it of expected.values())
        if (it.due_at < at && it.due_at < (worst?.due_at ?? Infinity)) worst = it
      return worst && { loop: worst.loop, what: worst.what, late_ms: mono() - worst.due_at }
    },
  }
}
