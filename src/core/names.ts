/** What an id is made of, without its prefix. */
export const ID = /^[a-z0-9]{1,13}$/
/** A user's name. */
export const USER_NAME = /^[A-Za-z0-9_-]{1,21}$/
/** A subforum's name; a user's own page is `u_` and their name. */
export const SUBFORUM_NAME = /^(?:[A-Za-z0-9_-]{1,21}|u_[A-Za-z0-9_-]{1,21})$/

/** Names that stand for many subforums: no row ever says that it is in one of them. */
export const MANY_SUBFORUMS = ['all', 'popular', 'friends', 'mod'] as const
/** Names that are no subforum's: those, and the ones that lead elsewhere each time they are asked for. */
export const RESERVED_SUBFORUMS: ReadonlySet<string> = new Set([
  ...MANY_SUBFORUMS,
  'random',
  'randnsfw',
  'myrandom',
])

/** The id of a thing written with or without its prefix; null when it is no such id. */
export function bareId(prefix: 't1_' | 't3_', text: string): string | null {
  const id = text.startsWith(prefix) ? text.slice(prefix.length) : text
  return ID.test(id) ? id : null
}
