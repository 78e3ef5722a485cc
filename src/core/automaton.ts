/**
 * Many words looked for in one text at once. A tree of letters, entered wherever a word of it may begin: for most,
 * where a word of the text begins; for those that may stand within words (other scripts, signs, substrings) at every
 * letter. Nothing in it is ever rebuilt, so that a word can come or go between two texts at the cost of its letters.
 *
 * Aho and Corasick's automaton would spare it from reading letters again after a part that fits, by links between the
 * ends of words. But where it is entered, most words of a text fall out after three or four letters, none is followed
 * further than the longest term, and those links have to be made anew for all words when one of them changes.
 */

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
  remove(word: string, open: boolean): void
  /** The entry of a word; 0 when it is not looked for. */
  find(word: string, open: boolean): number
  /** Tells the entries of all words that occur in a text, once for each occurrence. */
  scan(text: string, found: (entry: number) => void): void
  /** How many nodes its tree has. */
  nodes(): number
}

/** A node with more children than this finds them by a table. */
const CHAIN_MAX = 4
const ASCII = 128
/** ASCII letters and digits, which always cling to a neighbour of their kind. */
const JOINS = new Uint8Array(ASCII)
for (const char of 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789')
  JOINS[char.charCodeAt(0)] = 1
/** Where in a table each of the common letters has its place, from 1; all others are in a chain that begins at 0. */
const PLACES = new Uint8Array(ASCII)
const COMMON = "abcdefghijklmnopqrstuvwxyz0123456789 -'."
for (let i = 0; i < COMMON.length; i++) PLACES[COMMON.charCodeAt(i)] = i + 1
/** Whole nodes long, so that no node lies across two lines of memory. */
const TABLE = Math.ceil((COMMON.length + 1) / 4) * 4

// A node is four numbers in a row, and known by where they begin: to look at one is to fetch one line of memory.
/** Its letter, and in the upper half the first letter of its tail. */
const LETTER = 0
/** The next child of the same parent. */
const NEXT = 1
/** What is below it: the first of a chain of children, a table of them, or a tail; which of these, in the lowest bits. */
const BELOW = 2
const TABLED = 1
/** Under a node where a single word goes on there are no nodes but the letters that are left of it: its tail. */
const TAILED = 2
/** The entry of the word that ends here, or with its tail; in the lowest bits whether it must not go on, may, or either. */
const END = 3
const CLOSED = 1
const OPEN = 2
const NODE = 4
const KIND = 3
const BITS = 2
const LOW = 0xffff
/** More would leave more unused, less would copy all of it more often. */
const GROWTH = 1.5

/** An empty automaton. */
export function createAutomaton(begins: Begins): Automaton {
  const by_word = begins === 'word'
  // Nodes and tables are numbers in a typed array: a million of them are nothing to a garbage collector. 0 is the root.
  let cells = new Int32Array(64 * NODE)
  let made = NODE
  let count = 0
  const freed: number[] = []
  const freed_tables: number[] = []
  const tails = createTails()
  /** Where one word may go on and the same one may not: the entry of the first by that of the second. */
  const opened = new Map<number, number>()

  /** Room for so many numbers, all 0. */
  function allot(size: number): number {
    const at = made
    made += size
    if (made > cells.length) {
      const longer = new Int32Array(Math.ceil(made * GROWTH))
      longer.set(cells)
      cells = longer
    }
    return at
  }

  const get = (node: number, part: number): number => cells[node + part] ?? 0
  const set = (node: number, part: number, to: number): void => void (cells[node + part] = to)
  const isTailed = (node: number): boolean => (get(node, BELOW) & KIND) === TAILED

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
    const node = freed.pop() ?? allot(NODE)
    cells.fill(0, node, node + NODE)
    set(node, LETTER, code)
    count += 1
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
      const table = freed_tables.pop() ?? allot(TABLE)
      cells.fill(0, table, table + TABLE)
      set(parent, BELOW, (table << BITS) | TABLED)
      for (const it of siblings) put(parent, it)
    }
    put(parent, node)
    return node
  }

  /** Takes a child away from its parent. */
  function drop(parent: number, node: number): void {
    const place = placeOf(node)
    const rest = chain(chainFor(parent, place)).filter((it) => it !== node)
    for (const [i, it] of rest.entries()) set(it, NEXT, rest[i + 1] ?? 0)
    begin(parent, place, rest[0] ?? 0)
    const below = get(parent, BELOW)
    const table = below >> BITS
    if ((below & KIND) === TABLED && cells.subarray(table, table + TABLE).every((it) => it === 0)) {
      freed_tables.push(table)
      set(parent, BELOW, 0)
    }
    freed.push(node)
    count -= 1
  }

  /** Hangs the letters of a word that are left from `at` on below a node. */
  function hang(node: number, word: string, at: number): void {
    set(node, LETTER, (get(node, LETTER) & LOW) | (word.charCodeAt(at) << 16))
    set(node, BELOW, (tails.keep(word, at + 1) << BITS) | TAILED)
  }

  /** Moves what hangs below a node one letter down, to a child of it. */
  function lower(node: number): void {
    const [end, tail] = [get(node, END), get(node, BELOW) >> BITS]
    const code = get(node, LETTER) >>> 16
    set(node, LETTER, get(node, LETTER) & LOW)
    set(node, BELOW, 0)
    set(node, END, 0)
    const below = grow(node, code)
    set(below, END, end)
    const next = tails.firstOf(tail)
    if (next === -1) return tails.drop(tail)
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
    if (get(node, LETTER) >>> 16 !== (at < text.length ? text.charCodeAt(at) : 0)) return 0
    return tails.behind(text, at + 1, get(node, BELOW) >> BITS)
  }

  /** The node where a word ends, with or without its tail, 0 when it does not; `path` is told every node on the way. */
  function endOf(word: string, open: boolean, path?: number[]): number {
    for (let at = 0, node = 0; ; at++) {
      path?.push(node)
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

    remove(word, open) {
      const path: number[] = []
      const node = endOf(word, open, path)
      if (node === 0) return
      const other = get(node, END) & (open ? CLOSED : OPEN)
      const left = other === 0 ? 0 : entryAt(node, !open)
      if (other !== 0) opened.delete(open ? left : entryAt(node, open))
      set(node, END, (left << BITS) | other)
      if (isTailed(node)) {
        tails.drop(get(node, BELOW) >> BITS)
        set(node, BELOW, 0)
      }
      for (let i = path.length - 1; i > 0; i--) {
        const it = path[i] ?? 0
        if (get(it, BELOW) !== 0 || get(it, END) !== 0) return
        drop(path[i - 1] ?? 0, it)
      }
    },

    find(word, open) {
      const node = endOf(word, open)
      return node === 0 ? 0 : entryAt(node, open)
    },

    // This is where the time goes: nothing is called on the way that can be done without.
    scan(text, found) {
      if (cells[BELOW] === 0) return
      // What a loop keeps at hand need not be looked up at every letter.
      const all = cells
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

    nodes: () => count,
  }
}
