import type { Clock, Resolve } from '../outside.ts'

/** Asks what a name resolves to: no answer, an error, or none within `timeout_ms` are all an empty list. */
export function createAsk({
  resolve,
  clock,
  timeout_ms,
}: {
  resolve: Resolve
  clock: Clock
  timeout_ms: number
}): (host: string) => Promise<string[]> {
  return async (host) => {
    const done = new AbortController()
    const late = clock.sleep(timeout_ms, done.signal).then((): string[] => [])
    // A name that does not resolve rejects; for us that is an empty answer.
    const answer = resolve(host).catch((): string[] => [])
    const addresses = await Promise.race([answer, late])
    done.abort()
    return addresses
  }
}
