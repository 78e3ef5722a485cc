/** A seeded source of chance: the same seed draws the same values in the same order. */
export type Chance = {
  /** In [0, 1). */
  fraction(): number
  /** From `least` to `most`, both included. */
  whole(least: number, most: number): number
  /** One of a list that is not empty. */
  pick<T>(from: readonly T[]): T
  /** True with the given probability. */
  odds(probability: number): boolean
  /** A waiting time with the given mean, as between independent events. */
  wait(mean: number): number
  /** Characters of `alphabet`. */
  text(length: number, alphabet?: string): string
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789'

/** Mulberry32: thirty-two bits of state are plenty for a make-believe forum. */
export function createChance(seed: number): Chance {
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
    if (found === undefined) throw new RangeError('nothing to pick from')
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
