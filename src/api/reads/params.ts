import * as z from 'zod'

import { readCursor } from '../../core/listing.ts'
import { bareId, SUBFORUM_NAME, USER_NAME } from '../../core/names.ts'
import type { Words } from '../../core/wire.ts'
import { formed, limit, query } from '../fields.ts'

// Parameters that several reads share.

/** Timeframes of listings and searches. */
export const TIMES = ['hour', 'day', 'week', 'month', 'year', 'all'] as const
/** Orders of searches. */
export const SEARCH_SORTS = ['relevance', 'new', 'hot', 'top', 'comments'] as const
/** Sorts of the searches that look for comments. */
export const TALK_SORTS = ['relevance', 'new', 'top', 'comments'] as const
/** Orders of comments under a post. */
export const TREE_SORTS = ['confidence', 'top', 'new', 'controversial', 'old', 'qa'] as const

const RANKED_BY_TIME = ['top', 'controversial']

/** The timeframe for a sort that has one; it is checked for every sort. */
export const timeOf = (sort: string, t: string): string | null =>
  RANKED_BY_TIME.includes(sort) ? t : null

const NAME_FORM = '1 to 21 letters, digits, _ or -, without prefix'

/** A subforum's name in the parameter `field`. */
export const subforumName = (field: string) =>
  formed(field, SUBFORUM_NAME, `a name of ${NAME_FORM}`)

/** The path of what belongs to a subforum. */
export const ofSubforum = query(() => ({ name: subforumName('name') }))

/** The path of what belongs to a user. */
export const ofUser = query(() => ({
  name: formed('name', USER_NAME, `a user's name of ${NAME_FORM}`),
}))

/** The path of what belongs to a post. */
export const ofPost = query(() => ({ id: idOf('t3_', 'id') }))

const WIKI_PAGE = /^(?=.{1,256}$)[A-Za-z0-9_-]+(?:\/[A-Za-z0-9_-]+)*$/
/** A wiki page's name in a path. */
export const wikiPage = () =>
  formed(
    'page',
    WIKI_PAGE,
    "a wiki page's name of at most 256 letters, digits, _ or -, with / between a page and one below it",
  )

/** The id of a post (`t3_`) or a comment (`t1_`), with its prefix or without; read as the id alone. */
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

/** Posts' ids in a path, with commas between them; read as the ids alone. */
export const fullnames = () =>
  z.string().transform((text, context) => {
    const ids = text.split(',').map((it) => bareId('t3_', it.trim()))
    const known = ids.filter((id) => id !== null)
    if (known.length === ids.length && known.length <= IDS_MAX) return known
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

/** Whether a cursor names something else than the rows that are listed; one of the platform's own making names nothing. */
const isOther = (native: string, kind: Kind | undefined): boolean =>
  kind !== undefined && /^t\d_/.test(native) && !native.startsWith(`${kind}_`)

/**
 * Where a listing goes on, of rows of this `kind`: for a cursor of another the platform would begin anew. Empty is as good
 * as left out: the first page.
 */
export const after = (kind?: Kind) =>
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

/** What every listing takes; `kind` is what its rows are, where they are of one kind. */
export const paged = (kind?: Kind) => ({ limit: limit(100, 25), after: after(kind) })

/** What a caller named in the words of the wire, under our own names: the opposite of `worded`. */
export function plain<T extends object>(words: Words, named: T): T
// The schema's keys were worded as well, so the names that come out are those its type promises.
export function plain(words: Words, named: object): object {
  if (words.community === 'subforum') return named
  const own = (name: string) => (name === words.community ? 'subforum' : name)
  return Object.fromEntries(Object.entries(named).map(([name, value]) => [own(name), value]))
}
