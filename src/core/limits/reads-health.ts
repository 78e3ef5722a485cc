/** Health of the pool's reads: `unknown` while there are too few requests. */
export type ReadsState = 'ok' | 'degraded' | 'unknown'

/** Window of `/health`, in seconds. */
export const WINDOW_S = 60
const JUDGED_FROM = 5
const DEGRADED_FROM = 20
const DEGRADED_SHARE = 0.25
const OK_SHARE = 0.1

export type Judgement = {
  state: ReadsState
  /** Start (ms) of the present period with a low share of faults; null: none. */
  calm_since: number | null
}

/**
 * Judges the requests and faults within the window. The state turns degraded at once, and back only
 * after a calm window.
 */
export function judgeReads(
  { state, calm_since }: Judgement,
  { requests, faults }: { requests: number; faults: number },
  now: number,
): Judgement {
  if (requests < JUDGED_FROM) return { state: 'unknown', calm_since: null }
  const share = faults / requests
  if (requests >= DEGRADED_FROM && share >= DEGRADED_SHARE)
    return { state: 'degraded', calm_since: null }
  if (state !== 'degraded') return { state: 'ok', calm_since: null }
  if (share >= OK_SHARE) return { state: 'degraded', calm_since: null }
  const since = calm_since ?? now
  return now - since >= WINDOW_S * 1000
    ? { state: 'ok', calm_since: null }
    : { state: 'degraded', calm_since: since }
}
