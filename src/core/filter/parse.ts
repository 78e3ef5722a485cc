import * as z from 'zod'

import { ApiError, withAllFields } from '../base/errors.ts'
import { viewOf } from '../base/form.ts'
import { isObject } from '../base/object.ts'
import { meant } from '../base/text.ts'
import { LANGUAGE_CODES } from '../enrichment/language.ts'
import { INTENTS } from '../enrichment/lexicon/cues.ts'
import { SENTIMENT_LABELS } from '../enrichment/sentiment.ts'
import { MAIN } from '../forum/items.ts'
import { createNaming, hasMainSource, type Naming } from '../forum/naming.ts'
import { isViewerName, MANY_SUBFORUMS, VIEWER_NAME_REFUSAL } from '../forum/permalink.ts'
import { PATTERN_LENGTH_MAX, PATTERNS_MAX, readPatterns } from '../pattern/syntax.ts'
import { placesOf, requiredQuery, searchExpressions } from './feeds.ts'
import {
  AUTHORS,
  COMMUNITIES,
  COUNT_MAX,
  DOMAINS,
  type FieldInput,
  FLAIRS,
  KINDS,
  LABEL_LENGTH_MAX,
  MATCHES,
  NAMES_MAX,
  NONE,
  POST_TYPES,
  Q_LENGTH_MAX,
  readChoice,
  readChoices,
  readEntries,
  readFlag,
  readGroup,
  readInteger,
  readTerms,
  readText,
  SEARCHED,
  SOURCE_PLACES,
  SOURCE_USERS,
  SOURCES,
  TERM_LENGTH_MAX,
  TERMS_MAX,
  THREADS,
  WINDOW_MAX_S,
  wrong,
} from './fields.ts'
import { parseQuery } from './query.ts'
import { viewerTermIn } from './search-query.ts'
import {
  ALL_SOURCES,
  FILTER_DEFAULTS,
  FILTER_FIELDS,
  type FilterField,
  type FilterSpec,
  watchesMain,
  wireName,
} from './spec.ts'
import { SEARCH_FIELDS } from './text.ts'

type RenderSpec = () => Record<string, unknown>

/**
 * Checks the rules between the fields of a spec; `render` gives the form in which an error shows the whole spec.
 * @throws {ApiError} INVALID_REQUEST naming the field, or subforum_reserved
 */
function checkSpec(spec: FilterSpec, words: Naming, render: RenderSpec): void {
  checkPairs(spec, words)
  checkPostOnly(spec)
  // A further source is a place by itself, and has names of its own.
  if (!watchesMain(spec)) return
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

function checkPairs(spec: FilterSpec, words: Naming): void {
  if (spec.exclude_subforums.length > 0 && spec.subforum.length > 0)
    throw wrong(
      { name: words.exclude_communities, value: spec.exclude_subforums },
      `is for monitors of the whole platform; it must be left out beside ${words.community}`,
    )
  if (spec.thread.length > 0 && spec.kind === 'post')
    throw wrong(
      { name: 'kind', value: spec.kind },
      'must be comment, both or left out beside thread, which names posts whose comments are watched',
    )
  if (spec.has_flair === false && spec.flair.length > 0)
    throw wrong({ name: 'has_flair', value: false }, 'must be true or left out beside flair')
  if (spec.group_window_s !== null && spec.group === null)
    throw wrong(
      { name: 'group_window_s', value: spec.group_window_s },
      'must be left out without group, which it makes collect for longer',
    )
}

/** Criteria that no comment can meet, in a spec that watches only comments. */
function checkPostOnly(spec: FilterSpec): void {
  if (spec.kind !== 'comment') return
  const post_only = [
    ...(spec.flair.length > 0 ? ['flair' as const] : []),
    ...(spec.has_flair === true ? ['has_flair' as const] : []),
    ...(spec.post_type.length > 0 ? ['post_type' as const] : []),
    ...(spec.min_comments === null ? [] : ['min_comments' as const]),
  ]
  const [name] = post_only
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
    throw wrong({ name: 'kind', value: spec.kind }, `must be post: ${absent}, posts only`)
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
  checkPostOnly(spec)
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
  const fold_accents = readFlag(sent('fold_accents')) ?? false
  const case_sensitive = readFlag(sent('case_sensitive')) ?? false
  const view = viewOf({ fold_accents, case_sensitive })
  const thread = readEntries(sent('thread'), THREADS)
  const source = readSources(sent('source'), words)
  const is_main_only = source.length === 0
  const places = is_main_only ? COMMUNITIES : SOURCE_PLACES
  const users = is_main_only ? AUTHORS : SOURCE_USERS
  const count = (field: FilterField, least: number) => readInteger(sent(field), least, COUNT_MAX)
  const spec: FilterSpec = {
    source,
    subforum: readEntries(sent('subforum'), places),
    exclude_subforums: readEntries(sent('exclude_subforums'), { ...places, least: 0 }),
    kind: given(sent('kind'), (it) => readChoice(it, KINDS)) ?? usualKind(thread),
    q: given(sent('q'), (it) => readText(it, Q_LENGTH_MAX, view)),
    include_any: readTerms(sent('include_any'), view),
    include_all: readTerms(sent('include_all'), view),
    exclude_terms: readTerms(sent('exclude_terms'), view),
    search_in:
      given(sent('search_in'), (it) => readChoices(it, SEARCH_FIELDS)) ?? FILTER_DEFAULTS.search_in,
    match: given(sent('match'), (it) => readChoice(it, MATCHES)) ?? 'word',
    fold_accents,
    case_sensitive,
    regex: readPatterns(sent('regex')),
    author: readEntries(sent('author'), users),
    exclude_authors: readEntries(sent('exclude_authors'), { ...users, least: 0 }),
    thread,
    domain: readEntries(sent('domain'), DOMAINS),
    exclude_domains: readEntries(sent('exclude_domains'), { ...DOMAINS, least: 0 }),
    flair: readEntries(sent('flair'), FLAIRS),
    exclude_flair: readEntries(sent('exclude_flair'), { ...FLAIRS, least: 0 }),
    has_flair: readFlag(sent('has_flair')),
    post_type: given(sent('post_type'), (it) => readChoices(it, POST_TYPES)) ?? NONE,
    nsfw: readFlag(sent('nsfw')),
    min_score: count('min_score', -COUNT_MAX),
    min_comments: count('min_comments', 0),
    min_relevance: readInteger(sent('min_relevance'), 0, 100),
    intent: given(sent('intent'), (it) => readChoices(it, INTENTS)) ?? NONE,
    sentiment: given(sent('sentiment'), (it) => readChoices(it, SENTIMENT_LABELS)) ?? NONE,
    language: given(sent('language'), (it) => readChoices(it, LANGUAGE_CODES)) ?? NONE,
    group: readGroup(sent('group')),
    group_window_s: readInteger(sent('group_window_s'), 0, WINDOW_MAX_S),
  }
  if (spec.q !== null) parseQuery(spec.q, view)
  return spec
}

/** The spec as the API shows it: the given fields and the kind. Parsing the result gives the same spec. */
export function renderFilterSpec(spec: FilterSpec, words: Naming): Record<string, unknown> {
  const given_fields = Object.entries(spec).filter(
    ([field, value]) => field === 'kind' || !isAbsent(field, value),
  )
  return Object.fromEntries(given_fields.map(([field, value]) => [wireName(field, words), value]))
}

const absent = new Map(
  Object.entries(FILTER_DEFAULTS).map(([field, it]) => [field, JSON.stringify(it)]),
)
const isAbsent = (field: string, value: unknown): boolean =>
  JSON.stringify(value) === absent.get(field)

const STORED = createNaming({ platform: 'forum', community: 'subforum' })

/** The spec as text for the store, independent of the configured words. */
export const encodeFilterSpec = (spec: FilterSpec): string =>
  JSON.stringify(renderFilterSpec(spec, STORED))

export const decodeFilterSpec = (text: string): FilterSpec =>
  parseFilterSpec(JSON.parse(text), STORED)

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

/** The sources of a spec: names, or `all` alone. Empty: `main` only. */
function readSources(sent: FieldInput, words: Naming): string[] {
  const named = readEntries(sent, SOURCES)
  const has_main = hasMainSource(words)
  const names = named.length === 0 && !has_main ? [words.default_source] : named
  if (!has_main && names.includes(MAIN))
    throw wrong(sent, 'must not name main: no [platform] is configured')
  if (names.length > 1 && names.includes(ALL_SOURCES))
    throw wrong(sent, 'must be all alone, or a list of names')
  return names.length === 1 && names[0] === MAIN ? NONE : names
}

// Only comments occur under a post.
const usualKind = (thread: readonly string[]): FilterSpec['kind'] =>
  thread.length > 0 ? 'comment' : FILTER_DEFAULTS.kind

const given = <T>(it: FieldInput, read: (it: FieldInput) => T): T | null =>
  it.value === undefined ? null : read(it)

const oneOrMany = (it: z.ZodType, least: 0 | 1 = 1) =>
  z.union([it, z.array(it).min(least).max(NAMES_MAX)]).optional()

/** The schema of a filter_spec for the OpenAPI document. `parseFilterSpec` decides what is accepted. */
export function filterSchema(words: Naming) {
  const terms = z.array(z.string().min(1).max(TERM_LENGTH_MAX)).max(TERMS_MAX).optional()
  const texts = oneOrMany(z.string())
  const unwanted = oneOrMany(z.string(), 0)
  const flag = z.boolean().optional()
  const count = z.int().optional()
  return z
    .strictObject({
      source: texts.describe(
        `Names of sources, as ${words.api}/sources lists them, or all. Default: ${words.default_source}.`,
      ),
      [words.community]: texts.describe(
        'Names, prefix and case ignored. Without it, author and thread: the whole platform, posts only, with a keyword.',
      ),
      [words.exclude_communities]: unwanted.describe('Not in these; the whole platform only.'),
      kind: z
        .enum(KINDS)
        .default('post')
        .describe('Items to watch. Default: post; with thread: comment.'),
      q: z
        .string()
        .min(1)
        .max(Q_LENGTH_MAX)
        .optional()
        .describe('A phrase, or a boolean query: ("rate limit" OR throttl*) AND -hiring title:bun'),
      include_any: terms.describe('At least one of these occurs.'),
      include_all: terms.describe('Every one of these occurs.'),
      exclude_terms: terms.describe('None of these occurs. Exclusions win.'),
      search_in: z
        .union([z.enum(SEARCH_FIELDS), z.array(z.enum(SEARCH_FIELDS)).min(1)])
        .default([...SEARCHED])
        .describe(
          "Where terms and patterns are looked for; on a comment, title is its thread's title.",
        ),
      match: z.enum(MATCHES).default('word').describe('Whole words, or parts of them too.'),
      fold_accents: z.boolean().default(false).describe('Ignores accents: cafe equals café.'),
      case_sensitive: z.boolean().default(false),
      regex: z
        .array(z.string().min(1).max(PATTERN_LENGTH_MAX))
        .max(PATTERNS_MAX)
        .optional()
        .describe("Any of these patterns matches; RE2's syntax."),
      author: texts.describe('By one of these.'),
      exclude_authors: unwanted.describe('By none of these.'),
      thread: texts.describe('Comments under these posts, by id.'),
      domain: texts.describe('Leads to one of these hosts, or to a host below it.'),
      exclude_domains: unwanted.describe('Leads to none of these.'),
      flair: texts.describe("One of these is the post's flair, whole; case ignored."),
      exclude_flair: unwanted.describe("None of these is the post's flair."),
      has_flair: flag,
      post_type: oneOrMany(z.enum(POST_TYPES)),
      nsfw: flag.describe('True: adult content only. False: none of it, as far as the feed tells.'),
      min_score: count.describe('Reached while the item is fresh.'),
      min_comments: count.describe('Reached while the post is fresh.'),
      min_relevance: z
        .int()
        .min(0)
        .max(100)
        .optional()
        .describe('Minimum of relevance.score × 100. Matches below it are listed as suppressed.'),
      intent: oneOrMany(z.enum(INTENTS)),
      sentiment: oneOrMany(z.enum(SENTIMENT_LABELS)),
      language: oneOrMany(z.enum(LANGUAGE_CODES)).describe(
        'ISO 639-1. An item whose language is unknown does not match.',
      ),
      group: z
        .union([z.boolean(), z.string().min(1).max(LABEL_LENGTH_MAX)])
        .optional()
        .describe('Matches of one check travel together; a label names the bundle.'),
      group_window_s: z
        .int()
        .min(0)
        .max(WINDOW_MAX_S)
        .optional()
        .describe('Collects for longer than one check.'),
    })
    .describe(
      'The filter of a monitor. All given fields must match; at least one place or keyword is required.',
    )
}
