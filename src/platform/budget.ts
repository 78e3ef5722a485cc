import type { Use } from './platform.ts'
import {
  claimOf,
  dueTo,
  emptied,
  grown,
  newShares,
  otherUse,
  renewed,
  type Shares,
  spentBy,
  untilClaim,
  wished,
} from './shares.ts'

/**
 * How much we may still ask through one pair of eyes, as arithmetic on (state, now). What the platform tells in
 * its headers decides; only as long as it has told nothing does our own bucket.
 */
export type Budget = Readonly<{
  /** Our own bucket: requests a minute, and how many may go at once. */
  per_minute: number
  tokens: number
  filled_at: number
  /** How often a throttling has halved the bucket's rate, and when it last did. */
  halvings: number
  halved_at: number
  /** The platform's own window, once it has told. */
  window: Window | null
  blocked_until: number
  in_flight: number
  /** What of it is kept for reads and for polls. */
  shares: Shares
}>

type Window = Readonly<{
  remaining: number
  allowance: number
  reset_at: number
  /** Begun by our clock alone: the platform has told nothing of it yet. */
  guessed: boolean
}>

/** The platform's rate headers, in numbers. */
export type Told = { remaining: number; used: number; reset_s: number }

const WINDOW_MS = 600_000
/** Kept back, so that a neighbour on the same session does not run us into a refusal. */
const RESERVE = 2
const HALVINGS_MAX = 6
// Two answers of the same window can disagree by as long as one of them took to come.
const SAME_WINDOW_MS = 60_000

/** A budget of which nothing is known yet. Instants are milliseconds of any one clock. */
export const newBudget = (per_minute: number, now: number): Budget => ({
  per_minute,
  tokens: Math.max(1, per_minute),
  filled_at: now,
  halvings: 0,
  halved_at: now,
  window: null,
  blocked_until: 0,
  in_flight: 0,
  shares: newShares(),
})

/** The same budget as it stands now: windows that ended are full again, the bucket has dripped. */
export function settle(budget: Budget, now: number): Budget {
  const forgiven = Math.floor((now - budget.halved_at) / WINDOW_MS)
  const eased = budget.halvings > 0 && forgiven > 0
  const halvings = eased ? Math.max(0, budget.halvings - forgiven) : budget.halvings
  const halved_at = eased ? budget.halved_at + forgiven * WINDOW_MS : budget.halved_at
  const capacity = capacityOf(budget)
  const dripped = Math.max(0, now - budget.filled_at) * perMs(budget)
  const tokens = Math.min(capacity, budget.tokens + dripped)
  const window = turned(budget, now)
  const fresh = window === budget.window ? budget.shares : renewed(budget.shares)
  const shares = grown(fresh, dripped, capacity)
  return { ...budget, halvings, halved_at, tokens, filled_at: now, window, shares }
}

const capacityOf = ({ per_minute }: Budget): number => Math.max(1, per_minute)

function turned({ window }: Budget, now: number): Window | null {
  if (!window || now < window.reset_at) return window
  const missed = 1 + Math.floor((now - window.reset_at) / WINDOW_MS)
  const reset_at = window.reset_at + missed * WINDOW_MS
  return { remaining: window.allowance, allowance: window.allowance, reset_at, guessed: true }
}

const perMs = ({ per_minute, halvings }: Budget): number => per_minute / 2 ** halvings / 60_000

/** A use wants to ask of a settled budget: its share is kept for it from now on. */
export const wish = (budget: Budget, now: number, use: Use): Budget => ({
  ...budget,
  shares: wished(budget.shares, use, now, budget.tokens),
})

/**
 * Milliseconds until a settled budget allows one more request of a use, when `ahead` others go before it; 0 when it
 * does now. With the other use's claims growing meanwhile it may turn out longer, never shorter.
 */
export function waitFor(budget: Budget, now: number, use: Use = 'read', ahead = 0): number {
  if (now < budget.blocked_until) return budget.blocked_until - now
  const count = ahead + 1
  if (budget.window) return countNow(budget, now, use) >= count ? 0 : budget.window.reset_at - now
  const per_ms = perMs(budget)
  const { shares, tokens } = budget
  const kept = claimOf(shares, otherUse(use), now)
  const freely = (count + kept - tokens) / per_ms
  const by_claim = untilClaim(shares, use, { count, capacity: capacityOf(budget), per_ms })
  return Math.max(0, Math.ceil(Math.min(freely, Math.max((count - tokens) / per_ms, by_claim))))
}

/** How many requests of a use a settled budget allows at once, now. */
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

/** What one may have of what is left: all but what is kept for the other, and in any case what is kept for it. */
const shared = (left: number, mine: number, others: number): number =>
  Math.max(0, Math.floor(Math.max(left - others, Math.min(left, mine))))

/** A budget as a person reads it. `resets_in_ms` is null while the platform has told of no window. */
export type ShownBudget = {
  limit_per_minute: number
  remaining: number
  resets_in_ms: number | null
}

/** What a settled budget allows, whoever asks. */
export function shown(budget: Budget, now: number): ShownBudget {
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

/** How many requests one window allows; as long as the platform has told of none, how many our own bucket holds. */
export const allowanceOf = (budget: Budget): number =>
  budget.window?.allowance ?? capacityOf(budget)

/** One request leaves. */
export const take = (budget: Budget, use: Use = 'read'): Budget => ({
  ...budget,
  tokens: Math.max(0, budget.tokens - 1),
  in_flight: budget.in_flight + 1,
  shares: spentBy(budget.shares, use),
})

/** One request came back, with what the platform told; null when it told nothing, or nothing came. */
export function giveBack(budget: Budget, now: number, told: Told | null): Budget {
  const in_flight = Math.max(0, budget.in_flight - 1)
  if (told) return { ...budget, in_flight, window: heard(budget.window, now, told) }
  const { window } = budget
  // It may have been counted there, even if we never heard.
  const counted = window && { ...window, remaining: Math.max(0, window.remaining - 1) }
  return { ...budget, in_flight, window: counted }
}

/** Answers overtake each other: within one window what remains only shrinks. */
function heard(old: Window | null, now: number, told: Told): Window {
  const reset_at = now + told.reset_s * 1000
  const same = old !== null && !old.guessed && Math.abs(old.reset_at - reset_at) <= SAME_WINDOW_MS
  const remaining = same ? Math.min(old.remaining, told.remaining) : told.remaining
  const allowance = Math.max(told.used + told.remaining, RESERVE + 1)
  return { remaining, allowance, reset_at, guessed: false }
}

/** The platform asked us to stop: nothing leaves until then, and our own bucket slows down for a while. */
export const throttledFor = (budget: Budget, now: number, seconds: number): Budget => ({
  ...budget,
  tokens: 0,
  shares: emptied(budget.shares),
  halvings: Math.min(HALVINGS_MAX, budget.halvings + 1),
  halved_at: now,
  blocked_until: Math.max(budget.blocked_until, now + seconds * 1000),
})

/** The three rate headers; null unless what remains and when it ends are both told. */
export function toldBy(headers: { get(name: string): string | null }): Told | null {
  const [remaining, reset_s] = [numeral(headers, 'remaining'), numeral(headers, 'reset')]
  if (remaining === null || reset_s === null) return null
  return {
    remaining,
    reset_s: Math.min(reset_s, WINDOW_MS / 1000),
    used: numeral(headers, 'used') ?? 0,
  }
}

/** No window holds so many. With what is beyond all numbers nothing can be reckoned, and nothing would leave again. */
const TOLD_MAX = 1_000_000_000

function numeral(headers: { get(name: string): string | null }, name: string): number | null {
  const text = headers.get(`x-ratelimit-${name}`)?.trim() ?? ''
  // Below nothing is where somebody has asked for more than there was.
  return /^-?\d+(?:\.\d+)?$/.test(text) ? Math.min(Math.max(0, Number(text)), TOLD_MAX) : null
}
