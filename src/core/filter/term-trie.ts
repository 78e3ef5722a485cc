/** Arrays with more numbers than this are copied rarely, at the cost of unused space. */
const LARGE = 64 * 1024

/**
 * Capacity for an array of `needed` numbers: 12.5 % spare, 50 % above {@link LARGE}. Each watched place has several
 * arrays, so small ones must not waste much.
 */
export const grownLength = (needed: number): number =>
  Math.ceil(needed * (needed > LARGE ? 1.5 : 1.125))

/**
 * A trie in one typed array, which costs the garbage collector nothing even with a million nodes. A node is four
 * numbers, identified by the index of the first, so that a visit fetches one cache line. The root is 0.
 */

/** A node with more children than this finds them through a table. */
const CHAIN_MAX = 4
const ASCII = 128
/** Position of each common letter in a table, from 1; all other letters are in a chain that begins at 0. */
const PLACES = new Uint8Array(ASCII)
const COMMON = "abcdefghijklmnopqrstuvwxyz0123456789 -'."
for (let i = 0; i < COMMON.length; i++) PLACES[COMMON.charCodeAt(i)] = i + 1
/** A multiple of the node size, so that no node crosses a cache line. */
const TABLE = Math.ceil((COMMON.length + 1) / 4) * 4

/** Field of a node: its letter; the upper half is free for the owner of the trie. */
const LETTER = 0
/** Field of a node: the next child of the same parent. */
const NEXT = 1
/**
 * Field of a node: the first of a chain of children, a table of them, or a value of the owner; the lowest bits tell
 * which.
 */
const BELOW = 2
/** Field of a node: free for the owner. */
const END = 3
const NODE = 4
/** Kind of BELOW: a table of children. */
const TABLED = 1
/** Mask of the lowest bits, which hold the kind. */
const KIND = 3
const BITS = 2
/** Mask of the half of a number that holds the letter. */
const LOW = 0xffff

/** Letters below letters. */
type TermTree = {
  /** The array of all nodes; replaced when the trie grows. */
  cells(): Int32Array
  get(node: number, part: number): number
  set(node: number, part: number, to: number): void
  /** The child with this letter; 0: none. */
  child(node: number, code: number): number
  /** Adds a child with this letter, which must not exist yet. */
  grow(parent: number, code: number): number
}

function createTermTree(): TermTree {
  let cells = new Int32Array(64 * NODE)
  let used_cells = NODE

  function allot(size: number): number {
    const at = used_cells
    used_cells += size
    if (used_cells > cells.length) {
      const longer = new Int32Array(grownLength(used_cells))
      longer.set(cells)
      cells = longer
    }
    return at
  }

  const get = (node: number, part: number): number => cells[node + part] ?? 0
  const set = (node: number, part: number, to: number): void => void (cells[node + part] = to)

  /** Index of the chain in which a child of this letter would be; 0: none. */
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

  /** Makes `node` the first of a parent's chain at this place; 0 empties the chain. */
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

  /** Number of children in a node's own chain; 0 when they are in a table. */
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

/**
 * Remaining letters of words after their last branching node, in one buffer and identified by their start. A string
 * object for each of a hundred thousand would take more memory than its letters, and burden the garbage collector.
 */
export type Tails = {
  /** Stores the letters of a word from `at` on, perhaps none. */
  keep(word: string, at: number): number
  /** The first letter of a tail; -1 when it is empty. */
  firstOf(tail: number): number
  /** Removes the first letter of a tail and returns the new start of the tail. */
  shorten(tail: number): number
  /** End position of a tail that occurs in a text at `at`; 0 when it does not occur there. */
  behind(text: string, at: number, tail: number): number
}

/** Numbers before each tail, which hold its length. */
const HEAD = 2
const BYTE = 0xff

export function createTails(): Tails {
  // Bytes, until a character above 255 is stored.
  let units: Uint8Array | Uint16Array = new Uint8Array(64)
  let used_units = 0

  function growUnits(wide: boolean): void {
    const widens = wide && units instanceof Uint8Array
    if (used_units <= units.length && !widens) return
    const size = used_units > units.length ? grownLength(used_units) : units.length
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
      const tail = used_units
      const length = word.length - at
      used_units += HEAD + length
      growUnits(wide)
      setLength(tail, length)
      for (let i = 0; i < length; i++) units[tail + HEAD + i] = word.charCodeAt(at + i)
      return tail
    },

    firstOf: (tail) => (lengthOf(tail) === 0 ? -1 : (units[tail + HEAD] ?? 0)),

    shorten(tail) {
      // The length moves into the place of the removed letter.
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

/**
 * Searches one text for many words at once. A trie is entered wherever a word may begin: for most words at the start
 * of each word of the text; for words that may occur inside others (other scripts, punctuation, substrings) at every
 * letter. Nothing is ever rebuilt, so adding a word between two texts costs only its own letters.
 * Rejected: the Aho-Corasick automaton, whose suffix links avoid reading letters again after a partial match. Most
 * words of a text leave the trie after three or four letters, no search goes deeper than the longest term, and the
 * links would have to be rebuilt for all words whenever one is added.
 */

/** Positions where a word may begin: at a word of the text, or anywhere. */
export type Begins = 'word' | 'anywhere'

/** Finds all of its words in a text in one pass. */
export type Automaton = {
  /**
   * Adds `word`, not empty, which is reported as `entry` (from 1). Unless `open`, it matches only where no ASCII
   * letter or digit follows. A word has one entry, and a second one for its open form.
   */
  add(word: string, open: boolean, entry: number): void
  /** The entry of a word; 0: not in the automaton. */
  find(word: string, open: boolean): number
  /** Reports the entries of all words that occur in a text, once for each occurrence. */
  scan(text: string, found: (entry: number) => void): void
}

/** ASCII letters and digits, which always form a word with a neighbour of the same class. */
const JOINS = new Uint8Array(ASCII)
for (const char of 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789')
  JOINS[char.charCodeAt(0)] = 1

// Kind of BELOW: a tail. A node with only one word below it has no child nodes but the remaining letters of that word:
// the first in the upper half of LETTER, the others as a tail.
const TAILED = 2
// END is the entry of the word that ends here, or after the tail. Its lowest bits tell whether the word is closed (no
// letter may follow), open, or both.
const CLOSED = 1
const OPEN = 2

export function createAutomaton(begins: Begins): Automaton {
  const by_word = begins === 'word'
  const tree = createTermTree()
  const { get, set, child, grow } = tree
  const tails = createTails()
  /** For words in both forms: the entry of the open form by that of the closed one. */
  const opened = new Map<number, number>()

  const isTailed = (node: number): boolean => (get(node, BELOW) & KIND) === TAILED

  /** Attaches the letters of a word from `at` on below a node. */
  function hang(node: number, word: string, at: number): void {
    set(node, LETTER, (get(node, LETTER) & LOW) | (word.charCodeAt(at) << 16))
    set(node, BELOW, (tails.keep(word, at + 1) << BITS) | TAILED)
  }

  /** Moves the tail of a node one letter down, into a new child. */
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

  /** Ends a word at a node, with the letters from `at` on as its tail. */
  function settle(node: number, word: string, at: number, end: number): void {
    if (at < word.length) hang(node, word, at)
    set(node, END, end)
  }

  /** Adds the other form (open or closed) of a word that already ends at a node. */
  function join(node: number, entry: number, open: boolean): void {
    const end = get(node, END)
    const other = end >> BITS
    if (end !== 0) opened.set(open ? other : entry, open ? entry : other)
    const kind = (end & KIND) | (open ? OPEN : CLOSED)
    set(node, END, ((end !== 0 && open ? other : entry) << BITS) | kind)
  }

  /** End position of a node's tail that occurs in a text at `at`; 0 when it does not occur there. */
  function endOfTail(text: string, at: number, node: number): number {
    if (get(node, LETTER) >>> 16 !== text.charCodeAt(at)) return 0
    return tails.behind(text, at + 1, get(node, BELOW) >> BITS)
  }

  /** The node where a word ends, with or without a tail; 0: none. */
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
        // Both words share the path from here on.
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

    // The hot path: no function call that can be avoided.
    scan(text, found) {
      const all = tree.cells()
      if (all[BELOW] === 0) return
      const { length } = text
      let in_word = false
      for (let from = 0; from < length; from++) {
        let code = text.charCodeAt(from)
        const within = in_word
        in_word = code < ASCII && JOINS[code] === 1
        if (by_word && within) continue
        for (let at = from, below = all[BELOW] ?? 0; at < length;) {
          let node = below >> BITS
          if ((below & KIND) === TABLED)
            node = all[node + (code < ASCII ? (PLACES[code] ?? 0) : 0)] ?? 0
          while (node !== 0 && ((all[node] ?? 0) & LOW) !== code) node = all[node + NEXT] ?? 0
          if (node === 0) break
          at++
          // The end of the text counts as a character that joins nothing.
          code = at < length ? text.charCodeAt(at) : 0
          below = all[node + BELOW] ?? 0
          const end = all[node + END] ?? 0
          if ((below & KIND) === TAILED) {
            // The next letter is in the node itself; the tail is fetched only if that letter matches.
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
