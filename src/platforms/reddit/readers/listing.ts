import { isObject } from '../../../core/base/object.ts'
import { ok, type Outcome } from '../../../core/base/result.ts'
import type { Comment, Community, Item, Media, Post, User } from '../../../core/forum/items.ts'
import type { Listing } from '../../port.ts'
import { cutLists, identityOf, textAt } from '../../values.ts'
import { lacking, type NativeRow, rowAt, soundRows, unreadable } from './fields.ts'
import { COMMENT_NEEDS, dataOf, POST_NEEDS, toComment, toPost } from './items.ts'
import { mediaOf } from './media.ts'
import { COMMUNITY_NEEDS, toCommunity, toUser, USER_NEEDS } from './people.ts'

type Needs = Parameters<typeof lacking>[1]

/** Conversion of one kind of native row, and the rows to leave out unread. */
export type Reader<T> = {
  needs: Needs
  map: (row: NativeRow) => T
  skip?: (row: NativeRow) => boolean
  /** Called for a row that cannot be read. */
  left_out?: ((field: string, row: string) => void) | undefined
}
/** By native kind. A row of another kind makes the listing unreadable. */
export type Readers<T> = Readonly<Record<string, Reader<T>>>

/** One native page: its rows, the cursor of the next page, and whether the session was accepted. */
export function readListing<T>(value: unknown, readers: Readers<T>): Outcome<Listing<T>> {
  // A search without results ends like this, and so does a private listing for an anonymous client.
  if (isNothing(value)) return ok({ rows: [], after: null, logged_in: null })
  const data = dataOf(value, 'Listing')
  if (!data) return unreadable('kind')
  const children = data['children']
  if (!Array.isArray(children)) return unreadable('data.children')
  const after = data['after'] ?? null
  if (after !== null && typeof after !== 'string') return unreadable('data.after')

  const [{ left_out: count } = {}] = Object.values(readers)
  const cut = cutLists(children)
  for (const row of cut) count?.('rows', identityOf(row))
  const found = soundRows(children, 'data.children', (child) => readRow(child, readers))
  if (!found.ok) return found
  const rows = found.value
  // An empty string would return the first page again.
  const page = { rows, after: after || null, logged_in: loggedIn(data) }
  const left_out = children.length + cut.length - rows.length
  return ok(left_out === 0 ? page : { ...page, left_out })
}

/** The row's value, null to leave it out, or the path of the field that is wrong. */
function readRow<T>(child: unknown, readers: Readers<T>): { value: T } | string | null {
  const kind = isObject(child) ? textAt(child, 'kind') : null
  const reader = kind !== null && Object.hasOwn(readers, kind) ? readers[kind] : undefined
  if (!reader) return 'kind'
  const data = isObject(child) ? rowAt(child, 'data') : null
  if (!data) return 'data'
  if (reader.skip?.(data)) return null
  const missing = lacking(data, reader.needs)
  if (missing === null) return { value: reader.map(data) }
  reader.left_out?.(missing, identityOf(child))
  return `data.${missing}`
}

/** The platform's answer in place of a listing that is empty or that the client may not see. */
export const isNothing = (value: unknown): boolean =>
  value === '{}' || (isObject(value) && Object.keys(value).length === 0)

/**
 * The write token in a listing shows that our cookies were accepted; bearers get null in either
 * case.
 */
function loggedIn(data: NativeRow): boolean | null {
  const token = textAt(data, 'modhash')
  return token === null ? null : token !== ''
}

/** The bare rows of a list of users; such lists are not paged, and their rows have no kind. */
export function readPeople<T>(value: unknown, { needs, map }: Reader<T>): Outcome<T[]> {
  const data = dataOf(value, 'UserList') ?? dataOf(value, 'Listing')
  if (!data) return unreadable('kind')
  const children = data['children']
  if (!Array.isArray(children)) return unreadable('data.children')
  return soundRows(children, 'data.children', (child) => {
    if (!isObject(child)) return 'kind'
    const missing = lacking(child, needs)
    return missing === null ? { value: map(child) } : missing
  })
}

export function readOne<T>(value: unknown, kind: string, { needs, map }: Reader<T>): Outcome<T> {
  const row = dataOf(value, kind)
  if (!row) return unreadable('kind')
  const missing = lacking(row, needs)
  return missing === null ? ok(map(row)) : unreadable(`data.${missing}`)
}

export type RowReaders = {
  post: Reader<Post>
  postWithMedia: Reader<Post & { media: Media | null }>
  comment: Reader<Comment>
  postItem: Reader<Item>
  commentItem: Reader<Item>
  community: Reader<Community>
  user: Reader<User>
  /** For search results, which list suspended users without an id; those are left out. */
  foundUser: Reader<User>
}

/** Creates the readers of a platform at `base`, an address without a trailing slash. */
export function createReaders(base: string, left_out?: Reader<unknown>['left_out']): RowReaders {
  const user: Reader<User> = { needs: USER_NEEDS, map: (row) => toUser(base, row), left_out }
  return {
    post: { needs: POST_NEEDS, map: (row) => toPost(base, row), left_out },
    postWithMedia: {
      left_out,
      needs: POST_NEEDS,
      map: (row) => ({ ...toPost(base, row), media: mediaOf(row) }),
    },
    comment: { needs: COMMENT_NEEDS, map: (row) => toComment(base, row), left_out },
    postItem: {
      needs: POST_NEEDS,
      map: (row) => ({ ...toPost(base, row), kind: 'post' }),
      left_out,
    },
    commentItem: {
      left_out,
      needs: COMMENT_NEEDS,
      map: (row) => ({ ...toComment(base, row), kind: 'comment' }),
    },
    community: { needs: COMMUNITY_NEEDS, map: (row) => toCommunity(base, row), left_out },
    user,
    foundUser: { ...user, skip: (row) => textAt(row, 'id') === null },
  }
}
