/** Calls `make` on first use and returns that value from then on. */
export function once<T>(make: () => T): () => T {
  let cached: { it: T } | null = null
  return () => (cached ??= { it: make() }).it
}
