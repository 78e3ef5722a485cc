import type { Use } from './platform.ts'

/**
 * What reads and polls are each sure of, as arithmetic on (state, now). A fifth of what a pair of eyes may ask is kept
 * for either; all the rest, and what the other has not asked for lately, goes to whoever comes.
 */
export type Shares = Readonly<Record<Use, Share>>

type Share = Readonly<{
  /** When it last wanted to ask; null: not yet. Whoever does not ask has nothing kept. */
  asked_at: number | null
  /** Requests of the platform's present window. */
  spent: number
  /** What is left of its part of our own bucket. */
  claim: number
}>

const SHARE = 0.2
/** How long after its last wish something is still kept for a use. */
const INTEREST_MS = 600_000

const FRESH: Share = { asked_at: null, spent: 0, claim: 0 }
/** Shares of which nothing was used. */
export const newShares = (): Shares => ({ read: FRESH, poll: FRESH })

/** The use that the rest of a budget is for. */
export const otherUse = (use: Use): Use => (use === 'read' ? 'poll' : 'read')

const mapped = (shares: Shares, change: (share: Share) => Share): Shares => ({
  read: change(shares.read),
  poll: change(shares.poll),
})

/** Claims grow with the bucket, each at its share of the rate, up to its share of what the bucket holds. */
export const grown = (shares: Shares, dripped: number, capacity: number): Shares =>
  mapped(shares, (share) => ({
    ...share,
    claim: Math.min(keptOf(capacity), share.claim + SHARE * dripped),
  }))

/** A new window of the platform: nothing is spent of it. */
export const renewed = (shares: Shares): Shares =>
  mapped(shares, (share) => ({ ...share, spent: 0 }))

/** A use wants to ask: from now on something is kept for it. */
export function wished(shares: Shares, use: Use, now: number, tokens: number): Shares {
  const { spent, claim } = shares[use]
  // Who comes back has a claim on what is there, not on what others have had meanwhile.
  const mine = isInterested(shares[use], now) ? claim : keptOf(tokens)
  return { ...shares, [use]: { asked_at: now, spent, claim: mine } }
}

/** One request of a use leaves. */
export function spentBy(shares: Shares, use: Use): Shares {
  const { claim, spent, ...rest } = shares[use]
  return { ...shares, [use]: { ...rest, claim: Math.max(0, claim - 1), spent: spent + 1 } }
}

const isInterested = ({ asked_at }: Share, now: number): boolean =>
  asked_at !== null && now - asked_at < INTEREST_MS

/** Our own bucket was emptied, and what was kept in it. */
export const emptied = (shares: Shares): Shares =>
  mapped(shares, (share) => ({ ...share, claim: 0 }))

/** How long our own bucket, dripping at `per_ms`, needs until a use has a claim on `count` tokens; it may be never. */
export function untilClaim(
  shares: Shares,
  use: Use,
  { count, capacity, per_ms }: { count: number; capacity: number; per_ms: number },
): number {
  if (count > keptOf(capacity)) return Number.POSITIVE_INFINITY
  return Math.max(0, (count - shares[use].claim) / (SHARE * per_ms))
}

/** Whole requests only: of a handful nothing is kept, or nobody could ask at all. */
const keptOf = (capacity: number): number => Math.floor(SHARE * capacity)

/** How many tokens of our own bucket are kept for a use. */
export const claimOf = (shares: Shares, use: Use, now: number): number =>
  isInterested(shares[use], now) ? shares[use].claim : 0

/** How many requests of the platform's window are kept for a use: its share of the time that is left, less what it had. */
export function dueTo(
  shares: Shares,
  use: Use,
  now: number,
  { allowance, left_ms, window_ms }: { allowance: number; left_ms: number; window_ms: number },
): number {
  if (!isInterested(shares[use], now)) return 0
  const left = Math.max(0, Math.min(1, left_ms / window_ms))
  const kept = SHARE * allowance
  return Math.max(0, Math.floor(Math.min(kept * left, kept - shares[use].spent)))
}
