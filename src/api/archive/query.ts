import { ApiError, type FieldError, invalid } from '../../core/base/errors.ts'
import { isObject } from '../../core/base/object.ts'
import { type FilterSpec, wireName } from '../../core/filter/fields.ts'
import { parseSearchSpec } from '../../core/filter/parse.ts'
import { COUNT_MAX, KINDS } from '../../core/filter/readers.ts'
import type { Naming } from '../../core/forum/naming.ts'
import type { PatternJudge } from '../../patterns/judge.ts'
import { scopesOf } from '../../store/archive/scopes.ts'
import type { Db } from '../../store/db/connection.ts'
import { maybeInstant, maybeInteger, maybeOneOf, optionalText } from '../http/fields.ts'
import { checkPatternCost } from '../monitors/patterns.ts'

/** A filter of many terms, as JSON text in a query. */
const FILTER_LENGTH_MAX = 16_000
const LIST_LENGTH_MAX = 2000

export const archiveFields = ({ community }: Naming) => ({
  q: optionalText('q').describe(
    'A phrase, or a boolean query as in a filter_spec: ("rate limit" OR throttl*) AND -hiring.',
  ),
  filter_spec: optionalText('filter_spec', { max: FILTER_LENGTH_MAX }).describe(
    'A filter_spec of a monitor as JSON text. Without source and kind it covers all of them; a field of the query must not be in it too.',
  ),
  from: maybeInstant('from').describe('Only items created at this time or later.'),
  to: maybeInstant('to').describe('Only items created before this time.'),
  source: optionalText('source', { max: LIST_LENGTH_MAX }).describe(
    'Names of sources, separated by commas; absent: all.',
  ),
  [community]: optionalText(community, { max: LIST_LENGTH_MAX }).describe(
    'Names, separated by commas.',
  ),
  author: optionalText('author', { max: LIST_LENGTH_MAX }).describe('Names, separated by commas.'),
  kind: maybeOneOf('kind', KINDS).describe('Kind of items; absent: both.'),
  min_score: maybeInteger('min_score', { min: -COUNT_MAX, max: COUNT_MAX }).describe(
    'Minimum score when the item was last read.',
  ),
})

/** Values of {@link archiveFields}; the field of the community has its configured name. */
export type ArchiveFields = {
  q?: string | undefined
  filter_spec?: string | undefined
  from?: number | undefined
  to?: number | undefined
  source?: string | undefined
  author?: string | undefined
  kind?: (typeof KINDS)[number] | undefined
  min_score?: number | undefined
}

/** Last instant of a search without an end, epoch ms. */
const END_OF_TIME = Date.UTC(9999, 0)

/** The part of the archive and the filter that a call selects, for its customer. */
export type Selected = { from_at: number; to_at: number; scopes: string[]; spec: FilterSpec }

/**
 * Reads the filter of a call, and checks its patterns.
 * @throws {ApiError} INVALID_REQUEST naming each field by its name in the query
 */
export async function readSelection(
  { words, db, patterns }: { words: Naming; db: Db; patterns: PatternJudge },
  customer_id: string,
  query: ArchiveFields & Record<string, unknown>,
): Promise<Selected> {
  const { from = 0, to = END_OF_TIME } = query
  const spec = readSpec(query, words)
  if (from >= to) throw invalid('to', 'to must be after from')
  await checkPatternCost(patterns, spec, customer_id)
  return { from_at: from, to_at: to, scopes: scopesOf(db, customer_id), spec }
}

function readSpec(query: ArchiveFields & Record<string, unknown>, words: Naming): FilterSpec {
  const given = filterOf(query.filter_spec)
  const community = wireName('subforum', words)
  const named = query[community]
  const lists = { source: query.source, author: query.author, [community]: named }
  const own: Record<string, unknown> = Object.fromEntries(
    [
      ...Object.entries({ q: query.q, kind: query.kind, min_score: query.min_score }),
      ...Object.entries(lists).map(([name, it]) => [
        name,
        typeof it === 'string' && it.trim() !== '' ? listOf(it) : null,
      ]),
    ].filter(([, value]) => value !== undefined && value !== null && value !== ''),
  )
  const twice = Object.keys(own).filter((name) => Object.hasOwn(given, name))
  const errors = twice.map((field): FieldError => ({
    field,
    message: `${field} must not be given beside filter_spec.${field}`,
  }))
  const [first] = errors
  if (first !== undefined)
    throw new ApiError('INVALID_REQUEST', {
      ...first,
      ...(errors.length > 1 && { errors }),
    })
  try {
    return parseSearchSpec({ ...given, ...own }, words)
  } catch (error) {
    throw error instanceof ApiError ? renamed(error, Object.keys(own)) : error
  }
}

/** Names separated by commas; one alone stays a text, and an error names no place of it. */
function listOf(text: string): string | string[] {
  const names = text.split(',').map((it) => it.trim())
  return names.length === 1 ? text : names
}

function filterOf(text: string | undefined): Record<string, unknown> {
  if (text === undefined || text.trim() === '') return {}
  const sentence = 'filter_spec must be a JSON object, such as {"include_any":["grinder"]}'
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) return value
  } catch {
    throw invalid('filter_spec', sentence)
  }
  throw invalid('filter_spec', sentence)
}

/** The error with the names of fields of the query, instead of those within a filter_spec. */
function renamed({ code, message, details }: ApiError, own: readonly string[]): ApiError {
  const rename = (text: string): string =>
    own.reduce((it, name) => it.replaceAll(`filter_spec.${name}`, name), text)
  const { field, errors } = details
  return new ApiError(code, {
    ...details,
    message: rename(message),
    ...(field !== undefined && { field: rename(field) }),
    ...(errors !== undefined && {
      errors: errors.map((it) => ({ field: rename(it.field), message: rename(it.message) })),
    }),
  })
}
