/** Work in steps, between which other work may run. */
export type Chunks<T> = Generator<undefined, T>

/** Runs all steps without a pause. */
export function runNow<T>(work: Chunks<T>): T {
  for (;;) {
    const chunk = work.next()
    if (chunk.done) return chunk.value
  }
}

/** Runs all steps and yields to the event loop after each; null when `signal` aborts before the end. */
export async function runCooperatively<T>(work: Chunks<T>, signal: AbortSignal): Promise<T | null> {
  while (!signal.aborted) {
    const chunk = work.next()
    if (chunk.done) return chunk.value
    await new Promise((resolve) => setImmediate(resolve))
  }
  return null
}
