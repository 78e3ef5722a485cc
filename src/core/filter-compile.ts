import { enrich } from './enrich.ts'
import { aboutOf, type Criterion } from './filter-about.ts'
import { anyOf, keywordTerms, shownTerm } from './filter-keywords.ts'
import {
  compileQuery,
  fieldsOf,
  type Hearing,
  holdsListed,
  type Listed,
  listed,
  type Manner,
  mannerOf,
} from './filter-match.ts'
import { parseQuery, type Query, termsIn } from './filter-query.ts'
import type { FilterSpec } from './filter-spec.ts'
import { composed, type SearchField, writtenOf } from './filter-text.ts'
import type { Item } from './items.ts'
import { languageOf } from './language.ts'
import { compilePattern } from './regex.ts'

/**
 * A spec as a question: what keywords an item matched with (none when the spec has none), or null when it does not
 * match. What is decided later (filter-late.ts) is left out.
 */
export function compileFilter(spec: FilterSpec, hearing?: Hearing): Ask {
  const manner = mannerOf(spec, hearing)
  // Most specs are a list of words: which of them an item holds also tells whether it holds one.
  const a_list = spec.include_any.length > 0 && spec.q === null && spec.include_all.length === 0
  const criteria = criteriaOf(spec, manner).filter(
    ({ field }) => !(a_list && field === 'include_any'),
  )
  const mets = criteria.map(({ met }) => met)
  return question(mets, lookedFor(spec, manner), a_list)
}

/** Whether an item satisfies a filter: the terms it matched, or null. */
export type Ask = (item: Item) => { terms: string[] } | null

/**
 * Keywords as they were written, their words, and where each is looked for; side by side, because they are many. Where
 * all are looked for in the same fields, that is said once.
 */
type Looked = {
  terms: readonly string[]
  list: Listed
  fields: readonly (readonly SearchField[])[]
}

function lookedFor(spec: FilterSpec, manner: Manner): Looked {
  const keywords = keywordTerms(spec, manner)
  const alike = keywords.every(({ field }) => field === null)
  return {
    terms: keywords.map(shownTerm),
    list: listed(keywords, manner),
    fields: alike ? [manner.search_in] : keywords.map((it) => fieldsOf(it, manner)),
  }
}

const question =
  (criteria: readonly Criterion['met'][], looked: Looked, a_list: boolean): Ask =>
  (item) => {
    for (const met of criteria) if (!met(item)) return null
    const { terms, list, fields } = looked
    const { listener, numbers } = list
    const found: string[] = []
    for (let i = 0; i < numbers.length; i++) {
      if (listener.heard_in[numbers[i] ?? 0] !== listener.item) continue
      const term = terms[i]
      if (term === undefined || found.includes(term)) continue
      if (holdsListed(list, i, item, fields[fields.length === 1 ? 0 : i] ?? [])) found.push(term)
    }
    return a_list && found.length === 0 ? null : { terms: found }
  }

/** Every condition that an item must meet at first sight, those that cost least first. */
export const criteriaOf = (spec: FilterSpec, manner: Manner = mannerOf(spec)): Criterion[] => [
  ...aboutOf(spec),
  ...wordingOf(spec, manner),
  ...patternsOf(spec),
  ...soundOf(spec),
]

/** Conditions on the words of an item. */
function wordingOf(spec: FilterSpec, manner: Manner): Criterion[] {
  const { q, include_any, include_all, exclude_terms } = spec
  const asked: [Criterion['field'], Query | null][] = [
    ['q', q === null ? null : parseQuery(q, manner.view)],
    ['include_any', include_any.length === 0 ? null : anyOf(include_any)],
    ['include_all', include_all.length === 0 ? null : { ...anyOf(include_all), kind: 'and' }],
    [
      'exclude_terms',
      exclude_terms.length === 0 ? null : { kind: 'not', part: anyOf(exclude_terms) },
    ],
  ]
  return asked.flatMap(([field, query]) => {
    if (query === null) return []
    return [
      { field, met: compileQuery(query, manner), saw: (item) => wordsSeen(query, manner, item) },
    ]
  })
}

/** Which of a query's terms stand in an item. */
function wordsSeen(query: Query, manner: Manner, item: Item): string {
  const held = termsIn(query).filter((it) => compileQuery(it, manner)(item))
  const words = new Set(held.map(shownTerm))
  return words.size === 0 ? 'none of its terms' : [...words].join(', ')
}

function patternsOf(spec: FilterSpec): Criterion[] {
  if (spec.regex.length === 0) return []
  const { search_in, case_sensitive } = spec
  const { view } = mannerOf(spec)
  const patterns = spec.regex.map((it) => ({
    pattern: it,
    test: compilePattern(it, case_sensitive),
  }))
  const textsOf = (item: Item) => search_in.map((field) => composed(writtenOf(item, field), view))
  const first = (texts: string[]) => patterns.find(({ test }) => texts.some(test))
  return [
    {
      field: 'regex',
      met: (item) => first(textsOf(item)) !== undefined,
      saw: (item) => first(textsOf(item))?.pattern ?? 'none of its patterns',
    },
  ]
}

/** Conditions on how an item reads, the dearest to decide. */
function soundOf(spec: FilterSpec): Criterion[] {
  const { language, intent, sentiment } = spec
  const found: Criterion[] = []
  const add = (
    field: Criterion['field'],
    list: readonly string[],
    of: (item: Item) => string | null,
  ) => {
    if (list.length === 0) return
    const met = (item: Item): boolean => {
      const value = of(item)
      return value !== null && list.includes(value)
    }
    found.push({ field, met, saw: (item) => of(item) ?? 'not known' })
  }
  add('intent', intent, (item) => enrich(spec, item).intent.tag)
  add('sentiment', sentiment, (item) => enrich(spec, item).sentiment.label)
  add('language', language, languageOf)
  return found
}
