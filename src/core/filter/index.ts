import { foldsAccents, keepsCase, normalise, type View } from '../base/form.ts'
import { type Item, placesOfItem } from '../forum/items.ts'
import { DIRECT_VERDICTS, type Verdicts } from '../pattern/verdicts.ts'
import { compileFilter, type ItemPredicate } from './compile.ts'
import { requiredQuery } from './feeds.ts'
import { anyOf, type FilterSpec } from './fields.ts'
import {
  type MatchOptions,
  matchOptionsOf,
  searchFieldsOf,
  sidesOf,
  type TermHits,
  type TermIndex,
  wordOf,
} from './match.ts'
import { type Query, termsIn } from './query.ts'
import { type Automaton, createAutomaton, grownLength } from './term-trie.ts'
import { SEARCH_FIELDS, type SearchField, textOf, type Word } from './text.ts'

/**
 * An index from words to waiters, which are small whole numbers. Entries are never removed: a removed waiter is still
 * reported, and the index is replaced once most of them are removed.
 */
export type Index = {
  add(needs: Needs, waiter: number): void
  /** Finds all words in an item and reports the waiters of each; a waiter is reported once for each of its words. */
  scan(item: Item, found: (waiter: number, word: number) => void): void
  /**
   * For predicates of the waiters: after {@link listen}, a predicate searches only for words that the index found in
   * the item.
   */
  term_index: TermIndex
  words(): number
}

/**
 * The words of the views that ignore case, the fields to search, and whether to search without accents too. Both views
 * share the words: a word found in the wrong view is rejected by the search that follows.
 */
type Book = {
  case_view: 0 | 2
  words: Automaton
  /** Null until a word is added that may begin within another word; few filters need it. */
  anywhere: Automaton | null
  wanted: Set<SearchField>
  folding: boolean
}

const ITEMS_MAX = 0xffff_fffe

export function createIndex(): Index {
  // Words are numbers from 1; 0 means no word. Their data is in typed arrays: a million objects would take too much
  // memory.
  let word_count = 0
  const hits: TermHits = { item: 0, hit_in: new Uint32Array(64) }
  /** The waiter of a word (-1: none). Most words have exactly one, and need no list of others. */
  let waiters = new Int32Array(64)
  const others = new Map<number, number[]>()
  const books = new Map<Book['case_view'], Book>()

  function bookOf(view: View): Book {
    const case_view = keepsCase(view) ? 2 : 0
    let book = books.get(case_view)
    if (book === undefined) {
      const words = createAutomaton('word')
      book = { case_view, words, anywhere: null, wanted: new Set(), folding: false }
      books.set(case_view, book)
    }
    return book
  }

  function automatonOf({ left, view }: Word): Automaton {
    const book = bookOf(view)
    return left ? book.words : (book.anywhere ??= createAutomaton('anywhere'))
  }

  const numberOf = (word: Word): number => automatonOf(word).find(word.text, !word.right)

  function want({ fields, words }: Needs): void {
    const [word] = words
    if (word === undefined) return
    const book = bookOf(word.view)
    book.folding ||= foldsAccents(word.view)
    for (const field of fields) book.wanted.add(field)
  }

  function growTables(number: number): void {
    if (number < waiters.length) return
    const length = grownLength(number + 1)
    // Earlier hits are not read again, so they are not copied.
    hits.hit_in = new Uint32Array(length)
    const longer = new Int32Array(length)
    longer.set(waiters)
    waiters = longer
  }

  function enter(word: Word): void {
    if (numberOf(word) !== 0) return
    growTables(++word_count)
    waiters[word_count] = -1
    automatonOf(word).add(word.text, !word.right, word_count)
  }

  function wait(number: number, waiter: number): void {
    if (waiters[number] === -1) waiters[number] = waiter
    else {
      const list = others.get(number)
      if (list === undefined) others.set(number, [waiter])
      else list.push(waiter)
    }
  }

  return {
    add(needs, waiter) {
      want(needs)
      for (const word of needs.words) enter(word)
      for (const word of needs.one_of ?? []) wait(numberOf(word), waiter)
    },

    scan(item, found) {
      const { hit_in } = hits
      // After four thousand million items the counter wraps, and marks of the first items would count as new.
      if (++hits.item > ITEMS_MAX) {
        hit_in.fill(0)
        hits.item = 1
      }
      const now = hits.item
      hit_in[0] = now
      const onHit = (number: number): void => {
        if (hit_in[number] === now) return
        hit_in[number] = now
        const waiter = waiters[number] ?? -1
        if (waiter === -1) return
        found(waiter, number)
        if (others.size > 0) others.get(number)?.forEach((it) => found(it, number))
      }
      for (const { case_view, words, anywhere, wanted, folding } of books.values())
        for (const field of SEARCH_FIELDS) {
          if (!wanted.has(field)) continue
          const text = textOf(item, field, case_view)
          words.scan(text, onHit)
          anywhere?.scan(text, onHit)
          if (!folding) continue
          const folded = textOf(item, field, case_view === 0 ? 1 : 3)
          if (folded === text) continue
          words.scan(folded, onHit)
          anywhere?.scan(folded, onHit)
        }
    },

    term_index: { hits, numberOf },
    words: () => word_count,
  }
}

export type Needs = {
  /** Every word that the spec tests, and the fields in which it tests any of them. */
  words: Word[]
  fields: SearchField[]
  /** Words of which at least one occurs in every matching item; null when there are no such words. */
  one_of: Word[] | null
}

/** The words of a spec. Of several required words, the rarest is waited for. */
export function needsOf(spec: FilterSpec): Needs {
  const options = matchOptionsOf(spec)
  const wanted = requiredQuery(spec)
  const terms = [...termsIn(wanted), ...termsIn(anyOf(spec.exclude_terms))]
  return {
    words: uniqueWords(terms.map((it) => wordOf(it, options))),
    fields: [...new Set(terms.flatMap((it) => searchFieldsOf(it, options)))],
    one_of: cover(wanted, options)?.words ?? null,
  }
}

function uniqueWords(words: readonly Word[]): Word[] {
  const seen = new Map<string, number>()
  return words.filter((word) => {
    const before = seen.get(word.text) ?? 0
    // Words with the same text differ in their sides: one of four bits.
    const bit = 1 << sidesOf(word)
    if ((before & bit) !== 0) return false
    seen.set(word.text, before | bit)
    return true
  })
}

type Cover = { words: Word[]; cost: number }

function cover(query: Query, options: MatchOptions): Cover | null {
  switch (query.kind) {
    case 'term': {
      const word = wordOf(query, options)
      return { words: [word], cost: commonness(word) }
    }
    case 'not':
      return null
    case 'and': {
      const covers = query.parts.map((it) => cover(it, options)).filter((it) => it !== null)
      return covers.toSorted((a, b) => a.cost - b.cost)[0] ?? null
    }
    case 'or': {
      const parts = query.parts.map((it) => cover(it, options))
      const covers = parts.filter((it) => it !== null)
      if (covers.length < parts.length) return null
      return {
        words: uniqueWords(covers.flatMap(({ words }) => words)),
        cost: covers.reduce((sum, { cost }) => sum + cost, 0),
      }
    }
  }
}

// Longer words are much rarer.
const commonness = ({ text }: Word): number => 1 / text.length ** 3

/**
 * Matches an item against all monitors of a feed. The automaton finds the terms that occur in an item, and only
 * filters that could match are evaluated in full. {@link compileFilter} defines the result; the index may only err by
 * evaluating too many.
 */
/** Finds the filters that an item satisfies without evaluating each one. */
export type Matcher = {
  /** Adds a monitor or a new version of its spec; does nothing when the version is unchanged. */
  set(id: string, version: number, spec: FilterSpec): void
  remove(id: string): void
  has(id: string, version: number): boolean
  /** Monitors that match an item when it is first seen, and the keywords that matched. */
  match(item: Item): { monitor_id: string; terms: string[] }[]
  ids(): string[]
  words(): number
  /** True when most of its words belong to removed monitors, and it should be replaced. */
  isWorn(): boolean
}

/** A monitor in the matcher. Its spec is not stored: it is read again for the few monitors that may match. */
type Entry = { id: string; version: number; has_patterns: boolean; predicate: ItemPredicate | null }

/** Most compiled filters in memory. A filter is compiled when an item first comes close to matching it. */
const COMPILED_MAX = 100_000

/** Removed versions, beyond the number of monitors, from which a matcher counts as worn. */
const GONE_MIN = 100

/** The spec of a version of a monitor; null when it no longer exists, and nothing matches. */
export type SpecOf = (monitor_id: string, version: number) => FilterSpec | null

export function createMatcher(specOf: SpecOf, verdicts: Verdicts = DIRECT_VERDICTS): Matcher {
  /** By waiter number, which is never reused; undefined once removed. */
  const entries: (Entry | undefined)[] = []
  const places = new Map<string, number>()
  const index = createIndex()
  const named = new Map<string, number[]>()
  const always = new Set<number>()
  const compiled = new Set<Entry>()
  // Two numbers for each entry: the last item for which it was found, so that it is evaluated once per item, and its
  // place among those found.
  let marks = new Uint32Array(128)
  let question = 0

  function addSpec(spec: FilterSpec, slot: number): void {
    const needs = needsOf(spec)
    index.add(needs, slot)
    if (needs.one_of !== null) return
    const names = namesIn(spec)
    if (names.length === 0) always.add(slot)
    for (const name of names) {
      const slots = named.get(name)
      if (slots === undefined) named.set(name, [slot])
      else slots.push(slot)
    }
  }

  function remove(id: string): void {
    const slot = places.get(id)
    const entry = slot === undefined ? undefined : entries[slot]
    if (slot === undefined || entry === undefined) return
    compiled.delete(entry)
    entries[slot] = undefined
    places.delete(id)
  }

  function compile(entry: Entry): ItemPredicate | null {
    const spec = specOf(entry.id, entry.version)
    if (spec === null) return null
    if (compiled.size >= COMPILED_MAX) {
      for (const it of compiled) it.predicate = null
      compiled.clear()
    }
    compiled.add(entry)
    return (entry.predicate = compileFilter(spec, index.term_index, verdicts.evaluate))
  }

  /** Entries that may match an item, and the words for which each was found; none when it waits for no word. */
  function candidates(item: Item): { slots: number[]; words: (number[] | undefined)[] } {
    const slots: number[] = []
    const words: (number[] | undefined)[] = []
    const mark = (slot: number, word?: number): void => {
      if (marks[2 * slot] === question) {
        if (word !== undefined) words[marks[2 * slot + 1] ?? 0]?.push(word)
        return
      }
      marks[2 * slot] = question
      marks[2 * slot + 1] = slots.length
      slots.push(slot)
      words.push(word === undefined ? undefined : [word])
    }
    // After four thousand million evaluations the counter wraps, and the first marks would count as new.
    if (++question > 0xffff_fffe) {
      marks.fill(0)
      question = 1
    }
    index.scan(item, mark)
    if (named.size > 0) for (const name of namesOf(item)) named.get(name)?.forEach((it) => mark(it))
    always.forEach((it) => mark(it))
    return { slots, words }
  }

  return {
    set(id, version, spec) {
      const current = places.get(id)
      if (current !== undefined && entries[current]?.version === version) return
      remove(id)
      const slot = entries.length
      entries.push({ id, version, has_patterns: spec.regex.length > 0, predicate: null })
      places.set(id, slot)
      // Earlier marks are not read again, so they are not copied.
      if (2 * slot >= marks.length) marks = new Uint32Array(2 * grownLength(slot + 1))
      addSpec(spec, slot)
    },
    remove,
    has(id, version) {
      const slot = places.get(id)
      return slot !== undefined && entries[slot]?.version === version
    },
    match(item) {
      const matches: { monitor_id: string; terms: string[] }[] = []
      const { slots, words } = candidates(item)
      for (let i = 0; i < slots.length; i++) {
        const entry = entries[slots[i] ?? -1]
        if (entry === undefined) continue
        const found = words[i]
        const predicate = entry.predicate ?? compile(entry)
        if (predicate === null) continue
        let matched: ReturnType<ItemPredicate> = null
        if (entry.has_patterns)
          verdicts.attribute(entry.id, () => void (matched = predicate(item, found)))
        else matched = predicate(item, found)
        if (matched !== null) matches.push({ monitor_id: entry.id, ...matched })
      }
      return matches
    },
    ids: () => [...places.keys()],
    words: index.words,
    isWorn: () => entries.length > 2 * places.size + GONE_MIN,
  }
}

/** Authors, threads or places of which an item must have one, for a spec without words to wait for. */
function namesIn({ thread, author, subforum }: FilterSpec): string[] {
  if (thread.length > 0) return thread.map((it) => `thread ${it}`)
  if (author.length > 0) return author.map((it) => `author ${normalise(it)}`)
  return subforum.map((it) => `place ${normalise(it)}`)
}

const namesOf = (item: Item): string[] => [
  `author ${normalise(item.author)}`,
  ...placesOfItem(item).map((it) => `place ${it}`),
  ...(item.kind === 'comment' ? [`thread ${item.post_id}`] : []),
]
