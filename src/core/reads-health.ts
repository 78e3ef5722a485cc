/** How the platform answers the pool: `unknown` while too little was asked of it. */
export type ReadsState = 'ok' | 'degraded' | 'unknown'

/** Seconds of requests that `/health` judges by. */
export const WINDOW_S = 60
const KNOWN_FROM = 5
const DEGRADED_FROM = 20
const DEGRADED_SHARE = 0.25
const OK_SHARE = 0.1

/** Requests and faults within the window, and what was thought of them last. */
export type Judgement = {
  state: ReadsState
  /** Since when (ms) the share of faults has been low enough to call it over; null while it is not. */
  calm_since: number | null
}

/** What to think now (contract 4): quick to call reads degraded, slow to call them well again. */
export function judgeReads(
  { state, calm_since }: Judgement,
  { requests, faults }: { requests: number; faults: number },
  now: number,
): Judgement {
  if (requests < KNOWN_FROM) return { state: 'unknown', calm_since: null }
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
