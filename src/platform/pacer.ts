import { fail, type Fault, ok, type Outcome } from '../core/outcome.ts'
import type { Clock } from '../outside.ts'
import {
  allowanceOf,
  type Budget,
  countNow,
  giveBack,
  newBudget,
  settle,
  shown,
  type ShownBudget,
  take,
  throttledFor,
  type Told,
  waitFor,
  wish,
} from './budget.ts'
import type { Call, Use } from './platform.ts'

/** Leave for one request. `done` must be called exactly once, whatever became of it. */
type Leave = { done(told: Told | null, fault: Fault | null): void }

/** How many requests may be made at once, now, and the milliseconds until the next one when that is none. */
export type Headroom = { requests: number; until_ms: number }

/** How a pair of eyes stands: what a window allows, and how many requests wait for their turn. */
export type EyesBudget = ShownBudget & { allowance: number; waiting: number }

/** Lets requests go as the platform allows, each pair of eyes within its own budget. */
export type Pacer = {
  admit(call: Call): Promise<Outcome<Leave>>
  /** What a use may ask through these eyes, behind those that wait already. */
  headroom(eyes_id: string, use: Use): Headroom
  /** How these eyes stand; null as long as nothing was asked through them. It changes nothing. */
  budget(eyes_id: string): EyesBudget | null
}

/** Requests a minute through sessions and through bearers, as long as the platform's headers say nothing. */
export type Rates = { session: number; bearer: number }

type Waiting = { use: Use; deadline_at: number }

const EYES_MAX = 1_000
// Somebody else may have taken what we waited for; asking more often than this would help nobody.
const TURNS_MAX = 1_000

/**
 * Lets requests through as each pair of eyes can afford them, the oldest deadline first and each use within its share,
 * and refuses what would not be in time.
 */
export function createPacer(clock: Clock, rates: Rates): Pacer {
  const budgets = new Map<string, Budget>()
  const lines = new Map<string, Waiting[]>()

  const budgetOf = (id: string, per_minute = rates.session) =>
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

  function leave(id: string, use: Use): Leave {
    keep(id, take(budgetOf(id), use))
    return {
      done(told, fault) {
        const now = clock.mono()
        const back = giveBack(budgetOf(id), now, told)
        keep(id, fault?.kind === 'throttled' ? throttledFor(back, now, fault.retry_after_s) : back)
      },
    }
  }

  async function wait(
    { eyes, signal }: Call,
    me: Waiting,
    line: Waiting[],
  ): Promise<Outcome<Leave>> {
    const per_minute = eyes.bearer === null ? rates.session : rates.bearer
    keep(eyes.id, wish(budgetOf(eyes.id, per_minute), clock.mono(), me.use))
    for (let turn = 0; turn < TURNS_MAX; turn++) {
      if (signal?.aborted || clock.now() >= me.deadline_at) return fail({ kind: 'timeout' })
      const budget = budgetOf(eyes.id, per_minute)
      const wait_ms = waitFor(budget, clock.mono(), me.use, ahead(line, me))
      if (wait_ms <= 0) {
        // At once: whoever asks in the same turn must not count it twice, as gone and as waiting.
        depart(line, me)
        return ok(leave(eyes.id, me.use))
      }
      if (clock.now() + wait_ms >= me.deadline_at)
        return fail({
          kind: 'throttled',
          retry_after_s: Math.ceil(wait_ms / 1000),
          unasked: true,
        })
      await clock.sleep(wait_ms, signal)
    }
    return fail({ kind: 'timeout' })
  }

  return {
    async admit(call) {
      const { id } = call.eyes
      const me: Waiting = { use: call.use ?? 'read', deadline_at: call.deadline_at }
      const line = lines.get(id) ?? []
      lines.set(id, line)
      line.push(me)
      try {
        return await wait(call, me, line)
      } finally {
        depart(line, me)
        if (line.length === 0) lines.delete(id)
      }
    },
    headroom(eyes_id, use) {
      // Whoever looks around for what it may have is about to ask: wherever it looks, its share is kept.
      if (budgets.has(eyes_id)) keep(eyes_id, wish(budgetOf(eyes_id), clock.mono(), use))
      const budget = budgetOf(eyes_id)
      const waiting = (lines.get(eyes_id) ?? []).filter((it) => it.use === use).length
      const requests = Math.max(0, countNow(budget, clock.mono(), use) - waiting)
      const until_ms = requests > 0 ? 0 : waitFor(budget, clock.mono(), use, waiting)
      return { requests, until_ms }
    },
    budget(eyes_id) {
      if (!budgets.has(eyes_id)) return null
      const budget = budgetOf(eyes_id)
      const waiting = lines.get(eyes_id)?.length ?? 0
      return { ...shown(budget, clock.mono()), allowance: allowanceOf(budget), waiting }
    },
  }
}

function depart(line: Waiting[], me: Waiting): void {
  const at = line.indexOf(me)
  if (at !== -1) line.splice(at, 1)
}

/**
 * How many of the same use wait with an older deadline, or with the same and came before. That the other use starves
 * nobody is seen to by the shares.
 */
function ahead(line: readonly Waiting[], me: Waiting): number {
  const mine = line.indexOf(me)
  return line.filter(
    ({ use, deadline_at }, at) =>
      use === me.use &&
      (deadline_at < me.deadline_at || (deadline_at === me.deadline_at && at < mine)),
  ).length
}
