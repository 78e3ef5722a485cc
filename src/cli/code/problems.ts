import type { Refused } from '../../config/references.ts'

/** Where in a document something stands: keys and places in lists, from the top. */
export type Path = readonly (string | number)[]

/** What is wrong with a file beyond its form, collected to be told at once. */
export type Problems = {
  add(path: Path, found: string, allowed: string): void
  readonly all: readonly Refused[]
}

/** An empty collection. */
export function createProblems(): Problems {
  const all: Refused[] = []
  return { all, add: (path, found, allowed) => void all.push({ path, found, allowed }) }
}
