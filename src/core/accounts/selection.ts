/** Present capacity of an account of the pool. Instants are of any one clock, in ms. */
export type AccountCandidate = {
  id: string
  /** Requests that the account can send at once. */
  requests: number
  /** Earliest instant of the next request if `requests` is 0. */
  free_at: number
  /** Instant, or sequence number, of the last use. */
  used_at: number
}

/**
 * Picks the account for the next call: most headroom first, then least recently used. If none has
 * headroom, picks the one that is free first, so that the caller can wait or report the wait. Skips
 * the accounts in `avoid`; null if no account is left.
 */
export function pickAccount<C extends AccountCandidate>(
  candidates: readonly C[],
  avoid: readonly string[] = [],
): C | null {
  let best: C | null = null
  for (const it of candidates) {
    if (avoid.includes(it.id)) continue
    if (best === null || isBetter(it, best)) best = it
  }
  return best
}

function isBetter(one: AccountCandidate, other: AccountCandidate): boolean {
  const [able, other_able] = [one.requests >= 1, other.requests >= 1]
  if (able !== other_able) return able
  if (able && one.requests !== other.requests) return one.requests > other.requests
  if (!able && one.free_at !== other.free_at) return one.free_at < other.free_at
  return one.used_at < other.used_at
}

/** Rate limit of automatic logins: at most three in any hour, with growing delays. */
const LOGIN_WAIT_MS = 20 * 60_000
const LOGIN_DOUBLINGS_MAX = 4

/** Upper bound of a login delay, also for a delay that the platform requests. */
export const LOGIN_WAIT_MAX_MS = 24 * 3_600_000

/**
 * Earliest next login (epoch ms) after an attempt at `now` and `failures` consecutive failures,
 * this one included. Never before `retry_after_s`, the delay in seconds that the platform
 * requested, has passed.
 */
export function nextLoginAt(failures: number, now: number, retry_after_s = 0): number {
  const wait_ms = LOGIN_WAIT_MS * 2 ** Math.min(Math.max(0, failures - 1), LOGIN_DOUBLINGS_MAX)
  return now + Math.min(Math.max(wait_ms, retry_after_s * 1000), LOGIN_WAIT_MAX_MS)
}
