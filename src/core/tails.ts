/**
 * What is left of words once they differ from all others, side by side and known by where it begins: a string of its own
 * for each of a hundred thousand would take more room than its letters, and be a burden to the garbage collector.
 */
export type Tails = {
  /** Keeps the letters of a word from `at` on, perhaps none. */
  keep(word: string, at: number): number
  /** Takes a tail away. Returns its letters. */
  take(tail: number): string
  /** Where in a text a tail ends that begins at `at`; 0 when it does not stand there. */
  behind(text: string, at: number, tail: number): number
}

/** How many letters it has stands before them, in two numbers. */
const HEAD = 2
const BYTE = 0xff
const GROWTH = 1.5

/** No tails yet. */
export function createTails(): Tails {
  // Bytes, until a letter comes that is none.
  let units: Uint8Array | Uint16Array = new Uint8Array(64)
  let made = 0
  /** Those that were taken away, by how many letters they had. */
  const freed = new Map<number, number[]>()

  function makeRoom(wide: boolean): void {
    const widens = wide && units instanceof Uint8Array
    if (made <= units.length && !widens) return
    const size = made > units.length ? Math.ceil(made * GROWTH) : units.length
    const larger =
      units instanceof Uint8Array && !wide ? new Uint8Array(size) : new Uint16Array(size)
    larger.set(units)
    units = larger
  }

  const lengthOf = (tail: number): number => (units[tail] ?? 0) | ((units[tail + 1] ?? 0) << 8)

  return {
    keep(word, at) {
      const length = word.length - at
      const codes = Array.from({ length }, (_, i) => word.charCodeAt(at + i))
      let tail = freed.get(length)?.pop()
      if (tail === undefined) {
        tail = made
        made += HEAD + length
      }
      makeRoom(codes.some((it) => it > BYTE))
      units.set([length & BYTE, length >> 8, ...codes], tail)
      return tail
    },

    take(tail) {
      const length = lengthOf(tail)
      const list = freed.get(length)
      if (list === undefined) freed.set(length, [tail])
      else list.push(tail)
      return String.fromCharCode(...units.subarray(tail + HEAD, tail + HEAD + length))
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
