import type { Query, Term } from './filter-query.ts'
import type { FilterSpec } from './filter-spec.ts'
import {
  normalise,
  occurs,
  occursIn,
  type SearchField,
  textOf,
  toWord,
  type View,
  viewOf,
  type Word,
} from './filter-text.ts'
import type { Item } from './items.ts'

/**
 * Who has listened for many words in an item at once: which item that was, and for each of the words, by its number,
 * the last item that it was heard in. Word 0 is heard in all of them.
 */
export type Listener = { item: number; heard_in: Uint32Array }

/** A word, ready to be looked for. Where somebody has listened for it, only in the item that it was heard in. */
type Probe = Word & { number: number; listener: Listener }

/** How a spec's terms are looked for, and where those that name no field. */
export type Manner = {
  search_in: readonly SearchField[]
  view: View
  substring: boolean
  /** Where words are listened for; without it nobody listens. */
  hearing?: Hearing
}

/** Where words are listened for, and the number of each; 0 when nobody listens for it. */
export type Hearing = { listener: Listener; numberOf: (word: Word) => number }

/** How the terms of a spec are looked for. */
export const mannerOf = (spec: FilterSpec, hearing?: Hearing): Manner => ({
  search_in: spec.search_in,
  view: viewOf(spec),
  substring: spec.match === 'substring',
  ...(hearing && { hearing }),
})

const DEAF: Listener = { item: 0, heard_in: new Uint32Array(1) }

/** A word that nobody listens for. */
const plainProbe = (word: Word): Probe => ({ ...word, number: 0, listener: DEAF })

const probeOf = (word: Word, { hearing }: Manner): Probe =>
  hearing === undefined
    ? plainProbe(word)
    : { ...word, number: hearing.numberOf(word), listener: hearing.listener }

/** The word that a term looks for. */
export const wordOf = ({ written, prefix }: Term, { view, substring }: Manner): Word =>
  toWord(normalise(written, view), view, { prefix, substring })

/** Where a term is looked for: in the field that it names, else in those of the spec. */
export const fieldsOf = ({ field }: Term, { search_in }: Manner): readonly SearchField[] =>
  field === null ? search_in : [field]

/** Whether a probe's word stands in one of these fields of an item. */
function holds(probe: Probe, item: Item, fields: readonly SearchField[]): boolean {
  const { listener, number } = probe
  if (listener.heard_in[number] !== listener.item) return false
  for (const field of fields) if (occursIn(textOf(item, field, probe.view), probe)) return true
  return false
}

/** Compiles a query into its question of one item. */
export function compileQuery(query: Query, manner: Manner): (item: Item) => boolean {
  switch (query.kind) {
    case 'term': {
      const fields = fieldsOf(query, manner)
      const probe = probeOf(wordOf(query, manner), manner)
      return (item) => holds(probe, item, fields)
    }
    case 'not': {
      const test = compileQuery(query.part, manner)
      return (item) => !test(item)
    }
    case 'and': {
      const tests = query.parts.map((it) => compileQuery(it, manner))
      return (item) => tests.every((test) => test(item))
    }
    case 'or':
      return anyListed(query.parts, manner) ?? anyTested(query.parts, manner)
  }
}

function anyTested(parts: readonly Query[], manner: Manner): (item: Item) => boolean {
  const tests = parts.map((it) => compileQuery(it, manner))
  return (item) => tests.some((test) => test(item))
}

/** A list of plain terms is what most filters are: one question for all of them instead of one each. */
function anyListed(parts: readonly Query[], manner: Manner): ((item: Item) => boolean) | null {
  const terms = parts.filter((it): it is Term => it.kind === 'term' && it.field === null)
  if (terms.length < parts.length) return null
  return anyHeld(listed(terms, manner), manner.search_in)
}

// Apart, so that the question keeps nothing else of the filter.
const anyHeld =
  (list: Listed, fields: readonly SearchField[]) =>
  (item: Item): boolean => {
    const { listener, numbers } = list
    for (let i = 0; i < numbers.length; i++) {
      if (listener.heard_in[numbers[i] ?? 0] !== listener.item) continue
      if (holdsListed(list, i, item, fields)) return true
    }
    return false
  }

/**
 * Words of one filter side by side, each by its number: of twenty most were not heard, and to tell that from a short row
 * of numbers spares the memory of each word from being fetched.
 */
export type Listed = {
  listener: Listener
  numbers: readonly number[]
  texts: readonly string[]
  /** Which sides of each must end a word. Where it is the same for all, it is said once. */
  sides: readonly number[]
  view: View
}

/** The words of terms, in their order. */
export function listed(terms: readonly Term[], manner: Manner): Listed {
  const { hearing, view } = manner
  const words = terms.map((it) => wordOf(it, manner))
  const sides = words.map(sidesOf)
  const [some = 0] = sides
  return {
    listener: hearing?.listener ?? DEAF,
    numbers: words.map((it) => hearing?.numberOf(it) ?? 0),
    texts: words.map(({ text }) => text),
    sides: sides.every((it) => it === some) ? [some] : sides,
    view,
  }
}

/** Whether the i-th of these words, which was heard, stands in one of these fields of an item. */
export function holdsListed(
  { texts, sides, view }: Listed,
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
/** Which sides of a word must end one. */
export const sidesOf = ({ left, right }: Word): number => (left ? LEFT : 0) | (right ? RIGHT : 0)
