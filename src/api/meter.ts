import type { HTTPHeaders } from 'elysia'

import { ApiError } from '../core/errors.ts'
import type { Outcome } from '../core/outcome.ts'
import { type PriceMicros, type Tier, toUsd } from '../core/price.ts'
import type { Clock, Log, Random } from '../outside.ts'
import type { Db } from '../store/db.ts'
import { endHold, hold, release } from '../store/ledger.ts'
import type { Together } from '../store/together.ts'
import { recordUsage } from '../store/usage.ts'
import type { Holder } from './auth.ts'
import { type Charge, createCharges } from './charges.ts'
import { type Asked, toApiError } from './faults.ts'

/**
 * How a call is asked, and how to take an answer that is `kept`, looked for before anything is held: where there is one,
 * no work is done and nothing is given back, so that the call is billed in one piece. It is taken once it is paid.
 */
export type Metering<T> = Partial<Asked> & { kept?: () => (() => T) | null }

/**
 * Holds the price, does the work, then bills it or gives the money back by how it ended (contract 4), and answers the
 * work's value or throws the error its fault stands for. 402 before the work when the balance does not cover it.
 */
export type Meter = <T>(
  tier: Tier,
  holder: Holder,
  headers: HTTPHeaders,
  work: () => Promise<Outcome<T>>,
  metering?: Metering<T>,
) => Promise<T>

/** Micro-dollars as dollars with up to six decimals. */
export const dollars = (micros: number): string => {
  const text = toUsd(Math.abs(micros))
    .toFixed(6)
    .replace(/\.?0+$/, '')
  return micros < 0 ? `-${text}` : text
}

/** Money as it moves, in micro-dollars, once that is durable. */
export type MoneyEvent = { what: 'held' | 'settled' | 'refunded'; tier: Tier; micros: number }

type Deps = {
  db: Db
  together: Together
  clock: Clock
  random: Random
  log: Log
  billing: { enabled: boolean; prices: PriceMicros }
  on_money?: (event: MoneyEvent) => void
  on_call?: (tier: Tier, billed: boolean) => void
}

/** What a call costs; nothing for those who need not pay. */
type Price = { tier: Tier; micros: number }
/** What is held of a call's customer until it has ended. */
type Held = { id: string; price: Price }
type Ended<T> = { value: T } | { error: unknown }

/** The meter of all calls that cost something. */
export function createMeter(deps: Deps): Meter {
  const { db, together, clock, random, log, billing } = deps
  // Calls whose end could not be written, such as on a full disk. Their callers were refused, so that their money goes
  // back: with the next call that is written, or else at the next start.
  const unended = new Map<string, Price>()
  const moved = (what: MoneyEvent['what'], { tier, micros }: Price) =>
    deps.on_money?.({ what, tier, micros })

  /** What a call of a customer costs. */
  const priceOf = (tier: Tier, { customer }: Holder): Price => ({
    tier,
    micros: customer.unlimited ? 0 : billing.prices[tier],
  })

  /** Writes with others; what could not be ended before ends with it. */
  async function written<T>(write: () => T): Promise<T> {
    if (unended.size === 0) return together(write)
    const late = [...unended]
    const value = await together(() => {
      for (const [it] of late) release(db, it, clock.now())
      return write()
    })
    for (const [it, price] of late) if (unended.delete(it)) moved('refunded', price)
    return value
  }

  const chargeOne = createCharges({ db, clock, together: written })

  /** Takes the price; null when nothing is held because billing is off. */
  async function begin(tier: Tier, holder: Holder): Promise<Held | null> {
    if (!billing.enabled) return null
    const id = random.uuid()
    const wanted = { id, ...wantedOf(tier, holder) }
    if (!(await written(() => hold(db, wanted, clock.now())))) throw tooDear(wanted)
    const price = priceOf(tier, holder)
    moved('held', price)
    return { id, price }
  }

  const wantedOf = (tier: Tier, { customer }: Holder): Charge => ({
    customer_id: customer.id,
    tier,
    amount_micros: billing.prices[tier],
  })

  /** Books a call whose answer is at hand, from its price to its end. What remains of the balance, or null, as `end`. */
  async function whole(tier: Tier, holder: Holder): Promise<number | null> {
    if (!billing.enabled) return end(null, tier, holder, { billed: true, failed: false })
    const wanted = wantedOf(tier, holder)
    const remaining = await chargeOne(wanted)
    if (remaining === null) throw tooDear(wanted)
    const price = priceOf(tier, holder)
    moved('held', price)
    moved('settled', price)
    return remaining
  }

  /** Books the end of a call. Returns what remains of the balance; null when nothing was held. */
  async function end(
    held: Held | null,
    tier: Tier,
    { customer }: Holder,
    { billed, failed }: { billed: boolean; failed: boolean },
  ): Promise<number | null> {
    const now = clock.now()
    if (held !== null) {
      const { id, price } = held
      const remaining = await together(() => endHold(db, id, { billed, failed, now })).catch(
        (error: unknown) => {
          unended.set(id, price)
          throw error
        },
      )
      moved(billed ? 'settled' : 'refunded', price)
      return remaining
    }
    await together(() =>
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

  function tell(headers: HTTPHeaders, tier: Tier, paid: boolean, remaining: number | null) {
    deps.on_call?.(tier, paid)
    if (paid && remaining !== null) headers['x-credits-remaining'] = dollars(remaining)
  }

  return async (tier, holder, headers, work, metering = {}) => {
    const { flavour = 'read', with_session = false } = metering
    const take = metering.kept?.() ?? null
    if (take !== null) {
      const remaining_micros = await whole(tier, holder)
      tell(headers, tier, remaining_micros !== null, remaining_micros)
      return take()
    }
    const held = await begin(tier, holder)
    const ended = await attempt(work, (fault) => {
      if (fault.kind === 'rejected' || fault.kind === 'unreadable')
        log('warn', 'platform.fault', { ...fault })
      return toApiError(fault, { flavour, with_session })
    })
    const failed = 'error' in ended
    const billed = failed ? ended.error instanceof ApiError && ended.error.billed : true
    const remaining_micros = await end(held, tier, holder, { billed, failed })
    tell(headers, tier, billed && held !== null, remaining_micros)
    if (failed) throw ended.error
    return ended.value
  }
}

const tooDear = ({ amount_micros }: { amount_micros: number }): ApiError =>
  new ApiError('insufficient_credits', {
    message: `this call costs ${dollars(amount_micros)} USD`,
    extra: { price_usd: toUsd(amount_micros) },
  })

type Translate = (fault: Extract<Outcome<unknown>, { ok: false }>['fault']) => ApiError

/** How a piece of work ended, a bug among the possible ends: its money must come back too. */
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
