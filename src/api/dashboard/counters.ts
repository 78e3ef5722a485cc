import type { PriceMicros } from '../../core/limits/price.ts'
import type { Clock, Log } from '../../runtime/runtime.ts'
import type { Meter } from '../billing.ts'

/** Counts taken as events happen, because no row stores their time. Money is micro-dollars. */
type Counts = { delivered: number; failed: number; reads: number; spent_micros: number }

export type Tally = {
  add(customer_id: string, counts: Partial<Counts>): void
  /** Counts of the last minute, or since the start; null: all customers. */
  lastMinute(customer_id: string | null): Counts
}

type Slot = Counts & { second: number }

const SECONDS = 60
const SYSTEM = ''
/** Customers counted at once; entries without events for a minute are removed. */
const CUSTOMERS_MAX = 10_000

const noCounts = (): Counts => ({ delivered: 0, failed: 0, reads: 0, spent_micros: 0 })

function addTo(into: Counts, from: Partial<Counts>): void {
  into.delivered += from.delivered ?? 0
  into.failed += from.failed ?? 0
  into.reads += from.reads ?? 0
  into.spent_micros += from.spent_micros ?? 0
}

/** Creates an empty tally in memory; a restart resets it. */
export function createTally(clock: Clock): Tally {
  const slots = new Map<string, Slot[]>()
  const secondNow = () => Math.floor(clock.mono() / 1000)

  function recent(id: string, second: number): Slot[] {
    return (slots.get(id) ?? []).filter((slot) => slot.second > second - SECONDS)
  }

  function removeIdle(second: number) {
    for (const id of slots.keys()) if (recent(id, second).length === 0) slots.delete(id)
  }

  function note(id: string, counts: Partial<Counts>) {
    const second = secondNow()
    const existing = slots.get(id)
    const last = existing?.at(-1)
    if (last?.second === second) return addTo(last, counts)
    if (!existing && slots.size >= CUSTOMERS_MAX) removeIdle(second)
    if (!existing && slots.size >= CUSTOMERS_MAX) return
    const slot = { second, ...noCounts() }
    addTo(slot, counts)
    slots.set(id, [...recent(id, second), slot])
  }

  return {
    add(customer_id, counts) {
      note(SYSTEM, counts)
      note(customer_id, counts)
    },
    lastMinute(customer_id) {
      const all = noCounts()
      for (const slot of recent(customer_id ?? SYSTEM, secondNow())) addTo(all, slot)
      return all
    },
  }
}

export function countingMeter(meter: Meter, tally: Tally, prices: PriceMicros): Meter {
  return async (tier, holder, headers, work, metering) => {
    try {
      return await meter(tier, holder, headers, work, metering)
    } finally {
      // Only billed calls have this header, and an unlimited customer is not charged.
      const billed = headers['x-credits-remaining'] !== undefined && !holder.customer.unlimited
      tally.add(holder.customer.id, {
        reads: tier === 'read' || tier === 'deep_search' ? 1 : 0,
        spent_micros: billed ? prices[tier] : 0,
      })
    }
  }
}

/**
 * Wraps a log and counts the outcomes of deliveries from its events; the sender reports them
 * nowhere else at that moment.
 */
export function onDeliveries(
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
