import { type ApiError, invalid } from './errors.ts'
import { normalise, type SearchField } from './filter-text.ts'
import { SUBFORUM_NAME } from './names.ts'

/** The fields of a filter_spec that this version reads, in our own words. */
export const FIELDS = [
  'subforum',
  'kind',
  'q',
  'include_any',
  'include_all',
  'exclude_terms',
  'search_in',
] as const

/** Fields that the interface names and this version refuses rather than ignores. */
export const LATER_FIELDS = [
  'exclude_subforums',
  'match',
  'fold_accents',
  'case_sensitive',
  'regex',
  'author',
  'exclude_authors',
  'thread',
  'domain',
  'exclude_domains',
  'flair',
  'exclude_flair',
  'has_flair',
  'post_type',
  'nsfw',
  'min_score',
  'min_comments',
  'min_relevance',
  'intent',
  'sentiment',
  'language',
  'group',
  'group_window_s',
] as const

export const KINDS = ['post', 'comment', 'both'] as const
export type Kind = (typeof KINDS)[number]

/** Where terms are looked for when `search_in` is not given. */
export const SEARCHED: readonly SearchField[] = ['title', 'body', 'url']

export const NAMES_MAX = 50
export const TERMS_MAX = 50
export const TERM_LENGTH_MAX = 100
export const Q_LENGTH_MAX = 200

const PREFIXED = /^(?:\/?r\/)?([^/]+)\/?$/i

/** A field's name on the wire and what was sent in it; undefined when it was not sent. */
export type Sent = { name: string; value: unknown }

/** Names of communities, prefix removed, each once; null when the field was not sent. */
export function readNames({ name, value }: Sent): string[] | null {
  if (value === undefined) return null
  const allowed = `1 to ${NAMES_MAX} names of 1 to 21 letters, digits, _ or -`
  const given = typeof value === 'string' ? [value] : value
  if (!Array.isArray(given)) throw wrong({ name, value }, `must be a list of ${allowed}`)
  const list: unknown[] = given
  if (list.length < 1 || list.length > NAMES_MAX)
    throw wrong({ name, value }, `has ${list.length} names; allowed are ${allowed}`)
  const names = list.map((it, i) => {
    const found = typeof it === 'string' ? PREFIXED.exec(it.trim())?.[1] : undefined
    if (found === undefined || !SUBFORUM_NAME.test(found))
      throw wrong({ name: `${name}[${i}]`, value: it }, `is no name; allowed are ${allowed}`)
    return found
  })
  return unique(names, (it) => it.toLowerCase())
}

/** Terms as they were written, each once; empty when the field was not sent. */
export function readTerms({ name, value }: Sent): string[] {
  if (value === undefined) return []
  const allowed = `up to ${TERMS_MAX} terms of 1 to ${TERM_LENGTH_MAX} characters`
  if (!Array.isArray(value)) throw wrong({ name, value }, `must be a list of ${allowed}`)
  const list: unknown[] = value
  if (list.length > TERMS_MAX)
    throw wrong({ name, value }, `has ${list.length} terms; allowed are ${allowed}`)
  const terms = list.map((it, i) => readText({ name: `${name}[${i}]`, value: it }, TERM_LENGTH_MAX))
  return unique(terms, normalise)
}

/** A text of 1 to `longest` characters, white space around it removed. */
export function readText({ name, value }: Sent, longest: number): string {
  const allowed = `a text of 1 to ${longest} characters`
  if (typeof value !== 'string') throw wrong({ name, value }, `must be ${allowed}`)
  const text = value.trim()
  const length = Array.from(text).length
  if (length > longest)
    throw wrong({ name, value }, `has ${length} characters; allowed is ${allowed}`)
  if (!text.isWellFormed() || normalise(text) === '')
    throw wrong({ name, value }, `has nothing to look for; allowed is ${allowed}`)
  return text
}

/** One word of a closed list. */
export function readChoice<T extends string>({ name, value }: Sent, choices: readonly T[]): T {
  const found = choices.find((it) => it === value)
  if (found === undefined) throw wrong({ name, value }, `must be one of ${choices.join(', ')}`)
  return found
}

/** Words of a closed list, each once, in the list's own order; at least one. */
export function readChoices<T extends string>({ name, value }: Sent, choices: readonly T[]): T[] {
  if (!Array.isArray(value) || value.length === 0)
    throw wrong({ name, value }, `must be a list of one or more of ${choices.join(', ')}`)
  const list: unknown[] = value
  const chosen = new Set(
    list.map((it, i) => readChoice({ name: `${name}[${i}]`, value: it }, choices)),
  )
  return choices.filter((it) => chosen.has(it))
}

/** 400 naming a field of the spec, what was sent (cut short) and what is allowed. */
export function wrong({ name, value }: Sent, sentence: string): ApiError {
  const field = name === '' ? 'filter_spec' : `filter_spec.${name}`
  return invalid(field, `${field} ${sentence} (it was ${shown(value)})`)
}

function shown(value: unknown): string {
  if (value === undefined) return 'missing'
  const json = JSON.stringify(value) ?? typeof value
  return json.length > 60 ? `${json.slice(0, 57)}...` : json
}

function unique(values: string[], keyOf: (value: string) => string): string[] {
  return [...new Map(values.toReversed().map((it) => [keyOf(it), it])).values()].toReversed()
}
