/** A request that arrived at the platform or at a receiver, by the clock of the judge. */
export type Arrival = {
  at: number
  node: string
  /** Process of the node: it has the lease once at most. */
  life: string
  where: 'platform' | 'first receiver' | 'second receiver'
  /** Header of a delivery; null at the platform. */
  epoch: number | null
  delivery_id: string | null
  items: readonly string[]
}

/**
 * Finds overlaps in a whole run: requests of a process that arrived after the first request of another one that began to act
 * later. A process that has lost its lease ends, so that none acts again after another one.
 */
export function judgeOverlaps(arrivals: readonly Arrival[]): Arrival[] {
  const over = new Set<string>()
  let acting: string | null = null
  const overlaps: Arrival[] = []
  for (const it of arrivals.toSorted((a, b) => a.at - b.at)) {
    if (over.has(it.life)) overlaps.push(it)
    else if (it.life !== acting) {
      if (acting !== null) over.add(acting)
      acting = it.life
    }
  }
  return overlaps
}

/** Times of one takeover in milliseconds. */
export type Takeover = {
  /** From the fault to the first request of the new primary; null if there was none. */
  takeover_ms: number | null
  /** Between the last request of the old and the first one of the new primary. */
  gap_ms: number | null
  /** Longest silence of the primary in the seconds before the fault: an overlap that lasts longer is seen. */
  resolution_ms: number
}

/** So much before the fault shows how often the old primary acts. */
const SAMPLE_MS = 5000

/** Reads the times of one takeover from the logs of both other sides. */
export function timeTakeover(
  arrivals: readonly Arrival[],
  { old, next, fault_at }: { old: string; next: string; fault_at: number },
): Takeover {
  const in_order = arrivals.toSorted((a, b) => a.at - b.at)
  const first = in_order.find(({ node, at }) => node === next && at >= fault_at)
  const of_old = in_order.filter(({ node }) => node === old)
  const last = first === undefined ? undefined : of_old.findLast(({ at }) => at <= first.at)
  const sample = of_old
    .map(({ at }) => at)
    .filter((at) => at > fault_at - SAMPLE_MS && at < fault_at)
  return {
    takeover_ms: first === undefined ? null : first.at - fault_at,
    gap_ms: first === undefined || last === undefined ? null : first.at - last.at,
    resolution_ms: sample.reduce((most, at, n) => Math.max(most, at - (sample[n - 1] ?? at)), 0),
  }
}

/** Judges the epochs of a whole run: deliveries with one below an earlier one, and epochs that two processes used. */
export function judgeEpochs(arrivals: readonly Arrival[]): { back: number; shared: number } {
  const users = new Map<number, Set<string>>()
  let highest = 0
  let back = 0
  for (const { epoch, life } of arrivals.toSorted((a, b) => a.at - b.at)) {
    if (epoch === null) continue
    if (epoch < highest) back += 1
    highest = Math.max(highest, epoch)
    users.set(epoch, (users.get(epoch) ?? new Set()).add(life))
  }
  return { back, shared: [...users.values()].filter((lives) => lives.size > 1).length }
}

const RECEIVERS = ['first receiver', 'second receiver'] as const

/** A delivery that arrived again: when, and when it arrived first. */
export type Repeat = { first_at: number; at: number }

/**
 * Judges a whole run. `lost`: pairs of a matched item and a receiver that never got it. `two_ids`: pairs whose deliveries have
 * more than one id.
 */
export function judgeDeliveries(arrivals: readonly Arrival[], matching: readonly string[]) {
  const lost: { item: string; receiver: string }[] = []
  const repeats: Repeat[] = []
  let distinct = 0
  let two_ids = 0
  for (const receiver of RECEIVERS) {
    const ids = new Map<string, Set<string>>()
    const first = new Map<string, number>()
    for (const { where, items, delivery_id, at } of arrivals) {
      if (where !== receiver || delivery_id === null) continue
      for (const it of items) ids.set(it, (ids.get(it) ?? new Set()).add(delivery_id))
      const first_at = first.get(delivery_id)
      if (first_at === undefined) first.set(delivery_id, at)
      else repeats.push({ first_at, at })
    }
    for (const item of matching) if (!ids.has(item)) lost.push({ item, receiver })
    two_ids += [...ids.values()].filter((it) => it.size > 1).length
    distinct += first.size
  }
  return { lost, two_ids, repeats, deliveries: distinct }
}

/**
 * Per fault, the number of repeats after it and before the next one, and how long before it the oldest of them had
 * arrived first, in milliseconds: what the new primary did not know.
 */
export function judgeRepeats(
  repeats: readonly Repeat[],
  faults: readonly { fault: string; at: number }[],
): Record<string, { count: number; unknown_ms: number }> {
  const of: Record<string, { count: number; unknown_ms: number }> = {}
  for (const { first_at, at } of repeats) {
    const last = faults.findLast((it) => it.at <= at)
    const row = (of[last?.fault ?? 'none'] ??= { count: 0, unknown_ms: 0 })
    row.count += 1
    row.unknown_ms = Math.max(row.unknown_ms, Math.round((last?.at ?? at) - first_at))
  }
  return of
}
