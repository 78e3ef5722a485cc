import { isObject } from '../core/object.ts'
import { ok, type Outcome } from '../core/outcome.ts'
import { dataOf } from './items.ts'
import type { Listing } from './platform.ts'
import { lacking, type Row, rowAt, textAt, unreadable } from './read.ts'

type Needs = Parameters<typeof lacking>[1]

/** How one kind of native row is read, and which of them are left out unread. */
export type Reader<T> = { needs: Needs; map: (row: Row) => T; skip?: (row: Row) => boolean }
/** By native kind. A row of a kind that is not here makes the listing unreadable. */
export type Readers<T> = Readonly<Record<string, Reader<T>>>

/** One native page: its rows, where it goes on, and whether the platform knew us. */
export function readListing<T>(value: unknown, readers: Readers<T>): Outcome<Listing<T>> {
  // It is how a search ends that finds nothing, whoever asked; and how nobody is answered.
  if (isNothing(value)) return ok({ rows: [], after: null, logged_in: null })
  const data = dataOf(value, 'Listing')
  if (!data) return unreadable('kind')
  const children = data['children']
  if (!Array.isArray(children)) return unreadable('data.children')
  const after = data['after'] ?? null
  if (after !== null && typeof after !== 'string') return unreadable('data.after')

  const rows: T[] = []
  for (const [index, child] of children.entries()) {
    const row = readRow(child, readers)
    if (typeof row === 'string') return unreadable(`data.children[${index}].${row}`)
    if (row !== null) rows.push(row.value)
  }
  // An empty string would be the first page again.
  const page = { rows, after: after || null, logged_in: loggedIn(data) }
  const left_out = children.length - rows.length
  return ok(left_out === 0 ? page : { ...page, left_out })
}

/** The row's value, null to leave it out, or the path of what is wrong with it. */
function readRow<T>(child: unknown, readers: Readers<T>): { value: T } | string | null {
  const kind = isObject(child) ? textAt(child, 'kind') : null
  const reader = kind !== null && Object.hasOwn(readers, kind) ? readers[kind] : undefined
  if (!reader) return 'kind'
  const data = isObject(child) ? rowAt(child, 'data') : null
  if (!data) return 'data'
  if (reader.skip?.(data)) return null
  const missing = lacking(data, reader.needs)
  return missing === null ? { value: reader.map(data) } : `data.${missing}`
}

/** What stands where a listing would, when there is nothing to list or nobody to list it for. */
export const isNothing = (value: unknown): boolean =>
  value === '{}' || (isObject(value) && Object.keys(value).length === 0)

/** The write token in a listing is the sign that our cookies were accepted; bearers get null either way. */
function loggedIn(data: Row): boolean | null {
  const token = textAt(data, 'modhash')
  return token === null ? null : token !== ''
}

/** The bare rows of a list of people; such lists are not paged, and their rows have no kind. */
export function readPeople<T>(value: unknown, { needs, map }: Reader<T>): Outcome<T[]> {
  const data = dataOf(value, 'UserList') ?? dataOf(value, 'Listing')
  if (!data) return unreadable('kind')
  const children = data['children']
  if (!Array.isArray(children)) return unreadable('data.children')
  const rows: T[] = []
  for (const [index, child] of children.entries()) {
    if (!isObject(child)) return unreadable(`data.children[${index}]`)
    const missing = lacking(child, needs)
    if (missing !== null) return unreadable(`data.children[${index}].${missing}`)
    rows.push(map(child))
  }
  return ok(rows)
}

/** One wrapped object, such as a person or a community. */
export function readOne<T>(value: unknown, kind: string, { needs, map }: Reader<T>): Outcome<T> {
  const row = dataOf(value, kind)
  if (!row) return unreadable('kind')
  const missing = lacking(row, needs)
  return missing === null ? ok(map(row)) : unreadable(`data.${missing}`)
}
