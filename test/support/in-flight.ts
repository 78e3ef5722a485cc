import { createInFlight, type InFlight } from '../../src/api/in-flight.ts'
import { createByteBudget } from '../../src/core/limits/byte-budget.ts'
import type { Clock } from '../../src/runtime/runtime.ts'
import { fakeClock } from './clock.ts'

/** Bytes in flight within `limit`, all of one owner; `events` has what was refused or given up. */
export function createTestInFlight({
  limit = Infinity,
  clock = fakeClock(() => new Promise(() => {})),
  events = [],
}: { limit?: number; clock?: Clock; events?: string[] } = {}): InFlight & {
  held: () => number
} {
  const budget = createByteBudget(() => limit)
  const in_flight = createInFlight({
    budget,
    clock,
    ownerOf: () => 'key',
    on_refused: (held_for, exceeded) => void events.push(`${held_for} ${exceeded}`),
    on_stalled: () => void events.push('stalled'),
  })
  return {
    ...in_flight,
    held: () => budget.used('requests') + budget.used('answers') + budget.used('streams'),
  }
}
