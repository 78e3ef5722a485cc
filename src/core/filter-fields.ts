import { type ApiError, invalid } from './errors.ts'
import { normalise, type SearchField, type View } from './filter-text.ts'
import { bareId, SUBFORUM_NAME, USER_NAME } from './names.ts'

// Readers of what stands in the fields of a filter_spec. Each takes what was sent and gives what is kept, or throws
// an answer that names the field, what it was and what is allowed.

/** What of a place is watched. */
export const KINDS = ['post', 'comment', 'both'] as const
export type Kind = (typeof KINDS)[number]

/** What counts as an occurrence of a term. */
export const MATCHES = ['word', 'substring'] as const

/** Kinds of posts, by what they carry. */
export const POST_TYPES = ['self', 'link', 'image', 'video', 'gallery', 'crosspost'] as const
export type PostType = (typeof POST_TYPES)[number]

/** Where terms are looked for when `search_in` is not given. */
export const SEARCHED: readonly SearchField[] = ['title', 'body', 'url']

/** Entries of a list of names. */
export const NAMES_MAX = 50
/** Entries of a list of terms. */
export const TERMS_MAX = 50
/** Characters of a term. */
export const TERM_LENGTH_MAX = 100
/** Characters of a query. */
export const Q_LENGTH_MAX = 200
/** Characters of a label. */
export const LABEL_LENGTH_MAX = 64
/** Seconds for which matches may be collected. */
export const WINDOW_MAX_S = 3600
/** The highest score or count that can be asked for. */
export const COUNT_MAX = 1_000_000_000

/** A list of nothing, and always the same one: most lists of most filters are empty, and there are twenty in each. */
export const NONE: never[] = []
Object.freeze(NONE)

/** A field's name on the wire and what was sent in it; undefined when it was not sent. */
export type Sent = { name: string; value: unknown }

/** What one entry of a list must be: its reader gives null when it is not that. `key` tells which are the same. */
type Entries = {
  allowed: string
  least: 0 | 1
  read: (text: string) => string | null
  key?: (entry: string) => string
}

const lower = (text: string): string => text.toLowerCase()
const NAME_SHAPE = '1 to 21 letters, digits, _ or -'

/** Communities, prefix removed. */
export const COMMUNITIES: Entries = {
  allowed: `names of ${NAME_SHAPE}`,
  least: 1,
  read: (text) => named(/^(?:\/?r\/)?([^/]+)\/?$/i.exec(text)?.[1], SUBFORUM_NAME),
  key: lower,
}

/** Users, prefix removed. */
export const AUTHORS: Entries = {
  allowed: `names of ${NAME_SHAPE}`,
  least: 1,
  read: (text) => named(/^(?:\/?u(?:ser)?\/|@)?([^/]+)\/?$/i.exec(text)?.[1], USER_NAME),
  key: lower,
}

/** Posts, without prefix. */
export const THREADS: Entries = {
  allowed: 'ids of posts, such as abc123 or t3_abc123',
  least: 1,
  read: (text) => bareId('t3_', text.toLowerCase()),
}

/** Hosts, as they are compared. */
export const DOMAINS: Entries = {
  allowed: 'names of hosts, such as example.com, without scheme, port or path',
  least: 1,
  read: hostName,
}

/** What a post's flair says, whole. */
export const FLAIRS: Entries = {
  allowed: `texts of 1 to ${TERM_LENGTH_MAX} characters`,
  least: 1,
  read: (text) => (text.length <= TERM_LENGTH_MAX && normalise(text) !== '' ? text : null),
  key: (text) => normalise(text),
}

const named = (name: string | undefined, shape: RegExp): string | null =>
  name !== undefined && shape.test(name) ? name : null

function hostName(text: string): string | null {
  if (text.length > 253 || !/^(?:[^\s/?#@:\\%.]+\.)+[^\s/?#@:\\%.]+$/u.test(text)) return null
  return URL.parse(`https://${text}`)?.hostname ?? null
}

/** Entries of one kind, each once; one alone may be sent without a list. Empty when the field was not sent. */
export function readEntries(
  { name, value }: Sent,
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

/** Terms as they were written, each once; empty when the field was not sent. */
export function readTerms({ name, value }: Sent, view: View): string[] {
  if (value === undefined) return NONE
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
export function readText({ name, value }: Sent, longest: number, view: View = 0): string {
  const allowed = `a text of 1 to ${longest} characters`
  if (typeof value !== 'string') throw wrong({ name, value }, `must be ${allowed}`)
  const text = value.trim()
  // No text has more characters than code units, which need no list of them to be counted.
  const length = text.length > longest ? Array.from(text).length : text.length
  if (length > longest)
    throw wrong({ name, value }, `has ${length} characters; allowed is ${allowed}`)
  if (!text.isWellFormed() || normalise(text, view) === '')
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

/** Yes or no; null when the field was not sent. */
export function readFlag({ name, value }: Sent): boolean | null {
  if (value === undefined) return null
  if (typeof value !== 'boolean') throw wrong({ name, value }, 'must be true or false')
  return value
}

/** A whole number within bounds; null when the field was not sent. */
export function readWhole({ name, value }: Sent, least: number, most: number): number | null {
  if (value === undefined) return null
  const allowed = `a whole number from ${least} to ${most}`
  if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most)
    throw wrong({ name, value }, `must be ${allowed}`)
  // -0 is a number too, and is stored as 0.
  return value + 0
}

/** Whether and under which label matches travel together; null when each travels alone. */
export function readGroup({ name, value }: Sent): true | string | null {
  if (value === undefined || value === false) return null
  if (value === true) return true
  const allowed = `true or a label of 1 to ${LABEL_LENGTH_MAX} characters`
  if (typeof value !== 'string') throw wrong({ name, value }, `must be ${allowed}`)
  const label = value.trim()
  const length = Array.from(label).length
  if (length < 1 || length > LABEL_LENGTH_MAX || !label.isWellFormed())
    throw wrong({ name, value }, `has ${length} characters; allowed is ${allowed}`)
  return label
}

/** 400 naming a field of the spec, what was sent (cut short) and what is allowed. */
export function wrong({ name, value }: Sent, sentence: string): ApiError {
  const field = name === '' ? 'filter_spec' : `filter_spec.${cut(name)}`
  return invalid(field, `${field} ${sentence} (it was ${shown(value)})`)
}

function shown(value: unknown): string {
  if (value === undefined) return 'missing'
  return cut(jsonOf(value) ?? typeof value)
}

// What is no JSON never comes by wire, and is answered all the same.
function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}

const cut = (text: string): string => (text.length > 60 ? `${text.slice(0, 57)}...` : text)

/** The last of those whose key is the same, in the order of the last ones. */
function unique(values: string[], keyOf: (value: string) => string): string[] {
  // Hardly any list names anything twice, and a list is read again whenever a monitor is.
  if (new Set(values.map(keyOf)).size === values.length) return values
  return [...new Map(values.toReversed().map((it) => [keyOf(it), it])).values()].toReversed()
}
