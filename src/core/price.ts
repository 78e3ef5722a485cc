/** What a call costs, by kind of call. Prices themselves are configuration (`[billing.prices]`). */
export type Tier = 'read' | 'deep_search' | 'vote' | 'write' | 'dm'

/** Millionths of a dollar per call. */
export type PriceMicros = Readonly<Record<Tier, number>>
