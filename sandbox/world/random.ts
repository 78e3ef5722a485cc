/** Seeded random source: the same seed gives the same values in the same order. */
export type SeededRandom = {
  /** In [0, 1). */
  fraction(): number
  /** Integer from `least` to `most`, inclusive. */
  whole(least: number, most: number): number
  /** Random element of a list that is not empty. */
  pick<T>(from: readonly T[]): T
  /** True with the given probability. */
  odds(probability: number): boolean
  /** Random wait with the given mean, exponentially distributed. */
  wait(mean: number): number
  /** Random characters of `alphabet`. */
  text(length: number, alphabet?: string): string
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789'

/** Mulberry32: 32 bits of state are enough for a simulated forum. */
export function createSeededRandom(seed: number): SeededRandom {
  let state = seed >>> 0
  const fraction = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const whole = (least: number, most: number) => least + Math.floor(fraction() * (most - least + 1))
  const pick = <T>(from: readonly T[]): T => {
    const found = from[Math.floor(fraction() * from.length)]
    if (found === undefined) throw new RangeError('the list is empty')
    return found
  }
  return {
    fraction,
    whole,
    pick,
    odds: (probability) => fraction() < probability,
    wait: (mean) => -Math.log(1 - fraction()) * mean,
    text: (length, alphabet = LETTERS) =>
      Array.from({ length }, () => alphabet.charAt(whole(0, alphabet.length - 1))).join(''),
  }
}
