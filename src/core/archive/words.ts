import { hash } from 'node:crypto'

import { normalise } from '../base/form.ts'
import { requiredQuery } from '../filter/feeds.ts'
import { ALL_SOURCES, type FilterSpec } from '../filter/fields.ts'
import { type MatchOptions, matchOptionsOf, wordOf } from '../filter/match.ts'
import type { Query, Term } from '../filter/query.ts'
import { SEARCH_FIELDS, SPACELESS, textOf } from '../filter/text.ts'
import { HOME, type Item, placesOfItem } from '../forum/items.ts'

// The archive's index holds, of each item, the words of all fields that a filter can search, in the form without case and
// accents. A filter's required terms are translated into a query for these words that finds at least every match; the
// filter itself then decides on each found item. So the index may find too much, and must never find too little: both
// sides split text by the boundaries that filters use. The tokenizer of FTS5 would not: it joins what filters separate,
// such as a Latin word beside a Chinese one.

/** The view of the index: without case and accents. */
const VIEW = 1
const ASCII = /^[\t\n\r -~]*$/
const ASCII_RUN = /[a-z0-9]+/g
const RUN = /[\p{L}\p{M}\p{N}]+/gu
/** Longer words are cut in the index and in queries alike, in UTF-16 units. */
const WORD_MAX = 48
/** Shorter prefixes begin so many words that reading the newest items finds matches sooner. */
const PREFIX_MIN = 3

/** Facts of an item beside its words, each with a sign that no word contains. */
const SIGNS = { place: 'Ⓟ', source: 'Ⓢ', author: 'Ⓐ', thread: 'Ⓣ' } as const

export const factWord = (fact: keyof typeof SIGNS, value: string): string =>
  SIGNS[fact] + hash('sha256', value, 'hex').slice(0, 12)

type Run = { text: string; at: number; is_spaceless: boolean }

/** Runs of letters and digits, split where a script without spaces begins or ends. */
function* runsOf(text: string): Generator<Run> {
  for (const { 0: run, index } of text.matchAll(ASCII.test(text) ? ASCII_RUN : RUN)) {
    if (!SPACELESS.test(run)) {
      yield { text: run, at: index, is_spaceless: false }
      continue
    }
    let part = ''
    let at = index
    let was = false
    for (const char of run) {
      const is = SPACELESS.test(char)
      if (part !== '' && is !== was) {
        yield { text: part, at, is_spaceless: was }
        at += part.length
        part = ''
      }
      part += char
      was = is
    }
    yield { text: part, at, is_spaceless: was }
  }
}

const cut = (word: string): string =>
  word.length <= WORD_MAX ? word : word.slice(0, WORD_MAX).toWellFormed()

/**
 * All words of a text in the view of the index. Scripts without spaces give each pair of neighbours, and the last character
 * alone, which a single character finds by its beginning.
 */
function addWords(words: Set<string>, text: string): void {
  for (const { text: run, is_spaceless } of runsOf(text)) {
    if (!is_spaceless) {
      words.add(cut(run))
      continue
    }
    const chars = Array.from(run)
    for (const [n, char] of chars.entries()) words.add(char + (chars[n + 1] ?? ''))
  }
}

/** The words of an item for the index, separated by spaces. */
export function indexText(item: Item): string {
  const words = new Set<string>()
  for (const field of SEARCH_FIELDS) addWords(words, textOf(item, field, VIEW))
  for (const place of placesOfItem(item)) words.add(factWord('place', place))
  words.add(factWord('source', item.source ?? HOME))
  if (item.author !== '[deleted]') words.add(factWord('author', normalise(item.author)))
  if (item.kind === 'comment') words.add(factWord('thread', item.post_id))
  return [...words].join(' ')
}

const quoted = (word: string): string => `"${word}"`

/** A query for the words of one term; null: no word of it is known whole. */
function termQuery(term: Term, options: MatchOptions): string | null {
  const text = normalise(term.written, VIEW)
  const { left, right } = wordOf(term, options)
  const parts = new Set<string>()
  for (const { text: run, at, is_spaceless } of runsOf(text)) {
    const chars = is_spaceless ? Array.from(run) : []
    const [only = ''] = chars
    if (chars.length > 1)
      for (const [n, char] of chars.entries()) {
        const next = chars[n + 1]
        if (next !== undefined) parts.add(quoted(char + next))
      }
    else if (is_spaceless) parts.add(`${quoted(only)} *`)
    else {
      // At an open side the item's word may go on.
      const is_open_left = at === 0 && !left
      const is_open_right = at + run.length === text.length && !right
      if (is_open_left) continue
      if (!is_open_right) parts.add(quoted(cut(run)))
      else if (run.length >= PREFIX_MIN) parts.add(`${quoted(cut(run))} *`)
    }
  }
  return parts.size === 0 ? null : [...parts].join(' AND ')
}

function queryOf(query: Query, options: MatchOptions): string | null {
  switch (query.kind) {
    case 'term':
      return termQuery(query, options)
    case 'not':
      return null
    case 'and':
      return all(query.parts.map((it) => queryOf(it, options)))
    case 'or': {
      const parts = query.parts.map((it) => queryOf(it, options))
      const bounded = parts.filter((it) => it !== null)
      return bounded.length < parts.length ? null : any(bounded)
    }
  }
}

function all(parts: readonly (string | null)[]): string | null {
  const bounded = [...new Set(parts.filter((it) => it !== null))]
  return bounded.length < 2 ? (bounded[0] ?? null) : bounded.map((it) => `(${it})`).join(' AND ')
}

const any = (parts: readonly string[]): string =>
  parts.length === 1 ? (parts[0] ?? '') : parts.map((it) => `(${it})`).join(' OR ')

const anyFact = (fact: keyof typeof SIGNS, values: readonly string[]): string | null =>
  values.length === 0
    ? null
    : [...new Set(values.map((it) => quoted(factWord(fact, it))))].join(' OR ')

const named = (list: readonly string[]): string[] => list.map((it) => normalise(it))

/**
 * The FTS5 query that finds every item that a spec can match, and maybe more; null: nothing bounds them, all items have to
 * be read.
 */
export function wordQuery(spec: FilterSpec): string | null {
  const options = matchOptionsOf(spec)
  return all([
    queryOf(requiredQuery(spec), options),
    anyFact('place', named(spec.subforum)),
    anyFact('source', spec.source.includes(ALL_SOURCES) ? [] : spec.source),
    anyFact('author', named(spec.author)),
    anyFact('thread', named(spec.thread)),
  ])
}
