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

type Deps = {
  db: Db
  together: Together
  clock: Clock
  random: Random
  log: Log
  billing: { enabled: boolean; prices: PriceMicros }
}

type Ended<T> = { value: T } | { error: unknown }

/** The meter of all calls that cost something. */
export function createMeter({ db, together, clock, random, log, billing }: Deps): Meter {
  // Calls whose end could not be written, such as on a full disk. Their callers were refused, so that their money goes
  // back: with the next call that is written, or else at the next start.
  const unended = new Set<string>()

  /** Takes the price; null when nothing is held because billing is off. */
  async function begin(tier: Tier, { customer }: Holder): Promise<string | null> {
    if (!billing.enabled) return null
    const id = random.uuid()
    const wanted = { id, customer_id: customer.id, tier, amount_micros: billing.prices[tier] }
    const late = [...unended]
    const held = await together(() => {
      for (const it of late) release(db, it, clock.now())
      return hold(db, wanted, clock.now())
    })
    for (const it of late) unended.delete(it)
    if (!held)
      throw new ApiError('insufficient_credits', {
        message: `this call costs ${dollars(wanted.amount_micros)} USD`,
        extra: { price_usd: wanted.amount_micros / 1e6 },
      })
    return id
  }

  /** Books the end of a call. Returns what remains of the balance; null when nothing was held. */
  async function end(
    id: string | null,
    tier: Tier,
    { customer }: Holder,
    { billed, failed }: { billed: boolean; failed: boolean },
  ): Promise<number | null> {
    const now = clock.now()
    if (id !== null)
      return together(() => endHold(db, id, { billed, failed, now })).catch((error: unknown) => {
        unended.add(id)
        throw error
      })
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
    const id = await begin(tier, holder)
    const ended = await attempt(work, (fault) => {
      if (fault.kind === 'rejected' || fault.kind === 'unreadable')
        log('warn', 'platform.fault', { ...fault })
      return toApiError(fault, { flavour, with_session })
    })
    const failed = 'error' in ended
    const billed = failed ? ended.error instanceof ApiError && ended.error.billed : true
    const remaining_micros = await end(id, tier, holder, { billed, failed })
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
