import { createLru } from '../../core/base/lru.ts'
import { fail, type Fault, ok, type Outcome } from '../../core/base/result.ts'
import type { Clock, Random } from '../../runtime/runtime.ts'
import { budgetKey, type Call, type Identity, type Payer, type Use } from '../port.ts'
import {
  allowanceOf,
  backedOff,
  type Budget,
  type BudgetView,
  countNow,
  endBackoff,
  giveBack,
  isOtherWindow,
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
 * pause that now applies to its budget.
 */
type Leave = {
  done(rate_headers: RateHeaders | null, fault: Fault | null): Fault | null
  /** Instead of `done`: no part of the request reached the platform, so it costs nothing. */
  cancel(): void
}

/** Requests that may be made at once, now; if none, the milliseconds until the next one. */
export type Headroom = { requests: number; until_ms: number }

/** State of a budget: the allowance of a window and the number of waiting requests. */
export type IdentityBudget = BudgetView & { allowance: number; waiting: number }

/** Releases requests at the platform's rate, each within the budget of its identity ({@link budgetKey}). */
export type Pacer = {
  admit(call: Call, kind?: 'search'): Promise<Outcome<Leave>>
  /** Requests that a use may make with this identity, behind those that already wait. */
  headroom(payer: Payer, use: Use): Headroom
  /** Budget of an identity; null before the first request of it. Read-only. */
  budget(payer: Payer): IdentityBudget | null
}

/** Requests per minute for sessions and for bearers, until the platform's rate headers arrive. */
export type Rates = { session: number; bearer: number }

type Waiting = { use: Use; deadline_at: number }

/**
 * Keys of the pauses of searches and of a caller's own session. A limit that does not say that the budget is used up may be
 * theirs alone: searches have limits of their own, which any customer can use up, and a session may be limited by itself.
 */
type Holds = { search: string | null; session: string | null }

const BUDGETS_MAX = 1_000
// Another request can take the awaited token; more iterations than this would not help.
const ITERATIONS_MAX = 1_000

/**
 * Creates a pacer. Requests of a budget are sent the oldest deadline first, and each use within
 * its share. A request that cannot be sent before its deadline is refused at once.
 */
export function createPacer(clock: Clock, rates: Rates, random: Pick<Random, 'fraction'>): Pacer {
  const budgets = new Map<string, Budget>()
  const lines = new Map<string, Waiting[]>()
  /** Addresses whose sessions have windows of their own, and the identity that the last rate headers of each were for. */
  const separate = new Set<string>()
  const reported = createLru<string, string>(BUDGETS_MAX)

  const keyOf = (payer: Payer): string => {
    const key = budgetKey(payer)
    return separate.has(key) ? `${key} ${payer.id}` : key
  }

  /** Two sessions at one address whose windows end at different times are not counted together. */
  function compareWindows(key: string, id: string, rate_headers: RateHeaders): void {
    const last = reported.get(key)
    reported.set(key, id)
    if (last === undefined || last === id || separate.size >= BUDGETS_MAX) return
    if (isOtherWindow(budgetOf(key), clock.mono(), rate_headers)) separate.add(key)
  }

  const budgetOf = (key: string, per_minute = rates.session) =>
    settle(budgets.get(key) ?? newBudget(per_minute, clock.mono()), clock.mono())

  function keep(key: string, budget: Budget) {
    budgets.delete(key)
    budgets.set(key, budget)
    if (budgets.size <= BUDGETS_MAX) return
    // Removes the longest unused budget, but none with requests in flight.
    for (const [other, { in_flight }] of budgets) {
      if (in_flight > 0 || other === key) continue
      budgets.delete(other)
      return
    }
  }

  function leave({ id }: Identity, key: string, use: Use, holds: Holds): Leave {
    keep(key, take(budgetOf(key), use))
    const sent_at = clock.mono()
    return {
      cancel: () => keep(key, refund(budgetOf(key), use)),
      done(rate_headers, fault) {
        const now = clock.mono()
        if (rate_headers !== null) compareWindows(key, id, rate_headers)
        keep(key, giveBack(budgetOf(key), now, rate_headers))
        const is_limit = fault?.kind === 'throttled'
        const is_used_up = rate_headers !== null && rate_headers.remaining < 1
        const held = is_limit && !is_used_up ? (holds.search ?? holds.session ?? key) : key
        const answered = is_limit ? [held] : [key, ...ofHolds(holds)]
        const how = { sent_at, fraction: random.fraction() }
        for (const it of answered) keep(it, afterAnswer(budgetOf(it), now, fault, how))
        if (!is_limit) return fault
        const { blocked_until } = budgetOf(held)
        return {
          ...fault,
          ...(fault.estimated && {
            retry_after_s: Math.max(1, Math.ceil((blocked_until - now) / 1000)),
          }),
          ...(held === holds.search && { searches_only: true }),
        }
      },
    }
  }

  /** Those holds that a limit has ever begun. */
  const ofHolds = ({ search, session }: Holds): string[] =>
    [search, session].filter((it) => it !== null).filter((it) => budgets.has(it))

  /** Milliseconds for which one of these holds pauses a request. */
  const heldFor = (keys: readonly string[]): number =>
    Math.max(0, ...keys.map((it) => budgetOf(it).blocked_until - clock.mono()))

  async function wait(
    { identity, signal, wait_until = Infinity }: Call,
    me: Waiting,
    line: Waiting[],
    holds: Holds,
  ): Promise<Outcome<Leave>> {
    const per_minute = identity.bearer === null ? rates.session : rates.bearer
    const key = keyOf(identity)
    keep(key, requestTokens(budgetOf(key, per_minute), clock.mono(), me.use))
    for (let iteration = 0; iteration < ITERATIONS_MAX; iteration++) {
      if (signal?.aborted || clock.now() >= me.deadline_at) return fail({ kind: 'timeout' })
      const budget = budgetOf(key, per_minute)
      const held_ms = heldFor(ofHolds(holds))
      const wait_ms = Math.max(held_ms, waitFor(budget, clock.mono(), me.use, ahead(line, me)))
      if (wait_ms <= 0) {
        // Synchronously: a caller in the same turn must not count this request both as sent and as
        // waiting.
        depart(line, me)
        return ok(leave(identity, key, me.use, holds))
      }
      if (clock.now() + wait_ms >= Math.min(me.deadline_at, wait_until))
        return fail({
          kind: 'throttled',
          retry_after_s: Math.ceil(wait_ms / 1000),
          not_requested: true,
          ...((held_ms > 0 || isPaused(budget, clock.mono())) && { resting: true }),
          ...(holds.search !== null &&
            budgets.has(holds.search) &&
            heldFor([holds.search]) === wait_ms && { searches_only: true }),
        })
      // A request that is held takes no place in the line of others.
      if (held_ms > 0) depart(line, me)
      await clock.sleep(wait_ms, signal)
      if (held_ms > 0) line.push(me)
    }
    return fail({ kind: 'timeout' })
  }

  return {
    async admit(call, kind) {
      const key = keyOf(call.identity)
      const { id, whose } = call.identity
      const holds = {
        search: kind === 'search' ? `search ${key}` : null,
        session: whose === 'caller' ? `session ${id}` : null,
      }
      const me: Waiting = { use: call.use ?? 'read', deadline_at: call.deadline_at }
      const line = lines.get(key) ?? []
      lines.set(key, line)
      line.push(me)
      try {
        return await wait(call, me, line, holds)
      } finally {
        depart(line, me)
        if (line.length === 0) lines.delete(key)
      }
    },
    headroom(payer, use) {
      const key = keyOf(payer)
      // A caller that checks the headroom is about to send, so its share is reserved.
      if (budgets.has(key)) keep(key, requestTokens(budgetOf(key), clock.mono(), use))
      const budget = budgetOf(key)
      const waiting = (lines.get(key) ?? []).filter((it) => it.use === use).length
      const requests = Math.max(0, countNow(budget, clock.mono(), use) - waiting)
      const until_ms = requests > 0 ? 0 : waitFor(budget, clock.mono(), use, waiting)
      return { requests, until_ms }
    },
    budget(payer) {
      const key = keyOf(payer)
      if (!budgets.has(key)) return null
      const budget = budgetOf(key)
      const waiting = lines.get(key)?.length ?? 0
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
