import type { Use } from '../port.ts'

/**
 * Guaranteed shares of reads and polls, as arithmetic on (state, now). A fifth of an identity's
 * budget is reserved for each; the rest, and what the other use has not requested lately, is first
 * come, first served.
 */
export type Shares = Readonly<Record<Use, Share>>

type Share = Readonly<{
  /**
   * Time of its last request for a token; null: none yet. A use without recent requests has no
   * reservation.
   */
  requested_at: number | null
  spent: number
  /** Remaining tokens of its share of the local bucket. */
  claim: number
}>

const SHARE = 0.2
/** Time after its last request during which a use keeps its reservation. */
const INTEREST_MS = 600_000

const FRESH: Share = { requested_at: null, spent: 0, claim: 0 }
const newShares = (): Shares => ({ read: FRESH, poll: FRESH })

/** The use that the rest of a budget is reserved for. */
const otherUse = (use: Use): Use => (use === 'read' ? 'poll' : 'read')

const mapped = (shares: Shares, change: (share: Share) => Share): Shares => ({
  read: change(shares.read),
  poll: change(shares.poll),
})

/**
 * Adds dripped tokens to each claim at its share of the rate, up to its share of the bucket's
 * capacity.
 */
const refill = (shares: Shares, dripped: number, capacity: number): Shares =>
  mapped(shares, (share) => ({
    ...share,
    claim: Math.min(shareOf(capacity), share.claim + SHARE * dripped),
  }))

const resetWindow = (shares: Shares): Shares => mapped(shares, (share) => ({ ...share, spent: 0 }))

/** Records that a use wants to send: its share is reserved from now on. */
function requestShare(shares: Shares, use: Use, now: number, tokens: number): Shares {
  const { spent, claim } = shares[use]
  // A use that returns after a pause claims only from the present tokens, not from those others
  // spent meanwhile.
  const mine = isInterested(shares[use], now) ? claim : shareOf(tokens)
  return { ...shares, [use]: { requested_at: now, spent, claim: mine } }
}

function spentBy(shares: Shares, use: Use): Shares {
  const { claim, spent, ...rest } = shares[use]
  return { ...shares, [use]: { ...rest, claim: Math.max(0, claim - 1), spent: spent + 1 } }
}

/** Returns the token of a request that was not sent. */
function unspentBy(shares: Shares, use: Use): Shares {
  const { claim, spent, ...rest } = shares[use]
  return { ...shares, [use]: { ...rest, claim: claim + 1, spent: Math.max(0, spent - 1) } }
}

const isInterested = ({ requested_at }: Share, now: number): boolean =>
  requested_at !== null && now - requested_at < INTEREST_MS

const drain = (shares: Shares): Shares => mapped(shares, (share) => ({ ...share, claim: 0 }))

/**
 * Milliseconds until a use has a claim on `count` tokens of the local bucket, which drips at
 * `per_ms`; can be infinite.
 */
function untilClaim(
  shares: Shares,
  use: Use,
  { count, capacity, per_ms }: { count: number; capacity: number; per_ms: number },
): number {
  if (count > shareOf(capacity)) return Number.POSITIVE_INFINITY
  return Math.max(0, (count - shares[use].claim) / (SHARE * per_ms))
}

/** Rounds the reserve down, so that a small budget is not reserved entirely. */
const shareOf = (capacity: number): number => Math.floor(SHARE * capacity)

/** Tokens of the local bucket that are reserved for a use. */
const claimOf = (shares: Shares, use: Use, now: number): number =>
  isInterested(shares[use], now) ? shares[use].claim : 0

/**
 * Requests of the platform's window that are reserved for a use: its share of the remaining time,
 * minus its spent requests.
 */
function dueTo(
  shares: Shares,
  use: Use,
  now: number,
  { allowance, left_ms, window_ms }: { allowance: number; left_ms: number; window_ms: number },
): number {
  if (!isInterested(shares[use], now)) return 0
  const left = Math.max(0, Math.min(1, left_ms / window_ms))
  const share = SHARE * allowance
  return Math.max(0, Math.floor(Math.min(share * left, share - shares[use].spent)))
}

/**
 * Remaining rate budget of one identity, as arithmetic on (state, now). The platform's rate headers
 * decide; the local bucket applies only until the first ones arrive.
 */
export type Budget = Readonly<{
  /** Local bucket: requests per minute, and the size of a burst. */
  per_minute: number
  tokens: number
  filled_at: number
  /** Number of times that throttling has halved the bucket's rate, and the time of the last one. */
  halvings: number
  halved_at: number
  /** The platform's own window; null before its first rate headers. */
  window: Window | null
  blocked_until: number
  /** Consecutive throttlings that named no time, and the time at which the last one was counted. */
  backoffs: number
  backed_off_at: number
  in_flight: number
  shares: Shares
}>

type Window = Readonly<{
  remaining: number
  allowance: number
  reset_at: number
  /** Started by the local clock alone: no rate headers of this window have arrived yet. */
  guessed: boolean
}>

export type RateHeaders = { remaining: number; used: number; reset_s: number }

const WINDOW_MS = 600_000
/** Held back, so that another client of the same session does not push us into a refusal. */
const RESERVE = 2
const HALVINGS_MAX = 6
// Two answers of the same window can disagree by the duration of one request.
const SAME_WINDOW_MS = 60_000

/** A budget without any information yet. Instants are milliseconds of any one clock. */
export const newBudget = (per_minute: number, now: number): Budget => ({
  per_minute,
  tokens: Math.max(1, per_minute),
  filled_at: now,
  halvings: 0,
  halved_at: now,
  window: null,
  blocked_until: 0,
  backoffs: 0,
  backed_off_at: -Infinity,
  in_flight: 0,
  shares: newShares(),
})

/** The same budget at `now`: windows that ended are full again, and the bucket has dripped. */
export function settle(budget: Budget, now: number): Budget {
  const forgiven = Math.floor((now - budget.halved_at) / WINDOW_MS)
  const eased = budget.halvings > 0 && forgiven > 0
  const halvings = eased ? Math.max(0, budget.halvings - forgiven) : budget.halvings
  const halved_at = eased ? budget.halved_at + forgiven * WINDOW_MS : budget.halved_at
  const capacity = capacityOf(budget)
  const dripped = Math.max(0, now - budget.filled_at) * perMs(budget)
  const tokens = Math.min(capacity, budget.tokens + dripped)
  const window = rollWindow(budget, now)
  const fresh = window === budget.window ? budget.shares : resetWindow(budget.shares)
  const shares = refill(fresh, dripped, capacity)
  return { ...budget, halvings, halved_at, tokens, filled_at: now, window, shares }
}

const capacityOf = ({ per_minute }: Budget): number => Math.max(1, per_minute)

function rollWindow({ window }: Budget, now: number): Window | null {
  if (!window || now < window.reset_at) return window
  const missed = 1 + Math.floor((now - window.reset_at) / WINDOW_MS)
  const reset_at = window.reset_at + missed * WINDOW_MS
  return { remaining: window.allowance, allowance: window.allowance, reset_at, guessed: true }
}

const perMs = ({ per_minute, halvings }: Budget): number => per_minute / 2 ** halvings / 60_000

/** Records that a use wants to send from a settled budget: its share is reserved from now on. */
export const requestTokens = (budget: Budget, now: number, use: Use): Budget => ({
  ...budget,
  shares: requestShare(budget.shares, use, now, budget.tokens),
})

/** True while a throttling pauses an identity, even if it has budget left. */
export const isPaused = ({ blocked_until }: Budget, now: number): boolean => now < blocked_until

/**
 * Milliseconds until a settled budget allows one more request of a use, with `ahead` others before
 * it; 0: now. The real wait can be longer if the other use's claims grow meanwhile, never shorter.
 */
export function waitFor(budget: Budget, now: number, use: Use = 'read', ahead = 0): number {
  if (now < budget.blocked_until) return budget.blocked_until - now
  const count = ahead + 1
  if (budget.window) return countNow(budget, now, use) >= count ? 0 : budget.window.reset_at - now
  const per_ms = perMs(budget)
  const { shares, tokens } = budget
  const other_claim = claimOf(shares, otherUse(use), now)
  const freely = (count + other_claim - tokens) / per_ms
  const by_claim = untilClaim(shares, use, { count, capacity: capacityOf(budget), per_ms })
  return Math.max(0, Math.ceil(Math.min(freely, Math.max((count - tokens) / per_ms, by_claim))))
}

/** Number of requests of a use that a settled budget allows at once, now. */
export function countNow(budget: Budget, now: number, use: Use = 'read'): number {
  if (now < budget.blocked_until) return 0
  const other = otherUse(use)
  const { window, shares, tokens, in_flight } = budget
  if (!window) return shared(tokens, claimOf(shares, use, now), claimOf(shares, other, now))
  const span = {
    allowance: window.allowance,
    left_ms: window.reset_at - now,
    window_ms: WINDOW_MS,
  }
  const left = window.remaining - in_flight - RESERVE
  return shared(left, dueTo(shares, use, now, span), dueTo(shares, other, now, span))
}

/**
 * Part of the remaining requests that one use may take: all but the other's reservation, and at
 * least its own.
 */
const shared = (left: number, mine: number, others: number): number =>
  Math.max(0, Math.floor(Math.max(left - others, Math.min(left, mine))))

/** A budget for display. `resets_in_ms` is null before the platform has reported a window. */
export type BudgetView = {
  limit_per_minute: number
  remaining: number
  resets_in_ms: number | null
}

export function viewBudget(budget: Budget, now: number): BudgetView {
  const { window, tokens, in_flight, blocked_until } = budget
  const stopped = now < blocked_until
  if (!window)
    return {
      limit_per_minute: perMs(budget) * 60_000,
      remaining: stopped ? 0 : Math.floor(tokens),
      resets_in_ms: null,
    }
  return {
    limit_per_minute: (window.allowance * 60_000) / WINDOW_MS,
    remaining: stopped ? 0 : Math.max(0, Math.floor(window.remaining - in_flight)),
    resets_in_ms: Math.max(0, window.reset_at - now),
  }
}

/** Requests per window; before the platform has reported one, the capacity of the local bucket. */
export const allowanceOf = (budget: Budget): number =>
  budget.window?.allowance ?? capacityOf(budget)

/** Returns the token of a request that was never sent. */
export const refund = (budget: Budget, use: Use = 'read'): Budget => ({
  ...budget,
  tokens: Math.min(capacityOf(budget), budget.tokens + 1),
  in_flight: Math.max(0, budget.in_flight - 1),
  shares: unspentBy(budget.shares, use),
})

export const take = (budget: Budget, use: Use = 'read'): Budget => ({
  ...budget,
  tokens: Math.max(0, budget.tokens - 1),
  in_flight: budget.in_flight + 1,
  shares: spentBy(budget.shares, use),
})

/**
 * Counts one request that ended, with its rate headers; null if it had none or no answer arrived.
 */
export function giveBack(budget: Budget, now: number, rate_headers: RateHeaders | null): Budget {
  const in_flight = Math.max(0, budget.in_flight - 1)
  if (rate_headers)
    return { ...budget, in_flight, window: updateWindow(budget.window, now, rate_headers) }
  const { window } = budget
  // The platform may have counted it, even without an answer.
  const counted = window && { ...window, remaining: Math.max(0, window.remaining - 1) }
  return { ...budget, in_flight, window: counted }
}

/**
 * True if rate headers are of another window than the known one: it ends at another time. Windows that follow each other
 * end whole windows apart.
 */
export function isOtherWindow({ window }: Budget, now: number, { reset_s }: RateHeaders): boolean {
  if (window === null || window.guessed) return false
  const apart_ms = Math.abs(window.reset_at - now - reset_s * 1000) % WINDOW_MS
  return Math.min(apart_ms, WINDOW_MS - apart_ms) > SAME_WINDOW_MS
}

/** Answers can arrive out of order: within one window the remaining count only decreases. */
function updateWindow(old: Window | null, now: number, rate_headers: RateHeaders): Window {
  const reset_at = now + rate_headers.reset_s * 1000
  const same = old !== null && !old.guessed && Math.abs(old.reset_at - reset_at) <= SAME_WINDOW_MS
  const remaining = same ? Math.min(old.remaining, rate_headers.remaining) : rate_headers.remaining
  const allowance = Math.max(rate_headers.used + rate_headers.remaining, RESERVE + 1)
  return { remaining, allowance, reset_at, guessed: false }
}

/**
 * Pauses an identity for `seconds` as the platform asked, and slows the local bucket for a while.
 */
export const throttledFor = (budget: Budget, now: number, seconds: number): Budget => ({
  ...budget,
  tokens: 0,
  shares: drain(budget.shares),
  halvings: Math.min(HALVINGS_MAX, budget.halvings + 1),
  halved_at: now,
  blocked_until: Math.max(budget.blocked_until, now + seconds * 1000),
})

const BACKOFF_MAX_S = 60

/**
 * Milliseconds of the n-th pause in a row: `first_s`, doubled each time, ±25 %. `fraction`: in [0,
 * 1).
 */
const backoffMs = (backoffs: number, first_s: number, fraction: number): number =>
  Math.min(BACKOFF_MAX_S, first_s * 2 ** Math.min(backoffs - 1, 10) * (0.75 + fraction / 2)) * 1000

/**
 * Pauses after a throttling that names no time, for a request sent at `sent_at`: the pause doubles
 * with each one in a row. The known window stays. Concurrent requests count once.
 */
export function backedOff(
  budget: Budget,
  now: number,
  { first_s, sent_at, fraction }: { first_s: number; sent_at: number; fraction: number },
): Budget {
  const again = sent_at > budget.backed_off_at
  const backoffs = again ? budget.backoffs + 1 : budget.backoffs
  const pause_ms = again ? backoffMs(backoffs, first_s, fraction) : 0
  // A single one is no evidence about our own rate.
  const slower = again && backoffs > 1
  return {
    ...budget,
    tokens: Math.min(budget.tokens, 1),
    shares: drain(budget.shares),
    halvings: slower ? Math.min(HALVINGS_MAX, budget.halvings + 1) : budget.halvings,
    halved_at: slower ? now : budget.halved_at,
    backoffs,
    backed_off_at: again ? now : budget.backed_off_at,
    blocked_until: Math.max(budget.blocked_until, now + pause_ms),
  }
}

/** Ends a series of throttlings after another answer: the next pause starts from the beginning. */
export const endBackoff = (budget: Budget): Budget =>
  budget.backoffs === 0 ? budget : { ...budget, backoffs: 0 }

/** The three rate headers; null unless both the remaining count and the reset are present. */
export function readRateHeaders(headers: { get(name: string): string | null }): RateHeaders | null {
  const [remaining, reset_s] = [numeral(headers, 'remaining'), numeral(headers, 'reset')]
  if (remaining === null || reset_s === null) return null
  return {
    remaining,
    reset_s: Math.min(reset_s, WINDOW_MS / 1000),
    used: numeral(headers, 'used') ?? 0,
  }
}

/**
 * Above any real window. Larger numbers (or infinity) would break the arithmetic and block the
 * identity forever.
 */
const HEADER_VALUE_MAX = 1_000_000_000

function numeral(headers: { get(name: string): string | null }, name: string): number | null {
  const text = headers.get(`x-ratelimit-${name}`)?.trim() ?? ''
  // Negative after a client requested more than the window allowed.
  return /^-?\d+(?:\.\d+)?$/.test(text)
    ? Math.min(Math.max(0, Number(text)), HEADER_VALUE_MAX)
    : null
}
