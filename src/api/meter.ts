import type { HTTPHeaders } from 'elysia'

import { ApiError } from '../core/errors.ts'
import type { Outcome } from '../core/outcome.ts'
import type { PriceMicros, Tier } from '../core/price.ts'
import type { Clock, Log, Random } from '../outside.ts'
import type { Db } from '../store/db.ts'
import { endHold, hold, release } from '../store/ledger.ts'
import type { Together } from '../store/together.ts'
import { recordUsage } from '../store/usage.ts'
import type { Holder } from './auth.ts'
import { type Asked, toApiError } from './faults.ts'

/**
 * Holds the price, does the work, then bills it or gives the money back by how it ended (contract 4), and answers the
 * work's value or throws the error its fault stands for. 402 before the work when the balance does not cover it.
 */
export type Meter = <T>(
  tier: Tier,
  holder: Holder,
  headers: HTTPHeaders,
  work: () => Promise<Outcome<T>>,
  asked?: Partial<Asked>,
) => Promise<T>

/** Micro-dollars as dollars with up to six decimals. */
export const dollars = (micros: number): string => {
  const text = (Math.abs(micros) / 1e6).toFixed(6).replace(/\.?0+$/, '')
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
type Hold = { id: string; price: Price }
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

  /** Takes the price; null when nothing is held because billing is off. */
  async function begin(tier: Tier, holder: Holder): Promise<Hold | null> {
    const { customer } = holder
    if (!billing.enabled) return null
    const id = random.uuid()
    const wanted = { id, customer_id: customer.id, tier, amount_micros: billing.prices[tier] }
    const late = [...unended]
    const held = await together(() => {
      for (const [it] of late) release(db, it, clock.now())
      return hold(db, wanted, clock.now())
    })
    for (const [it, price] of late) if (unended.delete(it)) moved('refunded', price)
    if (!held)
      throw new ApiError('insufficient_credits', {
        message: `this call costs ${dollars(wanted.amount_micros)} USD`,
        extra: { price_usd: wanted.amount_micros / 1e6 },
      })
    const price = priceOf(tier, holder)
    moved('held', price)
    return { id, price }
  }

  /** Books the end of a call. Returns what remains of the balance; null when nothing was held. */
  async function end(
    held: Hold | null,
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

  return async (tier, holder, headers, work, { flavour = 'read', with_session = false } = {}) => {
    const held = await begin(tier, holder)
    const ended = await attempt(work, (fault) => {
      if (fault.kind === 'rejected' || fault.kind === 'unreadable')
        log('warn', 'platform.fault', { ...fault })
      return toApiError(fault, { flavour, with_session })
    })
    const failed = 'error' in ended
    const billed = failed ? ended.error instanceof ApiError && ended.error.billed : true
    const remaining_micros = await end(held, tier, holder, { billed, failed })
    deps.on_call?.(tier, billed && held !== null)
    if (billed && remaining_micros !== null)
      headers['x-credits-remaining'] = dollars(remaining_micros)
    if (failed) throw ended.error
    return ended.value
  }
}

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
