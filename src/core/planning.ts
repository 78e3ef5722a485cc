/** What an account of the pool could do now. Instants are of any one clock, in ms. */
export type Candidate = {
  id: string
  /** Requests that may leave through it at once. */
  requests: number
  /** When the next one may leave, if none may now. */
  free_at: number
  /** When it was used last, or which use of all it was. */
  used_at: number
}

/**
 * Which account the next call goes through: the one with the most headroom, the least recently used among equals;
 * when none has any, the one that is free first, so that a caller waits or is told for how long. Never one of
 * those to `avoid`. Null when there is nobody.
 */
export function choose<C extends Candidate>(
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

function isBetter(one: Candidate, other: Candidate): boolean {
  const [able, other_able] = [one.requests >= 1, other.requests >= 1]
  if (able !== other_able) return able
  if (able && one.requests !== other.requests) return one.requests > other.requests
  if (!able && one.free_at !== other.free_at) return one.free_at < other.free_at
  return one.used_at < other.used_at
}

/** What keeps a sign-in by itself from becoming a hammer: at most three in any hour, and ever fewer. */
const LOGIN_WAIT_MS = 20 * 60_000
const LOGIN_DOUBLINGS_MAX = 4

/** The longest that a sign-in is put off, whatever the platform asks for. */
export const LOGIN_WAIT_MAX_MS = 24 * 3_600_000

/**
 * When an account may be signed in again, after a try at `now` and so many failures in a row, that one included; not
 * before `asked_s` are over, which the platform asked to wait.
 */
export function nextLoginAt(failures: number, now: number, asked_s = 0): number {
  const wait_ms = LOGIN_WAIT_MS * 2 ** Math.min(Math.max(0, failures - 1), LOGIN_DOUBLINGS_MAX)
  return now + Math.min(Math.max(wait_ms, asked_s * 1000), LOGIN_WAIT_MAX_MS)
}
