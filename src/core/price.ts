/** What a call costs, by kind of call. Prices themselves are configuration (`[billing.prices]`). */
export type Tier = 'read' | 'deep_search' | 'vote' | 'write' | 'dm'

/** Millionths of a dollar per call. */
export type PriceMicros = Readonly<Record<Tier, number>>

/** Millionths of a dollar as dollars, as JSON carries them: at most six decimals. */
export const toUsd = (micros: number): number => micros / 1e6
