/**
 * filter_spec: what a monitor matches (contract 7). Read here from what a customer wrote; compiled once per
 * version of a monitor (`filter-compile.ts`) and asked once per item.
 */
import {
  AUTHORS,
  COMMUNITIES,
  COUNT_MAX,
  DOMAINS,
  FLAIRS,
  KINDS,
  MATCHES,
  NONE,
  POST_TYPES,
  Q_LENGTH_MAX,
  readChoice,
  readChoices,
  readEntries,
  readFlag,
  readGroup,
  readTerms,
  readText,
  readWhole,
  type Sent,
  THREADS,
  WINDOW_MAX_S,
  wrong,
} from './filter-fields.ts'
import { checkSpec } from './filter-limits.ts'
import { parseQuery } from './filter-query.ts'
import { readPatterns } from './filter-regex.ts'
import { ABSENT, type Field, FIELDS, type FilterSpec, wireName } from './filter-spec.ts'
import { SEARCH_FIELDS, viewOf } from './filter-text.ts'
import { INTENTS } from './intent.ts'
import { LANGUAGE_CODES } from './language.ts'
import { nearest } from './nearest.ts'
import { isObject } from './object.ts'
import { SENTIMENT_LABELS } from './sentiment.ts'
import { createWords, type Words } from './wire.ts'

/**
 * Reads what a customer wrote.
 * @throws ApiError INVALID_REQUEST naming the field, or subforum_reserved
 */
export function parseFilterSpec(value: unknown, words: Words): FilterSpec {
  if (!isObject(value)) throw wrong({ name: '', value }, 'must be an object')
  checkKnown(value, words)
  const sent = (field: Field): Sent => {
    const name = wireName(field, words)
    return { name, value: Object.hasOwn(value, name) ? value[name] : undefined }
  }
  const fold_accents = readFlag(sent('fold_accents')) ?? false
  const case_sensitive = readFlag(sent('case_sensitive')) ?? false
  const view = viewOf({ fold_accents, case_sensitive })
  const thread = readEntries(sent('thread'), THREADS)
  const count = (field: Field, least: number) => readWhole(sent(field), least, COUNT_MAX)
  const spec: FilterSpec = {
    subforum: readEntries(sent('subforum'), COMMUNITIES),
    exclude_subforums: readEntries(sent('exclude_subforums'), { ...COMMUNITIES, least: 0 }),
    kind: given(sent('kind'), (it) => readChoice(it, KINDS)) ?? usualKind(thread),
    q: given(sent('q'), (it) => readText(it, Q_LENGTH_MAX, view)),
    include_any: readTerms(sent('include_any'), view),
    include_all: readTerms(sent('include_all'), view),
    exclude_terms: readTerms(sent('exclude_terms'), view),
    search_in: given(sent('search_in'), (it) => readChoices(it, SEARCH_FIELDS)) ?? ABSENT.search_in,
    match: given(sent('match'), (it) => readChoice(it, MATCHES)) ?? 'word',
    fold_accents,
    case_sensitive,
    regex: readPatterns(sent('regex')),
    author: readEntries(sent('author'), AUTHORS),
    exclude_authors: readEntries(sent('exclude_authors'), { ...AUTHORS, least: 0 }),
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
    min_relevance: readWhole(sent('min_relevance'), 0, 100),
    intent: given(sent('intent'), (it) => readChoices(it, INTENTS)) ?? NONE,
    sentiment: given(sent('sentiment'), (it) => readChoices(it, SENTIMENT_LABELS)) ?? NONE,
    language: given(sent('language'), (it) => readChoices(it, LANGUAGE_CODES)) ?? NONE,
    group: readGroup(sent('group')),
    group_window_s: readWhole(sent('group_window_s'), 0, WINDOW_MAX_S),
  }
  if (spec.q !== null) parseQuery(spec.q, view)
  checkSpec(spec, words, () => renderFilterSpec(spec, words))
  return spec
}

/** The spec as it is shown: what was given, and the kind. Reading it again gives the same spec. */
export function renderFilterSpec(spec: FilterSpec, words: Words): Record<string, unknown> {
  const shown = Object.entries(spec).filter(
    ([field, value]) => field === 'kind' || !isAbsent(field, value),
  )
  return Object.fromEntries(shown.map(([field, value]) => [wireName(field, words), value]))
}

const absent = new Map(Object.entries(ABSENT).map(([field, it]) => [field, JSON.stringify(it)]))
const isAbsent = (field: string, value: unknown): boolean =>
  JSON.stringify(value) === absent.get(field)

const STORED = createWords({ platform: 'forum', community: 'subforum' })

/** The spec as text for the store, free of the configured words. */
export const encodeFilterSpec = (spec: FilterSpec): string =>
  JSON.stringify(renderFilterSpec(spec, STORED))

/** A stored spec, read with the same checks. */
export const decodeFilterSpec = (text: string): FilterSpec =>
  parseFilterSpec(JSON.parse(text), STORED)

function checkKnown(value: Record<string, unknown>, words: Words): void {
  const fields = FIELDS.map((it) => wireName(it, words))
  for (const name of Object.keys(value))
    if (!fields.includes(name)) {
      const near = nearest(name, fields)
      const meant = near === null ? '' : `; did you mean ${near}?`
      throw wrong(
        { name: name === '' ? '""' : name, value: value[name] },
        `is not a field of filter_spec${meant}; the fields are ${fields.join(', ')}`,
      )
    }
}

// Comments are all that stands under a post.
const usualKind = (thread: readonly string[]): FilterSpec['kind'] =>
  thread.length > 0 ? 'comment' : ABSENT.kind

const given = <T>(it: Sent, read: (it: Sent) => T): T | null =>
  it.value === undefined ? null : read(it)
