import { normalise, type View, viewOf } from '../base/form.ts'
import type { Item } from '../forum/items.ts'
import type { FilterSpec } from './fields.ts'
import type { Query, Term } from './query.ts'
import { occurs, occursIn, type SearchField, textOf, toWord, type Word } from './text.ts'

/**
 * Words that the index found in an item: the number of that item, and for each word, by number, the last item that
 * contained it. Word 0 counts as found in every item.
 */
export type TermHits = { item: number; hit_in: Uint32Array }

/** A word to search for. If the index covers it, only in items in which the index found it. */
type Probe = Word & { number: number; hits: TermHits }

/** Search options of a spec: how its terms are compared, and the fields for terms that name none. */
export type MatchOptions = {
  search_in: readonly SearchField[]
  view: View
  substring: boolean
  /** The index of words; absent: every word is searched for. */
  term_index?: TermIndex
}

/** The hits of an index, and the number of each word; 0 when the index does not cover it. */
export type TermIndex = { hits: TermHits; numberOf: (word: Word) => number }

export const matchOptionsOf = (spec: FilterSpec, term_index?: TermIndex): MatchOptions => ({
  search_in: spec.search_in,
  view: viewOf(spec),
  substring: spec.match === 'substring',
  ...(term_index && { term_index }),
})

const NO_HITS: TermHits = { item: 0, hit_in: new Uint32Array(1) }

/** A word that no index covers. */
const plainProbe = (word: Word): Probe => ({ ...word, number: 0, hits: NO_HITS })

const probeOf = (word: Word, { term_index }: MatchOptions): Probe =>
  term_index === undefined
    ? plainProbe(word)
    : { ...word, number: term_index.numberOf(word), hits: term_index.hits }

export const wordOf = ({ written, prefix }: Term, { view, substring }: MatchOptions): Word =>
  toWord(normalise(written, view), view, { prefix, substring })

/** The fields to search for a term: the one that it names, else those of the spec. */
export const searchFieldsOf = (
  { field }: Term,
  { search_in }: MatchOptions,
): readonly SearchField[] => (field === null ? search_in : [field])

function probeOccurs(probe: Probe, item: Item, fields: readonly SearchField[]): boolean {
  const { hits, number } = probe
  if (hits.hit_in[number] !== hits.item) return false
  for (const field of fields) if (occursIn(textOf(item, field, probe.view), probe)) return true
  return false
}

export function compileQuery(query: Query, options: MatchOptions): (item: Item) => boolean {
  switch (query.kind) {
    case 'term': {
      const fields = searchFieldsOf(query, options)
      const probe = probeOf(wordOf(query, options), options)
      return (item) => probeOccurs(probe, item, fields)
    }
    case 'not': {
      const test = compileQuery(query.part, options)
      return (item) => !test(item)
    }
    case 'and': {
      const tests = query.parts.map((it) => compileQuery(it, options))
      return (item) => tests.every((test) => test(item))
    }
    case 'or':
      return compileTermList(query.parts, options) ?? anyTested(query.parts, options)
  }
}

function anyTested(parts: readonly Query[], options: MatchOptions): (item: Item) => boolean {
  const tests = parts.map((it) => compileQuery(it, options))
  return (item) => tests.some((test) => test(item))
}

/** Most filters are a list of plain terms: one predicate covers all of them. */
function compileTermList(
  parts: readonly Query[],
  options: MatchOptions,
): ((item: Item) => boolean) | null {
  const terms = parts.filter((it): it is Term => it.kind === 'term' && it.field === null)
  if (terms.length < parts.length) return null
  return anyOccurs(toTermList(terms, options), options.search_in)
}

// A separate function, so that its closure holds nothing else of the filter.
const anyOccurs =
  (list: TermList, fields: readonly SearchField[]) =>
  (item: Item): boolean => {
    const { hits, numbers } = list
    for (let i = 0; i < numbers.length; i++) {
      if (hits.hit_in[numbers[i] ?? 0] !== hits.item) continue
      if (termOccurs(list, i, item, fields)) return true
    }
    return false
  }

/**
 * Words of one filter in parallel arrays, each by its number. Most of them do not occur in an item; the short array of
 * numbers shows that without fetching each word from memory.
 */
export type TermList = {
  hits: TermHits
  numbers: readonly number[]
  texts: readonly string[]
  /** The sides of each word that must be word boundaries. One entry when they are the same for all. */
  sides: readonly number[]
  view: View
}

export function toTermList(terms: readonly Term[], options: MatchOptions): TermList {
  const { term_index, view } = options
  const words = terms.map((it) => wordOf(it, options))
  const sides = words.map(sidesOf)
  const [some = 0] = sides
  return {
    hits: term_index?.hits ?? NO_HITS,
    numbers: words.map((it) => term_index?.numberOf(it) ?? 0),
    texts: words.map(({ text }) => text),
    sides: sides.every((it) => it === some) ? [some] : sides,
    view,
  }
}

/** True when the i-th of these words, which the index found in the item, occurs in one of these fields. */
export function termOccurs(
  { texts, sides, view }: TermList,
  i: number,
  item: Item,
  fields: readonly SearchField[],
): boolean {
  const text = texts[i] ?? ''
  const ends = sides[sides.length === 1 ? 0 : i] ?? 0
  for (const field of fields)
    if (occurs(textOf(item, field, view), text, (ends & LEFT) !== 0, (ends & RIGHT) !== 0))
      return true
  return false
}

const LEFT = 1
const RIGHT = 2
/** The sides of a word that must be word boundaries, as bits. */
export const sidesOf = ({ left, right }: Word): number => (left ? LEFT : 0) | (right ? RIGHT : 0)
