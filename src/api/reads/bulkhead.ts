import { ApiError } from '../../core/base/errors.ts'
import type { Clock } from '../../runtime/runtime.ts'

/** Reads of one key: running, and waiting for a free place. */
export type Load = { in_flight: number; waiting: number }

/** Maximum of each; 0: no limit. */
export type Capacity = { in_flight: number; waiting: number }

export type Admission = 'go' | 'wait' | 'refuse'

export function admit(load: Load, capacity: Capacity): Admission {
  if (capacity.in_flight === 0 || load.in_flight < capacity.in_flight) return 'go'
  return capacity.waiting === 0 || load.waiting < capacity.waiting ? 'wait' : 'refuse'
}

/**
 * Runs the work once there is a free place for this id, within a short wait.
 * @throws {ApiError} 429 otherwise
 */
export type Bulkhead = <T>(id: string, work: () => Promise<T>) => Promise<T>

type Rules = {
  clock: Clock
  capacity: () => Capacity
  wait_ms: number
  refusal: () => ApiError
}

type Queue = { id: string; in_flight: number; waiting: Set<() => void> }

/** Not p-queue: it takes microseconds for each job, a twentieth of a cached read. */
function createBulkhead({ clock, capacity, wait_ms, refusal }: Rules): Bulkhead {
  const queues = new Map<string, Queue>()

  const loadOf = ({ in_flight, waiting }: Queue): Load => ({ in_flight, waiting: waiting.size })

  /** Waits for a free place; false after the timeout. */
  async function wait(queue: Queue): Promise<boolean> {
    const nap = new AbortController()
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const enter = () => {
      nap.abort()
      resolve(true)
    }
    queue.waiting.add(enter)
    void clock.sleep(wait_ms, nap.signal).then(() => {
      if (!queue.waiting.delete(enter)) return
      // There may be a free place although none was released: the limit may have been lifted.
      const entered = admit(loadOf(queue), capacity()) === 'go'
      if (entered) queue.in_flight++
      else forget(queue)
      resolve(entered)
    })
    return promise
  }

  function leave(queue: Queue) {
    queue.in_flight--
    for (const next of queue.waiting) {
      if (admit({ in_flight: queue.in_flight, waiting: 0 }, capacity()) !== 'go') break
      queue.waiting.delete(next)
      queue.in_flight++
      next()
    }
    forget(queue)
  }

  function forget(queue: Queue) {
    if (queue.in_flight === 0 && queue.waiting.size === 0) queues.delete(queue.id)
  }

  return async (id, work) => {
    const queue = queues.get(id) ?? { id, in_flight: 0, waiting: new Set() }
    queues.set(id, queue)
    const admission = admit(loadOf(queue), capacity())
    if (admission === 'go') queue.in_flight++
    else if (admission === 'refuse' || !(await wait(queue))) throw refusal()
    try {
      return await work()
    } finally {
      leave(queue)
    }
  }
}

const RETRY_S = 2
const DEEP_WAIT_MS = 3_000
const READ_WAIT_MS = 2_000

/** Bulkhead for `places` concurrent deep searches per customer; 0: no limit. */
export const createDeepSearchBulkhead = (clock: Clock, places: () => number): Bulkhead =>
  createBulkhead({
    clock,
    capacity: () => ({ in_flight: places(), waiting: 0 }),
    wait_ms: DEEP_WAIT_MS,
    refusal: () =>
      new ApiError('DEEP_SEARCH_CONCURRENCY', {
        message: `at most ${places()} deep searches run at once on one account`,
        retry_after_s: RETRY_S,
      }),
  })

const NO_LIMIT: Capacity = { in_flight: 0, waiting: 0 }

/** Bulkhead for `room` running and as many waiting reads per key, while `degraded`. */
export const createReadBulkhead = (
  clock: Clock,
  capacity: () => Capacity,
  degraded: () => boolean,
): Bulkhead =>
  createBulkhead({
    clock,
    capacity: () => (degraded() ? capacity() : NO_LIMIT),
    wait_ms: READ_WAIT_MS,
    refusal: () =>
      new ApiError('too_many_concurrent_reads', {
        message: `the platform is degraded: at most ${capacity().in_flight} reads of one key run at once until it recovers`,
        retry_after_s: RETRY_S,
      }),
  })
