import { invalid } from '../base/errors.ts'
import { normalise } from '../base/form.ts'
import { meant } from '../base/text.ts'
import { HOME, type Item } from '../forum/items.ts'
import { type Naming, sourceNames } from '../forum/naming.ts'
import { parseCommunityName } from '../forum/permalink.ts'
import type { FeedKind, WatchedFeed } from '../polling/feed.ts'
import { anyOf, ENTRIES, type FilterSpec, wireName } from './fields.ts'
import { compileQuery, type MatchOptions, matchOptionsOf } from './match.ts'
import { parseQuery, positiveTerms, type Query, type Term } from './query.ts'
import { watchedSources } from './spec.ts'

export type Keyword = { term: string; test: (item: Item) => boolean }

/** The keywords that q, include_any and include_all look for, each once, in that order. */
export function keywordsOf(spec: FilterSpec): Keyword[] {
  const options = matchOptionsOf(spec)
  return keywordTerms(spec, options).map((it) => ({
    term: displayTerm(it),
    test: compileQuery(it, options),
  }))
}

export function keywordTerms(spec: FilterSpec, { view }: MatchOptions): Term[] {
  const found = new Map<string, Term>()
  for (const it of positiveTerms(requiredQuery(spec))) {
    const key = `${it.field ?? ''}:${normalise(displayTerm(it), view)}`
    if (!found.has(key)) found.set(key, it)
  }
  return [...found.values()]
}

export const displayTerm = ({ written, prefix }: Term): string => (prefix ? `${written}*` : written)

/** All that must occur in a matching item, as one query. No parts: everything matches. */
export function requiredQuery(spec: FilterSpec): Query & { kind: 'and' } {
  const { q, include_any, include_all } = spec
  const parts: Query[] = [...anyOf(include_all).parts]
  if (include_any.length > 0) parts.unshift(anyOf(include_any))
  if (q !== null) parts.unshift(parseQuery(q, matchOptionsOf(spec).view))
  return { kind: 'and', parts }
}

export type WatchableSource = {
  name: string
  /** `time_listing`: its listings are polled; else it has one feed of all its items. */
  proof: string
  has(capability: 'tree' | 'nodesById' | 'postsById'): boolean
  /** Names of its feeds if each is polled alone. */
  feeds?: readonly string[] | undefined
  /** True when `place` is a name that it could have. */
  isPlace(place: string): boolean
}

/** @throws {ApiError} INVALID_REQUEST naming the field */
export function checkSources(
  spec: FilterSpec,
  watches: ReadonlyMap<string, WatchableSource>,
  words: Naming,
): void {
  const configured = [...watches.keys()].filter((it) => it !== HOME)
  const named = watchedSources(spec, watches.keys()).filter((it) => it !== HOME)
  const unknown = named.filter((it) => !watches.has(it))
  if (unknown.length > 0)
    throw invalid(
      'filter_spec.source',
      `filter_spec.source: ${unknown.join(', ')} cannot be monitored; the sources are ${sourceNames(words, configured)}${meant(unknown[0] ?? '', configured)}`,
    )
  const sources = named.flatMap((it) => watches.get(it) ?? [])
  if (sources.length === 0) return
  const is_home = words.home !== null && watchedSources(spec, watches.keys()).includes(HOME)
  checkPlaceNames(spec, sources, { words, is_home })
  for (const [field, { absent, needs }] of ENTRIES) {
    if (needs === undefined || spec[field] === null || spec[field] === absent) continue
    for (const kind of spec.kind === 'both' ? (['post', 'comment'] as const) : [spec.kind])
      if (needs[kind] !== undefined) requireAll(sources, needs[kind], field)
  }
}

function requireAll(
  sources: readonly WatchableSource[],
  capability: Parameters<WatchableSource['has']>[0],
  field: keyof FilterSpec,
): void {
  const lacking = sources.filter((it) => !it.has(capability)).map(({ name }) => name)
  if (lacking.length === 0) return
  throw invalid(
    `filter_spec.${field}`,
    `filter_spec.${field} is not supported by ${lacking.join(', ')}, which cannot serve ${capability}`,
  )
}

/** Names by which sources list many places; no item is in a place of such a name. */
const MANY: readonly string[] = ['all', 'local']

/** Each name must be one that a watched source could have. */
function checkPlaceNames(
  spec: FilterSpec,
  sources: readonly WatchableSource[],
  { words, is_home }: { words: Naming; is_home: boolean },
): void {
  for (const list of ['subforum', 'exclude_subforums'] as const) {
    const many = spec[list].find((it) => MANY.includes(it.toLowerCase()))
    const field = `filter_spec.${wireName(list, words)}`
    if (many !== undefined)
      throw invalid(
        field,
        `${field}: ${many} stands for many ${words.communities}; leave the field out`,
      )
    const none = spec[list].find(
      (place) =>
        !sources.some((it) => it.isPlace(place)) &&
        !(is_home && parseCommunityName(place) !== null),
    )
    if (none === undefined) continue
    throw invalid(
      field,
      `${field}: ${none} is no place of ${sources.map(({ name }) => name).join(', ')}`,
    )
  }
}

type FeedPlace = { kind: FeedKind; place: string }

/** The source {@link HOME} alone. */
const HOME_ALONE: ReadonlyMap<string, Pick<WatchableSource, 'proof' | 'feeds'>> = new Map([
  [HOME, { proof: 'time_listing' }],
])

/**
 * The feeds that contain everything a spec can match: communities in lower case; else the threads it names; else the
 * comments of its authors, by name in lower case, and search expressions for posts. Communities are narrower than any
 * search; all other criteria are tested on the items. A source that is read by ids has one feed of all its items, or those
 * of its feeds that can contain a match.
 */
export const placesOf = (
  spec: FilterSpec,
  sources: ReadonlyMap<string, Pick<WatchableSource, 'proof' | 'feeds'>> = HOME_ALONE,
): WatchedFeed[] =>
  watchedSources(spec, sources.keys()).flatMap((name): WatchedFeed[] => {
    const source = sources.get(name)
    if (source === undefined) return []
    if (source.proof !== 'time_listing')
      return allPlaces(spec, source.feeds).map((it) => ({ kind: 'all', place: name + it }))
    const listed = listedPlaces(spec)
    return name === HOME ? listed : listed.map((it) => ({ ...it, source: name }))
  })

function allPlaces(
  { subforum, exclude_subforums }: FilterSpec,
  feeds: readonly string[] | undefined,
): string[] {
  if (feeds === undefined) return ['']
  const [wanted, excluded] = [subforum, exclude_subforums].map(
    (list) => new Set(list.map((it) => it.toLowerCase())),
  )
  const isWatched = (name: string): boolean =>
    (wanted?.size === 0 || wanted?.has(name) === true) && excluded?.has(name) !== true
  return feeds.filter((it) => isWatched(it.toLowerCase())).map((it) => `/${it}`)
}

function listedPlaces(spec: FilterSpec): FeedPlace[] {
  // Names that only another source can have are no places of this one.
  const names = spec.subforum
    .filter((it) => parseCommunityName(it) !== null)
    .map((it) => it.toLowerCase())
  const kinds = ({ post: ['posts'], comment: ['comments'], both: ['posts', 'comments'] } as const)[
    spec.kind
  ]
  if (spec.subforum.length > 0)
    return names.flatMap((place) => kinds.map((kind) => ({ kind, place })))
  if (spec.thread.length > 0) return spec.thread.map((place) => ({ kind: 'thread', place }))
  // No search finds comments: comments of an author are read one author at a time.
  const authors = spec.kind === 'post' ? [] : spec.author.map((it) => it.toLowerCase())
  const comments = authors.map((place): FeedPlace => ({ kind: 'user_comments', place }))
  return spec.kind === 'comment' ? comments : [...comments, ...searchesOf(spec)]
}

function searchesOf(spec: FilterSpec): FeedPlace[] {
  const { parts } = requiredQuery(spec)
  const wanted = spec.match === 'substring' ? parts.map(asPrefixes) : parts
  const whole: Query = { kind: 'and', parts: [...writtenBy(spec.author), ...wanted] }
  return (searchExpressions(whole) ?? []).map((place) => ({ kind: 'search', place }))
}

function writtenBy(names: readonly string[]): Query[] {
  if (names.length === 0) return []
  const parts = names.map((written): Query => ({
    kind: 'term',
    written,
    field: 'author',
    prefix: false,
  }))
  return [{ kind: 'or', parts }]
}

// The platform's search knows words and prefixes only; a prefix is its closest match for a substring.
function asPrefixes(query: Query): Query {
  switch (query.kind) {
    case 'term':
      return { ...query, prefix: true }
    case 'not':
      return query
    case 'and':
    case 'or':
      return { ...query, parts: query.parts.map(asPrefixes) }
  }
}

// Longest search expression that the platform accepts, characters.
const EXPRESSION_MAX = 512

/**
 * Search expressions that together find every item that a query can match; null when nothing bounds it. They may find
 * more: each item is matched again here. Sorted, so that equal queries share one feed.
 */
export function searchExpressions(query: Query): string[] | null {
  switch (query.kind) {
    case 'term':
      return [expressionOf(query)]
    case 'not':
      return null
    case 'and': {
      const bounded = query.parts.map(searchExpressions).filter((it) => it !== null)
      const single = bounded.filter((it) => it.length === 1).flat()
      if (single.length > 0) return [fit(single)]
      return bounded.toSorted((a, b) => a.length - b.length)[0] ?? null
    }
    case 'or': {
      const parts = query.parts.map(searchExpressions)
      const bounded = parts.filter((it) => it !== null)
      return bounded.length < parts.length ? null : pack(bounded.flat())
    }
  }
}

// Leaving one of several conditions out only finds more.
function fit(parts: string[]): string {
  const chosen: string[] = []
  for (const part of sorted(parts))
    if (join([...chosen, part], 'AND').length <= EXPRESSION_MAX) chosen.push(part)
  return join(chosen, 'AND')
}

// Alternatives cannot be left out: the rest goes into a further search.
function pack(parts: string[]): string[] {
  const packs: string[][] = []
  for (const part of sorted(parts)) {
    const last = packs.at(-1)
    if (last !== undefined && join([...last, part], 'OR').length <= EXPRESSION_MAX) last.push(part)
    else packs.push([part])
  }
  return packs.map((it) => join(it, 'OR'))
}

function join(parts: string[], operator: 'AND' | 'OR'): string {
  const [first = ''] = parts
  if (parts.length < 2) return first
  return parts.map((it) => (/ (AND|OR) /.test(it) ? `(${it})` : it)).join(` ${operator} `)
}

const sorted = (parts: string[]): string[] => [...new Set(parts)].toSorted()

// Fields that the platform's search can restrict a term to. Terms for other fields are searched without a field.
const ASKABLE = ['title', 'author', 'flair'] as const

function expressionOf({ written, field, prefix }: Query & { kind: 'term' }): string {
  const text = normalise(written)
    .replace(/["\s]+/g, ' ')
    .trim()
  const search_field = ASKABLE.find((it) => it === field)
  const quoted = /^[\p{L}\p{M}\p{N}]+$/u.test(text) ? text : `"${text}"`
  return `${search_field === undefined ? '' : `${search_field}:`}${quoted}${prefix ? '*' : ''}`
}
