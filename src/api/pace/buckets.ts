import { type Bucket, isFull, type Pace, type Step, step } from '../../core/limits/pace.ts'
import type { Clock } from '../../runtime/runtime.ts'

/** Ids in one table, about 1.5 MB. An evicted id starts with a full bucket again. */
export const BUCKETS_MAX = 10_000
/** Entries examined for each new id once the table is full. */
const EVICTED_MAX = 8

/** Rate limit counted separately for each id. */
export type Buckets = {
  /** Takes `count` calls of an id; null while the limit is disabled. */
  take(id: string, count?: number): Step | null
  /** Result that {@link take} would return. */
  peek(id: string): Step | null
  size(): number
}

/**
 * Creates the buckets in bounded memory. `paceNow` is read at each call: a reload may change it.
 */
export function createBuckets(clock: Clock, paceNow: () => Pace): Buckets {
  const buckets = new Map<string, Bucket>()

  /** Evicts full buckets among the least recently used, and the oldest in any case. */
  function evict(pace: Pace, now: number) {
    if (buckets.size < BUCKETS_MAX) return
    let count = 0
    for (const [id, bucket] of buckets) {
      if (count === 0 || isFull(bucket, pace, now)) buckets.delete(id)
      count += 1
      if (count === EVICTED_MAX) return
    }
  }

  function peek(id: string, count = 1): Step | null {
    const pace = paceNow()
    if (pace.burst <= 0 || pace.per_s <= 0) return null
    return step(buckets.get(id), pace, clock.mono(), count)
  }

  return {
    peek,
    take(id, count) {
      const taken = peek(id, count)
      if (taken === null) return null
      buckets.delete(id)
      evict(paceNow(), clock.mono())
      buckets.set(id, taken.bucket)
      return taken
    },
    size: () => buckets.size,
  }
}
