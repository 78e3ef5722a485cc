import * as z from 'zod'

import { readCursor } from '../../core/forum/listing.ts'
import type { Naming } from '../../core/forum/naming.ts'
import { bareId, parseCommunityName, parseUserName } from '../../core/forum/permalink.ts'
import { limit, patternText, querySchema } from '../http/fields.ts'

// Parameters shared by several reads.

export const TIMES = ['hour', 'day', 'week', 'month', 'year', 'all'] as const
export const SEARCH_SORTS = ['relevance', 'new', 'hot', 'top', 'comments'] as const
export const TALK_SORTS = ['relevance', 'new', 'top', 'comments'] as const
export const TREE_SORTS = ['confidence', 'top', 'new', 'controversial', 'old', 'qa'] as const

const RANKED_BY_TIME = ['top', 'controversial']

/** Timeframe of a sort that takes one; it is validated for every sort. */
export const timeOf = (sort: string, t: string): string | null =>
  RANKED_BY_TIME.includes(sort) ? t : null

const NAME_FORM = '1 to 21 letters, digits, _ or -'

function nameOf(field: string, parse: (text: string) => string | null, form: string) {
  const sentence = `${field} must be ${form}`
  return z
    .string({ error: ({ input }) => (input === undefined ? `${field} is required` : sentence) })
    .transform((text, context) => {
      const name = parse(text)
      if (name !== null) return name
      context.addIssue(text.trim() === '' ? `${field} is required` : sentence)
      return z.NEVER
    })
}

/** Forms of names in parameters: each returns the schema of the parameter `field`. */
export type NameRules = {
  subforum(field: string): ReturnType<typeof nameOf>
  user(field: string): ReturnType<typeof nameOf>
}

export const PLATFORM_NAMES: NameRules = {
  subforum: (field) =>
    nameOf(
      field,
      parseCommunityName,
      `a name of ${NAME_FORM}, such as coffee, r/coffee or its address`,
    ),
  user: (field) =>
    nameOf(
      field,
      parseUserName,
      `a user's name of ${NAME_FORM}, such as ann, u/ann or the address of the profile`,
    ),
}

const SOURCE_NAME = /^(?!.*(?:^|\/)\.{1,2}(?:\/|$))[\p{L}\p{N}_.:@+~/-]{1,200}$/u
const parseSourceName = (text: string): string | null => (SOURCE_NAME.test(text) ? text : null)
const sourceNameOf = (field: string) =>
  nameOf(field, parseSourceName, 'a name of 1 to 200 letters, digits or _ . : @ + ~ / -')

/** Names of any other source; the source itself decides which exist. */
export const SOURCE_NAMES: NameRules = { subforum: sourceNameOf, user: sourceNameOf }

export const ofPost = querySchema(() => ({ id: idOf('t3_', 'id') }))

const WIKI_PAGE = /^(?=.{1,256}$)[A-Za-z0-9_-]+(?:\/[A-Za-z0-9_-]+)*$/
export const wikiPage = () =>
  patternText(
    'page',
    WIKI_PAGE,
    "a wiki page's name of at most 256 letters, digits, _ or -, with / between a page and one below it",
  )

/**
 * Id of a post (`t3_`) or a comment (`t1_`), with or without its prefix; parsed to the id alone.
 */
export const idOf = (prefix: 't1_' | 't3_', field: string) =>
  z.string({ error: `${field} is required` }).transform((text, context) => {
    const id = bareId(prefix, text)
    if (id !== null) return id
    context.addIssue(
      `${field} must be an id of 1 to 13 lower-case letters and digits, with ${prefix} before it or without`,
    )
    return z.NEVER
  })

const IDS_MAX = 100

/** Comma-separated post ids of a path; parsed to the ids alone. */
export const fullnames = () =>
  z.string().transform((text, context) => {
    const ids = text.split(',').map((it) => bareId('t3_', it.trim()))
    const valid_ids = ids.filter((id) => id !== null)
    if (valid_ids.length === ids.length && valid_ids.length <= IDS_MAX) return valid_ids
    context.addIssue(
      `fullnames must be 1 to ${IDS_MAX} ids of posts such as t3_abc123, with commas between them`,
    )
    return z.NEVER
  })

const CURSOR_MAX = 600

type Kind = 't1' | 't3'
const BAD_CURSOR =
  'after must be a cursor of an earlier answer, passed back as it was issued, or a fullname such as t3_abc123'
const ROWS: Record<Kind, string> = { t1: 'comments', t3: 'posts' }

/**
 * True if a cursor is a fullname of another kind than the listed rows; the platform's opaque
 * cursors have no kind.
 */
const isOther = (native: string, kind: Kind | undefined): boolean =>
  kind !== undefined && /^t\d_/.test(native) && !native.startsWith(`${kind}_`)

/**
 * Cursor of a listing of rows of this `kind`: given one of another kind, the platform would return
 * the first page. Empty means absent: the first page.
 */
export const listingCursor = (kind?: Kind) =>
  z
    .string({ error: 'after must be given once, as text' })
    .max(CURSOR_MAX, `after must be at most ${CURSOR_MAX} characters`)
    .default('')
    .transform((text, context) => {
      const found = text === '' ? null : readCursor(text)
      if (text === '' || (found !== null && !isOther(found.native, kind))) return found
      context.addIssue(
        found !== null && kind !== undefined
          ? `after must be a cursor of a listing of ${ROWS[kind]}, which begins with ${kind}_`
          : BAD_CURSOR,
      )
      return z.NEVER
    })

/** Parameters of every listing; `kind` is that of its rows, if they have only one. */
export const paged = (kind?: Kind) => ({ limit: limit(100, 25), after: listingCursor(kind) })

/** Renames fields from the wire's words to the internal names: the inverse of the row mapping. */
export function fromWire<T extends object>(words: Naming, named: T): T
// The schema's keys were renamed too, so the result has the names of its type.
export function fromWire(words: Naming, named: object): object {
  if (words.community === 'subforum') return named
  const own = (name: string) => (name === words.community ? 'subforum' : name)
  return Object.fromEntries(Object.entries(named).map(([name, value]) => [own(name), value]))
}
