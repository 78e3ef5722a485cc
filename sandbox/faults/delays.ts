type PendingDelay = { due_at: number; release(): void }

/** Responses delayed by the fault `slow`. */
export type Delays = {
  delay(ms: number, signal: AbortSignal): Promise<void>
  /** Releases the responses that are due. */
  releaseDue(): void
  /** Releases all responses, permanently. */
  releaseAll(): void
}

/** Delays with the given `sleep`; without one, until the sandbox's own clock has advanced. */
export function createDelays(
  now: () => number,
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>,
): Delays {
  const stopping = new AbortController()
  const pending = new Set<PendingDelay>()
  return {
    delay(ms, signal) {
      const abort_signal = AbortSignal.any([signal, stopping.signal])
      if (sleep) return sleep(ms, abort_signal)
      if (abort_signal.aborted) return Promise.resolve()
      const { promise, resolve } = Promise.withResolvers<void>()
      const entry: PendingDelay = {
        due_at: now() + ms,
        release() {
          pending.delete(entry)
          resolve()
        },
      }
      pending.add(entry)
      abort_signal.addEventListener('abort', entry.release)
      return promise
    },
    releaseDue() {
      for (const entry of pending) if (entry.due_at <= now()) entry.release()
    },
    releaseAll: () => stopping.abort(),
  }
}
