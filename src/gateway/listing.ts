import { hash } from 'node:crypto'

import { createLru } from '../core/base/lru.ts'
import { ok, type Outcome } from '../core/base/result.ts'
import type { Item, Page, Post } from '../core/forum/items.ts'
import {
  type Cursor,
  endPage,
  isFullname,
  type ListingKind,
  type PageEnd,
  readCursor,
} from '../core/forum/listing.ts'
import type { Call } from '../platforms/port.ts'

export type Paged = { limit: number; after: Cursor | null }

/**
 * The page to request from the platform. Rows pinned above a listing are on its first page only.
 */
export const paging = ({ limit, after }: Paged) => ({
  limit,
  after: after === null || after.in_pinned ? null : after.native,
})

/** Rows of a page, each once and at most `limit`, with the end of the answer. */
export function settlePage<T extends { name: string }>(
  kind: ListingKind,
  { limit, after }: Paged,
  page: Page<T>,
): { rows: T[]; turn: PageEnd } {
  const names = new Set<string>()
  // Rankings change during paging, so the platform can repeat rows.
  const unique = page.rows.filter(({ name }) => !names.has(name) && names.add(name))
  const start = after?.in_pinned ? unique.findIndex(({ name }) => name === after.native) + 1 : 0
  const rows = unique.slice(start, start + limit)
  const last = rows.at(-1)
  // Pinned rows come in addition to the limit. The rest of the page is left for the next request.
  if (last !== undefined && unique.length > start + limit && isFullname(last.name)) {
    const next = { rows: rows.length, after: last.name, in_pinned: isPinned(last) }
    return { rows, turn: endPage(kind, after, next) }
  }
  // The platform also counts rows that were left out here.
  const seen = page.rows.length - start + (page.left_out ?? 0)
  const { lacks_some = false } = page
  return { rows, turn: endPage(kind, after, { rows: seen, after: page.after, lacks_some }) }
}

const isPinned = (row: object): boolean => 'stickied' in row && row.stickied === true

/**
 * Positions of issued cursors. Clients receive the platform's bare fullname, because several
 * clients accept nothing else. Its depth in the listing is stored here. A forgotten position only
 * affects the `listing_status`.
 */
export type Positions = {
  resolve(listing: string, cursor: Cursor | null): Cursor | null
  /** Text of a cursor to issue for this listing. */
  issue(listing: string, text: string | null): string | null
}

const POSITIONS_MAX = 20_000

const positionKey = (listing: string, native: string) =>
  hash('sha256', `${native} ${listing}`, 'base64')

export function createPositions(): Positions {
  const positions = createLru<string, string>(POSITIONS_MAX)
  return {
    resolve(listing, cursor) {
      if (cursor === null || cursor.depth !== null) return cursor
      const text = positions.get(positionKey(listing, cursor.native))
      return text === undefined ? cursor : readCursor(text)
    },
    issue(listing, text) {
      const cursor = text === null ? null : readCursor(text)
      if (text === null || cursor?.depth == null || !isFullname(cursor.native)) return text
      positions.set(positionKey(listing, cursor.native), text)
      return cursor.native
    },
  }
}

export type Work<Query, Body> = (query: Query, call: Call) => Promise<Outcome<Body>>

/** `kind` decides how the listing ends, and `toBody` names the rows in the answer. */
export const pagedRead =
  <Query extends Paged, Row extends { name: string }, Body extends object>(
    kind: (query: Query) => ListingKind,
    page: Work<Query, Page<Row>>,
    toBody: (rows: Row[]) => Body,
  ): Work<Query, Body & PageEnd> =>
  async (query, call) => {
    const listing = await page(query, call)
    if (!listing.ok) return listing
    const { rows, turn } = settlePage(kind(query), query, listing.value)
    return ok({ ...toBody(rows), ...turn })
  }

export const bySort = ({ sort }: Paged & { sort: string }): ListingKind =>
  sort === 'new' ? 'chronological' : 'ranked'

export const postsIn = (items: readonly Item[]): Post[] =>
  items.flatMap((item) => {
    if (item.kind !== 'post') return []
    const { kind: _, ...post } = item
    return [post]
  })
