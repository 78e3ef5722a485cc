import { withRoom } from './room.ts'

/**
 * What is left of words once they differ from all others, side by side and known by where it begins: a string of its own
 * for each of a hundred thousand would take more room than its letters, and be a burden to the garbage collector.
 */
export type Tails = {
  /** Keeps the letters of a word from `at` on, perhaps none. */
  keep(word: string, at: number): number
  drop(tail: number): void
  /** Its first letter; -1 when it has none. */
  firstOf(tail: number): number
  /** Takes the first letter of a tail away. Returns where it is from now on. */
  shorten(tail: number): number
  /** Where in a text a tail ends that begins at `at`; 0 when it does not stand there. */
  behind(text: string, at: number, tail: number): number
}

/** How many letters it has stands before them, in two numbers. */
const HEAD = 2
/** No tail is here. */
const NONE = -1
const BYTE = 0xff
/** Every tail has room for so many letters: once it is taken away, which one went before it stands there. */
const ROOM_MIN = 2
/** Tails of up to so many letters take just their room, longer ones that of the next power of two. */
const EXACT_MAX = 32
/** How many sizes of room there are: a length is two bytes. */
const SIZES = EXACT_MAX + 16 + 1

/**
 * How many letters there is room for where a tail of this length stands. With a room for each length, what words left
 * that became longer and longer would never be taken again.
 */
const roomFor = (length: number): number =>
  length <= EXACT_MAX ? Math.max(length, ROOM_MIN) : 2 ** bitsOf(length)

/** Rooms by size. */
const sizeOf = (length: number): number =>
  length <= EXACT_MAX ? roomFor(length) : EXACT_MAX + bitsOf(length)

const bitsOf = (length: number): number => 32 - Math.clz32(length - 1)

/** No tails yet. */
export function createTails(): Tails {
  // Bytes, until a letter comes that is none.
  let units: Uint8Array | Uint16Array = new Uint8Array(64)
  let made = 0
  /** The last that was taken away of each size, and from there on the one before it; NONE at the end. */
  const freed = new Int32Array(SIZES).fill(NONE)

  function makeRoom(wide: boolean): void {
    const widens = wide && units instanceof Uint8Array
    if (made <= units.length && !widens) return
    const size = made > units.length ? withRoom(made) : units.length
    const larger =
      units instanceof Uint8Array && !wide ? new Uint8Array(size) : new Uint16Array(size)
    larger.set(units)
    units = larger
  }

  /** Room for so many letters, bytes unless they are `wide`. */
  function allot(length: number, wide: boolean): number {
    const size = sizeOf(length)
    let tail = freed[size] ?? NONE
    if (tail === NONE) {
      tail = made
      made += HEAD + roomFor(length)
    } else freed[size] = linkAt(tail)
    makeRoom(wide)
    units[tail] = length & BYTE
    units[tail + 1] = length >> 8
    return tail
  }

  function drop(tail: number): void {
    const size = sizeOf(lengthOf(tail))
    const before = freed[size] ?? NONE
    for (let i = 0; i < HEAD + ROOM_MIN; i++) units[tail + i] = (before >> (8 * i)) & BYTE
    freed[size] = tail
  }

  /** Which tail was taken away before this one: a number in four units, which are bytes as long as all of them are. */
  function linkAt(tail: number): number {
    let before = 0
    for (let i = 0; i < HEAD + ROOM_MIN; i++) before |= (units[tail + i] ?? 0) << (8 * i)
    return before
  }

  const lengthOf = (tail: number): number => (units[tail] ?? 0) | ((units[tail + 1] ?? 0) << 8)

  return {
    keep(word, at) {
      let wide = false
      for (let i = at; i < word.length; i++) if (word.charCodeAt(i) > BYTE) wide = true
      const length = word.length - at
      const tail = allot(length, wide)
      for (let i = 0; i < length; i++) units[tail + HEAD + i] = word.charCodeAt(at + i)
      return tail
    },

    drop,
    firstOf: (tail) => (lengthOf(tail) === 0 ? -1 : (units[tail + HEAD] ?? 0)),

    shorten(tail) {
      const length = lengthOf(tail) - 1
      const shorter = allot(length, false)
      const from = tail + HEAD + 1
      units.copyWithin(shorter + HEAD, from, from + length)
      drop(tail)
      return shorter
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
