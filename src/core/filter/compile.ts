import type { Item } from '../forum/items.ts'
import {
  createMayMatch,
  evaluateDirectly,
  type EvaluatePatterns,
  patternSetOf,
} from '../pattern/evaluate.ts'
import { displayTerm, keywordTerms } from './feeds.ts'
import { ENTRIES, type FilterField, type FilterSpec } from './fields.ts'
import {
  compileQuery,
  type MatchOptions,
  matchOptionsOf,
  searchFieldsOf,
  type TermIndex,
  type TermList,
  termOccurs,
  toTermList,
} from './match.ts'
import { type Query, termsIn } from './query.ts'
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

/** One condition of a spec: its field, its test on an item, and the value of the item that it reads. */
type Criterion = {
  field: FilterField
  met: (item: Item) => boolean
  saw: (item: Item) => string
}

const CHEAPEST_FIRST = ENTRIES.toSorted(([, a], [, b]) => (a.cost ?? 1) - (b.cost ?? 1))

/** Every condition that an item must meet when it is first seen, cheapest first. */
export const criteriaOf = (
  spec: FilterSpec,
  options: MatchOptions = matchOptionsOf(spec),
  evaluatePatterns: EvaluatePatterns = evaluateDirectly,
): Criterion[] =>
  CHEAPEST_FIRST.flatMap(([field, { test, query }]): Criterion[] => {
    if (field === 'regex') return patternsOf(spec, options, evaluatePatterns)
    const value = spec[field]
    if (query !== undefined) {
      if (value === null || (Array.isArray(value) && value.length === 0)) return []
      const wanted = query(value, options.view)
      const saw = (item: Item) => wordsSeen(wanted, options, item)
      return [{ field, met: compileQuery(wanted, options), saw }]
    }
    const tested = test?.(value) ?? null
    return tested === null ? [] : [{ field, ...tested }]
  })

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
