type Held = { until_at: number; release(): void }

/** Answers held back by slow weather. */
export type Holds = {
  hold(ms: number, signal: AbortSignal): Promise<void>
  /** Lets go of those whose time has come. */
  wake(): void
  /** Lets go of all, for good. */
  release(): void
}

/** Holds by the sleep it is given; without one, until the sandbox's own clock has moved on. */
export function createHolds(
  now: () => number,
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>,
): Holds {
  const stopping = new AbortController()
  const held = new Set<Held>()
  return {
    hold(ms, signal) {
      const over = AbortSignal.any([signal, stopping.signal])
      if (sleep) return sleep(ms, over)
      if (over.aborted) return Promise.resolve()
      const { promise, resolve } = Promise.withResolvers<void>()
      const one: Held = {
        until_at: now() + ms,
        release() {
          held.delete(one)
          resolve()
        },
      }
      held.add(one)
      over.addEventListener('abort', one.release)
      return promise
    },
    wake() {
      for (const one of held) if (one.until_at <= now()) one.release()
    },
    release: () => stopping.abort(),
  }
}
