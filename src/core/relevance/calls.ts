// Calls of the model in a UTC day. Half of all calls is reserved, in equal parts for the customers whose monitors have
// relevance rules; the other half goes to the first who need it. So a customer that has many matches leaves each of the
// others its part, and one that is alone may use all.

/** Most calls of a UTC day: of all customers, and of one; 0: no limit. */
export type CallLimits = { all: number; customer: number }

/** Calls of this UTC day. */
export type DayCalls = {
  limits: CallLimits
  /** Calls by customer, those under way included. */
  used: ReadonlyMap<string, number>
  /** Customers with an active monitor that has relevance rules: each has a part reserved. */
  sharers: readonly string[]
}

/** Calls that are reserved for each of the customers; 0 without a limit of all. */
export const reservedCalls = ({ limits, sharers }: DayCalls): number => {
  const part = Math.floor(limits.all / 2 / Math.max(1, sharers.length))
  return limits.customer > 0 ? Math.min(part, limits.customer) : part
}

const sum = (numbers: Iterable<number>): number => [...numbers].reduce((a, b) => a + b, 0)

/** Calls of all customers. */
export const allCalls = ({ used }: DayCalls): number => sum(used.values())

/** True if a customer may make a further call: it leaves to every other one what is still reserved for it. */
export function mayCall(day: DayCalls, customer: string): boolean {
  const { limits, used, sharers } = day
  if (limits.customer > 0 && (used.get(customer) ?? 0) >= limits.customer) return false
  if (limits.all === 0) return true
  const part = reservedCalls(day)
  const reserved = sharers.map((it) =>
    it === customer ? 0 : Math.max(0, part - (used.get(it) ?? 0)),
  )
  return allCalls(day) + sum(reserved) + 1 <= limits.all
}
