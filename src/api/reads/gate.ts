import { admit, type Crowd, type Room } from '../../core/degraded.ts'
import { ApiError } from '../../core/errors.ts'
import type { Clock } from '../../outside.ts'

/** Does the work when there is room for one more with this id, within a short wait; 429 otherwise. */
export type Gate = <T>(id: string, work: () => Promise<T>) => Promise<T>

type Rules = {
  clock: Clock
  /** How many there may be, as things stand at the moment. */
  room: () => Room
  wait_ms: number
  refusal: () => ApiError
}

type Queue = { id: string; in_flight: number; waiting: Set<() => void> }

/** A gate that counts those inside and those before it, for each id apart. */
function createGate({ clock, room, wait_ms, refusal }: Rules): Gate {
  const queues = new Map<string, Queue>()

  const crowd = ({ in_flight, waiting }: Queue): Crowd => ({ in_flight, waiting: waiting.size })

  /** Waits for room. False when there was none in time. */
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
      // There may be room again although nobody left: the reason to be strict has passed.
      const entered = admit(crowd(queue), room()) === 'go'
      if (entered) queue.in_flight++
      else forget(queue)
      resolve(entered)
    })
    return promise
  }

  function leave(queue: Queue) {
    queue.in_flight--
    for (const next of queue.waiting) {
      if (admit({ in_flight: queue.in_flight, waiting: 0 }, room()) !== 'go') break
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
    const admission = admit(crowd(queue), room())
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

/** As many deep searches at once for a customer as there are `places`; 0 is no limit. */
export const createDeepGate = (clock: Clock, places: () => number): Gate =>
  createGate({
    clock,
    room: () => ({ in_flight: places(), waiting: 0 }),
    wait_ms: DEEP_WAIT_MS,
    refusal: () =>
      new ApiError('DEEP_SEARCH_CONCURRENCY', {
        message: `at most ${places()} deep searches run at once on one account`,
        retry_after_s: RETRY_S,
      }),
  })

const NO_LIMIT: Room = { in_flight: 0, waiting: 0 }

/** While `degraded`, as many reads of a key at once, and as many more waiting, as there is `room`. */
export const createReadGate = (clock: Clock, room: () => Room, degraded: () => boolean): Gate =>
  createGate({
    clock,
    room: () => (degraded() ? room() : NO_LIMIT),
    wait_ms: READ_WAIT_MS,
    refusal: () =>
      new ApiError('too_many_concurrent_reads', {
        message: `the platform answers badly: at most ${room().in_flight} reads run at once on one key until it is better`,
        retry_after_s: RETRY_S,
      }),
  })
