import type { SandboxUser } from '../world/model.ts'

/**
 * Runs the work of a user, or returns null if work of that user is in progress. No limit for
 * anonymous requests.
 */
export type UserLock = <T>(
  user: SandboxUser | null,
  work: () => T | Promise<T>,
) => Promise<T> | null

/**
 * Lock without holders. It is held until one event-loop iteration after the work, so that requests
 * received meanwhile are refused.
 */
export function createUserLock(): UserLock {
  const busy_users = new Set<SandboxUser>()
  return (user, work) => {
    if (user === null) return Promise.resolve(work())
    if (busy_users.has(user)) return null
    busy_users.add(user)
    return (async () => {
      try {
        const done = await work()
        await new Promise((resolve) => setImmediate(resolve))
        return done
      } finally {
        busy_users.delete(user)
      }
    })()
  }
}
