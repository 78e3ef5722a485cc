import type { PriceMicros } from '../core/price.ts'
import type { Clock, Log } from '../outside.ts'
import type { Meter } from './meter.ts'

/** What is counted as it happens, because no row says when it did. Money is micro-dollars. */
type Counts = { delivered: number; failed: number; reads: number; spent_micros: number }

/** Counts of the last minute, by customer and for the whole house. */
export type Tally = {
  add(customer_id: string, counts: Partial<Counts>): void
  /** Since a minute ago, or since the start; null: of the whole house. */
  lastMinute(customer_id: string | null): Counts
}

type Slot = Counts & { second: number }

const SECONDS = 60
const HOUSE = ''
/** So many customers are told apart at once; of those that have been quiet for a minute nothing is kept. */
const KEPT_MAX = 10_000

const none = (): Counts => ({ delivered: 0, failed: 0, reads: 0, spent_micros: 0 })

function sum(into: Counts, from: Partial<Counts>): void {
  into.delivered += from.delivered ?? 0
  into.failed += from.failed ?? 0
  into.reads += from.reads ?? 0
  into.spent_micros += from.spent_micros ?? 0
}

/** An empty tally. It forgets at a restart, as the minute does. */
export function createTally(clock: Clock): Tally {
  const slots = new Map<string, Slot[]>()
  const secondNow = () => Math.floor(clock.mono() / 1000)

  function recent(id: string, second: number): Slot[] {
    return (slots.get(id) ?? []).filter((slot) => slot.second > second - SECONDS)
  }

  function sweep(second: number) {
    for (const id of slots.keys()) if (recent(id, second).length === 0) slots.delete(id)
  }

  function note(id: string, counts: Partial<Counts>) {
    const second = secondNow()
    const known = slots.get(id)
    const last = known?.at(-1)
    if (last?.second === second) return sum(last, counts)
    if (!known && slots.size >= KEPT_MAX) sweep(second)
    if (!known && slots.size >= KEPT_MAX) return
    const slot = { second, ...none() }
    sum(slot, counts)
    slots.set(id, [...recent(id, second), slot])
  }

  return {
    add(customer_id, counts) {
      note(HOUSE, counts)
      note(customer_id, counts)
    },
    lastMinute(customer_id) {
      const all = none()
      for (const slot of recent(customer_id ?? HOUSE, secondNow())) sum(all, slot)
      return all
    },
  }
}

/** The same meter, which also counts what it lets through. */
export function countingMeter(meter: Meter, tally: Tally, prices: PriceMicros): Meter {
  return async (tier, holder, headers, work, metering) => {
    try {
      return await meter(tier, holder, headers, work, metering)
    } finally {
      // Only what is billed says what remains, and of an unlimited customer nothing is taken.
      const billed = headers['x-credits-remaining'] !== undefined && !holder.customer.unlimited
      tally.add(holder.customer.id, {
        reads: tier === 'read' || tier === 'deep_search' ? 1 : 0,
        spent_micros: billed ? prices[tier] : 0,
      })
    }
  }
}

/** The same log, by which the tally hears how deliveries end: the sender says so to nobody else at that moment. */
export function hearDeliveries(
  log: Log,
  tally: Tally,
  customerOf: (delivery_id: string) => string | null,
): Log {
  return (level, event, fields = {}) => {
    log(level, event, fields)
    const { delivery_id, status } = fields
    if (event !== 'delivery.attempted' || typeof delivery_id !== 'string') return
    const delivered = status === 'delivered' ? 1 : 0
    const failed = status === 'failed' || status === 'dead' ? 1 : 0
    const customer_id = delivered + failed > 0 ? customerOf(delivery_id) : null
    if (customer_id !== null) tally.add(customer_id, { delivered, failed })
  }
}
