/** A request that arrived at the platform or at a receiver, by the clock of the judge. */
export type Arrival = {
  at: number
  node: string
  where: 'platform' | 'first receiver' | 'second receiver'
  /** Header of a delivery; null at the platform. */
  epoch: number | null
  delivery_id: string | null
  items: readonly string[]
}

/** Faults of one takeover. */
export type Verdict = {
  /** Requests of the old primary that arrived after the first one of the new primary. */
  overlaps: Arrival[]
  /** Deliveries whose epoch is below one that arrived before. */
  epochs_back: number
  /** Milliseconds from the fault to the first request of the new primary; null if there was none. */
  takeover_ms: number | null
}

/**
 * Judges one takeover from the logs of both other sides. `fault_at`: the old primary was the only node that acted until
 * then.
 */
export function judgeTakeover(
  arrivals: readonly Arrival[],
  { old, next, fault_at }: { old: string; next: string; fault_at: number },
): Verdict {
  const in_order = arrivals.toSorted((a, b) => a.at - b.at)
  const first = in_order.find(({ node }) => node === next)
  let highest = 0
  let epochs_back = 0
  for (const { epoch } of in_order) {
    if (epoch === null) continue
    if (epoch < highest) epochs_back += 1
    highest = Math.max(highest, epoch)
  }
  return {
    overlaps:
      first === undefined ? [] : in_order.filter(({ node, at }) => node === old && at > first.at),
    epochs_back,
    takeover_ms: first === undefined ? null : first.at - fault_at,
  }
}

/** Judges a whole run: matched items that a receiver never got, and the share of deliveries that arrived more than once. */
export function judgeDeliveries(arrivals: readonly Arrival[], matching: readonly string[]) {
  let lost = 0
  let repeated = 0
  let distinct = 0
  for (const receiver of ['first receiver', 'second receiver'] as const) {
    const here = arrivals.filter(({ where }) => where === receiver)
    const items = new Set(here.flatMap((it) => it.items))
    lost += matching.filter((it) => !items.has(it)).length
    const ids = new Set(here.map(({ delivery_id }) => delivery_id))
    distinct += ids.size
    repeated += here.length - ids.size
  }
  return { lost, repeated, deliveries: distinct }
}
