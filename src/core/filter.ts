/**
 * filter_spec: what a monitor matches (contract 7). Read from what a customer wrote, compiled once per
 * version of a monitor, asked once per item.
 */
import { ApiError } from './errors.ts'
import {
  FIELDS,
  type Kind,
  KINDS,
  LATER_FIELDS,
  Q_LENGTH_MAX,
  readChoice,
  readChoices,
  readNames,
  readTerms,
  readText,
  SEARCHED,
  type Sent,
  wrong,
} from './filter-fields.ts'
import { compileQuery } from './filter-match.ts'
import { searchExpressions } from './filter-places.ts'
import { parseQuery, positiveTerms, type Query } from './filter-query.ts'
import { normalise, SEARCH_FIELDS, type SearchField } from './filter-text.ts'
import type { Item } from './items.ts'
import { createWords, type Words } from './wire.ts'

export { filterSchema } from './filter-schema.ts'

// Names that stand for many communities: no row ever says it is in one of them.
const RESERVED = new Set(['all', 'popular', 'friends', 'mod'])

/** A checked filter. Empty lists and null are criteria that were not given. */
export type FilterSpec = {
  /** Names as written, without prefix; empty for the whole platform. */
  subforum: string[]
  kind: Kind
  q: string | null
  include_any: string[]
  include_all: string[]
  exclude_terms: string[]
  search_in: SearchField[]
}

/**
 * Reads what a customer wrote.
 * @throws ApiError INVALID_REQUEST naming the field, or subforum_reserved
 */
export function parseFilterSpec(value: unknown, words: Words): FilterSpec {
  if (!isObject(value)) throw wrong({ name: '', value }, 'must be an object')
  checkKnown(value, words)
  const sent = (field: (typeof FIELDS)[number]): Sent => {
    const name = field === 'subforum' ? words.community : field
    return { name, value: Object.hasOwn(value, name) ? value[name] : undefined }
  }
  const kind = sent('kind')
  const q = sent('q')
  const search_in = sent('search_in')
  const spec: FilterSpec = {
    subforum: readNames(sent('subforum')) ?? [],
    kind: given(kind) ? readChoice(kind, KINDS) : 'post',
    q: given(q) ? readText(q, Q_LENGTH_MAX) : null,
    include_any: readTerms(sent('include_any')),
    include_all: readTerms(sent('include_all')),
    exclude_terms: readTerms(sent('exclude_terms')),
    search_in: given(search_in) ? readChoices(search_in, SEARCH_FIELDS) : [...SEARCHED],
  }
  if (spec.q !== null) parseQuery(spec.q)
  checkPlaces(spec, words)
  return spec
}

/** The spec as it is shown: what was given, and the kind. Reading it again gives the same spec. */
export function renderFilterSpec(spec: FilterSpec, words: Words): Record<string, unknown> {
  const usual = spec.search_in.join() === SEARCHED.join()
  return {
    ...filled(words.community, spec.subforum),
    kind: spec.kind,
    ...(spec.q === null ? {} : { q: spec.q }),
    ...filled('include_any', spec.include_any),
    ...filled('include_all', spec.include_all),
    ...filled('exclude_terms', spec.exclude_terms),
    ...(usual ? {} : { search_in: spec.search_in }),
  }
}

const STORED = createWords({ platform: 'forum', community: 'subforum' })

/** The spec as text for the store, free of the configured words. */
export const encodeFilterSpec = (spec: FilterSpec): string =>
  JSON.stringify(renderFilterSpec(spec, STORED))

/** A stored spec, read with the same checks. */
export const decodeFilterSpec = (text: string): FilterSpec =>
  parseFilterSpec(JSON.parse(text), STORED)

export type Place = { kind: 'posts' | 'comments' | 'search'; place: string }

/** The feeds that hold what a spec can match: communities in lower case, or search expressions. */
export function placesOf(spec: FilterSpec): Place[] {
  const names = spec.subforum.map((it) => it.toLowerCase())
  const kinds = ({ post: ['posts'], comment: ['comments'], both: ['posts', 'comments'] } as const)[
    spec.kind
  ]
  if (names.length > 0) return names.flatMap((place) => kinds.map((kind) => ({ kind, place })))
  const expressions = searchExpressions(criteriaOf(spec)) ?? []
  return expressions.map((place) => ({ kind: 'search', place }))
}

/** One positive keyword of a spec, as written, and whether an item holds it. */
export type Keyword = { term: string; test: (item: Item) => boolean }

/** The keywords that q, include_any and include_all look for, each once, in that order. */
export function keywordsOf(spec: FilterSpec): Keyword[] {
  const found = new Map<string, Keyword>()
  for (const query of positiveTerms(criteriaOf(spec))) {
    const term = `${query.written}${query.prefix ? '*' : ''}`
    const key = `${query.field ?? ''}:${normalise(term)}`
    if (!found.has(key)) found.set(key, { term, test: compileQuery(query, spec.search_in) })
  }
  return [...found.values()]
}

/**
 * Compiles a spec into its question: the keywords an item matched with (none when the spec has none),
 * or null when it does not match.
 */
export function compileFilter(spec: FilterSpec): (item: Item) => { terms: string[] } | null {
  const names = new Set(spec.subforum.map((it) => it.toLowerCase()))
  const wanted = compileQuery(criteriaOf(spec), spec.search_in)
  const excluded = compileQuery(anyOf(spec.exclude_terms), spec.search_in)
  const keywords = keywordsOf(spec)
  return (item) => {
    if (spec.kind !== 'both' && item.kind !== spec.kind) return null
    if (names.size > 0 ? !names.has(item.subforum.toLowerCase()) : item.kind !== 'post') return null
    if (!wanted(item) || (spec.exclude_terms.length > 0 && excluded(item))) return null
    const terms = keywords.filter((it) => it.test(item)).map((it) => it.term)
    return { terms: [...new Set(terms)] }
  }
}

// Everything a matching item must satisfy, exclusions apart, as one query. No parts: everything matches.
function criteriaOf({ q, include_any, include_all }: FilterSpec): Query & { kind: 'and' } {
  const parts: Query[] = include_all.map(termOf)
  if (include_any.length > 0) parts.unshift(anyOf(include_any))
  if (q !== null) parts.unshift(parseQuery(q))
  return { kind: 'and', parts }
}

const anyOf = (terms: string[]): Query => ({ kind: 'or', parts: terms.map(termOf) })

const termOf = (written: string): Query => ({ kind: 'term', written, field: null, prefix: false })

function checkKnown(value: Record<string, unknown>, words: Words): void {
  const named = (it: string): string =>
    it
      .replace(/^subforum$/, words.community)
      .replace(/^exclude_subforums$/, words.exclude_communities)
  const fields = FIELDS.map(named)
  for (const name of Object.keys(value)) {
    if (fields.includes(name)) continue
    const sentence = LATER_FIELDS.map(named).includes(name)
      ? 'is not supported by this version'
      : 'is not a field of filter_spec'
    throw wrong({ name, value: value[name] }, `${sentence}; the fields are ${fields.join(', ')}`)
  }
}

function checkPlaces(spec: FilterSpec, words: Words): void {
  const field = `filter_spec.${words.community}`
  const reserved = spec.subforum.find((it) => RESERVED.has(it.toLowerCase()))
  if (reserved !== undefined) {
    const message = `${field} ${reserved} stands for many ${words.communities}; name them, or leave the field out and give a keyword`
    throw new ApiError('subforum_reserved', { field, message })
  }
  if (spec.subforum.length > 0) return
  const absent = `without ${words.community} the whole platform is watched`
  const { parts } = criteriaOf(spec)
  if (parts.length === 0)
    throw wrong(
      { name: '', value: renderFilterSpec(spec, words) },
      `must name a place (${words.community}) or a keyword (q, include_any, include_all)`,
    )
  if (spec.kind !== 'post')
    throw wrong({ name: 'kind', value: spec.kind }, `must be post: ${absent}, posts only`)
  if (searchExpressions({ kind: 'and', parts }) === null)
    throw wrong(
      { name: 'q', value: spec.q },
      `must look for a term in every alternative: ${absent}, and what only excludes finds everything`,
    )
}

const given = (it: Sent): boolean => it.value !== undefined

const filled = (name: string, values: readonly string[]) =>
  values.length > 0 ? { [name]: values } : {}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
