import type { Thing, World } from './model.ts'
import type { Source } from './timeline.ts'

/** Answers with what `compute` made last time under this key, while nothing has changed since. */
export type Memory = (key: string, compute: () => Source<Thing>) => Source<Thing>

const KEPT = 200

/** Keeps listings computed from a world until the world changes. */
export function createMemory(world: World): Memory {
  let version = world.version
  const kept = new Map<string, Source<Thing>>()
  return (key, compute) => {
    if (version !== world.version || kept.size >= KEPT) kept.clear()
    version = world.version
    const source = kept.get(key) ?? compute()
    kept.set(key, source)
    return source
  }
}
