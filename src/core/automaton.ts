/**
 * Many words looked for in one text at once. A tree of letters, entered wherever a word of it may begin: for most,
 * where a word of the text begins; for those that may stand within words (other scripts, signs, substrings) at every
 * letter. Nothing in it is ever rebuilt, so that a word can come between two texts at the cost of its letters.
 *
 * Aho and Corasick's automaton would spare it from reading letters again after a part that fits, by links between the
 * ends of words. But where it is entered, most words of a text fall out after three or four letters, none is followed
 * further than the longest term, and those links have to be made anew for all words when another one comes.
 */

import {
  ASCII,
  BELOW,
  BITS,
  createLetterTree,
  END,
  KIND,
  LETTER,
  LOW,
  NEXT,
  PLACES,
  TABLED,
} from './letter-tree.ts'
import { createTails } from './tails.ts'

/** Where a word may begin: where one of the text does, or anywhere in it. */
export type Begins = 'word' | 'anywhere'

/** Finds all of its words in a text in one pass. */
export type Automaton = {
  /**
   * Looks for `word`, not empty, from now on, and tells `entry` (from 1) of it; when it is not `open`, only where no
   * ASCII letter or digit follows. One entry a word, and another one if it is open too.
   */
  add(word: string, open: boolean, entry: number): void
  /** The entry of a word; 0 when it is not looked for. */
  find(word: string, open: boolean): number
  /** Tells the entries of all words that occur in a text, once for each occurrence. */
  scan(text: string, found: (entry: number) => void): void
}

/** ASCII letters and digits, which always cling to a neighbour of their kind. */
const JOINS = new Uint8Array(ASCII)
for (const char of 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789')
  JOINS[char.charCodeAt(0)] = 1

// What stands in a node. Where a single word goes on there are no nodes below, but the letters that are left of it, its
// tail: the first of them in the upper half of LETTER, the others as what is BELOW, of this kind.
const TAILED = 2
// END is the entry of the word that ends here, or with its tail; in the lowest bits whether it must not go on, may, or either.
const CLOSED = 1
const OPEN = 2

/** An empty automaton. */
export function createAutomaton(begins: Begins): Automaton {
  const by_word = begins === 'word'
  const tree = createLetterTree()
  const { get, set, child, grow } = tree
  const tails = createTails()
  /** Where one word may go on and the same one may not: the entry of the first by that of the second. */
  const opened = new Map<number, number>()

  const isTailed = (node: number): boolean => (get(node, BELOW) & KIND) === TAILED

  /** Hangs the letters of a word that are left from `at` on below a node. */
  function hang(node: number, word: string, at: number): void {
    set(node, LETTER, (get(node, LETTER) & LOW) | (word.charCodeAt(at) << 16))
    set(node, BELOW, (tails.keep(word, at + 1) << BITS) | TAILED)
  }

  /** Moves what hangs below a node one letter down, to a child of it. */
  function lower(node: number): void {
    const [end, tail] = [get(node, END), get(node, BELOW) >> BITS]
    const code = get(node, LETTER) >>> 16
    set(node, BELOW, 0)
    set(node, END, 0)
    const below = grow(node, code)
    set(below, END, end)
    const next = tails.firstOf(tail)
    if (next === -1) return
    set(below, LETTER, code | (next << 16))
    set(below, BELOW, (tails.shorten(tail) << BITS) | TAILED)
  }

  /** Lets a word end at a node once the letters from `at` on have passed. */
  function settle(node: number, word: string, at: number, end: number): void {
    if (at < word.length) hang(node, word, at)
    set(node, END, end)
  }

  /** Lets a word end where another one, but for whether it may go on, may end already. */
  function join(node: number, entry: number, open: boolean): void {
    const end = get(node, END)
    const other = end >> BITS
    if (end !== 0) opened.set(open ? other : entry, open ? entry : other)
    const kind = (end & KIND) | (open ? OPEN : CLOSED)
    set(node, END, ((end !== 0 && open ? other : entry) << BITS) | kind)
  }

  /** Where in a text a node's tail ends that begins at `at`; 0 when it does not stand there. */
  function endOfTail(text: string, at: number, node: number): number {
    if (get(node, LETTER) >>> 16 !== text.charCodeAt(at)) return 0
    return tails.behind(text, at + 1, get(node, BELOW) >> BITS)
  }

  /** The node where a word ends, with or without its tail; 0 when it does not. */
  function endOf(word: string, open: boolean): number {
    for (let at = 0, node = 0; ; at++) {
      const tailing = isTailed(node)
      if (tailing || at === word.length) {
        const ends = (get(node, END) & (open ? OPEN : CLOSED)) !== 0
        const same = !tailing || endOfTail(word, at, node) === word.length
        return ends && same ? node : 0
      }
      node = child(node, word.charCodeAt(at))
      if (node === 0) return 0
    }
  }

  /** The entry of a word that ends at a node. */
  function entryAt(node: number, open: boolean): number {
    const end = get(node, END)
    const entry = end >> BITS
    return open && (end & CLOSED) !== 0 ? (opened.get(entry) ?? 0) : entry
  }

  return {
    add(word, open, entry) {
      for (let at = 0, node = 0; ; at++) {
        // It has to share the way from here on.
        if (isTailed(node)) lower(node)
        if (at === word.length) return join(node, entry, open)
        const code = word.charCodeAt(at)
        const next = child(node, code)
        if (next === 0)
          return settle(grow(node, code), word, at + 1, (entry << BITS) | (open ? OPEN : CLOSED))
        node = next
      }
    },

    find(word, open) {
      const node = endOf(word, open)
      return node === 0 ? 0 : entryAt(node, open)
    },

    // This is where the time goes: nothing is called on the way that can be done without.
    scan(text, found) {
      const all = tree.cells()
      if (all[BELOW] === 0) return
      const { length } = text
      let inside = false
      for (let from = 0; from < length; from++) {
        let code = text.charCodeAt(from)
        const within = inside
        inside = code < ASCII && JOINS[code] === 1
        if (by_word && within) continue
        for (let at = from, below = all[BELOW] ?? 0; at < length;) {
          let node = below >> BITS
          if ((below & KIND) === TABLED)
            node = all[node + (code < ASCII ? (PLACES[code] ?? 0) : 0)] ?? 0
          while (node !== 0 && ((all[node] ?? 0) & LOW) !== code) node = all[node + NEXT] ?? 0
          if (node === 0) break
          at++
          // Behind the end of the text stands what clings to nothing.
          code = at < length ? text.charCodeAt(at) : 0
          below = all[node + BELOW] ?? 0
          const end = all[node + END] ?? 0
          if ((below & KIND) === TAILED) {
            // The next letter is at hand; only where it fits is the tail fetched.
            if ((all[node] ?? 0) >>> 16 !== code) break
            at = tails.behind(text, at + 1, below >> BITS)
            if (at === 0) break
            code = at < length ? text.charCodeAt(at) : 0
            below = 0
          }
          if (end === 0) continue
          const closes = code >= ASCII || JOINS[code] === 0
          if ((end & CLOSED) !== 0 && closes) found(end >> BITS)
          if ((end & OPEN) !== 0)
            found((end & CLOSED) === 0 ? end >> BITS : (opened.get(end >> BITS) ?? 0))
        }
      }
    },
  }
}
