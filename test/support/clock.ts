import type { Clock } from '../../src/runtime/runtime.ts'

export type FakeClock = Clock & {
  advance(ms: number): Promise<void>
  /** Moves the wall clock alone, as an operator or a bad time server would. */
  jump(ms: number): void
  /** Number of sleepers. */
  waiting(): number
}

/** The next turn of the event loop. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

/**
 * A clock that advances on request only. Sleepers wake in order, and each one's work is done
 * before the next wakes: `settled` says when the work is done.
 */
export function fakeClock(
  settle: () => Promise<void>,
  start = Date.parse('2026-01-01T00:00:00Z'),
): FakeClock {
  let elapsed = 0
  let wall = start
  /** Those that wake first stand first. */
  const sleepers: { at: number; wake: () => void }[] = []

  function add(sleeper: (typeof sleepers)[number]): void {
    let [low, high] = [0, sleepers.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((sleepers[middle]?.at ?? Infinity) <= sleeper.at) low = middle + 1
      else high = middle
    }
    sleepers.splice(low, 0, sleeper)
  }

  return {
    now: () => wall + elapsed,
    mono: () => elapsed,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve()
        const wake = () => {
          const at = sleepers.indexOf(sleeper)
          if (at !== -1) sleepers.splice(at, 1)
          signal?.removeEventListener('abort', wake)
          resolve()
        }
        const sleeper = { at: elapsed + Math.ceil(Math.max(0, ms)), wake }
        add(sleeper)
        signal?.addEventListener('abort', wake)
      }),
    jump(ms) {
      wall += ms
    },
    waiting: () => sleepers.length,
    async advance(ms) {
      await settle()
      const end = elapsed + ms
      for (;;) {
        const [next] = sleepers
        if (!next || next.at > end) break
        elapsed = Math.max(elapsed, next.at)
        next.wake()
        await settle()
      }
      elapsed = end
      await settle()
    },
  }
}

/** Turns of the event loop without a request after which no work is left: a write waits two for its commit. */
const QUIET_TURNS = 8

/**
 * The requests of a test that are under way, each until its body is read. `settled` resolves once only those are left that
 * a server keeps waiting, and the work that followed the others is done.
 */
export function createTraffic(holding: () => number = () => 0) {
  let out = 0
  let ended = Promise.withResolvers<void>()
  const end = () => {
    out -= 1
    ended.resolve()
    ended = Promise.withResolvers()
  }
  return {
    async fetch(url: string, init: BunFetchRequestInit): Promise<Response> {
      out += 1
      try {
        const response = await fetch(url, init)
        return readThen(response, end)
      } catch (error) {
        end()
        throw error
      }
    },
    async settled(): Promise<void> {
      for (let quiet = 0; quiet < QUIET_TURNS;)
        if (out > holding()) {
          quiet = 0
          // A server says nowhere that it keeps a request waiting from now on.
          await Promise.race([ended.promise, Bun.sleep(1)])
        } else {
          quiet += 1
          await nextTurn()
        }
    },
  }
}

/** The same response, which calls `end` once its body is read, given up or failed. */
function readThen(response: Response, end: () => void): Response {
  if (response.body === null) {
    end()
    return response
  }
  const reader = response.body.getReader()
  const body = new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (!done) return controller.enqueue(value)
        end()
        controller.close()
      } catch (error) {
        end()
        controller.error(error)
      }
    },
    async cancel(reason) {
      end()
      await reader.cancel(reason)
    },
  })
  const copy = new Response(body, response)
  Object.defineProperty(copy, 'url', { value: response.url })
  return copy
}
