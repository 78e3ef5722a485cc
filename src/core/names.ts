/** What an id is made of, without its prefix. */
export const ID = /^[a-z0-9]{1,13}$/
/** A user's name. */
export const USER_NAME = /^[A-Za-z0-9_-]{1,21}$/
/** A subforum's name; a user's own page is `u_` and their name. */
export const SUBFORUM_NAME = /^(?:[A-Za-z0-9_-]{1,21}|u_[A-Za-z0-9_-]{1,21})$/

/** The id of a thing written with or without its prefix; null when it is no such id. */
export function bareId(prefix: 't1_' | 't3_', text: string): string | null {
  const id = text.startsWith(prefix) ? text.slice(prefix.length) : text
  return ID.test(id) ? id : null
}
