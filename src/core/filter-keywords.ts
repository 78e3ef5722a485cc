import { compileQuery, type Manner, mannerOf } from './filter-match.ts'
import { parseQuery, positiveTerms, type Query, type Term } from './filter-query.ts'
import type { FilterSpec } from './filter-spec.ts'
import { normalise } from './filter-text.ts'
import type { Item } from './items.ts'

/** One positive keyword of a spec, as written, and whether an item holds it. */
export type Keyword = { term: string; test: (item: Item) => boolean }

/** The keywords that q, include_any and include_all look for, each once, in that order. */
export function keywordsOf(spec: FilterSpec): Keyword[] {
  const manner = mannerOf(spec)
  return keywordTerms(spec, manner).map((it) => ({
    term: shownTerm(it),
    test: compileQuery(it, manner),
  }))
}

/** The same as terms of a query. */
export function keywordTerms(spec: FilterSpec, { view }: Manner): Term[] {
  const found = new Map<string, Term>()
  for (const it of positiveTerms(wantedBy(spec))) {
    const key = `${it.field ?? ''}:${normalise(shownTerm(it), view)}`
    if (!found.has(key)) found.set(key, it)
  }
  return [...found.values()]
}

/** A term as its customer wrote it. */
export const shownTerm = ({ written, prefix }: Term): string => (prefix ? `${written}*` : written)

/** All that must occur in a matching item, as one query. No parts: everything matches. */
export function wantedBy(spec: FilterSpec): Query & { kind: 'and' } {
  const { q, include_any, include_all } = spec
  const parts: Query[] = include_all.map(termOf)
  if (include_any.length > 0) parts.unshift(anyOf(include_any))
  if (q !== null) parts.unshift(parseQuery(q, mannerOf(spec).view))
  return { kind: 'and', parts }
}

/** A query that one of these terms answers. */
export const anyOf = (terms: readonly string[]): Query & { kind: 'or' } => ({
  kind: 'or',
  parts: terms.map(termOf),
})

const termOf = (written: string): Query => ({ kind: 'term', written, field: null, prefix: false })
