import { wantedBy } from './filter-keywords.ts'
import type { Query } from './filter-query.ts'
import type { FilterSpec } from './filter-spec.ts'
import { normalise } from './filter-text.ts'
import type { StreamKind } from './stream.ts'

type Place = { kind: StreamKind; place: string }

/**
 * The feeds that hold what a spec can match: communities in lower case; else the threads it names; else what its
 * authors comment, by name in lower case, and search expressions for posts. Communities are narrower than any search;
 * whatever else the spec names is looked at in the items.
 */
export function placesOf(spec: FilterSpec): Place[] {
  const names = spec.subforum.map((it) => it.toLowerCase())
  const kinds = ({ post: ['posts'], comment: ['comments'], both: ['posts', 'comments'] } as const)[
    spec.kind
  ]
  if (names.length > 0) return names.flatMap((place) => kinds.map((kind) => ({ kind, place })))
  if (spec.thread.length > 0) return spec.thread.map((place) => ({ kind: 'thread', place }))
  // No search finds comments: those of an author are read one author at a time.
  const said = spec.kind === 'post' ? [] : spec.author.map((it) => it.toLowerCase())
  const comments = said.map((place): Place => ({ kind: 'user_comments', place }))
  return spec.kind === 'comment' ? comments : [...comments, ...searchesOf(spec)]
}

function searchesOf(spec: FilterSpec): Place[] {
  const { parts } = wantedBy(spec)
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

// The platform's search knows words and how they begin; that is as near as it comes to parts of them.
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

// What the platform's search takes at most.
const EXPRESSION_MAX = 512

/**
 * Search expressions that together find whatever a query can match; null when nothing bounds it. They
 * may find more: each item is matched again here. Sorted, so that equal wishes share one stream.
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
  const kept: string[] = []
  for (const part of sorted(parts))
    if (join([...kept, part], 'AND').length <= EXPRESSION_MAX) kept.push(part)
  return join(kept, 'AND')
}

// Alternatives cannot be left out: what does not fit goes into a search of its own.
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

// Titles, authors and flairs can be asked for by name; what is looked for elsewhere is asked of everything.
const ASKABLE = ['title', 'author', 'flair'] as const

function expressionOf({ written, field, prefix }: Query & { kind: 'term' }): string {
  const text = normalise(written)
    .replace(/["\s]+/g, ' ')
    .trim()
  const asked = ASKABLE.find((it) => it === field)
  const quoted = /^[\p{L}\p{M}\p{N}]+$/u.test(text) ? text : `"${text}"`
  return `${asked === undefined ? '' : `${asked}:`}${quoted}${prefix ? '*' : ''}`
}
