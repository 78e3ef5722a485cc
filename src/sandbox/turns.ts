import type { User } from './model.ts'

/** Does a user's work unless some of his is under way: then null. Nobody in particular may do as much as he likes. */
export type Turns = <T>(user: User | null, work: () => T | Promise<T>) => Promise<T> | null

/** Nobody under way. A turn lasts until the event loop has looked at what else has come in meanwhile. */
export function createTurns(): Turns {
  const under_way = new Set<User>()
  return (user, work) => {
    if (user === null) return Promise.resolve(work())
    if (under_way.has(user)) return null
    under_way.add(user)
    return (async () => {
      try {
        const done = await work()
        await new Promise((resolve) => setImmediate(resolve))
        return done
      } finally {
        under_way.delete(user)
      }
    })()
  }
}
