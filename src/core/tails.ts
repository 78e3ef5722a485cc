import { withRoom } from './room.ts'

/**
 * What is left of words once they differ from all others, side by side and known by where it begins: a string of its own
 * for each of a hundred thousand would take more room than its letters, and be a burden to the garbage collector.
 */
export type Tails = {
  /** Keeps the letters of a word from `at` on, perhaps none. */
  keep(word: string, at: number): number
  /** Its first letter; -1 when it has none. */
  firstOf(tail: number): number
  /** Takes the first letter of a tail away. Returns where it is from now on. */
  shorten(tail: number): number
  /** Where in a text a tail ends that begins at `at`; 0 when it does not stand there. */
  behind(text: string, at: number, tail: number): number
}

/** How many letters it has stands before them, in two numbers. */
const HEAD = 2
const BYTE = 0xff

/** No tails yet. */
export function createTails(): Tails {
  // Bytes, until a letter comes that is none.
  let units: Uint8Array | Uint16Array = new Uint8Array(64)
  let made = 0

  function makeRoom(wide: boolean): void {
    const widens = wide && units instanceof Uint8Array
    if (made <= units.length && !widens) return
    const size = made > units.length ? withRoom(made) : units.length
    const larger =
      units instanceof Uint8Array && !wide ? new Uint8Array(size) : new Uint16Array(size)
    larger.set(units)
    units = larger
  }

  function setLength(tail: number, length: number): void {
    units[tail] = length & BYTE
    units[tail + 1] = length >> 8
  }

  const lengthOf = (tail: number): number => (units[tail] ?? 0) | ((units[tail + 1] ?? 0) << 8)

  return {
    keep(word, at) {
      let wide = false
      for (let i = at; i < word.length; i++) if (word.charCodeAt(i) > BYTE) wide = true
      const tail = made
      const length = word.length - at
      made += HEAD + length
      makeRoom(wide)
      setLength(tail, length)
      for (let i = 0; i < length; i++) units[tail + HEAD + i] = word.charCodeAt(at + i)
      return tail
    },

    firstOf: (tail) => (lengthOf(tail) === 0 ? -1 : (units[tail + HEAD] ?? 0)),

    shorten(tail) {
      // Its length takes the place of the letter.
      const length = lengthOf(tail) - 1
      setLength(tail + 1, length)
      return tail + 1
    },

    behind(text, at, tail) {
      const length = lengthOf(tail)
      if (at + length > text.length) return 0
      for (let i = 0; i < length; i++)
        if (text.charCodeAt(at + i) !== units[tail + HEAD + i]) return 0
      return at + length
    },
  }
}
