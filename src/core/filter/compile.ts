import { enrich } from '../enrichment/enrich.ts'
import { languageOf } from '../enrichment/language.ts'
import type { Item } from '../forum/items.ts'
import {
  createMayMatch,
  evaluateDirectly,
  type EvaluatePatterns,
  patternSetOf,
} from '../pattern/evaluate.ts'
import { anyOf, displayTerm, keywordTerms } from './feeds.ts'
import {
  aboutOf,
  compileQuery,
  type Criterion,
  type MatchOptions,
  matchOptionsOf,
  searchFieldsOf,
  type TermIndex,
  type TermList,
  termOccurs,
  toTermList,
} from './match.ts'
import { parseQuery, type Query, termsIn } from './query.ts'
import type { FilterSpec } from './spec.ts'
import type { SearchField } from './text.ts'

/**
 * Compiles a spec into a predicate: the keywords that an item matched with (empty when the spec has none), or null
 * when it does not match. Thresholds and other later decisions (spec.ts) are left out.
 */
export function compileFilter(
  spec: FilterSpec,
  term_index?: TermIndex,
  evaluatePatterns: EvaluatePatterns = evaluateDirectly,
): ItemPredicate {
  const options = matchOptionsOf(spec, term_index)
  // Most specs are a plain list of words: the words that an item contains also decide whether it contains one.
  const a_list = spec.include_any.length > 0 && spec.q === null && spec.include_all.length === 0
  const criteria = criteriaOf(spec, options, evaluatePatterns).filter(
    ({ field }) => !(a_list && field === 'include_any'),
  )
  const mets = criteria.map(({ met }) => met)
  return question(mets, compileTerms(spec, options), a_list)
}

/**
 * The terms of a filter that an item matches, or null when it does not satisfy the filter. `words`: numbers of all words
 * that the filter waits for and that the index found in the item; absent: not known.
 */
export type ItemPredicate = (item: Item, words?: readonly number[]) => { terms: string[] } | null

/**
 * Keywords as written, their words, and the fields to search for each. Parallel arrays, because keywords are many. If
 * all are searched in the same fields, the list of fields has one entry.
 */
type CompiledTerms = {
  terms: readonly string[]
  list: TermList
  fields: readonly (readonly SearchField[])[]
}

function compileTerms(spec: FilterSpec, options: MatchOptions): CompiledTerms {
  const keywords = keywordTerms(spec, options)
  const alike = keywords.every(({ field }) => field === null)
  return {
    terms: keywords.map(displayTerm),
    list: toTermList(keywords, options),
    fields: alike ? [options.search_in] : keywords.map((it) => searchFieldsOf(it, options)),
  }
}

const question =
  (
    criteria: readonly Criterion['met'][],
    compiled: CompiledTerms,
    a_list: boolean,
  ): ItemPredicate =>
  (item, words) => {
    for (const met of criteria) if (!met(item)) return null
    const { terms, list, fields } = compiled
    const { hits, numbers } = list
    // A list waits for each of its words. Comparing them with the few that were found stays within one cache line, where
    // looking up each in the table of hits would fetch twenty.
    const known = a_list ? words : undefined
    const found: string[] = []
    for (let i = 0; i < numbers.length; i++) {
      const number = numbers[i] ?? 0
      if (known === undefined ? hits.hit_in[number] !== hits.item : !known.includes(number))
        continue
      const term = terms[i]
      if (term === undefined || found.includes(term)) continue
      if (termOccurs(list, i, item, fields[fields.length === 1 ? 0 : i] ?? [])) found.push(term)
    }
    return a_list && found.length === 0 ? null : { terms: found }
  }

/** Every condition that an item must meet when it is first seen, cheapest first. */
export const criteriaOf = (
  spec: FilterSpec,
  options: MatchOptions = matchOptionsOf(spec),
  evaluatePatterns: EvaluatePatterns = evaluateDirectly,
): Criterion[] => [
  ...aboutOf(spec),
  ...wordingOf(spec, options),
  ...patternsOf(spec, options, evaluatePatterns),
  ...soundOf(spec),
]

function wordingOf(spec: FilterSpec, options: MatchOptions): Criterion[] {
  const { q, include_any, include_all, exclude_terms } = spec
  const queries: [Criterion['field'], Query | null][] = [
    ['q', q === null ? null : parseQuery(q, options.view)],
    ['include_any', include_any.length === 0 ? null : anyOf(include_any)],
    ['include_all', include_all.length === 0 ? null : { ...anyOf(include_all), kind: 'and' }],
    [
      'exclude_terms',
      exclude_terms.length === 0 ? null : { kind: 'not', part: anyOf(exclude_terms) },
    ],
  ]
  return queries.flatMap(([field, query]) => {
    if (query === null) return []
    return [
      { field, met: compileQuery(query, options), saw: (item) => wordsSeen(query, options, item) },
    ]
  })
}

function wordsSeen(query: Query, options: MatchOptions, item: Item): string {
  const matched = termsIn(query).filter((it) => compileQuery(it, options)(item))
  const words = new Set(matched.map(displayTerm))
  return words.size === 0 ? 'none of its terms' : [...words].join(', ')
}

function patternsOf(
  spec: FilterSpec,
  { view }: MatchOptions,
  evaluatePatterns: EvaluatePatterns,
): Criterion[] {
  const set = patternSetOf(spec, view)
  if (set === null) return []
  const mayMatch = createMayMatch(set)
  const first = (item: Item): string | undefined =>
    mayMatch(item) ? set.patterns[evaluatePatterns(set, item) ?? -1] : undefined
  return [
    {
      field: 'regex',
      met: (item) => first(item) !== undefined,
      saw: (item) => first(item) ?? 'none of its patterns',
    },
  ]
}

/** Conditions on language and sentiment, the most expensive to evaluate. */
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
