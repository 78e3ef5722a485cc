/** Words that occur nowhere else: a fixed beginning, so that one pass over a file finds all of them, and twelve letters. */
export const MARK = 'qzxj'
const LETTERS = 12
export const WORD_LENGTH = MARK.length + LETTERS

/** A generator of the same numbers from 0 to 1 for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

export function between(random: () => number, least: number, most: number): number {
  return least + Math.floor(random() * (most - least + 1))
}

export function pick<T>(random: () => number, list: readonly T[]): T {
  const chosen = list[Math.floor(random() * list.length)]
  if (chosen === undefined) throw new RangeError('nothing to pick from')
  return chosen
}

export function uniqueWord(random: () => number): string {
  let word = MARK
  for (let at = 0; at < LETTERS; at += 1)
    word += String.fromCharCode(97 + Math.floor(random() * 26))
  return word
}
