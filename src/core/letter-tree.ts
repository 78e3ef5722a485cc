/**
 * A tree of letters, in one row of numbers: a million of them are nothing to a garbage collector. A node is four numbers,
 * and known by where they begin: to look at one is to fetch one line of memory. The root is 0.
 */

import { withRoom } from './room.ts'

/** A node with more children than this finds them by a table. */
const CHAIN_MAX = 4
/** How many letters ASCII has. */
export const ASCII = 128
/** Where in a table each of the common letters has its place, from 1; all others are in a chain that begins at 0. */
export const PLACES = new Uint8Array(ASCII)
const COMMON = "abcdefghijklmnopqrstuvwxyz0123456789 -'."
for (let i = 0; i < COMMON.length; i++) PLACES[COMMON.charCodeAt(i)] = i + 1
/** Whole nodes long, so that no node lies across two lines of memory. */
const TABLE = Math.ceil((COMMON.length + 1) / 4) * 4

/** Of a node's numbers: its letter, and in the upper half whatever its owner puts there. */
export const LETTER = 0
/** The next child of the same parent. */
export const NEXT = 1
/** What is below it: the first of a chain of children, a table of them, or what its owner puts there; which, in the lowest bits. */
export const BELOW = 2
/** Its owner's. */
export const END = 3
const NODE = 4
/** That what is below is a table. */
export const TABLED = 1
/** The lowest bits of a number, which say of which kind the rest of it is. */
export const KIND = 3
/** How many bits these are. */
export const BITS = 2
/** The half of a number in which its letter stands. */
export const LOW = 0xffff

/** Letters below letters. */
export type LetterTree = {
  /** All of its numbers; others once it has grown. */
  cells(): Int32Array
  get(node: number, part: number): number
  set(node: number, part: number, to: number): void
  /** The child with this letter; 0 when there is none. */
  child(node: number, code: number): number
  /** Makes a child with this letter, which must not be there. */
  grow(parent: number, code: number): number
}

/** A root and nothing below it. */
export function createLetterTree(): LetterTree {
  let cells = new Int32Array(64 * NODE)
  let made = NODE

  /** Room for so many numbers, all 0. */
  function allot(size: number): number {
    const at = made
    made += size
    if (made > cells.length) {
      const longer = new Int32Array(withRoom(made))
      longer.set(cells)
      cells = longer
    }
    return at
  }

  const get = (node: number, part: number): number => cells[node + part] ?? 0
  const set = (node: number, part: number, to: number): void => void (cells[node + part] = to)

  /** Where a node's chain begins in which a child of this letter would be; 0 when there is none. */
  function chainFor(node: number, place: number): number {
    const below = get(node, BELOW)
    return (below & KIND) === TABLED ? get(below >> BITS, place) : below >> BITS
  }

  function child(node: number, code: number): number {
    let at = chainFor(node, code < ASCII ? (PLACES[code] ?? 0) : 0)
    while (at !== 0 && (get(at, LETTER) & LOW) !== code) at = get(at, NEXT)
    return at
  }

  function make(code: number): number {
    const node = allot(NODE)
    set(node, LETTER, code)
    return node
  }

  const placeOf = (node: number): number => PLACES[get(node, LETTER) & LOW] ?? 0

  /** Lets a chain of a node, that of this place, begin with another child, or none. */
  function begin(parent: number, place: number, node: number): void {
    const below = get(parent, BELOW)
    if ((below & KIND) === TABLED) set(below >> BITS, place, node)
    else set(parent, BELOW, node << BITS)
  }

  function put(parent: number, node: number): void {
    const place = placeOf(node)
    set(node, NEXT, chainFor(parent, place))
    begin(parent, place, node)
  }

  function chain(from: number): number[] {
    const found: number[] = []
    for (let at = from; at > 0; at = get(at, NEXT)) found.push(at)
    return found
  }

  /** How many children a node has in a chain of its own; 0 when they are in a table. */
  function chained(node: number): number {
    const below = get(node, BELOW)
    let length = 0
    if ((below & KIND) === TABLED) return length
    for (let at = below >> BITS; at !== 0; at = get(at, NEXT)) length += 1
    return length
  }

  function grow(parent: number, code: number): number {
    const node = make(code)
    if (chained(parent) >= CHAIN_MAX) {
      const siblings = chain(get(parent, BELOW) >> BITS)
      const table = allot(TABLE)
      set(parent, BELOW, (table << BITS) | TABLED)
      for (const it of siblings) put(parent, it)
    }
    put(parent, node)
    return node
  }

  return { cells: () => cells, get, set, child, grow }
}
