import { fail, type Fault, ok, type Outcome } from '../../core/base/result.ts'
import type { Clock, Random } from '../../runtime/runtime.ts'
import type { Call, Use } from '../port.ts'
import {
  allowanceOf,
  backedOff,
  type Budget,
  type BudgetView,
  countNow,
  endBackoff,
  giveBack,
  isPaused,
  newBudget,
  type RateHeaders,
  refund,
  requestTokens,
  settle,
  take,
  throttledFor,
  viewBudget,
  waitFor,
} from './budget.ts'

/**
 * Permission to send one request. `done` must be called exactly once. It returns the fault with the
 * pause that now applies to the identity.
 */
type Leave = {
  done(rate_headers: RateHeaders | null, fault: Fault | null): Fault | null
  /** Instead of `done`: no part of the request reached the platform, so it costs nothing. */
  cancel(): void
}

/** Requests that may be made at once, now; if none, the milliseconds until the next one. */
export type Headroom = { requests: number; until_ms: number }

/** State of an identity's budget: the allowance of a window and the number of waiting requests. */
export type IdentityBudget = BudgetView & { allowance: number; waiting: number }

/** Releases requests at the platform's rate, each identity within its own budget. */
export type Pacer = {
  admit(call: Call): Promise<Outcome<Leave>>
  /** Requests that a use may make with this identity, behind those that already wait. */
  headroom(identity_id: string, use: Use): Headroom
  /** Budget of an identity; null before its first request. Read-only. */
  budget(identity_id: string): IdentityBudget | null
}

/** Requests per minute for sessions and for bearers, until the platform's rate headers arrive. */
export type Rates = { session: number; bearer: number }

type Waiting = { use: Use; deadline_at: number }

const IDENTITIES_MAX = 1_000
// Another request can take the awaited token; more iterations than this would not help.
const ITERATIONS_MAX = 1_000

/**
 * Creates a pacer. Each identity sends within its budget, the oldest deadline first and each use
 * within its share. A request that cannot be sent before its deadline is refused at once.
 */
export function createPacer(clock: Clock, rates: Rates, random: Pick<Random, 'fraction'>): Pacer {
  const budgets = new Map<string, Budget>()
  const lines = new Map<string, Waiting[]>()

  const budgetOf = (id: string, per_minute = rates.session) =>
    settle(budgets.get(id) ?? newBudget(per_minute, clock.mono()), clock.mono())

  function keep(id: string, budget: Budget) {
    budgets.delete(id)
    budgets.set(id, budget)
    if (budgets.size <= IDENTITIES_MAX) return
    // Removes the longest unused budget, but none with requests in flight.
    for (const [other, { in_flight }] of budgets) {
      if (in_flight > 0 || other === id) continue
      budgets.delete(other)
      return
    }
  }

  function leave(id: string, use: Use): Leave {
    keep(id, take(budgetOf(id), use))
    const sent_at = clock.mono()
    return {
      cancel: () => keep(id, refund(budgetOf(id), use)),
      done(rate_headers, fault) {
        const now = clock.mono()
        const back = giveBack(budgetOf(id), now, rate_headers)
        const next = afterAnswer(back, now, fault, { sent_at, fraction: random.fraction() })
        keep(id, next)
        if (fault?.kind !== 'throttled' || !fault.estimated) return fault
        return {
          ...fault,
          retry_after_s: Math.max(1, Math.ceil((next.blocked_until - now) / 1000)),
        }
      },
    }
  }

  async function wait(
    { identity, signal, wait_until = Infinity }: Call,
    me: Waiting,
    line: Waiting[],
  ): Promise<Outcome<Leave>> {
    const per_minute = identity.bearer === null ? rates.session : rates.bearer
    keep(identity.id, requestTokens(budgetOf(identity.id, per_minute), clock.mono(), me.use))
    for (let iteration = 0; iteration < ITERATIONS_MAX; iteration++) {
      if (signal?.aborted || clock.now() >= me.deadline_at) return fail({ kind: 'timeout' })
      const budget = budgetOf(identity.id, per_minute)
      const wait_ms = waitFor(budget, clock.mono(), me.use, ahead(line, me))
      if (wait_ms <= 0) {
        // Synchronously: a caller in the same turn must not count this request both as sent and as
        // waiting.
        depart(line, me)
        return ok(leave(identity.id, me.use))
      }
      if (clock.now() + wait_ms >= Math.min(me.deadline_at, wait_until))
        return fail({
          kind: 'throttled',
          retry_after_s: Math.ceil(wait_ms / 1000),
          not_requested: true,
          ...(isPaused(budget, clock.mono()) && { resting: true }),
        })
      await clock.sleep(wait_ms, signal)
    }
    return fail({ kind: 'timeout' })
  }

  return {
    async admit(call) {
      const { id } = call.identity
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
    headroom(identity_id, use) {
      // A caller that checks the headroom is about to send, so its share is reserved.
      if (budgets.has(identity_id))
        keep(identity_id, requestTokens(budgetOf(identity_id), clock.mono(), use))
      const budget = budgetOf(identity_id)
      const waiting = (lines.get(identity_id) ?? []).filter((it) => it.use === use).length
      const requests = Math.max(0, countNow(budget, clock.mono(), use) - waiting)
      const until_ms = requests > 0 ? 0 : waitFor(budget, clock.mono(), use, waiting)
      return { requests, until_ms }
    },
    budget(identity_id) {
      if (!budgets.has(identity_id)) return null
      const budget = budgetOf(identity_id)
      const waiting = lines.get(identity_id)?.length ?? 0
      return { ...viewBudget(budget, clock.mono()), allowance: allowanceOf(budget), waiting }
    },
  }
}

/** The budget after one request: throttled, throttled without a time, or answered. */
function afterAnswer(
  budget: Budget,
  now: number,
  fault: Fault | null,
  { sent_at, fraction }: { sent_at: number; fraction: number },
): Budget {
  if (fault?.kind === 'throttled')
    return fault.estimated
      ? backedOff(budget, now, { first_s: fault.retry_after_s, sent_at, fraction })
      : throttledFor(budget, now, fault.retry_after_s)
  const unanswered =
    fault?.kind === 'timeout' || fault?.kind === 'unavailable' || fault?.kind === 'proxy'
  return unanswered ? budget : endBackoff(budget)
}

function depart(line: Waiting[], me: Waiting): void {
  const at = line.indexOf(me)
  if (at !== -1) line.splice(at, 1)
}

/**
 * Number of waiting requests of the same use with an older deadline, or with the same one and an
 * earlier arrival. The shares keep the other use from starving.
 */
function ahead(line: readonly Waiting[], me: Waiting): number {
  const mine = line.indexOf(me)
  return line.filter(
    ({ use, deadline_at }, at) =>
      use === me.use &&
      (deadline_at < me.deadline_at || (deadline_at === me.deadline_at && at < mine)),
  ).length
}
