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

/** An empty automaton. */
export function createAutomaton(begins: Begins): Automaton {
  const by_word = begins === 'word'
  // Nodes are numbers in typed arrays: a million of them are nothing to a garbage collector. 0 is the root.
  let letters = new Uint16Array(64)
  /** The next child of the same parent. */
  let after = new Int32Array(64)
  /** The first child; or, below zero, which table has the children. */
  let kids = new Int32Array(64)
  /** Entries whose word ends here: those that must not go on, those that may. */
  let closed = new Int32Array(64)
  let opened = new Int32Array(64)
  // A node under which a single word hangs has no children: it names the word instead. Open ones are below zero.
  let hung = new Int32Array(64)
  let made = 1
  const freed: number[] = []
  const tables: Int32Array[] = []
  const freed_tables: number[] = []
  /** By entry. */
  const words: string[] = []

  function child(node: number, code: number): number {
    let at = kids[node] ?? 0
    if (at < 0) at = tables[~at]?.[code < ASCII ? (PLACES[code] ?? 0) : 0] ?? 0
    while (at !== 0 && letters[at] !== code) at = after[at] ?? 0
    return at
  }

  function make(code: number): number {
    const node = freed.pop() ?? made++
    if (node >= letters.length) {
      const length = letters.length * 2
      letters = copied(letters, new Uint16Array(length))
      after = copied(after, new Int32Array(length))
      kids = copied(kids, new Int32Array(length))
      closed = copied(closed, new Int32Array(length))
      opened = copied(opened, new Int32Array(length))
      hung = copied(hung, new Int32Array(length))
    }
    letters[node] = code
    after[node] = kids[node] = closed[node] = opened[node] = hung[node] = 0
    return node
  }

  const placeOf = (node: number): number => PLACES[letters[node] ?? 0] ?? 0

  function hang(parent: number, node: number): void {
    const place = placeOf(node)
    const head = kids[parent] ?? 0
    const table = head < 0 ? tables[~head] : undefined
    if (table === undefined) {
      after[node] = head
      kids[parent] = node
    } else if (place > 0) table[place] = node
    else {
      after[node] = table[0] ?? 0
      table[0] = node
    }
  }

  function chain(from: number): number[] {
    const found: number[] = []
    for (let at = from; at > 0; at = after[at] ?? 0) found.push(at)
    return found
  }

  function grow(parent: number, code: number): number {
    const node = make(code)
    const siblings = chain(kids[parent] ?? 0)
    if (siblings.length >= CHAIN_MAX) {
      const at = freed_tables.pop() ?? tables.length
      tables[at] = new Int32Array(TABLE)
      kids[parent] = ~at
      for (const it of siblings) hang(parent, it)
    }
    hang(parent, node)
    return node
  }

  /** Takes a child away from its parent. */
  function drop(parent: number, node: number): void {
    const place = placeOf(node)
    const head = kids[parent] ?? 0
    const table = head < 0 ? tables[~head] : undefined
    if (table !== undefined && place > 0) table[place] = 0
    else {
      const rest = chain(table === undefined ? head : (table[0] ?? 0)).filter((it) => it !== node)
      for (const [i, it] of rest.entries()) after[it] = rest[i + 1] ?? 0
      if (table === undefined) kids[parent] = rest[0] ?? 0
      else table[0] = rest[0] ?? 0
    }
    if (table?.every((it) => it === 0)) {
      freed_tables.push(~head)
      kids[parent] = 0
    }
    freed.push(node)
  }

  /** Puts an entry where its word ends, or hangs it there when `rest` of its letters are still to come. */
  function settle(node: number, rest: number, open: boolean, entry: number): void {
    if (rest > 0) hung[node] = open ? -entry : entry
    else if (open) opened[node] = entry
    else closed[node] = entry
  }

  /** Nodes from the root to where a word stands or hangs; null when it does neither. */
  function pathOf(word: string, open: boolean): number[] | null {
    const path = [0]
    for (let at = 0, node = 0; ; at++) {
      const tail = hung[node] ?? 0
      if (tail !== 0 && tail < 0 === open && words[Math.abs(tail)] === word) return path
      if (at === word.length) return (open ? opened : closed)[node] === 0 ? null : path
      node = child(node, word.charCodeAt(at))
      if (node === 0) return null
      path.push(node)
    }
  }

  return {
    add(word, open, entry) {
      words[entry] = word
      for (let at = 0, node = 0; ; at++) {
        const tail = hung[node] ?? 0
        if (tail !== 0) {
          // It has to share the way from here on: it moves one letter down.
          const other = words[Math.abs(tail)] ?? ''
          hung[node] = 0
          const below = grow(node, other.charCodeAt(at))
          settle(below, other.length - at - 1, tail < 0, Math.abs(tail))
        }
        if (at === word.length) return settle(node, 0, open, entry)
        const next = child(node, word.charCodeAt(at))
        if (next === 0) {
          const below = grow(node, word.charCodeAt(at))
          return settle(below, word.length - at - 1, open, entry)
        }
        node = next
      }
    },

    remove(word, open) {
      const path = pathOf(word, open)
      const node = path?.at(-1)
      if (path === null || node === undefined) return
      const tail = hung[node] ?? 0
      words[tail === 0 ? ((open ? opened : closed)[node] ?? 0) : Math.abs(tail)] = ''
      if (tail !== 0) hung[node] = 0
      else settle(node, 0, open, 0)
      for (let i = path.length - 1; i > 0; i--) {
        const it = path[i] ?? 0
        if (kids[it] !== 0 || closed[it] !== 0 || opened[it] !== 0 || hung[it] !== 0) return
        drop(path[i - 1] ?? 0, it)
      }
    },

    find(word, open) {
      const node = pathOf(word, open)?.at(-1)
      if (node === undefined) return 0
      const tail = hung[node] ?? 0
      return tail === 0 ? ((open ? opened : closed)[node] ?? 0) : Math.abs(tail)
    },

    // This is where the time goes: nothing is called on the way that can be done without.
    scan(text, found) {
      if (kids[0] === 0) return
      // What a loop keeps at hand need not be looked up at every letter.
      const [letter_of, next_of, kids_of] = [letters, after, kids]
      const [closed_at, opened_at, hung_at] = [closed, opened, hung]
      const { length } = text
      let inside = false
      for (let from = 0; from < length; from++) {
        let code = text.charCodeAt(from)
        const within = inside
        inside = code < ASCII && JOINS[code] === 1
        if (by_word && within) continue
        for (let at = from, node = 0; at < length;) {
          let kid = kids_of[node] ?? 0
          if (kid < 0) kid = tables[~kid]?.[code < ASCII ? (PLACES[code] ?? 0) : 0] ?? 0
          while (kid !== 0 && letter_of[kid] !== code) kid = next_of[kid] ?? 0
          if (kid === 0) break
          node = kid
          at++
          // Behind the end of the text stands what clings to nothing.
          code = at < length ? text.charCodeAt(at) : 0
          const open = opened_at[node] ?? 0
          if (open !== 0) found(open)
          const whole = closed_at[node] ?? 0
          if (whole !== 0 && (code >= ASCII || JOINS[code] === 0)) found(whole)
          const tail = hung_at[node] ?? 0
          if (tail === 0) continue
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

    nodes: () => made - 1 - freed.length,
  }
}

function copied<T extends Uint16Array | Int32Array>(from: T, to: T): T {
  to.set(from)
  return to
}
