import type { Clock } from '../outside.ts'
import type { Db } from '../store/db.ts'
import { charge, type Hold } from '../store/ledger.ts'
import type { Together } from '../store/together.ts'

/** A call whose answer is at hand, and what it costs. */
export type Charge = Omit<Hold, 'id'>

/** Calls billed at once: how many, and what remains after each; of those that the balance did not cover, nothing. */
type Group = { calls: number; charged: Promise<number[]> }

/**
 * Bills calls whose answers are at hand; the balance that remains, null when it does not cover the price. Those of one
 * customer and one price that come in one turn of the event loop are one entry in the books.
 */
export function createCharges({
  db,
  clock,
  together,
}: {
  db: Db
  clock: Clock
  together: Together
}): (wanted: Charge) => Promise<number | null> {
  const gathering = new Map<string, Group>()

  function groupOf(wanted: Charge): Group {
    const key = `${wanted.tier} ${wanted.amount_micros} ${wanted.customer_id}`
    const known = gathering.get(key)
    if (known) return known
    const group: Group = {
      calls: 0,
      charged: together(() => {
        // Whoever comes from now on is billed with the next.
        gathering.delete(key)
        return charge(db, wanted, group.calls, clock.now())
      }),
    }
    gathering.set(key, group)
    // Where the transaction could not even begin, nobody has got so far as to make room for the next.
    void group.charged.catch(() => gathering.delete(key))
    return group
  }

  return async (wanted) => {
    const group = groupOf(wanted)
    const place = group.calls++
    return (await group.charged)[place] ?? null
  }
}
