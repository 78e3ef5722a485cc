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
// Two answers of the same window can disagree by a rounded second or two.
const SAME_WINDOW_MS = 5_000

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
})

/** The same budget as it stands now: windows that ended are full again, the bucket has dripped. */
export function settle(budget: Budget, now: number): Budget {
  const forgiven = Math.floor((now - budget.halved_at) / WINDOW_MS)
  const eased = budget.halvings > 0 && forgiven > 0
  const halvings = eased ? Math.max(0, budget.halvings - forgiven) : budget.halvings
  const halved_at = eased ? budget.halved_at + forgiven * WINDOW_MS : budget.halved_at
  const capacity = Math.max(1, budget.per_minute)
  const dripped = Math.max(0, now - budget.filled_at) * perMs(budget)
  const tokens = Math.min(capacity, budget.tokens + dripped)
  return { ...budget, halvings, halved_at, tokens, filled_at: now, window: turned(budget, now) }
}

function turned({ window }: Budget, now: number): Window | null {
  if (!window || now < window.reset_at) return window
  const missed = 1 + Math.floor((now - window.reset_at) / WINDOW_MS)
  const reset_at = window.reset_at + missed * WINDOW_MS
  return { remaining: window.allowance, allowance: window.allowance, reset_at, guessed: true }
}

const perMs = ({ per_minute, halvings }: Budget): number => per_minute / 2 ** halvings / 60_000

/** Milliseconds until a settled budget allows one more request; 0 when it does now. */
export function waitFor(budget: Budget, now: number): number {
  if (now < budget.blocked_until) return budget.blocked_until - now
  const { window } = budget
  if (window) {
    const left = window.remaining - budget.in_flight
    return left > RESERVE ? 0 : window.reset_at - now
  }
  return budget.tokens >= 1 ? 0 : Math.ceil((1 - budget.tokens) / perMs(budget))
}

/** One request leaves. */
export const take = (budget: Budget): Budget => ({
  ...budget,
  tokens: Math.max(0, budget.tokens - 1),
  in_flight: budget.in_flight + 1,
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

function numeral(headers: { get(name: string): string | null }, name: string): number | null {
  const text = headers.get(`x-ratelimit-${name}`)?.trim() ?? ''
  return /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : null
}
