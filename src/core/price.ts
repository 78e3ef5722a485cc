/** What a call costs, by kind of call. Prices themselves are configuration (`[billing.prices]`). */
export const TIERS = ['read', 'deep_search', 'vote', 'write', 'dm'] as const
export type Tier = (typeof TIERS)[number]

/** Millionths of a dollar per call. */
export type PriceMicros = Readonly<Record<Tier, number>>
