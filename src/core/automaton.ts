/**
 * Many words looked for in one text at once. A tree of letters, entered wherever a word of it may begin: for most,
 * where a word of the text begins; for those that may stand within words (other scripts, signs, substrings) at every
 * letter. Nothing in it is ever rebuilt, so that a word can come or go between two texts at the cost of its letters.
 *
 * Aho and Corasick's automaton would spare it from reading letters again after a part that fits, by links between the
 * ends of words. But where it is entered, most words of a text fall out after three or four letters, none is followed
 * further than the longest term, and those links have to be made anew for all words when one of them changes.
 */

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
const TABLE = COMMON.length + 1

// A node is six numbers in a row, and known by where they begin: to look at one is to fetch one line of memory.
/** Its letter, and in the upper half the next letter of the word that hangs below it. */
const LETTER = 0
/** The next child of the same parent. */
const NEXT = 1
/** The first child; or, below zero, where the table of its children is. */
const KIDS = 2
/** Entries whose word ends here: those that must not go on, those that may. */
const CLOSED = 3
const OPENED = 4
/** A node under which a single word hangs has no children: it names the word instead. Open ones are below zero. */
const HUNG = 5
const NODE = 6
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
  /** By entry. */
  const words: string[] = []

  /** Room for so many numbers, all 0. */
  function allot(size: number): number {
    const at = made
    made += size
    if (made > cells.length) {
      const longer = new Int32Array(Math.ceil(cells.length * GROWTH))
      longer.set(cells)
      cells = longer
    }
    return at
  }

  const get = (node: number, part: number): number => cells[node + part] ?? 0
  const set = (node: number, part: number, to: number): void => void (cells[node + part] = to)

  function child(node: number, code: number): number {
    let at = get(node, KIDS)
    if (at < 0) at = get(~at, code < ASCII ? (PLACES[code] ?? 0) : 0)
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

  function put(parent: number, node: number): void {
    const place = placeOf(node)
    const head = get(parent, KIDS)
    if (head >= 0) {
      set(node, NEXT, head)
      set(parent, KIDS, node)
    } else if (place > 0) set(~head, place, node)
    else {
      set(node, NEXT, get(~head, 0))
      set(~head, 0, node)
    }
  }

  function chain(from: number): number[] {
    const found: number[] = []
    for (let at = from; at > 0; at = get(at, NEXT)) found.push(at)
    return found
  }

  function grow(parent: number, code: number): number {
    const node = make(code)
    const siblings = chain(get(parent, KIDS))
    if (siblings.length >= CHAIN_MAX) {
      const table = freed_tables.pop() ?? allot(TABLE)
      cells.fill(0, table, table + TABLE)
      set(parent, KIDS, ~table)
      for (const it of siblings) put(parent, it)
    }
    put(parent, node)
    return node
  }

  /** Takes a child away from its parent. */
  function drop(parent: number, node: number): void {
    const place = placeOf(node)
    const head = get(parent, KIDS)
    if (head < 0 && place > 0) set(~head, place, 0)
    else {
      const rest = chain(head < 0 ? get(~head, 0) : head).filter((it) => it !== node)
      for (const [i, it] of rest.entries()) set(it, NEXT, rest[i + 1] ?? 0)
      if (head < 0) set(~head, 0, rest[0] ?? 0)
      else set(parent, KIDS, rest[0] ?? 0)
    }
    if (head < 0 && cells.subarray(~head, ~head + TABLE).every((it) => it === 0)) {
      freed_tables.push(~head)
      set(parent, KIDS, 0)
    }
    freed.push(node)
    count -= 1
  }

  /** Puts an entry where its word ends, or hangs it there when letters of it are still to come, from `at` on. */
  function settle(node: number, word: string, at: number, open: boolean, entry: number): void {
    if (at < word.length) {
      set(node, HUNG, open ? -entry : entry)
      set(node, LETTER, (get(node, LETTER) & LOW) | (word.charCodeAt(at) << 16))
    } else set(node, open ? OPENED : CLOSED, entry)
  }

  /** Nodes from the root to where a word stands or hangs; null when it does neither. */
  function pathOf(word: string, open: boolean): number[] | null {
    const path = [0]
    for (let at = 0, node = 0; ; at++) {
      const tail = get(node, HUNG)
      if (tail !== 0 && tail < 0 === open && words[Math.abs(tail)] === word) return path
      if (at === word.length) return get(node, open ? OPENED : CLOSED) === 0 ? null : path
      node = child(node, word.charCodeAt(at))
      if (node === 0) return null
      path.push(node)
    }
  }

  return {
    add(word, open, entry) {
      words[entry] = word
      for (let at = 0, node = 0; ; at++) {
        const tail = get(node, HUNG)
        if (tail !== 0) {
          // It has to share the way from here on: it moves one letter down.
          const other = words[Math.abs(tail)] ?? ''
          set(node, HUNG, 0)
          const below = grow(node, other.charCodeAt(at))
          settle(below, other, at + 1, tail < 0, Math.abs(tail))
        }
        if (at === word.length) return settle(node, word, at, open, entry)
        const code = word.charCodeAt(at)
        const next = child(node, code)
        if (next === 0) return settle(grow(node, code), word, at + 1, open, entry)
        node = next
      }
    },

    remove(word, open) {
      const path = pathOf(word, open)
      const node = path?.at(-1)
      if (path === null || node === undefined) return
      const tail = get(node, HUNG)
      const end = tail !== 0 ? HUNG : open ? OPENED : CLOSED
      words[Math.abs(get(node, end))] = ''
      set(node, end, 0)
      for (let i = path.length - 1; i > 0; i--) {
        const it = path[i] ?? 0
        if ([KIDS, CLOSED, OPENED, HUNG].some((part) => get(it, part) !== 0)) return
        drop(path[i - 1] ?? 0, it)
      }
    },

    find(word, open) {
      const node = pathOf(word, open)?.at(-1)
      if (node === undefined) return 0
      const tail = get(node, HUNG)
      return tail === 0 ? get(node, open ? OPENED : CLOSED) : Math.abs(tail)
    },

    // This is where the time goes: nothing is called on the way that can be done without.
    scan(text, found) {
      if (cells[KIDS] === 0) return
      // What a loop keeps at hand need not be looked up at every letter.
      const all = cells
      const { length } = text
      let inside = false
      for (let from = 0; from < length; from++) {
        let code = text.charCodeAt(from)
        const within = inside
        inside = code < ASCII && JOINS[code] === 1
        if (by_word && within) continue
        for (let at = from, node = 0; at < length;) {
          let kid = all[node + KIDS] ?? 0
          if (kid < 0) kid = all[~kid + (code < ASCII ? (PLACES[code] ?? 0) : 0)] ?? 0
          while (kid !== 0 && ((all[kid] ?? 0) & LOW) !== code) kid = all[kid + NEXT] ?? 0
          if (kid === 0) break
          node = kid
          at++
          // Behind the end of the text stands what clings to nothing.
          code = at < length ? text.charCodeAt(at) : 0
          const open = all[node + OPENED] ?? 0
          if (open !== 0) found(open)
          const whole = all[node + CLOSED] ?? 0
          if (whole !== 0 && (code >= ASCII || JOINS[code] === 0)) found(whole)
          const tail = all[node + HUNG] ?? 0
          if (tail === 0) continue
          // The next letter is at hand; only where it fits is the word fetched.
          if ((all[node] ?? 0) >>> 16 !== code) break
          const entry = Math.abs(tail)
          const word = words[entry] ?? ''
          if (!text.startsWith(word, from)) break
          const end = from + word.length
          const next = end < length ? text.charCodeAt(end) : 0
          if (tail < 0 || next >= ASCII || JOINS[next] === 0) found(entry)
          break
        }
      }
    },

    nodes: () => count,
  }
}
