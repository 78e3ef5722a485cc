import { type ApiError, invalid } from '../base/errors.ts'
import { normalise, type View } from '../base/form.ts'
import { HOME } from '../forum/items.ts'
import { bareId, parseCommunityName, parseUserName } from '../forum/permalink.ts'

// Readers of filter_spec fields. Each takes the sent value and returns the stored one, or throws an error that names
// the field, the value and the allowed values.

export const KINDS = ['post', 'comment', 'both'] as const

export const MATCHES = ['word', 'substring'] as const

export const POST_TYPES = ['self', 'link', 'image', 'video', 'gallery', 'crosspost'] as const
export type PostType = (typeof POST_TYPES)[number]

export const NAMES_MAX = 50
export const TERMS_MAX = 50
export const TERM_LENGTH_MAX = 100
export const Q_LENGTH_MAX = 200
export const LABEL_LENGTH_MAX = 64
export const WINDOW_MAX_S = 3600
export const COUNT_MAX = 1_000_000_000

/** The shared empty list: most of the twenty lists in a filter are empty. */
export const NONE: never[] = []
Object.freeze(NONE)

/** A field's name in the API and its sent value; undefined when it was not sent. */
export type FieldInput = { name: string; value: unknown }

/** The reader returns null for an invalid entry. Entries with the same `key` are equal. */
export type Entries = {
  allowed: string
  least: 0 | 1
  read: (text: string) => string | null
  key?: (entry: string) => string
}

const NAME_SHAPE = '1 to 21 letters, digits, _ or -'

/** Communities, prefix removed. */
export const COMMUNITIES: Entries = {
  allowed: `names of ${NAME_SHAPE}`,
  least: 1,
  read: parseCommunityName,
  key: (name) => normalise(name),
}

export const SOURCES: Entries = {
  allowed: 'names of sources',
  least: 1,
  read: (text) => (text === HOME || /^[a-z0-9][a-z0-9-]{0,30}$/.test(text) ? text : null),
}

const PLACE_LENGTH_MAX = 100
const readPlace = (text: string): string | null =>
  text.length <= PLACE_LENGTH_MAX && /^\S+$/u.test(text) ? text : null

/** Places of further sources; the sources decide which exist. */
export const SOURCE_PLACES: Entries = {
  allowed: `names of 1 to ${PLACE_LENGTH_MAX} characters without spaces`,
  least: 1,
  read: (text) => parseCommunityName(text) ?? readPlace(text),
  key: (name) => normalise(name),
}

export const SOURCE_USERS: Entries = {
  ...SOURCE_PLACES,
  read: (text) => parseUserName(text) ?? readPlace(text),
}

/** Users, prefix removed. */
export const AUTHORS: Entries = {
  allowed: `names of ${NAME_SHAPE}`,
  least: 1,
  read: parseUserName,
  key: (name) => normalise(name),
}

/** Posts, without prefix. */
export const THREADS: Entries = {
  allowed: 'ids of posts, such as abc123 or t3_abc123',
  least: 1,
  read: (text) => bareId('t3_', text.toLowerCase()),
}

/** Hosts, normalised for comparison. */
export const DOMAINS: Entries = {
  allowed: 'names of hosts, such as example.com, without scheme, port or path',
  least: 1,
  read: hostName,
}

/** Full texts of a post's flair. */
export const FLAIRS: Entries = {
  allowed: `texts of 1 to ${TERM_LENGTH_MAX} characters`,
  least: 1,
  read: (text) => (text.length <= TERM_LENGTH_MAX && normalise(text) !== '' ? text : null),
  key: (text) => normalise(text),
}

function hostName(text: string): string | null {
  if (text.length > 253 || !/^(?:[^\s/?#@:\\%.]+\.)+[^\s/?#@:\\%.]+$/u.test(text)) return null
  return URL.parse(`https://${text}`)?.hostname ?? null
}

/** A single entry may be sent without a list. Empty when the field was not sent. */
export function readEntries(
  { name, value }: FieldInput,
  { allowed, least, read, key }: Entries,
): string[] {
  if (value === undefined) return NONE
  const sentence = `${least} to ${NAMES_MAX} ${allowed}`
  const given = typeof value === 'string' ? [value] : value
  if (!Array.isArray(given)) throw wrong({ name, value }, `must be a list of ${sentence}`)
  const list: unknown[] = given
  if (list.length < least || list.length > NAMES_MAX)
    throw wrong({ name, value }, `has ${list.length} entries; allowed are ${sentence}`)
  const entries = Array.from(list, (it, i) => {
    const entry = typeof it === 'string' && it.isWellFormed() ? read(it.trim()) : null
    const at = typeof value === 'string' ? name : `${name}[${i}]`
    if (entry === null) throw wrong({ name: at, value: it }, `is none; allowed are ${sentence}`)
    return entry
  })
  return unique(entries, key ?? ((it) => it))
}

/** Terms as written, without duplicates. */
export function readTerms({ name, value }: FieldInput, view: View): string[] {
  const allowed = `up to ${TERMS_MAX} terms of 1 to ${TERM_LENGTH_MAX} characters`
  if (!Array.isArray(value)) throw wrong({ name, value }, `must be a list of ${allowed}`)
  const list: unknown[] = value
  if (list.length > TERMS_MAX)
    throw wrong({ name, value }, `has ${list.length} terms; allowed are ${allowed}`)
  const terms = Array.from(list, (it, i) =>
    readText({ name: `${name}[${i}]`, value: it }, TERM_LENGTH_MAX, view),
  )
  return unique(terms, (it) => normalise(it, view))
}

/** A text of 1 to `longest` characters, white space around it removed. */
export function readText({ name, value }: FieldInput, longest: number, view: View = 0): string {
  const allowed = `a text of 1 to ${longest} characters`
  if (typeof value !== 'string') throw wrong({ name, value }, `must be ${allowed}`)
  const text = value.trim()
  // A text never has more characters than code units, so short texts need no count.
  const length = text.length > longest ? Array.from(text).length : text.length
  if (length > longest)
    throw wrong({ name, value }, `has ${length} characters; allowed is ${allowed}`)
  if (!text.isWellFormed() || normalise(text, view) === '')
    throw wrong({ name, value }, `has nothing to look for; allowed is ${allowed}`)
  return text
}

export function readChoice<T extends string>(
  { name, value }: FieldInput,
  choices: readonly T[],
): T {
  const found = choices.find((it) => it === value)
  if (found === undefined) throw wrong({ name, value }, `must be one of ${choices.join(', ')}`)
  return found
}

/** At least one word of a closed list, without duplicates, in the list's own order. */
export function readChoices<T extends string>(
  { name, value }: FieldInput,
  choices: readonly T[],
): T[] {
  const given = typeof value === 'string' ? [value] : value
  if (!Array.isArray(given) || given.length === 0)
    throw wrong({ name, value }, `must be a list of one or more of ${choices.join(', ')}`)
  const list: unknown[] = given
  const at = (i: number): string => (typeof value === 'string' ? name : `${name}[${i}]`)
  const chosen = new Set(
    Array.from(list, (it, i) => readChoice({ name: at(i), value: it }, choices)),
  )
  return choices.filter((it) => chosen.has(it))
}

export function readFlag({ name, value }: FieldInput): boolean {
  if (typeof value !== 'boolean') throw wrong({ name, value }, 'must be true or false')
  return value
}

/** A whole number within bounds, inclusive. */
export function readInteger({ name, value }: FieldInput, least: number, most: number): number {
  const allowed = `a whole number from ${least} to ${most}`
  if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most)
    throw wrong({ name, value }, `must be ${allowed}`)
  // Turns -0 into 0.
  return value + 0
}

/** Grouping of matches: true, or the label of the bundle; null: one delivery per match. */
export function readGroup({ name, value }: FieldInput): true | string | null {
  if (value === false) return null
  if (value === true) return true
  const allowed = `true or a label of 1 to ${LABEL_LENGTH_MAX} characters`
  if (typeof value !== 'string') throw wrong({ name, value }, `must be ${allowed}`)
  const label = value.trim()
  const length = Array.from(label).length
  if (length < 1 || length > LABEL_LENGTH_MAX || !label.isWellFormed())
    throw wrong({ name, value }, `has ${length} characters; allowed is ${allowed}`)
  return label
}

/** Status 400, naming the field of the spec, the sent value (shortened) and the allowed values. */
export function wrong({ name, value }: FieldInput, sentence: string): ApiError {
  const field = name === '' ? 'filter_spec' : `filter_spec.${cut(name)}`
  return invalid(field, `${field} ${sentence} (it was ${displayValue(value)})`)
}

function displayValue(value: unknown): string {
  if (value === undefined) return 'missing'
  return cut(jsonOf(value) ?? typeof value)
}

// Values without a JSON form (undefined, functions) come only from internal callers, and get an error too.
function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}

const cut = (text: string): string => (text.length > 60 ? `${text.slice(0, 57)}...` : text)

/** The last value of each key, in the order of those last values. */
function unique(values: string[], keyOf: (value: string) => string): string[] {
  // Duplicates are rare, and every list is read again whenever its monitor is.
  if (new Set(values.map(keyOf)).size === values.length) return values
  return [...new Map(values.toReversed().map((it) => [keyOf(it), it])).values()].toReversed()
}
