import { ApiError } from '../../core/errors.ts'
import type { Clock } from '../../outside.ts'

/** Does the work when its customer has a place free, within a short wait; 429 DEEP_SEARCH_CONCURRENCY otherwise. */
export type DeepGate = <T>(customer_id: string, work: () => Promise<T>) => Promise<T>

const WAIT_MS = 3_000
const RETRY_S = 2

type Places = { taken: number; waiting: Set<() => void> }

/** As many deep searches at once for a customer as `places`; 0 is no limit. */
export function createDeepGate(clock: Clock, places: number): DeepGate {
  const customers = new Map<string, Places>()

  /** Waits for somebody to leave and hand over the place. */
  async function queue({ waiting }: Places): Promise<boolean> {
    const nap = new AbortController()
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const handOver = () => {
      nap.abort()
      resolve(true)
    }
    waiting.add(handOver)
    void clock.sleep(WAIT_MS, nap.signal).then(() => resolve(!waiting.delete(handOver)))
    return promise
  }

  function leave(customer_id: string, here: Places) {
    const [next] = here.waiting
    if (next !== undefined) {
      here.waiting.delete(next)
      return next()
    }
    here.taken--
    if (here.taken === 0) customers.delete(customer_id)
  }

  return async (customer_id, work) => {
    const here = customers.get(customer_id) ?? { taken: 0, waiting: new Set() }
    customers.set(customer_id, here)
    if (places === 0 || here.taken < places) here.taken++
    else if (!(await queue(here)))
      throw new ApiError('DEEP_SEARCH_CONCURRENCY', {
        message: `at most ${places} deep searches run at once on one account`,
        retry_after_s: RETRY_S,
      })
    try {
      return await work()
    } finally {
      leave(customer_id, here)
    }
  }
}
