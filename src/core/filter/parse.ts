import { ApiError, withAllFields } from '../base/errors.ts'
import { viewOf } from '../base/form.ts'
import { isObject } from '../base/object.ts'
import { meant } from '../base/text.ts'
import { HOME } from '../forum/items.ts'
import { createNaming, nameOfSource, type Naming, sourceOfName } from '../forum/naming.ts'
import { isViewerName, MANY_SUBFORUMS, VIEWER_NAME_REFUSAL } from '../forum/permalink.ts'
import { placesOf, requiredQuery, searchExpressions } from './feeds.ts'
import {
  ALL_SOURCES,
  ENTRIES,
  FILTER_FIELDS,
  type FilterField,
  type FilterSpec,
  wireName,
} from './fields.ts'
import { parseQuery } from './query.ts'
import { type FieldInput, NONE, readEntries, readFlag, SOURCES, wrong } from './readers.ts'
import { viewerTermIn } from './search-query.ts'
import { FILTER_DEFAULTS, watchedSources } from './spec.ts'

type RenderSpec = () => Record<string, unknown>

/**
 * Checks the rules between the fields of a spec; `render` gives the form in which an error shows the whole spec.
 * @throws {ApiError} INVALID_REQUEST naming the field, or subforum_reserved
 */
function checkSpec(spec: FilterSpec, words: Naming, render: RenderSpec): void {
  checkPairs(spec, words)
  // A further source is a place by itself, and has names of its own.
  if (words.home === null || !watchedSources(spec, [HOME]).includes(HOME)) return
  checkReserved(spec, words)
  checkPlaces(spec, words, render)
  checkSearches(spec)
}

function checkReserved(spec: FilterSpec, words: Naming): void {
  for (const list of ['subforum', 'exclude_subforums'] as const) {
    const reserved = spec[list].find(
      (it) => isViewerName(it) || MANY_SUBFORUMS.has(it.toLowerCase()),
    )
    if (reserved === undefined) continue
    const field = `filter_spec.${wireName(list, words)}`
    const message = isViewerName(reserved)
      ? `${field} ${reserved} ${VIEWER_NAME_REFUSAL}`
      : `${field} ${reserved} stands for many ${words.communities}; name them, or leave the field out and give a keyword`
    throw new ApiError('subforum_reserved', { field, message })
  }
  for (const list of ['author', 'exclude_authors'] as const) {
    const viewer = spec[list].find(isViewerName)
    if (viewer !== undefined) throw wrong({ name: list, value: viewer }, VIEWER_NAME_REFUSAL)
  }
}

/** Searches are sent with an account of the pool, so no term may refer to the account itself. */
function checkSearches(spec: FilterSpec): void {
  for (const { kind, place } of placesOf(spec)) {
    const viewer = kind === 'search' ? viewerTermIn(place) : null
    if (viewer !== null) throw wrong({ name: 'q', value: viewer }, VIEWER_NAME_REFUSAL)
  }
}

/** Rules between the fields, and criteria that no comment can meet in a spec that watches only comments. */
function checkPairs(spec: FilterSpec, words: Naming): void {
  const has = (name: string) =>
    Object.entries(spec).some(([it, value]) => it === name && !isAbsent(it, value))
  for (const [name, { conflicts }] of ENTRIES) {
    const why = conflicts?.(spec[name], has, words)
    if (why) throw wrong({ name: wireName(name, words), value: spec[name] }, why)
  }
  if (spec.kind !== 'comment') return
  const [name] = ENTRIES.find(([it, { posts_only }]) => posts_only?.(spec[it])) ?? []
  if (name !== undefined)
    throw wrong(
      { name, value: spec[name] },
      'asks for what only posts have; it must be left out, or kind be post or both',
    )
}

function checkPlaces(spec: FilterSpec, words: Naming, render: RenderSpec): void {
  if (spec.subforum.length > 0 || spec.thread.length > 0) return
  const { community } = words
  const wanted = requiredQuery(spec)
  if (wanted.parts.length === 0 && spec.author.length === 0)
    throw wrong(
      { name: '', value: render() },
      `must name a place (${community}, author, thread) or a keyword (q, include_any, include_all)`,
    )
  if (spec.author.length > 0) return
  const absent = `without ${community}, author and thread the whole platform is watched`
  if (spec.kind !== 'post')
    throw wrong(
      { name: 'kind', value: spec.kind },
      `must be post: ${absent}, posts only; name sources in place of all to watch their comments too`,
    )
  if (searchExpressions(wanted) === null)
    throw wrong(
      { name: 'q', value: spec.q },
      `must look for a term in every alternative: ${absent}, and what only excludes finds everything`,
    )
}

/**
 * filter_spec: the filter of a monitor. Parsed here from the request; compiled once per version of a monitor
 * (`compile.ts`) and evaluated once per item.
 */
/** @throws {ApiError} INVALID_REQUEST naming the field, or subforum_reserved */
export function parseFilterSpec(value: unknown, words: Naming): FilterSpec {
  const spec = readEachField(value, words)
  checkSpec(spec, words, () => renderFilterSpec(spec, words))
  return spec
}

/**
 * Parses the filter of a search in what is stored: the same fields, of any sources and kinds unless it names some, and
 * without the rules for what can be polled.
 * @throws {ApiError} INVALID_REQUEST naming the field
 */
export function parseSearchSpec(value: Record<string, unknown>, words: Naming): FilterSpec {
  const spec = readEachField({ source: ALL_SOURCES, kind: 'both', ...value }, words)
  checkPairs(spec, words)
  return spec
}

/**
 * Reads all fields. After an invalid one the rest is read without it, so that one error names every
 * invalid field. What other fields may hold depends on the sources, so their error stands alone.
 */
function readEachField(value: unknown, words: Naming): FilterSpec {
  try {
    return readFields(value, words)
  } catch (error) {
    const first = asRefusal(error)
    throw withAllFields([first, ...furtherErrors(value, first, words)])
  }
}

function furtherErrors(value: unknown, { details }: ApiError, words: Naming): ApiError[] {
  if (!isObject(value)) return []
  const field = details.field?.replace(/\[.*/, '')
  const name = Object.keys(value).find((it) => `filter_spec.${it}` === field)
  if (name === undefined || name === 'source') return []
  const { [name]: _, ...rest } = value
  try {
    readFields(rest, words)
    return []
  } catch (error) {
    const next = asRefusal(error)
    return [next, ...furtherErrors(rest, next, words)]
  }
}

function asRefusal(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  throw error
}

function readFields(value: unknown, words: Naming): FilterSpec {
  if (!isObject(value)) throw wrong({ name: '', value }, 'must be an object')
  checkFieldNames(value, words)
  const sent = (field: FilterField): FieldInput => {
    const name = wireName(field, words)
    return { name, value: Object.hasOwn(value, name) ? value[name] : undefined }
  }
  const isOn = (field: FilterField) => sent(field).value !== undefined && readFlag(sent(field))
  const view = viewOf({
    fold_accents: isOn('fold_accents'),
    case_sensitive: isOn('case_sensitive'),
  })
  const source = readSources(sent('source'), words)
  const context = { view, is_home_only: source.length === 0 }
  // An array of any: the compiler cannot follow that each field has the type of its own reader.
  const spec: FilterSpec = Object.fromEntries(
    ENTRIES.map(([field, { absent, read }]): unknown[] => {
      const input = sent(field)
      if (field === 'source') return [field, source]
      return [field, input.value === undefined ? absent : read(input, context)]
    }),
  )
  // Only comments occur under a post.
  if (sent('kind').value === undefined && spec.thread.length > 0) spec.kind = 'comment'
  if (spec.q !== null) parseQuery(spec.q, view)
  return spec
}

/** The spec as the API shows it: the given fields and the kind. Parsing the result gives the same spec. */
export function renderFilterSpec(spec: FilterSpec, words: Naming): Record<string, unknown> {
  const given_fields = Object.entries(spec).filter(
    ([field, value]) => field === 'kind' || !isAbsent(field, value),
  )
  const source = spec.source.map((it) => nameOfSource(words, it))
  return Object.fromEntries(
    given_fields.map(([field, value]) => [
      wireName(field, words),
      field === 'source' ? source : value,
    ]),
  )
}

const absent = new Map(
  Object.entries(FILTER_DEFAULTS).map(([field, it]) => [field, JSON.stringify(it)]),
)
const isAbsent = (field: string, value: unknown): boolean =>
  JSON.stringify(value) === absent.get(field)

const STORED = createNaming(
  { platform: 'forum', community: 'subforum' },
  { default_source: HOME, home: HOME },
)

/** The spec as text for the store, independent of the configured words. */
export const encodeFilterSpec = (spec: FilterSpec): string =>
  JSON.stringify(renderFilterSpec(spec, STORED))

/** A stored spec was checked when it was written, by the sources of that time. */
export const decodeFilterSpec = (text: string): FilterSpec =>
  readEachField(JSON.parse(text), STORED)

function checkFieldNames(value: Record<string, unknown>, words: Naming): void {
  const fields = FILTER_FIELDS.map((it) => wireName(it, words))
  for (const name of Object.keys(value))
    if (!fields.includes(name)) {
      throw wrong(
        { name: name === '' ? '""' : name, value: value[name] },
        `is not a field of filter_spec${meant(name, fields)}; the fields are ${fields.join(', ')}`,
      )
    }
}

/** The sources of a spec: names, or `all` alone. Empty: {@link HOME} alone. */
function readSources(sent: FieldInput, words: Naming): string[] {
  const named = readEntries(sent, SOURCES)
  const { default_source } = words
  const names = (named.length === 0 ? [default_source] : named).map((it) => sourceOfName(words, it))
  if (names.length > 1 && names.includes(ALL_SOURCES))
    throw wrong(sent, 'must be all alone, or a list of names')
  return names.length === 1 && names[0] === HOME ? NONE : names
}
