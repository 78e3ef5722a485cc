/**
 * Uses of held memory. `requests`: bodies and data built from them. `answers`: responses not sent yet.
 * `streams`: events that their reader has not received yet. `cache`: cached responses.
 */
export const HELD_FOR = ['requests', 'answers', 'streams', 'cache'] as const
export type HeldFor = (typeof HELD_FOR)[number]

/** Limit that a hold would exceed: that of its owner, or that of the process. */
export type ExceededLimit = 'owner' | 'process'

/** Bytes that count until they are released; a second release has no effect. */
export type HeldBytes = { release(): void }

/** Shared budget for the bytes that clients can make the process hold. */
export type ByteBudget = {
  /**
   * Counts `bytes` towards the budget, or returns the limit that they would exceed. `owner` null: the
   * process itself, to which only the process limit applies.
   */
  take(owner: string | null, held_for: HeldFor, bytes: number): HeldBytes | ExceededLimit
  /** Limit that `bytes` more would exceed; null if they fit. */
  exceeded(owner: string | null, bytes: number): ExceededLimit | null
  used(held_for: HeldFor): number
  /**
   * Registers a holder that can release bytes when others need them. `free` receives the bytes that
   * are missing and releases as many of them as it can.
   */
  onPressure(free: (bytes: number) => void): void
}

const MIB = 1024 * 1024
/** One owner may hold a third of the budget, and at least enough for the body of one picture. */
const OWNER_SHARE = 3
const OWNER_MIN_BYTES = 26 * MIB

/** Creates a budget of `limit()` bytes. `limit` is called on each use: its value may change at run time. */
export function createByteBudget(limit: () => number): ByteBudget {
  const by_owner = new Map<string, number>()
  const by_use: Record<HeldFor, number> = { requests: 0, answers: 0, streams: 0, cache: 0 }
  const relief: ((bytes: number) => void)[] = []
  let total = 0

  function exceeded(owner: string | null, bytes: number): ExceededLimit | null {
    const max = limit()
    const owned = owner === null ? 0 : (by_owner.get(owner) ?? 0)
    // An owner without held bytes may take any size that fits the process limit.
    if (owned > 0 && owned + bytes > Math.max(max / OWNER_SHARE, OWNER_MIN_BYTES)) return 'owner'
    if (total + bytes <= max) return null
    for (const free of relief) free(total + bytes - max)
    return total + bytes <= max ? null : 'process'
  }

  function add(owner: string | null, held_for: HeldFor, bytes: number) {
    total += bytes
    by_use[held_for] += bytes
    if (owner === null) return
    const owned = (by_owner.get(owner) ?? 0) + bytes
    if (owned > 0) by_owner.set(owner, owned)
    else by_owner.delete(owner)
  }

  return {
    exceeded,
    take(owner, held_for, bytes) {
      const limit_name = exceeded(owner, bytes)
      if (limit_name !== null) return limit_name
      add(owner, held_for, bytes)
      let held = true
      return {
        release() {
          if (held) add(owner, held_for, -bytes)
          held = false
        },
      }
    },
    used: (held_for) => by_use[held_for],
    onPressure: (free) => void relief.push(free),
  }
}
