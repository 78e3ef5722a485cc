/** Work that is done a part at a time, so that others may have their turn between two of them. */
export type Parts<T> = Generator<undefined, T>

/** Does all of it in one go. */
export function inOneGo<T>(work: Parts<T>): T {
  for (;;) {
    const part = work.next()
    if (part.done) return part.value
  }
}

/** Does all of it, and lets the event loop see to everybody else after each part; null when `signal` aborts before the end. */
export async function byTurns<T>(work: Parts<T>, signal: AbortSignal): Promise<T | null> {
  while (!signal.aborted) {
    const part = work.next()
    if (part.done) return part.value
    await new Promise((resolve) => setImmediate(resolve))
  }
  return null
}
