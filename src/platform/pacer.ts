import { fail, type Fault, ok, type Outcome } from '../core/outcome.ts'
import type { Clock } from '../outside.ts'
import {
  type Budget,
  giveBack,
  newBudget,
  settle,
  take,
  throttledFor,
  type Told,
  waitFor,
} from './budget.ts'
import type { Call } from './platform.ts'

/** Leave for one request. `done` must be called exactly once, whatever became of it. */
type Leave = { done(told: Told | null, fault: Fault | null): void }

export type Pacer = { admit(call: Call): Promise<Outcome<Leave>> }

const EYES_MAX = 1_000
// Somebody else may have taken what we waited for; asking more often than this would help nobody.
const TURNS_MAX = 1_000

/** Lets requests through as each pair of eyes can afford them, and refuses what would not be in time. */
export function createPacer(clock: Clock, per_minute: number): Pacer {
  const budgets = new Map<string, Budget>()

  const budgetOf = (id: string) =>
    settle(budgets.get(id) ?? newBudget(per_minute, clock.mono()), clock.mono())

  function keep(id: string, budget: Budget) {
    budgets.delete(id)
    budgets.set(id, budget)
    if (budgets.size <= EYES_MAX) return
    // The longest unused goes, but never one whose answers are still on their way.
    for (const [other, { in_flight }] of budgets) {
      if (in_flight > 0 || other === id) continue
      budgets.delete(other)
      return
    }
  }

  function leave(id: string): Leave {
    keep(id, take(budgetOf(id)))
    return {
      done(told, fault) {
        const now = clock.mono()
        const back = giveBack(budgetOf(id), now, told)
        keep(id, fault?.kind === 'throttled' ? throttledFor(back, now, fault.retry_after_s) : back)
      },
    }
  }

  return {
    async admit({ eyes, deadline_at, signal }) {
      for (let turn = 0; turn < TURNS_MAX; turn++) {
        if (signal?.aborted || clock.now() >= deadline_at) return fail({ kind: 'timeout' })
        const wait_ms = waitFor(budgetOf(eyes.id), clock.mono())
        if (wait_ms <= 0) return ok(leave(eyes.id))
        if (clock.now() + wait_ms >= deadline_at)
          return fail({ kind: 'throttled', retry_after_s: Math.ceil(wait_ms / 1000) })
        await clock.sleep(wait_ms, signal)
      }
      return fail({ kind: 'timeout' })
    },
  }
}
