/** What `make` makes, made at the first call and kept for the next ones. */
export function once<T>(make: () => T): () => T {
  let made: { it: T } | null = null
  return () => (made ??= { it: make() }).it
}
