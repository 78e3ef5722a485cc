import type { HTTPHeaders } from 'elysia'

import { ApiError } from '../core/base/errors.ts'
import type { Outcome } from '../core/base/result.ts'
import { type PriceMicros, type Tier, toUsd } from '../core/limits/price.ts'
import type { Clock, Random } from '../runtime/runtime.ts'
import {
  charge,
  endHold,
  type Hold,
  hold,
  recordUsage,
  release,
} from '../store/customers/ledger.ts'
import type { Db } from '../store/db/connection.ts'
import type { GroupCommit } from '../store/db/group-commit.ts'
import type { Holder } from './http/auth.ts'
import { type FaultContext, toApiError } from './http/errors.ts'
import type { PlatformFaults } from './platform-faults.ts'

/**
 * Fault context of a call, and access to a cached answer, which is read before a hold is created.
 * A cached answer needs no work and no refund, so the call is billed in one step. It is returned
 * after billing.
 */
export type Metering<T> = Partial<FaultContext> & { cached?: () => (() => T) | null }

/**
 * Holds the price, runs the work, then settles or releases the hold by its outcome. Returns the
 * value of the work.
 * @throws {ApiError} insufficient_credits before the work if the balance does not cover the price;
 * the error of the fault otherwise
 */
export type Meter = <T>(
  tier: Tier,
  holder: Holder,
  headers: HTTPHeaders,
  work: () => Promise<Outcome<T>>,
  metering?: Metering<T>,
) => Promise<T>

/** Micro-dollars as dollars with up to six decimals. */
export const formatMicroUsd = (micros: number): string => {
  const text = toUsd(Math.abs(micros))
    .toFixed(6)
    .replace(/\.?0+$/, '')
  return micros < 0 ? `-${text}` : text
}

/** A change of a balance, in micro-dollars, reported once it is durable. */
export type MoneyEvent = { what: 'held' | 'settled' | 'refunded'; tier: Tier; micros: number }

type Deps = {
  db: Db
  groupCommit: GroupCommit
  clock: Clock
  random: Random
  faults: PlatformFaults
  billing: { enabled: boolean; prices: PriceMicros }
  on_money?: (event: MoneyEvent) => void
  on_call?: (tier: Tier, billed: boolean) => void
}

/** Price of a call; 0 for free plans and operators. */
type Price = { tier: Tier; micros: number }
/** Hold on a customer's balance until the call has ended. */
type OpenHold = { id: string; price: Price }
type Ended<T> = { value: T } | { error: unknown }

export function createMeter(deps: Deps): Meter {
  const { db, groupCommit, clock, random, faults, billing } = deps
  // Calls whose outcome could not be stored, for example on a full disk. Their callers got an
  // error, so their holds are released with the next stored call or at the next start.
  const unended = new Map<string, Price>()
  const reportMoney = (what: MoneyEvent['what'], { tier, micros }: Price) =>
    deps.on_money?.({ what, tier, micros })

  const priceOf = (tier: Tier, { customer }: Holder): Price => ({
    tier,
    micros: customer.unlimited ? 0 : billing.prices[tier],
  })

  /** Writes in a group commit, together with outcomes that could not be stored before. */
  async function commit<T>(write: () => T): Promise<T> {
    if (unended.size === 0) return groupCommit(write)
    const pending = [...unended]
    const value = await groupCommit(() => {
      for (const [it] of pending) release(db, it, clock.now())
      return write()
    })
    for (const [it, price] of pending) if (unended.delete(it)) reportMoney('refunded', price)
    return value
  }

  /** Holds the price; null if nothing is held because billing is off. */
  async function begin(tier: Tier, holder: Holder): Promise<OpenHold | null> {
    if (!billing.enabled) return null
    const id = random.uuid()
    const wanted = { id, ...chargeOf(tier, holder) }
    if (!(await commit(() => hold(db, wanted, clock.now())))) throw insufficientCredits(wanted)
    const price = priceOf(tier, holder)
    reportMoney('held', price)
    return { id, price }
  }

  const chargeOf = (tier: Tier, { customer }: Holder): Omit<Hold, 'id'> => ({
    customer_id: customer.id,
    tier,
    amount_micros: billing.prices[tier],
  })

  /**
   * Bills a call whose answer is available, in one step. Returns the remaining balance or null, as
   * `end` does.
   */
  async function chargeNow(tier: Tier, holder: Holder): Promise<number | null> {
    if (!billing.enabled) return end(null, tier, holder, { billed: true, failed: false })
    const wanted = chargeOf(tier, holder)
    const remaining = await commit(() => charge(db, wanted, clock.now()))
    if (remaining === null) throw insufficientCredits(wanted)
    const price = priceOf(tier, holder)
    reportMoney('held', price)
    reportMoney('settled', price)
    return remaining
  }

  /** Records the end of a call. Returns the remaining balance; null if nothing was held. */
  async function end(
    open_hold: OpenHold | null,
    tier: Tier,
    { customer }: Holder,
    { billed, failed }: { billed: boolean; failed: boolean },
  ): Promise<number | null> {
    const now = clock.now()
    if (open_hold !== null) {
      const { id, price } = open_hold
      const remaining = await groupCommit(() => endHold(db, id, { billed, failed, now })).catch(
        (error: unknown) => {
          unended.set(id, price)
          throw error
        },
      )
      reportMoney(billed ? 'settled' : 'refunded', price)
      return remaining
    }
    await groupCommit(() =>
      recordUsage(db, {
        customer_id: customer.id,
        tier,
        at: now,
        billed: false,
        cost_micros: 0,
        failed,
      }),
    )
    return null
  }

  function reportCharge(headers: HTTPHeaders, tier: Tier, paid: boolean, remaining: number | null) {
    deps.on_call?.(tier, paid)
    if (paid && remaining !== null) headers['x-credits-remaining'] = formatMicroUsd(remaining)
  }

  return async (tier, holder, headers, work, metering = {}) => {
    const { flavour = 'read', with_session = false, thing } = metering
    const fault_context = { flavour, with_session, ...(thing && { thing }) }
    const take = metering.cached?.() ?? null
    if (take !== null) {
      const remaining_micros = isFree(tier, holder)
        ? await end(null, tier, holder, { billed: false, failed: false })
        : await chargeNow(tier, holder)
      reportCharge(headers, tier, remaining_micros !== null, remaining_micros)
      return take()
    }
    const open_hold = await begin(tier, holder)
    const ended = await attempt(work, (fault) => {
      faults.failed(tier, fault)
      return toApiError(fault, fault_context)
    })
    const failed = 'error' in ended
    if (!failed) faults.succeeded(tier)
    const billed =
      !isFree(tier, holder) &&
      (failed ? ended.error instanceof ApiError && ended.error.billed : true)
    const remaining_micros = await end(open_hold, tier, holder, { billed, failed })
    reportCharge(headers, tier, billed && open_hold !== null, remaining_micros)
    if (failed) throw ended.error
    return ended.value
  }
}

const READ_TIERS: ReadonlySet<Tier> = new Set(['read', 'deep_search'])

/** True for a read without a recipient: a HEAD request, or a closed connection. */
const isFree = (tier: Tier, { request }: Holder): boolean =>
  READ_TIERS.has(tier) && (request?.method === 'HEAD' || request?.signal.aborted === true)

const insufficientCredits = ({ amount_micros }: { amount_micros: number }): ApiError =>
  new ApiError('insufficient_credits', {
    message: `this call costs ${formatMicroUsd(amount_micros)} USD`,
    extra: { price_usd: toUsd(amount_micros) },
  })

type Translate = (fault: Extract<Outcome<unknown>, { ok: false }>['fault']) => ApiError

/** Exceptions are captured too, so that their hold is released. */
async function attempt<T>(
  work: () => Promise<Outcome<T>>,
  translate: Translate,
): Promise<Ended<T>> {
  try {
    const outcome = await work()
    return outcome.ok ? { value: outcome.value } : { error: translate(outcome.fault) }
  } catch (error) {
    return { error }
  }
}
