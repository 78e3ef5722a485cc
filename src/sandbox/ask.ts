import type { Memory } from './memory.ts'
import type { Thing, World } from './model.ts'
import type { Viewer } from './viewer.ts'

/** How the weather bends the answer to one request. */
export type Twist = {
  /** Things newer than these do not exist yet: a page from an old cache. */
  stale: { serials: { post: number; comment: number }; until_s: number } | null
  /** How many of the newest rows have vanished. */
  vanished: number
  /** How many rows of a page come twice. */
  repeated: number
  /** Why every place on this path refuses. */
  refuse: 'private' | 'quarantined' | null
}

export const FAIR: Twist = { stale: null, vanished: 0, repeated: 0, refuse: null }

/** One request, read. */
export type Ask = {
  world: World
  memory: Memory
  method: string
  /** Without the `.json` and without a slash at the end. */
  path: readonly string[]
  query: URLSearchParams
  viewer: Viewer
  twist: Twist
  /** What to do with a private place among several (the platform has been seen to do both). */
  private_in_multi: 'refuse' | 'drop'
}

/** Whether a thing existed when this answer was made. */
export function existed({ stale }: Twist, thing: Thing): boolean {
  if (stale === null) return true
  const limit = thing.kind === 't3' ? stale.serials.post : stale.serials.comment
  return thing.serial < limit && thing.created_s <= stale.until_s
}
